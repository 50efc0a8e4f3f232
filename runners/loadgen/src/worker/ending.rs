//! Seconds that are over, and the end, where nothing may vanish.

use super::connection::State;
use super::window::DRAIN_NS;
use super::{Ended, Second, Worker};
use crate::clock::{NS_PER_S, monotonic_ns};
use crate::io::Interface;
use crate::usage::Cpu;

/// After so many requests that were never sent, their ages are recorded in strides: a run at an absurd rate still ends.
const EXACT_UNSENT: u64 = 1_000_000;

impl Worker {
    /// Hands over the seconds that are over.
    pub(super) fn turn_seconds(&mut self, now: u64) {
        if self.cpu_at_start.is_none() && now >= self.window.start_ns {
            self.cpu_at_start = Some(Cpu::of_thread());
        }
        let second = self.window.second_of(now);
        while self.interval.index < second {
            let next = self.shared.pool.take(self.interval.index + 1);
            let interval = std::mem::replace(&mut self.interval, next);
            // The collector lives as long as any worker; without it nobody wants results.
            let _ = self.lines.seconds.send(Second { interval, whole: true });
        }
    }

    /// Whether there is nothing left to send or to wait for.
    pub(super) fn has_ended(&self, now: u64) -> bool {
        let awaited =
            || self.connections.iter().any(|one| one.state == State::Busy && self.window.records(one.intended_ns));
        if now >= self.window.end_ns {
            return now >= self.window.end_ns + DRAIN_NS || !awaited();
        }
        self.plan.bounded && self.nothing_left_to_send() && !self.connections.iter().any(|one| one.state == State::Busy)
    }

    fn nothing_left_to_send(&self) -> bool {
        match (self.plan.tickets, &self.plan.profile) {
            (Some(left), _) => left == 0,
            (None, Some(profile)) => self
                .connections
                .iter()
                .all(|one| one.arrivals.as_ref().is_none_or(|left| left.next_due_ns(profile).is_none())),
            (None, None) => false,
        }
    }

    /// Counts every request of the window that has no answer, and hands over the last second.
    pub(super) fn end(mut self) -> Ended {
        let now = monotonic_ns();
        let cpu = self.cpu_at_start.map_or_else(Cpu::default, |start| Cpu::of_thread().since(start));
        self.turn_seconds(now);
        let interface =
            Interface { io: self.io.name(), receive_clock: self.io.receive_clock(), coalesce_ns: self.slack_ns() };
        for index in 0..self.connections.len() {
            let connection = &self.connections[index];
            if connection.state == State::Busy && self.window.records(connection.intended_ns) {
                let (response_ns, service_ns) = (now - connection.intended_ns, now - connection.since_ns);
                self.interval.record_censored(1, response_ns, Some(service_ns));
            }
            self.interval.counts.connects += u64::from(connection.stood);
            self.count_unsent(index, now);
            self.io.close(index);
        }
        let next = self.shared.pool.take(0);
        let interval = std::mem::replace(&mut self.interval, next);
        let lasted_ns = now.saturating_sub(self.window.start_ns + u64::from(interval.index) * NS_PER_S);
        let whole = lasted_ns >= NS_PER_S * 99 / 100;
        let _ = self.lines.seconds.send(Second { interval, whole });
        Ended { window: self.window, finished_ns: now, cpu, interface, source: self.source }
    }

    /// Requests whose intended start came but that were never sent.
    fn count_unsent(&mut self, index: usize, now: u64) {
        let Some(profile) = &self.plan.profile else { return };
        let Some(arrivals) = &mut self.connections[index].arrivals else { return };
        let (origin_ns, end_ns) = (self.window.origin_ns, self.window.end_ns);
        let mut stride = 1;
        let mut counted = 0;
        while let Some(due) = arrivals.next_due_ns(profile).map(|due| origin_ns + due).filter(|due| *due < end_ns) {
            if counted >= EXACT_UNSENT {
                stride = arrivals.stride_before(profile, end_ns - origin_ns, 256);
            }
            if self.window.records(due) {
                self.interval.record_censored(stride, now.saturating_sub(due), None);
            }
            arrivals.skip(stride);
            counted += stride;
        }
    }
}
