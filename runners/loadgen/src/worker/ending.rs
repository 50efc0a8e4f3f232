//! Seconds that are over, and the end, where nothing may vanish.

use super::connection::{Connection, State};
use super::{Delivery, Ended, Worker};
use crate::clock::{NS_PER_S, monotonic_ns};
use crate::error::Result;
use crate::io::Interface;
use crate::record::{Fate, Request};
use crate::schedule::{Arrivals, Profile};
use crate::usage::Cpu;

/// After so many requests that were never sent, their ages are recorded in strides: a run at an absurd rate still ends.
const EXACT_UNSENT: u64 = 1_000_000;

/// So often at most the sockets are read when the run is over, for responses that have arrived already.
const LAST_LOOKS: u32 = 1_000;

/// How long the last responses are awaited at most where a signal or a script stopped the run.
const STOPPED_DRAIN_NS: u64 = NS_PER_S / 10;

impl Worker {
    /// Hands over a second that is over. Where the collector has no empty intervals to give, because it gets no processor, the
    /// worker goes on with those it has: nothing is lost but the border between two seconds.
    pub(super) fn hand_over_seconds(&mut self, now: u64) {
        if self.cpu_at_start.is_none() && now >= self.window.start_ns {
            self.cpu_at_start = Some(Cpu::of_thread());
            self.planned_ns = now;
        }
        let second = self.window.second_of(now);
        if second == self.second {
            return;
        }
        let last = second - 1;
        self.second = second;
        self.hand_over_chunk();
        if let Some(next) = self.shared.pool.take(second) {
            let intervals = std::mem::replace(&mut self.intervals, next);
            self.lines.outbox.deliver(Delivery::Second { intervals, last, whole: true });
        }
    }

    /// Hands over the requests recorded so far.
    pub(super) fn hand_over_chunk(&mut self) {
        if let Some(chunk) = self.chunk.take() {
            self.lines.outbox.deliver(Delivery::Requests(chunk));
        }
    }

    /// When the wait for the window's last responses ends. Whoever stops a run does not want to wait.
    pub(super) fn drain_end_ns(&self) -> u64 {
        let most_ns = if self.must_stop() { STOPPED_DRAIN_NS } else { u64::MAX };
        self.window.end_ns.saturating_add(self.plan.drain_ns.min(most_ns))
    }

    /// Whether there is nothing left to send or to wait for.
    pub(super) fn has_ended(&self, now: u64) -> bool {
        let awaited = || {
            self.connections
                .iter()
                .any(|connection| connection.state == State::Busy && self.window.records(connection.intended_ns))
        };
        if now >= self.window.end_ns {
            return now >= self.drain_end_ns() || !awaited();
        }
        self.plan.bounded
            && self.nothing_left_to_send()
            && !self.connections.iter().any(|connection| connection.state == State::Busy)
    }

    /// Reads what has come already. Who was kept from the processor until after the end would otherwise take responses
    /// that lie there for missing.
    pub(super) fn read_what_came(&mut self) -> Result<()> {
        for _ in 0..LAST_LOOKS {
            if !self.connections.iter().any(|connection| connection.state == State::Busy) || self.poll(0)? == 0 {
                break;
            }
        }
        Ok(())
    }

    fn nothing_left_to_send(&self) -> bool {
        match (self.plan.requests_left, &self.plan.profile) {
            (Some(left), _) => left == 0,
            (None, Some(profile)) => {
                let shares = self.connections.iter().filter_map(|connection| connection.arrivals.as_ref());
                let queues = self.targets.iter().filter_map(|share| share.queue.as_ref().map(|queue| &queue.arrivals));
                shares.chain(queues).all(|left| left.next_due_ns(profile).is_none())
            }
            (None, None) => false,
        }
    }

    /// Counts every request of the window that has no response, and hands over the last second.
    pub(super) fn end(mut self) -> Ended {
        let now = monotonic_ns();
        let cpu = self.cpu_at_start.map_or_else(Cpu::default, |start| Cpu::of_thread().since(start));
        self.hand_over_seconds(now);
        let interface =
            Interface { io: self.io.name(), receive_clock: self.io.receive_clock(), coalesce_ns: self.slack_ns() };
        for target in 0..self.targets.len() {
            if let Some(queue) = self.targets[target].queue.take() {
                let of_target = self.connections.iter().filter(|connection| connection.target == target);
                let free_ns = of_target.filter_map(Connection::ideally_free_ns).min();
                self.count_unsent(target, queue.arrivals, free_ns, now);
            }
        }
        for index in 0..self.connections.len() {
            self.give_up_requests(index, Fate::Censored, now);
            let connection = &mut self.connections[index];
            let (target, free_ns) = (connection.target, connection.ideally_free_ns());
            self.intervals[target].counts.connects += u64::from(connection.ever_connected);
            if let Some(left) = connection.arrivals.take() {
                self.count_unsent(target, left, free_ns, now);
            }
            self.io.close(index);
        }
        self.hand_over_chunk();
        let intervals = std::mem::take(&mut self.intervals);
        let first = intervals.first().map_or(0, |interval| interval.index);
        let lasted_ns = now.saturating_sub(self.window.start_ns + u64::from(first) * NS_PER_S);
        let whole = lasted_ns >= u64::from(self.second + 1 - first) * NS_PER_S * 99 / 100;
        self.lines.outbox.deliver(Delivery::Second { intervals, last: self.second, whole });
        Ended {
            window: self.window,
            finished_ns: now,
            cpu,
            interface,
            requests_dropped: self.requests_dropped,
            calibration_mean_us: (self.calibrated.0 > 0)
                .then(|| self.calibrated.1 as f64 / self.calibrated.0 as f64 / 1e3),
            failure: self.failure,
            stalls: self.stalls,
            stopped: self.targets.iter().any(|share| share.control.stopped()),
            failures: self.targets.iter_mut().map(|share| std::mem::take(&mut share.failures)).collect(),
            sources: self.targets.into_iter().map(|share| share.source).collect(),
        }
    }

    /// Requests whose intended start came but that were never sent. `free_ns`: since when a generator that never sleeps
    /// would have had a connection for them.
    fn count_unsent(&mut self, target: usize, mut arrivals: Arrivals, free_ns: Option<u64>, now: u64) {
        let Some(profile) = self.plan.profile.take() else { return };
        self.count_unsent_of(&profile, target, &mut arrivals, free_ns, now);
        self.plan.profile = Some(profile);
    }

    fn count_unsent_of(
        &mut self,
        profile: &Profile,
        target: usize,
        arrivals: &mut Arrivals,
        free_ns: Option<u64>,
        now: u64,
    ) {
        let (origin_ns, end_ns) = (self.window.origin_ns, self.window.end_ns);
        let mut stride = 1;
        let mut counted = 0;
        let due_of = |arrivals: &Arrivals| {
            let due = arrivals.next_due_ns(profile).and_then(|due| origin_ns.checked_add(due));
            due.filter(|due| *due < end_ns)
        };
        while let Some(due) = due_of(arrivals) {
            if counted >= EXACT_UNSENT {
                stride = arrivals.stride_before(profile, end_ns - origin_ns, 256);
            }
            let waited_ns = now.saturating_sub(due);
            let interval = &mut self.intervals[target];
            if self.window.records(due) {
                interval.counts.censored += stride;
                interval.counts.unsent += stride;
                interval.record_waiting(stride, waited_ns, None);
                match free_ns.map(|free_ns| free_ns.max(due)).filter(|could_ns| *could_ns < end_ns) {
                    // It was this generator that did not send it, up to the end and until it noticed that.
                    Some(could_ns) => {
                        let lag_ns = self.noticed_end_ns.saturating_sub(could_ns);
                        interval.record_lag(stride, lag_ns, self.window.since_second(end_ns, interval.index));
                    }
                    None => interval.record_connection_wait(stride, waited_ns),
                }
                self.hand_over(Request {
                    slot: arrivals.slot(),
                    intended_ns: due - self.window.start_ns,
                    wait_ns: waited_ns,
                    service_ns: 0,
                    read_ns: 0,
                    lag_ns: 0,
                    written: 0,
                    read: 0,
                    target: target as u8,
                    tag: 0,
                    status: 0,
                    fate: Fate::Unsent,
                    unstamped: false,
                });
                self.requests_dropped += u64::from(self.plan.each_request) * (stride - 1);
            } else {
                interval.counts.warmup_unsent += stride;
            }
            arrivals.skip(profile, stride);
            counted += stride;
        }
    }
}
