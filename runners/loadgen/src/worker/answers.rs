//! What comes back: answers, failures, time-outs.

use super::connection::State;
use super::{TICK_NS, Worker};
use crate::clock::monotonic_ns;
use crate::error::Result;
use crate::http::Answer;
use crate::io::Event;

/// With `-n`, which may have no other end: so many time-outs without any answer end the run.
const GIVE_UP_AFTER_TIMEOUTS: u64 = 10;

/// How a request or a connection came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    Connect,
    Read,
    Write,
    Parse,
    /// Given up after the time-out (only with `-n`); it was already counted as timed out.
    GivenUp,
}

/// What an event means, once the bytes are looked at.
enum Meaning {
    Connected,
    More,
    Answer(Answer),
    Closed,
    Failed(Failure),
}

impl Worker {
    #[inline]
    pub(super) fn handle(&mut self, event: usize) -> Result<()> {
        let Some((index, event)) = self.io.event(event) else { return Ok(()) };
        let connection = &mut self.connections[index];
        let (mut bytes, mut arrived) = (0, None);
        let meaning = match event {
            Event::Data { bytes: data, arrived_ns } => {
                bytes = data.len() as u64;
                arrived = arrived_ns;
                match connection.parser.feed(data) {
                    Ok(Some(answer)) => Meaning::Answer(answer),
                    Ok(None) => Meaning::More,
                    Err(_) => Meaning::Failed(Failure::Parse),
                }
            }
            Event::Connected => Meaning::Connected,
            Event::Closed => connection.parser.closed().map_or(Meaning::Closed, Meaning::Answer),
            Event::ConnectFailed(_) => Meaning::Failed(Failure::Connect),
            Event::ReadFailed(_) => Meaning::Failed(Failure::Read),
            Event::WriteFailed(_) => Meaning::Failed(Failure::Write),
        };
        let sent_ns = connection.since_ns;
        let now = monotonic_ns();
        // A stamp from before the send or from the future means that the wall clock was set meanwhile.
        let arrived = arrived.filter(|at| (sent_ns..=now).contains(at)).unwrap_or(now);
        self.rest.seen(bytes);
        if now >= self.window.start_ns {
            self.interval.counts.bytes_read += bytes;
        }
        match meaning {
            Meaning::More => Ok(()),
            Meaning::Answer(answer) => self.answered(index, answer, arrived, now),
            Meaning::Connected => {
                if std::mem::replace(&mut self.connections[index].stood, true) {
                    self.interval.counts.reconnects += 1;
                }
                self.free(index, now)
            }
            Meaning::Closed => {
                // A server may close a connection on which nothing is due.
                if self.connections[index].state == State::Busy {
                    self.fail(index, Failure::Read, now);
                } else {
                    self.retire(index, now);
                }
                Ok(())
            }
            Meaning::Failed(failure) => {
                self.fail(index, failure, now);
                Ok(())
            }
        }
    }

    #[inline]
    fn answered(&mut self, index: usize, answer: Answer, arrived: u64, now: u64) -> Result<()> {
        let connection = &mut self.connections[index];
        connection.succeeded();
        self.last_answer_ns = now;
        let (response_ns, service_ns) = (arrived.saturating_sub(connection.intended_ns), arrived - connection.since_ns);
        if self.window.records(connection.intended_ns) {
            let offset_ns = self.window.since_second(arrived, self.interval.index);
            self.interval.record_answer(answer.status, offset_ns, response_ns, service_ns);
            self.interval.counts.errors.timeout +=
                u64::from(service_ns > self.plan.timeout_ns && !connection.timed_out);
            self.interval.counts.errors.parse += u64::from(connection.parser.has_surplus());
        } else {
            self.interval.counts.warmup_completed += 1;
        }
        if self.capture {
            let parser = &self.connections[index].parser;
            self.source.script().response(answer.status, parser.headers(), parser.body())?;
            if self.control.stopped() {
                self.window.end_ns = self.window.end_ns.min(now);
            }
        }
        if answer.keep_alive && !self.was_moved(index) {
            self.free(index, now)
        } else {
            self.io.close(index);
            self.connect(index, now);
            Ok(())
        }
    }

    /// A request (or a connect) came to nothing: count it, close, and try again after a pause.
    pub(super) fn fail(&mut self, index: usize, failure: Failure, now: u64) {
        let connection = &self.connections[index];
        let had_request = connection.state == State::Busy;
        let counted = if had_request { self.window.records(connection.intended_ns) } else { !self.in_warmup(now) };
        if counted {
            let counts = &mut self.interval.counts;
            counts.failed += u64::from(had_request);
            match failure {
                Failure::Connect => counts.errors.connect += 1,
                Failure::Read => counts.errors.read += 1,
                Failure::Write => counts.errors.write += 1,
                Failure::Parse => counts.errors.parse += 1,
                Failure::GivenUp => {}
            }
        }
        self.retire(index, now);
    }

    /// Closes and connects again after a pause.
    fn retire(&mut self, index: usize, now: u64) {
        self.settle(index);
        self.io.close(index);
        let connection = &mut self.connections[index];
        connection.state = State::Backoff;
        let pause_ns = connection.next_backoff_ns();
        self.set_timer(index, now + pause_ns);
    }

    pub(super) fn connect(&mut self, index: usize, now: u64) {
        self.settle(index);
        let connection = &mut self.connections[index];
        connection.state = State::Connecting;
        connection.since_ns = now;
        connection.moves = self.control.moves();
        if self.io.connect(index, self.control.address()).is_err() {
            self.fail(index, Failure::Connect, now);
        }
    }

    /// A script has set another address since this connection was made.
    #[inline]
    pub(super) fn was_moved(&self, index: usize) -> bool {
        self.connections[index].moves != self.control.moves()
    }

    fn in_warmup(&self, now: u64) -> bool {
        self.running && now < self.window.start_ns
    }

    /// A few times a second: stops and time-outs.
    pub(super) fn tick(&mut self, now: u64) {
        if now < self.next_tick_ns {
            return;
        }
        self.next_tick_ns = now + TICK_NS;
        self.pace(now);
        let given_up = self.plan.bounded
            && now.saturating_sub(self.last_answer_ns) > GIVE_UP_AFTER_TIMEOUTS * self.plan.timeout_ns;
        if self.running && (given_up || self.told_to_stop()) {
            self.window.end_ns = self.window.end_ns.min(now);
        }
        for index in 0..self.connections.len() {
            let connection = &mut self.connections[index];
            let late = now.saturating_sub(connection.since_ns) > self.plan.timeout_ns;
            match connection.state {
                State::Connecting if late => self.fail(index, Failure::Connect, now),
                State::Busy if late && !connection.timed_out => {
                    connection.timed_out = true;
                    if self.window.records(connection.intended_ns) {
                        self.interval.counts.errors.timeout += 1;
                    }
                    if self.plan.bounded {
                        self.fail(index, Failure::GivenUp, now);
                    }
                }
                _ => {}
            }
        }
    }
}
