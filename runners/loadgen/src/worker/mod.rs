//! One thread's load: its connections to each target, its share of the schedule, its Lua states.
//!
//! The loop sleeps until the next intended start or the next response, whichever comes first; it looks again without a
//! sleep only where less is left than a timer costs, or than waking takes. Where the kernel says when responses came, it
//! may look for them a little later (see `deferred_reads`), and sends that are due close together may leave together
//! (see `coalescing`). What is due is sent at once; a request that finds its connection busy is sent the moment the
//! connection is free, and is measured from its intended start all the same.

mod coalescing;
mod connecting;
mod connection;
mod deferred_reads;
mod ending;
mod plan;
mod responses;
mod sending;
mod source;
mod stalls;
mod target_share;
mod window;

pub use plan::{Delivery, Ended, Lines, Plan, Shared};
pub use source::{RequestKind, Source};
pub use stalls::Stalls;
pub use target_share::TargetSharePlan;
pub use window::Window;

use crate::clock::{NS_PER_S, ask_for_exact_timers, monotonic_ns};
use crate::error::{Error, Result};
use crate::http::Response;
use crate::io::{Io, Tls};
use crate::random::SplitMix64;
use crate::record::{Intervals, Request};
use crate::timer::Alarm;
use crate::usage::Cpu;
use coalescing::{Coalescing, Timer};
use connection::{Connection, State};
use deferred_reads::DeferredReads;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::Ordering;
use target_share::TargetShare;

/// Time-outs, stops and signals are looked at this often.
const TICK_NS: u64 = NS_PER_S / 20;

/// A thread's load.
pub struct Worker {
    plan: Plan,
    shared: Shared,
    targets: Vec<TargetShare>,
    io: Box<dyn Io>,
    connections: Vec<Connection>,
    stalls: Stalls,
    /// Until when it waited last.
    planned_ns: u64,
    /// When the window's end was noticed; 0 before.
    noticed_end_ns: u64,
    /// Connections that are down.
    down: usize,
    /// Spreads the pauses after attempts to connect that failed.
    random: SplitMix64,
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
    deferred_reads: DeferredReads,
    alarm: Alarm,
    coalescing: Coalescing,
    /// When the processor time was looked at last, and what it was, in seconds.
    cpu_at_last_look: (u64, f64),
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
        let (mut targets, mut connections, mut hosts) = (Vec::new(), Vec::new(), Vec::new());
        for (target, mut planned) in std::mem::take(&mut plan.targets).into_iter().enumerate() {
            let schedules = std::mem::take(&mut planned.connections);
            hosts.resize(hosts.len() + schedules.len(), planned.tls_host.clone());
            let share = TargetShare::new(planned, open_loop);
            connections.extend(schedules.into_iter().map(|arrivals| Connection::new(target, share.capture, arrivals)));
            targets.push(share);
        }
        let plain = crate::io::open(plan.io, !open_loop, plan.receive_clock, connections.len())?;
        let io = if hosts.iter().any(Option::is_some) { Box::new(Tls::new(plain, &hosts)?) } else { plain };
        let intervals = shared.pool.take(0).ok_or_else(|| Error::CouldNotRun("no room for a first second".into()))?;
        Ok(Worker {
            intervals,
            second: 0,
            timers: BinaryHeap::with_capacity((connections.len() + targets.len()) * 2),
            stalls: Stalls::default(),
            planned_ns: 0,
            noticed_end_ns: 0,
            down: 0,
            random: SplitMix64::new(monotonic_ns(), 0),
            coalescing: Coalescing::default(),
            cpu_at_last_look: (0, 0.0),
            window: Window::new(0, 0, u64::MAX),
            captures: targets.iter().any(|share| share.capture),
            slice: None,
            chunk: None,
            plan,
            shared,
            targets,
            io,
            connections,
            lines,
            last_response_ns: 0,
            running: false,
            next_tick_ns: 0,
            cpu_at_start: None,
            deferred_reads: DeferredReads::default(),
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
                State::Idle => self.schedule_first(index),
                State::New | State::Down => self.reconnect(index, now),
                _ => {}
            }
        }
        (0..self.targets.len()).for_each(|target| self.set_queue_timer(target));
        self.load()
    }

    fn load(&mut self) -> Result<()> {
        loop {
            let now = monotonic_ns();
            if self.cpu_at_start.is_some() {
                self.stalls.resumed(self.planned_ns, now);
            }
            self.hand_over_seconds(now);
            self.run_timers(now);
            self.tick(now);
            if now >= self.window.end_ns && self.noticed_end_ns == 0 {
                self.noticed_end_ns = now;
            }
            if self.has_ended(now) {
                return self.read_what_came();
            }
            let next_second_ns = self.window.start_ns + u64::from(self.second + 1) * NS_PER_S;
            let boundary = if self.cpu_at_start.is_none() { self.window.start_ns } else { next_second_ns };
            let end = if now < self.window.end_ns { self.window.end_ns } else { self.drain_end_ns() };
            self.wait_and_handle(if now < boundary { boundary.min(end) } else { end })?;
        }
    }

    fn wait_and_handle(&mut self, until_ns: u64) -> Result<()> {
        let next = self.next();
        let until_ns = until_ns.min(self.next_tick_ns).min(next.map_or(u64::MAX, |next| next.moment_ns));
        self.planned_ns = until_ns;
        if next.is_some_and(|next| next.free && next.moment_ns == until_ns) && self.may_defer_reads(until_ns) {
            // To look in passing costs a tenth of what it costs to be woken by a response in the middle of a sleep.
            if self.deferred_reads.would_lie_too_long(until_ns) {
                self.poll(0)?;
                return Ok(());
            }
            self.deferred_reads.slept = true;
            self.alarm.sleep_until(until_ns);
            return Ok(());
        }
        let set_ns = self.alarm.set(monotonic_ns(), until_ns);
        let events = self.poll(set_ns.unwrap_or(0))?;
        if let Some(set_ns) = set_ns.filter(|moment| events == 0 && *moment <= self.deferred_reads.looked_ns) {
            self.alarm.rang(until_ns, set_ns, self.deferred_reads.looked_ns);
        }
        Ok(())
    }

    /// Waits for events until then and handles them; returns how many there were.
    fn poll(&mut self, until_ns: u64) -> Result<usize> {
        let failed = |error| Error::CouldNotRun(format!("waiting for sockets failed: {error}; try --io portable"));
        let events = self.io.wait(until_ns).map_err(failed)?;
        let now = monotonic_ns();
        for index in 0..events {
            self.handle(index);
            // What became due meanwhile does not wait for the rest of the batch.
            self.run_timers(monotonic_ns());
        }
        self.deferred_reads.looked(now);
        Ok(events)
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
                if self.targets[target].queue.as_ref().is_some_and(|queue| queue.timer == timer) {
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
                State::Idle if self.running && self.was_moved(index) => self.retire(index, now),
                State::Idle if self.running => self.on_free(index, now),
                State::Down => self.reconnect(index, now),
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
        self.shared.interrupt.is_set()
            || self.shared.abort.load(Ordering::Relaxed)
            || self.targets.iter().any(|share| share.control.stopped())
    }

    /// A script failed: all workers end, and report what they have.
    fn fail_for(&mut self, error: Error) {
        self.failure.get_or_insert(error);
        self.shared.abort.store(true, Ordering::Relaxed);
        self.window.end_ns = self.window.end_ns.min(monotonic_ns());
    }
}
