//! What goes out, and when.

use super::Worker;
use super::answers::Failure;
use super::connection::State;
use crate::clock::monotonic_ns;
use crate::error::Result;

impl Worker {
    /// The moment at which the connection's next request is intended; `None` in a closed loop and when none is left.
    #[inline]
    pub(super) fn next_due_ns(&self, index: usize) -> Option<u64> {
        let profile = self.plan.profile.as_ref()?;
        let due = self.connections[index].arrivals.as_ref()?.next_due_ns(profile)?;
        Some(self.window.origin_ns + due)
    }

    /// The connection is free: what is next?
    #[inline]
    pub(super) fn free(&mut self, index: usize, now: u64) -> Result<()> {
        self.settle(index);
        self.connections[index].state = State::Idle;
        if !self.running || now >= self.window.end_ns {
            return Ok(());
        }
        if self.plan.profile.is_some() {
            self.drop_unsent_warmup(index, now);
            return match self.next_due_ns(index) {
                Some(due) if due >= self.window.end_ns => Ok(()),
                Some(due) if due <= now => self.send(index, due, false),
                // It has been set when the last request was sent, unless a failure or a new connection lay between.
                Some(due) => {
                    if self.connections[index].timer_due_ns != due {
                        self.set_timer(index, due);
                    }
                    Ok(())
                }
                None => Ok(()),
            };
        }
        match self.delay_ns()? {
            0 => self.send(index, now, false),
            delay_ns => {
                self.set_timer(index, now + delay_ns);
                Ok(())
            }
        }
    }

    /// What the script's `delay()` asks for before the next request of a closed loop, the first of a connection included.
    #[inline]
    pub(super) fn delay_ns(&self) -> Result<u64> {
        if self.delays { Ok((self.source.script().delay_ms()? * 1e6) as u64) } else { Ok(0) }
    }

    /// What the warm-up could not send in its time is dropped and counted: sent late, it would push requests of the
    /// recorded window aside, and an overloaded server would seem to answer none of them.
    #[inline]
    fn drop_unsent_warmup(&mut self, index: usize, now: u64) {
        while now >= self.window.start_ns && self.next_due_ns(index).is_some_and(|due| due < self.window.start_ns) {
            if let Some(arrivals) = &mut self.connections[index].arrivals {
                arrivals.advance();
            }
            self.interval.counts.warmup_unsent += 1;
        }
    }

    /// Sends the next request. `was_free`: the connection waited for the intended start, so lateness is our own.
    #[inline]
    pub(super) fn send(&mut self, index: usize, intended_ns: u64, was_free: bool) -> Result<()> {
        if intended_ns >= self.window.end_ns || !self.take_ticket() {
            return Ok(());
        }
        self.source.advance()?;
        let connection = &mut self.connections[index];
        if let Some(arrivals) = &mut connection.arrivals {
            arrivals.advance();
        }
        connection.parser.expect_answer(self.source.is_head());
        connection.state = State::Busy;
        connection.timed_out = false;
        let sent_ns = monotonic_ns();
        debug_assert!(sent_ns >= intended_ns, "a request leaves before its intended start");
        connection.since_ns = sent_ns;
        connection.intended_ns = if self.plan.profile.is_some() { intended_ns } else { sent_ns };
        let recorded = self.window.records(connection.intended_ns);
        let counts = &mut self.interval.counts;
        if recorded {
            counts.sent += 1;
            counts.bytes_written += self.source.text().len() as u64;
        } else {
            counts.warmup_sent += 1;
        }
        if was_free && recorded && self.plan.profile.is_some() {
            self.interval.counts.held += u64::from(self.coalescing.held(intended_ns));
            self.interval.lag.saturating_record(sent_ns.saturating_sub(intended_ns));
        }
        if self.io.send(index, self.source.text()).is_err() {
            self.fail(index, Failure::Write, sent_ns);
        } else if let Some(due) = self.next_due_ns(index).filter(|due| *due < self.window.end_ns) {
            self.set_timer(index, due);
        }
        Ok(())
    }

    /// In a closed loop with `-n`, whether one more request may go.
    fn take_ticket(&mut self) -> bool {
        match &mut self.plan.tickets {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }
}
