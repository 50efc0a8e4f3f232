//! What comes back: responses, failures, time-outs.

use super::connection::State;
use super::{TICK_NS, Worker};
use crate::clock::monotonic_ns;
use crate::http::Response;
use crate::io::{Arrived, Event, ReceiveClock};
use crate::record::{CHUNK_REQUESTS, Cause, Fate, Measured, Request, Seen, shown};

/// With `-n`, which may have no other end: so many time-outs without any response end the run.
const GIVE_UP_AFTER_TIMEOUTS: u64 = 10;

/// Why a request or a connection failed: the cause, and what the report adds to it.
pub(super) type Failed = (Cause, Seen);

/// What an event means, once its bytes are parsed.
enum Meaning {
    Connected,
    /// Bytes came, and as many whole responses as are listed.
    Read {
        /// What followed the last of them.
        surplus: Option<Seen>,
        failed: Option<Seen>,
    },
    Closed,
    Failed(Failed),
}

/// When a response came, by each clock.
#[derive(Debug, Clone, Copy)]
struct ReceiveTimes {
    clock: ReceiveClock,
    /// By the clock that the report is by.
    at_ns: u64,
    /// By the kernel's stamp, if there is one, else once it was read.
    stamped_ns: u64,
    read_ns: u64,
    stamped: bool,
}

impl Worker {
    #[inline]
    pub(super) fn handle(&mut self, event: usize) {
        let Some((index, event)) = self.io.event(event) else { return };
        let connection = &mut self.connections[index];
        let share = &self.targets[connection.target];
        let responses = &mut self.responses;
        responses.clear();
        let mut script_failure = None;
        let (mut bytes, mut arrived) = (0, Arrived::default());
        let meaning = match event {
            Event::Data { bytes: data, arrived: at } => {
                bytes = data.len() as u64;
                arrived = at;
                let outstanding = connection.outstanding();
                let mut rest = data;
                loop {
                    match connection.parser.feed(rest) {
                        Ok((taken, parsed)) => {
                            rest = &rest[taken..];
                            let Some(response) = parsed else { break Meaning::Read { surplus: None, failed: None } };
                            script_failure = script_failure.or(share.show_to_script(response, &connection.parser));
                            responses.push(response);
                            if responses.len() >= outstanding || !response.keep_alive {
                                let surplus = (response.keep_alive && !rest.is_empty()).then(|| shown(rest));
                                break Meaning::Read { surplus, failed: None };
                            }
                            let next = connection.requests[connection.responded + responses.len()];
                            connection.parser.expect_response(next.head);
                        }
                        Err(error) => {
                            let first = connection.parser.unfinished_head();
                            let bytes = if first.is_empty() { rest } else { first };
                            let mut seen = shown(bytes);
                            seen.text = format!("{error}; {}", seen.text);
                            break Meaning::Read { surplus: None, failed: Some(seen) };
                        }
                    }
                }
            }
            Event::Connected => Meaning::Connected,
            Event::Closed => match connection.parser.closed() {
                // Its end is that of the connection, which no stamp is of.
                Some(response) => {
                    script_failure = share.show_to_script(response, &connection.parser);
                    responses.push(response);
                    Meaning::Read { surplus: None, failed: None }
                }
                None => Meaning::Closed,
            },
            Event::ConnectFailed(error) => Meaning::Failed((Cause::of_connect(&error), error.into())),
            // A reset of a connection that nothing was asked of is as good as a close.
            Event::ReadFailed(_) if connection.state == State::Idle => Meaning::Closed,
            Event::ReadFailed(error) => Meaning::Failed((Cause::of_read(&error), error.into())),
            Event::WriteFailed(error) => Meaning::Failed((Cause::Write, error.into())),
        };
        let now = monotonic_ns();
        // A stamp from before the send or from the future means that the wall clock was set meanwhile.
        let stamp = arrived.kernel_ns.filter(|at| (connection.since_ns..=now).contains(at));
        let stamped_ns = stamp.unwrap_or(now);
        let clock = self.io.receive_clock();
        let at_ns = if clock == ReceiveClock::Kernel { stamped_ns } else { now };
        let times = ReceiveTimes { clock, at_ns, stamped_ns, read_ns: now, stamped: stamp.is_some() };
        connection.received = connection.received.saturating_add(bytes as u32);
        let target = connection.target;
        self.deferred_reads.seen(bytes);
        if now >= self.window.start_ns {
            self.intervals[target].counts.bytes_read += bytes;
        }
        if let Some(error) = script_failure {
            self.fail_for(error);
        }
        match meaning {
            Meaning::Read { surplus, failed } => self.read(index, times, surplus, failed),
            Meaning::Connected => self.connected(index, now),
            Meaning::Closed if self.connections[index].state == State::Busy => {
                self.fail(index, (Cause::ClosedEarly, Seen::default()), now);
            }
            // A server may close a connection on which nothing is due.
            Meaning::Closed => {
                self.intervals[target].counts.closed_idle += u64::from(!self.in_warmup(now));
                self.retire(index, now);
            }
            Meaning::Failed(failed) => self.fail(index, failed, now),
        }
    }

    /// Bytes were read, and responses with them.
    #[inline]
    fn read(&mut self, index: usize, times: ReceiveTimes, surplus: Option<Seen>, failed: Option<Seen>) {
        let now = times.read_ns;
        for number in 0..self.responses.len() {
            let response = self.responses[number];
            self.record(index, response, times);
        }
        if let Some(seen) = failed {
            return self.fail(index, (Cause::BadResponse, seen), now);
        }
        let Some(last) = self.responses.last().copied() else { return };
        if self.connections[index].outstanding() > 0 && last.keep_alive {
            return;
        }
        if self.captures && self.targets[self.connections[index].target].control.stopped() {
            self.window.end_ns = self.window.end_ns.min(now);
            self.running = false; // what is overdue is not sent either, as in wrk
        }
        let spoiled = surplus.is_some();
        if let Some(seen) = surplus {
            let connection = &self.connections[index];
            if self.window.records(connection.intended_ns) {
                self.count_failure(connection.target, 1, (Cause::Surplus, seen), now);
            }
        }
        if self.connections[index].outstanding() > 0 {
            // The server closes after this response, and those to the requests behind it will never come.
            self.fail(index, (Cause::ClosedEarly, Seen::default()), now);
        } else if last.keep_alive && !spoiled && !self.was_moved(index) {
            self.on_free(index, now);
        } else {
            self.retire(index, now);
        }
    }

    /// Records one response.
    #[inline]
    fn record(&mut self, index: usize, response: Response, times: ReceiveTimes) {
        self.last_response_ns = times.read_ns;
        let connection = &mut self.connections[index];
        connection.responded += 1;
        let received = std::mem::take(&mut connection.received);
        let target = connection.target;
        let after_slice = !self.is_loaded(target, times.read_ns);
        let connection = &mut self.connections[index];
        let (intended_ns, sent_ns) = (connection.intended_ns, connection.since_ns);
        connection.ideal_free_ns = connection.ideal_sent_ns + (times.stamped_ns - sent_ns);
        let interval = &mut self.intervals[connection.target];
        if !self.window.records(intended_ns) {
            interval.counts.warmup_completed += 1;
            return;
        }
        let (response_ns, service_ns) = (times.at_ns.saturating_sub(intended_ns), times.at_ns - sent_ns);
        interval.count_response(response.status);
        let counts = &mut interval.counts;
        counts.completed_late += u64::from(connection.late);
        counts.completed_after_slice += u64::from(after_slice);
        counts.deferred_reads += u64::from(self.deferred_reads.slept);
        let unstamped = !times.stamped && times.clock == ReceiveClock::Kernel;
        counts.unstamped += u64::from(unstamped);
        let other_ns = match times.clock {
            ReceiveClock::Kernel => Some(times.read_ns),
            ReceiveClock::User => times.stamped.then_some(times.stamped_ns),
        };
        let last = connection.responded == connection.requests.len();
        let timed = intended_ns >= self.window.start_ns + self.plan.calibration_ns;
        if timed && (last || !self.plan.times_batches) {
            interval.record_times(&Measured {
                status: response.status,
                tag: connection.tag,
                offset_ns: self.window.since_second(times.at_ns, interval.index),
                response_ns,
                service_ns,
                other_service_ns: other_ns.map(|at| at - sent_ns),
            });
        }
        if !timed {
            self.calibrated = (self.calibrated.0 + 1, self.calibrated.1.saturating_add(response_ns));
        }
        let request = Request {
            service_ns,
            read_ns: times.read_ns - sent_ns,
            read: received,
            status: response.status,
            unstamped,
            ..connection.request(self.window.start_ns, Fate::Completed)
        };
        self.hand_over(request);
    }

    /// Requests under way get no response any more: they count with the time that they have waited.
    pub(super) fn give_up_requests(&mut self, index: usize, fate: Fate, now: u64) {
        let connection = &self.connections[index];
        let count = connection.outstanding() as u64;
        if count == 0 || !self.window.records(connection.intended_ns) {
            return;
        }
        let (intended_ns, sent_ns) = (connection.intended_ns, connection.since_ns);
        let (response_ns, service_ns) = (now.saturating_sub(intended_ns), now.saturating_sub(sent_ns));
        let request = Request { service_ns, read_ns: service_ns, ..connection.request(self.window.start_ns, fate) };
        let interval = &mut self.intervals[connection.target];
        let counts = &mut interval.counts;
        *if fate == Fate::Failed { &mut counts.failed } else { &mut counts.censored } += count;
        interval.record_waiting(count, response_ns, Some(service_ns));
        (0..count).for_each(|_| self.hand_over(request));
    }

    /// Hands a request over by itself, if that is wanted.
    #[inline]
    pub(super) fn hand_over(&mut self, request: Request) {
        if !self.plan.each_request {
            return;
        }
        if self.chunk.is_none() {
            self.chunk = self.shared.chunks.take();
        }
        let Some(chunk) = &mut self.chunk else {
            self.requests_dropped += 1;
            return;
        };
        chunk.push(request);
        if chunk.len() == CHUNK_REQUESTS {
            self.hand_over_chunk();
        }
    }

    /// Requests under way, or a connect, failed: counts that and closes.
    pub(super) fn fail(&mut self, index: usize, failed: Failed, now: u64) {
        let connection = &self.connections[index];
        let target = connection.target;
        let had_request = connection.state == State::Busy;
        let counted = if had_request { self.window.records(connection.intended_ns) } else { !self.in_warmup(now) };
        // One cause ends all pipelined requests, but no response comes to any of them within the time-out.
        let count = if failed.0 == Cause::Timeout { connection.outstanding() as u64 } else { 1 };
        if connection.state == State::Connecting {
            self.connections[index].pause(now, &mut self.random);
        }
        self.give_up_requests(index, Fate::Failed, now);
        if counted {
            self.count_failure(target, count, failed, now);
        }
        self.retire(index, now);
    }

    fn count_failure(&mut self, target: usize, count: u64, (cause, seen): Failed, now: u64) {
        let errors = &mut self.intervals[target].counts.errors;
        *match cause {
            Cause::Refused | Cause::ConnectTimeout | Cause::Connect => &mut errors.connect,
            Cause::Reset | Cause::ClosedEarly | Cause::Read => &mut errors.read,
            Cause::Write => &mut errors.write,
            Cause::BadResponse | Cause::Surplus => &mut errors.parse,
            Cause::Timeout => &mut errors.timeout,
        } += count;
        let at_ns = now.saturating_sub(self.window.start_ns);
        self.targets[target].failures.count(cause, count, at_ns, || seen);
    }

    fn in_warmup(&self, now: u64) -> bool {
        self.running && now < self.window.start_ns
    }

    /// A few times a second: stops and time-outs.
    pub(super) fn tick(&mut self, now: u64) {
        if now < self.next_tick_ns {
            return;
        }
        // Who was kept from the processor reads what came meanwhile before it judges what did not.
        let awake = now < self.next_tick_ns + TICK_NS;
        self.next_tick_ns = now + TICK_NS;
        self.adjust_coalescing(now);
        let given_up = self.plan.bounded
            && now.saturating_sub(self.last_response_ns) > GIVE_UP_AFTER_TIMEOUTS * self.plan.timeout_ns;
        if self.running && (given_up || self.must_stop()) {
            self.window.end_ns = self.window.end_ns.min(now);
        }
        for index in (0..self.connections.len()).filter(|_| awake) {
            let connection = &self.connections[index];
            if now.saturating_sub(connection.since_ns) <= self.plan.timeout_ns {
                continue;
            }
            match connection.state {
                State::Connecting => self.fail(index, (Cause::ConnectTimeout, Seen::default()), now),
                State::Busy => self.fail(index, (Cause::Timeout, Seen::default()), now),
                _ => {}
            }
        }
    }
}
