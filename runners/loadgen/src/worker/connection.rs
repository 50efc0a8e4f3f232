//! One connection's place in its life.

use super::source::RequestKind;
use crate::clock::NS_PER_S;
use crate::http::Parser;
use crate::random::SplitMix64;
use crate::record::{Fate, Request};
use crate::schedule::Arrivals;

/// Shortest pause after an attempt to connect that failed, and the longest one after the first; each further failure in
/// a row doubles the longest.
const SHORTEST_PAUSE_NS: u64 = NS_PER_S / 1000;
const FIRST_PAUSE_NS: u64 = 2 * SHORTEST_PAUSE_NS;
/// Longest pause: an outage is read longer by no more than this.
const LONGEST_PAUSE_NS: u64 = NS_PER_S / 100;

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Never tried.
    New,
    /// Waits for the connect to end.
    Connecting,
    /// Connected; waits for its next intended start, or has none left.
    Idle,
    /// Connected; waits for a response.
    Busy,
    /// Not connected (any more); connects when a request needs it.
    Down,
}

/// wrk2's way to catch up: at no more than twice the rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct CatchUp {
    pub(super) since_ns: u64,
    pub(super) sent: u64,
}

/// A connection and the requests it carries: one, or several that were pipelined.
#[derive(Debug)]
pub(super) struct Connection {
    /// Index of its target.
    pub(super) target: usize,
    pub(super) state: State,
    pub(super) parser: Parser,
    /// Its share of the schedule; `None` in a closed loop, and where connections share a queue.
    pub(super) arrivals: Option<Arrivals>,
    /// The requests under way, in order, and how many of them have their response.
    pub(super) requests: Vec<RequestKind>,
    pub(super) responded: usize,
    /// Tag of the requests under way.
    pub(super) tag: u8,
    /// Slot of the schedule of the requests under way.
    pub(super) slot: u64,
    /// Intended start of the requests under way.
    pub(super) intended_ns: u64,
    /// Actual send of the requests under way, or start of the connect under way.
    pub(super) since_ns: u64,
    /// Bytes of the requests under way, and of the response under way.
    pub(super) written: u32,
    pub(super) received: u32,
    /// When a generator that never sleeps would have sent the requests under way.
    pub(super) ideal_sent_ns: u64,
    /// When, for that generator, the connection was free again; 0 on the first connection.
    pub(super) ideal_free_ns: u64,
    /// When a request first needed the connection that is being made.
    pub(super) needed_ns: u64,
    /// When the last attempt to connect failed, and how many did in a row.
    failed_ns: u64,
    failures_in_a_row: u32,
    /// No attempt to connect begins before this.
    pub(super) retry_ns: u64,
    /// They were sent when the recorded window, or the schedule of a bounded number of requests, was over.
    pub(super) late: bool,
    /// Only a timer with this number is valid.
    pub(super) timer: u32,
    /// When that timer is due.
    pub(super) timer_due_ns: u64,
    /// Its next intended start has passed while it was busy.
    pub(super) overdue: bool,
    /// It is in its target's list of free connections.
    pub(super) listed: bool,
    pub(super) catch_up: Option<CatchUp>,
    /// How often the address had been set when it connected.
    pub(super) moves: u32,
    /// It was connected at least once.
    pub(super) ever_connected: bool,
}

impl Connection {
    pub(super) fn new(target: usize, capture: bool, arrivals: Option<Arrivals>) -> Self {
        Connection {
            target,
            state: State::New,
            parser: Parser::new(capture),
            arrivals,
            requests: Vec::with_capacity(1),
            responded: 0,
            tag: 0,
            slot: 0,
            intended_ns: 0,
            since_ns: 0,
            written: 0,
            received: 0,
            ideal_sent_ns: 0,
            ideal_free_ns: 0,
            needed_ns: 0,
            failed_ns: 0,
            failures_in_a_row: 0,
            retry_ns: 0,
            late: false,
            timer: 0,
            timer_due_ns: 0,
            overdue: false,
            listed: false,
            catch_up: None,
            moves: 0,
            ever_connected: false,
        }
    }

    /// Requests under way that have no response yet.
    #[inline]
    pub(super) fn outstanding(&self) -> usize {
        if self.state == State::Busy { self.requests.len() - self.responded } else { 0 }
    }

    /// How late its last request left, against a generator that never sleeps; 0 in a closed loop.
    #[inline]
    pub(super) fn lag_ns(&self) -> u64 {
        self.since_ns.saturating_sub(self.ideal_sent_ns)
    }

    /// The log's row of a request under way, without a response: `window_start_ns` is the start of the window, in which
    /// it is recorded.
    #[inline]
    pub(super) fn request(&self, window_start_ns: u64, fate: Fate) -> Request {
        Request {
            slot: self.slot,
            intended_ns: self.intended_ns - window_start_ns,
            wait_ns: self.since_ns - self.intended_ns,
            service_ns: 0,
            read_ns: 0,
            lag_ns: self.lag_ns(),
            written: self.written,
            read: self.received,
            target: self.target as u8,
            tag: self.tag,
            status: 0,
            fate,
            unstamped: false,
        }
    }

    /// Since when a generator that never sleeps would have it free; `None` where a response or a connect is awaited.
    pub(super) fn ideally_free_ns(&self) -> Option<u64> {
        (self.state == State::Idle).then_some(self.ideal_free_ns)
    }

    /// It is closed. A generator that never sleeps loses it at the same time after its own send.
    pub(super) fn on_close(&mut self, now: u64) {
        match self.state {
            State::Busy if self.outstanding() > 0 => {
                self.ideal_free_ns = self.ideal_sent_ns + now.saturating_sub(self.since_ns);
            }
            State::Busy => {} // the response said when it was free
            State::Idle => self.ideal_free_ns = now,
            _ => {}
        }
    }

    /// It is connected, perhaps again. A generator that never sleeps begins to connect when a request needs it, or where that
    /// failed at once again, and takes as long: connecting is no lag, and the pause after a failed attempt is.
    pub(super) fn on_connect(&mut self, now: u64) {
        self.ever_connected = true;
        self.failures_in_a_row = 0;
        let begun_ns = self.needed_ns.max(self.ideal_free_ns).max(self.failed_ns);
        self.ideal_free_ns = begun_ns + now.saturating_sub(self.since_ns);
        self.failed_ns = 0;
    }

    /// An attempt to connect failed; the next one waits a little. `random` spreads the attempts of many connections.
    pub(super) fn pause(&mut self, now: u64, random: &mut SplitMix64) {
        let longest_ns = (FIRST_PAUSE_NS << self.failures_in_a_row.min(8)).min(LONGEST_PAUSE_NS);
        self.failures_in_a_row += 1;
        self.failed_ns = now;
        self.retry_ns = now + SHORTEST_PAUSE_NS + random.below((longest_ns - SHORTEST_PAUSE_NS) as usize) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_after_a_failed_attempt_is_short_and_counts_as_lag() {
        let mut connection = Connection::new(0, false, None);
        let mut random = SplitMix64::new(7, 0);
        connection.needed_ns = 1_000;
        let mut now = 1_000;
        for _ in 0..1000 {
            connection.since_ns = now;
            connection.pause(now + 50, &mut random);
            let pause_ns = connection.retry_ns - (now + 50);
            assert!((SHORTEST_PAUSE_NS..=LONGEST_PAUSE_NS).contains(&pause_ns), "{pause_ns}");
            now = connection.retry_ns;
        }
        let failed_ns = connection.failed_ns;
        connection.since_ns = now;
        connection.on_connect(now + 80);
        assert_eq!(connection.ideal_free_ns, failed_ns + 80, "the outage is the server's, the last pause is not");
    }

    #[test]
    fn a_connection_that_was_closed_while_idle_costs_the_connect() {
        let mut connection = Connection::new(0, false, None);
        connection.state = State::Idle;
        connection.on_close(1_000);
        (connection.needed_ns, connection.since_ns) = (500_000, 500_007);
        connection.on_connect(500_107);
        assert_eq!(connection.ideal_free_ns, 500_100, "it was needed from 500 us on, and waking is lag");
    }
}
