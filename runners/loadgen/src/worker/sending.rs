//! What goes out, and when.

use super::Worker;
use super::connection::{CatchUp, State};
use crate::clock::{NS_PER_S, monotonic_ns};
use crate::record::Cause;
use std::cmp::Reverse;

/// How long before its end requests of the window were due that are still sent after it.
const LATE_NS: u64 = NS_PER_S / 5;

impl Worker {
    /// The moment at which the connection's next request is intended; `None` in a closed loop, where its target's
    /// connections share a queue, and when none is left.
    #[inline]
    pub(super) fn next_due_ns(&self, index: usize) -> Option<u64> {
        let profile = self.plan.profile.as_ref()?;
        let due_ns = self.connections[index].arrivals.as_ref()?.next_due_ns(profile)?;
        self.window.origin_ns.checked_add(due_ns)
    }

    /// The connection is made when the run begins: schedules its first request.
    pub(super) fn schedule_first(&mut self, index: usize) {
        let origin_ns = self.window.origin_ns;
        if self.plan.profile.is_none() {
            let delay_ns = self.delay_ns(index);
            self.set_timer(index, origin_ns + delay_ns);
        } else if let Some(queue) = &mut self.targets[self.connections[index].target].queue {
            queue.give(index, &mut self.connections[index]);
        } else if let Some(due_ns) = self.next_due_ns(index) {
            self.set_timer(index, due_ns);
        }
    }

    /// The connection is free: sends what is due, or schedules what is next.
    #[inline]
    pub(super) fn on_free(&mut self, index: usize, now: u64) {
        self.clear_overdue(index);
        let was_busy = std::mem::replace(&mut self.connections[index].state, State::Idle) != State::Idle;
        if !self.running {
            return;
        }
        if self.plan.profile.is_none() {
            return self.free_in_closed_loop(index, now, was_busy);
        }
        let target = self.connections[index].target;
        if let Some(queue) = &mut self.targets[target].queue {
            queue.give(index, &mut self.connections[index]);
            return self.serve_queue(target, now);
        }
        self.drop_unsent_warmup(index, now);
        match self.next_due_ns(index) {
            Some(due) if due >= self.window.end_ns => {}
            Some(due) if due <= now => {
                // Behind is who finds the next one overdue after a response; a timer alone is always a little late.
                let behind = was_busy || self.connections[index].catch_up.is_some();
                match self.catch_up_ns(index, now, behind) {
                    Some(later) => self.set_timer(index, later),
                    None => self.send(index, due, now),
                }
            }
            // It has been set when the last request was sent, unless a failure or a new connection lay between.
            Some(due) => {
                self.connections[index].catch_up = None;
                if self.connections[index].timer_due_ns != due || !was_busy {
                    self.set_timer(index, due);
                }
            }
            None => {}
        }
    }

    fn free_in_closed_loop(&mut self, index: usize, now: u64, was_busy: bool) {
        if now >= self.window.end_ns {
            return;
        }
        if !self.is_loaded(self.connections[index].target, now) {
            let next_ns = self.next_loaded_ns(self.connections[index].target, now);
            return next_ns.into_iter().for_each(|next_ns| self.set_timer(index, next_ns));
        }
        match if was_busy { self.delay_ns(index) } else { 0 } {
            0 => self.send(index, now, now),
            delay_ns => self.set_timer(index, now + delay_ns),
        }
    }

    /// Whether a target is loaded at a moment: in a closed loop by slices only in its own, up to the end of the window.
    #[inline]
    pub(super) fn is_loaded(&mut self, target: usize, now: u64) -> bool {
        let Some(slices) = &self.plan.slices else { return true };
        let at = slices.at(now.saturating_sub(self.window.origin_ns));
        // Drawing the order of a block is too much for each request.
        let (_, loaded) = match self.slice {
            Some(known) if known.0 == at => known,
            _ => *self.slice.insert((at, slices.target(at))),
        };
        loaded == Some(target) && now < self.window.end_ns
    }

    /// When a target is loaded next, in a closed loop: now, but for slices of others.
    pub(super) fn next_loaded_ns(&self, target: usize, now: u64) -> Option<u64> {
        let Some(slices) = &self.plan.slices else { return Some(now) };
        let at = slices.at(now.saturating_sub(self.window.origin_ns));
        if slices.target(at) == Some(target) {
            return Some(now);
        }
        let next_ns = slices.begin_ns(slices.next_of(target, at))?;
        self.window.origin_ns.checked_add(next_ns)
    }

    /// What the script's `delay()` asks for before the next request of a closed loop, the first of a connection included.
    #[inline]
    fn delay_ns(&mut self, index: usize) -> u64 {
        let share = &self.targets[self.connections[index].target];
        if !share.delays {
            return 0;
        }
        match share.source.script().delay_ms() {
            Ok(delay_ms) => (delay_ms * 1e6) as u64,
            Err(error) => {
                self.fail_for(error);
                0
            }
        }
    }

    /// When a connection that is behind may send, if it may not yet: wrk2 catches up at twice the rate.
    fn catch_up_ns(&mut self, index: usize, now: u64, behind: bool) -> Option<u64> {
        let profile = self.plan.profile.as_ref().filter(|_| self.plan.catches_up_slowly && behind)?;
        let rate_rps = profile.rate_rps(now.saturating_sub(self.window.origin_ns)) * self.plan.share;
        let connections = self.connections.len() as f64;
        let catch_up = self.connections[index].catch_up.get_or_insert(CatchUp { since_ns: now, sent: 0 });
        let next_ns = catch_up.since_ns + (catch_up.sent as f64 * connections / (2.0 * rate_rps) * 1e9) as u64;
        if next_ns > now {
            return Some(next_ns);
        }
        catch_up.sent += 1;
        None
    }

    /// What the warm-up could not send in its time is dropped and counted: sent late, it would push requests of the
    /// recorded window aside, and an overloaded server would seem to respond to none of them.
    #[inline]
    fn drop_unsent_warmup(&mut self, index: usize, now: u64) {
        while now >= self.window.start_ns && self.next_due_ns(index).is_some_and(|due| due < self.window.start_ns) {
            let connection = &mut self.connections[index];
            if let (Some(arrivals), Some(profile)) = (&mut connection.arrivals, &self.plan.profile) {
                arrivals.advance(profile);
            }
            self.intervals[connection.target].counts.warmup_unsent += 1;
        }
    }

    /// Sends what is due of a queue that a target's connections share, as long as one is free.
    pub(super) fn serve_queue(&mut self, target: usize, now: u64) {
        loop {
            let (Some(profile), Some(queue)) = (&self.plan.profile, &mut self.targets[target].queue) else { return };
            let due = queue.arrivals.next_due_ns(profile).and_then(|due| self.window.origin_ns.checked_add(due));
            let Some(due) = due.filter(|due| *due < self.window.end_ns) else { return };
            if due > now {
                return self.set_queue_timer(target);
            }
            if due < self.window.start_ns && now >= self.window.start_ns {
                queue.arrivals.advance(profile);
                self.intervals[target].counts.warmup_unsent += 1;
                continue;
            }
            let Some(index) = queue.take(&mut self.connections, |connection| connection.state == State::Idle) else {
                if !std::mem::replace(&mut queue.overdue, true) {
                    self.deferred_reads.begin_wait();
                }
                return self.connect_for_queue(target, now);
            };
            if std::mem::take(&mut queue.overdue) {
                self.deferred_reads.end_wait();
            }
            if self.was_moved(index) {
                self.retire(index, now);
            } else {
                self.send(index, due, now);
            }
        }
    }

    /// The moment at which the next request of a target's shared queue is intended.
    pub(super) fn queue_due_ns(&self, target: usize) -> Option<u64> {
        let (profile, queue) = (self.plan.profile.as_ref()?, self.targets[target].queue.as_ref()?);
        self.window.origin_ns.checked_add(queue.arrivals.next_due_ns(profile)?)
    }

    /// Sets the timer of a shared queue to its next intended start.
    pub(super) fn set_queue_timer(&mut self, target: usize) {
        if let Some(due_ns) = self.queue_due_ns(target) {
            self.set_queue_timer_at(target, due_ns);
        }
    }

    /// Sets the timer of a shared queue.
    pub(super) fn set_queue_timer_at(&mut self, target: usize, due_ns: u64) {
        let Some(queue) = &mut self.targets[target].queue else { return };
        if due_ns < self.window.end_ns {
            queue.timer = queue.timer.wrapping_add(1);
            self.timers.push(Reverse((due_ns, (self.connections.len() + target) as u32, queue.timer)));
        }
    }

    /// Sends the next request, or the next pipelined ones. What waits for its connection when the window ends is sent
    /// all the same, but not the backlog of an overload: that would lengthen the run for nothing.
    #[inline]
    fn send(&mut self, index: usize, intended_ns: u64, now: u64) {
        let late = now >= self.window.end_ns;
        if late && (intended_ns + LATE_NS < self.window.end_ns || now >= self.drain_end_ns()) {
            return;
        }
        let target = self.connections[index].target;
        let share = &mut self.targets[target];
        if intended_ns >= self.window.end_ns || self.plan.requests_left == Some(0) {
            return;
        }
        if let Err(error) = share.source.advance() {
            return self.fail_for(error);
        }
        if share.source.requests().is_empty() {
            // A script that has said stop() owes no more requests: what this connection, or the queue, has left is none.
            self.connections[index].arrivals = None;
            share.queue = None;
            self.window.end_ns = self.window.end_ns.min(monotonic_ns());
            return;
        }
        let connection = &mut self.connections[index];
        connection.requests.clear();
        connection.requests.extend_from_slice(share.source.requests());
        connection.responded = 0;
        let count = connection.requests.len() as u64;
        if let Some(left) = &mut self.plan.requests_left {
            *left = left.saturating_sub(count);
        }
        if let Some(profile) = &self.plan.profile
            && let Some(arrivals) =
                connection.arrivals.as_mut().or(share.queue.as_mut().map(|queue| &mut queue.arrivals))
        {
            connection.slot = arrivals.slot();
            // Pipelined requests are due together, and take as many slots as they are.
            (0..count).for_each(|_| arrivals.advance(profile));
        }
        connection.parser.expect_response(connection.requests[0].head);
        connection.state = State::Busy;
        connection.late = self.window.is_late(intended_ns, now);
        connection.tag = share.source.tag();
        connection.received = 0;
        let text = share.source.text();
        connection.written = (text.len() / connection.requests.len()) as u32;
        let sent_ns = monotonic_ns();
        debug_assert!(sent_ns >= intended_ns, "a request leaves before its intended start");
        connection.since_ns = sent_ns;
        connection.intended_ns = if self.plan.profile.is_some() { intended_ns } else { sent_ns };
        connection.ideal_sent_ns = connection.intended_ns.max(connection.ideal_free_ns);
        let lag_ns = connection.lag_ns();
        let interval = &mut self.intervals[target];
        if self.window.records(connection.intended_ns) {
            interval.counts.sent += count;
            interval.counts.bytes_written += text.len() as u64;
            if self.plan.profile.is_some() {
                interval.counts.held += count * u64::from(self.coalescing.held(intended_ns));
                interval.record_lag(count, lag_ns, self.window.since_second(sent_ns, interval.index));
                let waited_ns = connection.ideal_sent_ns - connection.intended_ns;
                if waited_ns > 0 {
                    interval.record_connection_wait(count, waited_ns);
                }
            }
        } else {
            interval.counts.warmup_sent += count;
        }
        if let Err(error) = self.io.send(index, text) {
            self.fail(index, (Cause::Write, error.into()), sent_ns);
        } else if let Some(due) = self.next_due_ns(index).filter(|due| *due < self.window.end_ns) {
            self.set_timer(index, due);
        }
    }
}
