//! When connections are made: before the run a few at a time, then as soon as a request needs one.
//!
//! Without a request that is due nothing connects anew, so that a server that closes idle connections is left in peace;
//! with one a connection is made at once, and after an attempt that failed within ten milliseconds. What that takes is
//! in the response time of the request, as it is for every client.

use super::Worker;
use super::connection::State;
use crate::clock::monotonic_ns;
use crate::error::Result;
use crate::record::Cause;

/// Connects under way at the same time in one worker before the run: fewer than the usual backlog of a server (128).
const CONNECTS_AT_ONCE: usize = 32;
/// One connect in so much time on average: on a loopback a connect costs nothing until the server's backlog is full, and
/// then a second.
const CONNECT_PACE_NS: u64 = 100_000;
/// How much longer than one time-out connecting all may take, for each connection.
const CONNECT_PATIENCE_NS: u64 = 2_000_000;

impl Worker {
    /// Connects all, a few at a time. A connection that is not made within the time-out is tried again during the run.
    pub(super) fn connect_all(&mut self) -> Result<()> {
        let patience_ns = CONNECT_PATIENCE_NS * self.connections.len() as u64;
        let begun_ns = monotonic_ns();
        let give_up_ns = begun_ns + self.plan.timeout_ns + patience_ns;
        let mut next = 0;
        loop {
            let now = monotonic_ns();
            let mut under_way =
                self.connections[..next].iter().filter(|connection| connection.state == State::Connecting).count();
            let by_pace = CONNECTS_AT_ONCE + ((now - begun_ns) / CONNECT_PACE_NS) as usize;
            while under_way < CONNECTS_AT_ONCE && next < self.connections.len().min(by_pace) {
                self.connect(next, now, now);
                next += 1;
                under_way += 1;
            }
            let all_connected =
                next == self.connections.len() && self.connections.iter().all(|connection| connection.ever_connected);
            if all_connected || now >= give_up_ns || self.must_stop() {
                return Ok(());
            }
            self.run_timers(now);
            self.tick(now);
            let next_connect_ns = if next < self.connections.len() { now + CONNECT_PACE_NS } else { give_up_ns };
            self.wait_and_handle(next_connect_ns.min(give_up_ns))?;
        }
    }

    /// Closes, and connects again when a request needs it.
    pub(super) fn retire(&mut self, index: usize, now: u64) {
        self.clear_overdue(index);
        self.io.close(index);
        let connection = &mut self.connections[index];
        connection.on_close(now);
        connection.state = State::Down;
        self.down += 1;
        self.reconnect(index, now);
    }

    /// Connects what is down, or sets the timer for when it is to.
    pub(super) fn reconnect(&mut self, index: usize, now: u64) {
        let Some(needed_ns) = self.needed_ns(index, now) else { return };
        let at_ns = needed_ns.max(self.connections[index].retry_ns);
        if at_ns > now {
            return self.set_timer(index, at_ns);
        }
        self.connect(index, needed_ns, now);
        if self.running && self.connections[index].state == State::Connecting {
            self.overdue(index);
        }
    }

    /// From when on a request needs this connection; `None`: for no request that is known now.
    fn needed_ns(&self, index: usize, now: u64) -> Option<u64> {
        let connection = &self.connections[index];
        if !self.running {
            return (!connection.ever_connected).then_some(now);
        }
        if now >= self.window.end_ns || self.plan.requests_left == Some(0) {
            return None;
        }
        let needed_ns = match (&self.plan.profile, &self.targets[connection.target].queue) {
            (None, _) => self.next_loaded_ns(connection.target, now),
            (Some(_), None) => self.next_due_ns(index),
            // The first request that finds no connection free connects one; this one waits for that.
            (Some(_), Some(_)) => self.queue_due_ns(connection.target).filter(|due| *due <= now),
        };
        needed_ns.filter(|needed| *needed < self.window.end_ns)
    }

    /// Connects; a request has needed it since `needed_ns`.
    fn connect(&mut self, index: usize, needed_ns: u64, now: u64) {
        let connection = &mut self.connections[index];
        self.down -= usize::from(connection.state == State::Down);
        let control = &self.targets[connection.target].control;
        connection.state = State::Connecting;
        connection.needed_ns = needed_ns;
        connection.since_ns = now;
        connection.moves = control.moves();
        if let Err(error) = self.io.connect(index, &control.address()) {
            self.fail(index, (Cause::of_connect(&error), error.into()), now);
        }
    }

    /// A script has set another address since this connection was made.
    #[inline]
    pub(super) fn was_moved(&self, index: usize) -> bool {
        let connection = &self.connections[index];
        connection.moves != self.targets[connection.target].control.moves()
    }

    /// A connection is made.
    pub(super) fn connected(&mut self, index: usize, now: u64) {
        let connection = &mut self.connections[index];
        if connection.ever_connected && now >= self.window.start_ns {
            self.intervals[connection.target].record_reconnect(now.saturating_sub(connection.since_ns));
        }
        connection.on_connect(now);
        self.on_free(index, now);
    }

    /// Of a shared queue that has found no connection free: connects as many as requests wait, as far as they are down,
    /// and looks again when the next request is due.
    pub(super) fn connect_for_queue(&mut self, target: usize, now: u64) {
        let (Some(profile), Some(queue)) = (&self.plan.profile, &self.targets[target].queue) else { return };
        if self.down == 0 {
            return;
        }
        let origin_ns = self.window.origin_ns;
        let due_ns = |arrivals: &crate::schedule::Arrivals| Some(origin_ns + arrivals.next_due_ns(profile)?);
        let of_target =
            |state| move |connection: &&super::Connection| connection.target == target && connection.state == state;
        let down = self.connections.iter().filter(of_target(State::Down)).count();
        let connecting = self.connections.iter().filter(of_target(State::Connecting)).count();
        let mut arrivals = queue.arrivals.clone();
        let mut waiting = 0;
        while waiting < down + connecting && due_ns(&arrivals).is_some_and(|due| due <= now) {
            arrivals.advance(profile);
            waiting += 1;
        }
        let next_ns = due_ns(&arrivals).filter(|due| *due > now);
        let mut wanted = waiting.saturating_sub(connecting);
        for index in 0..self.connections.len() {
            let connection = &self.connections[index];
            if wanted > 0 && connection.target == target && connection.state == State::Down {
                self.reconnect(index, now);
                wanted -= 1;
            }
        }
        if let Some(next_ns) = next_ns {
            self.set_queue_timer_at(target, next_ns);
        }
    }
}
