//! One connection's place in its life.

use super::source::RequestKind;
use crate::clock::NS_PER_S;
use crate::http::Parser;
use crate::schedule::Arrivals;

/// First pause after a failure; each further failure in a row doubles it.
const FIRST_BACKOFF_NS: u64 = NS_PER_S / 1000;
/// Longest pause between attempts.
const MAX_BACKOFF_NS: u64 = NS_PER_S;

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
    /// Waits before it connects again.
    Backoff,
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
    /// When it was closed last.
    lost_ns: u64,
    /// The requests under way were counted as timed out.
    pub(super) timed_out: bool,
    /// They were sent when the recorded window, or the schedule of a bounded number of requests, was over.
    pub(super) late: bool,
    /// Only a timer with this number is valid.
    pub(super) timer: u32,
    /// When that timer is due.
    pub(super) timer_due_ns: u64,
    /// Its next intended start has passed while it was busy.
    pub(super) overdue: bool,
    /// It stands in its target's list of free connections.
    pub(super) listed: bool,
    pub(super) catch_up: Option<CatchUp>,
    /// How often the address had been set when it connected.
    pub(super) moves: u32,
    /// It stood at least once.
    pub(super) stood: bool,
    failures_in_a_row: u32,
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
            lost_ns: 0,
            timed_out: false,
            late: false,
            timer: 0,
            timer_due_ns: 0,
            overdue: false,
            listed: false,
            catch_up: None,
            moves: 0,
            stood: false,
            failures_in_a_row: 0,
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

    /// It is closed. A generator that never sleeps loses it at the same time after its own send.
    pub(super) fn lost(&mut self, now: u64) {
        match self.state {
            State::Busy if self.outstanding() > 0 => {
                self.ideal_free_ns = self.ideal_sent_ns + now.saturating_sub(self.since_ns);
            }
            State::Busy => {} // the response said when it was free
            State::Idle => self.ideal_free_ns = now,
            _ => return,
        }
        self.lost_ns = now;
    }

    /// It stands, perhaps again: that generator waits as long for a new connection, so the time without one is no lag.
    pub(super) fn stands(&mut self, now: u64) {
        if std::mem::replace(&mut self.stood, true) {
            self.ideal_free_ns += now.saturating_sub(self.lost_ns);
        }
    }

    /// How long to wait before the next attempt, so that a server that refuses or resets is not hammered.
    pub(super) fn next_backoff_ns(&mut self) -> u64 {
        let pause = FIRST_BACKOFF_NS << self.failures_in_a_row.min(10);
        self.failures_in_a_row += 1;
        pause.min(MAX_BACKOFF_NS)
    }

    /// A response came whole: the server is well.
    pub(super) fn succeeded(&mut self) {
        self.failures_in_a_row = 0;
    }
}
