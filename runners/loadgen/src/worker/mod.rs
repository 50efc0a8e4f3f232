//! One thread's load: its connections to each target, its share of the schedule, its Lua states.
//!
//! The loop sleeps until the next intended start or the next response, whichever comes first; it looks again without a
//! sleep only where less is left than a timer costs, or than waking takes. Where the kernel says when responses came, it
//! may look for them a little later (see `resting`), and where sends are due close together, they may leave together (see
//! `coalescing`). What is due is sent at once; a request that finds its connection busy is sent the moment
//! the connection is free, and is measured from its intended start all the same.

mod coalescing;
mod connection;
mod ending;
mod lane;
mod plan;
mod responses;
mod resting;
mod sending;
mod source;
mod window;

pub use lane::LanePlan;
pub use plan::{Delivery, Ended, Lines, Plan, Shared};
pub use source::{RequestKind, Source};
pub use window::Window;

use crate::clock::{NS_PER_S, ask_for_exact_timers, monotonic_ns};
use crate::error::{Error, Result};
use crate::http::Response;
use crate::io::{Io, Tls};
use crate::record::{Intervals, Request};
use crate::timer::Alarm;
use crate::usage::Cpu;
use coalescing::{Coalescing, Timer};
use connection::{Connection, State};
use lane::Lane;
use resting::Rest;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::Ordering;

/// Time-outs, stops and signals are looked at this often.
const TICK_NS: u64 = NS_PER_S / 20;
/// Connects under way at the same time in one worker: fewer than the usual backlog of a server (128).
const CONNECTS_AT_ONCE: usize = 32;
/// One connect in so much time on average: on a loopback a connect costs nothing until the server's backlog is full, and
/// then a second.
const CONNECT_PACE_NS: u64 = 100_000;
/// How much longer than one time-out all connections may take to stand, for each of them.
const CONNECT_PATIENCE_NS: u64 = 2_000_000;

/// A thread's load.
pub struct Worker {
    plan: Plan,
    shared: Shared,
    lanes: Vec<Lane>,
    io: Box<dyn Io>,
    connections: Vec<Connection>,
    timers: BinaryHeap<Timer>,
    window: Window,
    /// What is recorded now, by target.
    intervals: Intervals,
    /// The last second of the window that has begun; the intervals may have begun before.
    second: u32,
    lines: Lines,
    /// The run has begun; before that, connections only connect.
    running: bool,
    /// Some script looks at responses.
    captures: bool,
    next_tick_ns: u64,
    last_response_ns: u64,
    cpu_at_start: Option<Cpu>,
    rest: Rest,
    alarm: Alarm,
    coalescing: Coalescing,
    /// The slice of a closed loop that was looked up last, and its target.
    slice: Option<(u64, Option<usize>)>,
    /// Requests that are to be handed over one by one.
    chunk: Option<Vec<Request>>,
    requests_dropped: u64,
    /// Responses of the calibration (`--wrk-compat`) and the sum of their response times: they are in no distribution.
    calibrated: (u64, u64),
    /// Why the load ended early.
    failure: Option<Error>,
    /// The responses of one read.
    responses: Vec<Response>,
}

impl Worker {
    /// Prepares a worker; nothing is opened but the back end.
    ///
    /// # Errors
    /// When the back end is refused.
    pub fn new(mut plan: Plan, shared: Shared, lines: Lines) -> Result<Self> {
        let open_loop = plan.profile.is_some();
        let (mut lanes, mut connections, mut hosts) = (Vec::new(), Vec::new(), Vec::new());
        for (target, mut lane) in std::mem::take(&mut plan.lanes).into_iter().enumerate() {
            let shares = std::mem::take(&mut lane.connections);
            hosts.resize(hosts.len() + shares.len(), lane.tls_host.clone());
            let lane = Lane::new(lane, open_loop);
            connections.extend(shares.into_iter().map(|arrivals| Connection::new(target, lane.capture, arrivals)));
            lanes.push(lane);
        }
        let plain = crate::io::open(plan.io, plan.receive_clock, connections.len())?;
        let io = if hosts.iter().any(Option::is_some) { Box::new(Tls::new(plain, &hosts)?) } else { plain };
        let intervals = shared.pool.take(0).ok_or_else(|| Error::CouldNotRun("no room for a first second".into()))?;
        Ok(Worker {
            intervals,
            second: 0,
            timers: BinaryHeap::with_capacity((connections.len() + lanes.len()) * 2),
            coalescing: Coalescing::default(),
            window: Window::new(0, 0, u64::MAX),
            captures: lanes.iter().any(|lane| lane.capture),
            slice: None,
            chunk: None,
            plan,
            shared,
            lanes,
            io,
            connections,
            lines,
            last_response_ns: 0,
            running: false,
            next_tick_ns: 0,
            cpu_at_start: None,
            rest: Rest::default(),
            alarm: Alarm::default(),
            requests_dropped: 0,
            calibrated: (0, 0),
            failure: None,
            responses: Vec::new(),
        })
    }

    /// Connects, waits for the common start, loads, and hands over the last second. A script that fails ends the load
    /// of all workers, but what was recorded until then is handed over.
    ///
    /// # Errors
    /// System calls that fail for no reason that a server could cause.
    pub fn run(mut self) -> Result<Ended> {
        let abort = self.shared.abort.clone();
        let outcome = self.run_to_the_end().map(|()| self.end());
        if outcome.is_err() {
            abort.store(true, Ordering::Relaxed);
        }
        outcome
    }

    fn run_to_the_end(&mut self) -> Result<()> {
        ask_for_exact_timers();
        self.connect_all()?;
        if let Some(ready) = self.lines.ready.take() {
            let _ = ready.send(());
        }
        let Ok(origin_ns) = self.lines.start.recv() else {
            return Err(Error::CouldNotRun("the run was given up before its start".into()));
        };
        self.window = Window::new(origin_ns, self.plan.warmup_ns, self.plan.duration_ns).bounded(self.plan.bounded_ns);
        self.running = true;
        self.last_response_ns = origin_ns;
        let now = monotonic_ns();
        for index in 0..self.connections.len() {
            match self.connections[index].state {
                State::Idle => self.begin(index),
                State::New => self.connect(index, now),
                _ => {}
            }
        }
        (0..self.lanes.len()).for_each(|target| self.set_queue_timer(target));
        self.load()
    }

    /// Connects all, a few at a time. Who does not stand within the time-out goes on trying during the run.
    fn connect_all(&mut self) -> Result<()> {
        let patience_ns = CONNECT_PATIENCE_NS * self.connections.len() as u64;
        let begun_ns = monotonic_ns();
        let give_up_ns = begun_ns + self.plan.timeout_ns + patience_ns;
        let mut next = 0;
        loop {
            let now = monotonic_ns();
            let mut under_way = self.connections[..next].iter().filter(|one| one.state == State::Connecting).count();
            let by_pace = CONNECTS_AT_ONCE + ((now - begun_ns) / CONNECT_PACE_NS) as usize;
            while under_way < CONNECTS_AT_ONCE && next < self.connections.len().min(by_pace) {
                self.connect(next, now);
                next += 1;
                under_way += 1;
            }
            let all_stand =
                next == self.connections.len() && self.connections.iter().all(|one| one.state == State::Idle);
            if all_stand || now >= give_up_ns || self.must_stop() {
                return Ok(());
            }
            self.run_timers(now);
            self.tick(now);
            let next_connect_ns = if next < self.connections.len() { now + CONNECT_PACE_NS } else { give_up_ns };
            self.wait_and_handle(next_connect_ns.min(give_up_ns))?;
        }
    }

    fn load(&mut self) -> Result<()> {
        loop {
            let now = monotonic_ns();
            self.turn_seconds(now);
            self.run_timers(now);
            self.tick(now);
            if self.has_ended(now) {
                return Ok(());
            }
            let next_second_ns = self.window.start_ns + u64::from(self.second + 1) * NS_PER_S;
            let boundary = if self.cpu_at_start.is_none() { self.window.start_ns } else { next_second_ns };
            let end = if now < self.window.end_ns { self.window.end_ns } else { self.drain_end_ns() };
            self.wait_and_handle(if now < boundary { boundary.min(end) } else { end })?;
        }
    }

    fn wait_and_handle(&mut self, until_ns: u64) -> Result<()> {
        let failed = |error| Error::CouldNotRun(format!("waiting for sockets failed: {error}; try --io portable"));
        let next = self.next();
        let until_ns = until_ns.min(self.next_tick_ns).min(next.map_or(u64::MAX, |next| next.moment_ns));
        if next.is_some_and(|next| next.free && next.moment_ns == until_ns) && self.may_rest(until_ns) {
            self.rest.rested = true;
            self.alarm.sleep_until(until_ns);
            return Ok(());
        }
        let set_ns = self.alarm.set(monotonic_ns(), until_ns);
        let events = self.io.wait(set_ns.unwrap_or(0)).map_err(failed)?;
        let now = monotonic_ns();
        if let Some(set_ns) = set_ns.filter(|moment| events == 0 && *moment <= now) {
            self.alarm.rang(until_ns, set_ns, now);
        }
        for index in 0..events {
            self.handle(index);
            // What became due meanwhile does not wait for the rest of the batch.
            self.run_timers(monotonic_ns());
        }
        self.rest.looked(now);
        Ok(())
    }

    /// Sends what is due and connects what has waited long enough.
    #[inline]
    fn run_timers(&mut self, now: u64) {
        let mut now = now;
        while let Some(Reverse((due, index, timer))) = self.timers.peek().copied() {
            if due > now {
                return;
            }
            self.timers.pop();
            let index = index as usize;
            if let Some(target) = index.checked_sub(self.connections.len()) {
                if self.lanes[target].queue.as_ref().is_some_and(|queue| queue.timer == timer) {
                    self.serve_queue(target, now);
                }
                now = monotonic_ns();
                continue;
            }
            let connection = &self.connections[index];
            if connection.timer != timer {
                continue;
            }
            match connection.state {
                State::Idle if self.running && self.was_moved(index) => {
                    self.io.close(index);
                    self.connect(index, now);
                }
                State::Idle if self.running => self.free(index, now),
                State::Backoff => self.connect(index, now),
                State::Busy => self.overdue(index),
                _ => {}
            }
            now = monotonic_ns();
        }
    }

    fn set_timer(&mut self, index: usize, due_ns: u64) {
        let connection = &mut self.connections[index];
        connection.timer = connection.timer.wrapping_add(1);
        connection.timer_due_ns = due_ns;
        self.timers.push(Reverse((due_ns, index as u32, connection.timer)));
    }

    fn must_stop(&self) -> bool {
        self.shared.interrupt.came()
            || self.shared.abort.load(Ordering::Relaxed)
            || self.lanes.iter().any(|lane| lane.control.stopped())
    }

    /// A script failed: all workers end, and report what they have.
    fn fail_for(&mut self, error: Error) {
        self.failure.get_or_insert(error);
        self.shared.abort.store(true, Ordering::Relaxed);
        self.window.end_ns = self.window.end_ns.min(monotonic_ns());
    }
}
