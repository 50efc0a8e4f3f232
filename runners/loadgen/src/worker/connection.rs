//! One connection's place in its life.

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
    /// Connected; waits for an answer.
    Busy,
    /// Waits before it connects again.
    Backoff,
}

/// A connection and the request it carries.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) state: State,
    pub(super) parser: Parser,
    /// Its share of the schedule; `None` in a closed loop.
    pub(super) arrivals: Option<Arrivals>,
    /// Intended start of the request under way.
    pub(super) intended_ns: u64,
    /// Actual send of the request under way, or start of the connect under way.
    pub(super) since_ns: u64,
    /// The request under way was counted as timed out.
    pub(super) timed_out: bool,
    /// Only a timer with this number is valid.
    pub(super) timer: u32,
    /// When that timer is due.
    pub(super) timer_due_ns: u64,
    /// Its next intended start has passed while it was busy.
    pub(super) overdue: bool,
    /// How often the address had been set when it connected.
    pub(super) moves: u32,
    /// It stood at least once.
    pub(super) stood: bool,
    failures_in_a_row: u32,
}

impl Connection {
    pub(super) fn new(capture: bool, arrivals: Option<Arrivals>) -> Self {
        Connection {
            state: State::New,
            parser: Parser::new(capture),
            arrivals,
            intended_ns: 0,
            since_ns: 0,
            timed_out: false,
            timer: 0,
            timer_due_ns: 0,
            overdue: false,
            moves: 0,
            stood: false,
            failures_in_a_row: 0,
        }
    }

    /// How long to wait before the next attempt, so that a server that refuses or resets is not hammered.
    pub(super) fn next_backoff_ns(&mut self) -> u64 {
        let pause = FIRST_BACKOFF_NS << self.failures_in_a_row.min(10);
        self.failures_in_a_row += 1;
        pause.min(MAX_BACKOFF_NS)
    }

    /// An answer came whole: the server is well.
    pub(super) fn succeeded(&mut self) {
        self.failures_in_a_row = 0;
    }
}
