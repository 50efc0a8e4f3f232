//! What a worker is given, and what it gives back.

use super::{Source, Window};
use crate::io::{Backend, Interface, ReceiveClock};
use crate::record::{Interval, Pool};
use crate::schedule::{Arrivals, Profile};
use crate::signal::Interrupt;
use crate::usage::Cpu;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender};

/// A second (or the last part of one) of one worker, for the collector.
pub struct Second {
    /// What was seen in it.
    pub interval: Box<Interval>,
    /// It lasted a full second.
    pub whole: bool,
}

/// A worker's lines to the main thread.
pub struct Lines {
    /// Told once when all connections stand (or the time for that is over), and dropped then.
    pub ready: Option<Sender<()>>,
    /// The common start, as a moment of the monotonic clock.
    pub start: Receiver<u64>,
    /// Seconds that are over.
    pub seconds: Sender<Second>,
}

/// What all workers share.
#[derive(Clone)]
pub struct Shared {
    /// SIGINT or SIGTERM came.
    pub interrupt: Interrupt,
    /// A worker failed; the others stop.
    pub abort: Arc<AtomicBool>,
    /// Empty intervals.
    pub pool: Pool,
}

/// What a worker is told to do.
pub struct Plan {
    /// Its connections' shares of the schedule; `None` each in a closed loop.
    pub arrivals: Vec<Option<Arrivals>>,
    /// Offered rate over time; `None` in a closed loop.
    pub profile: Option<Profile>,
    /// Nanoseconds of load before the recorded window.
    pub warmup_ns: u64,
    /// Nanoseconds of the recorded window.
    pub duration_ns: u64,
    /// Closed loop with `-n`: requests of this worker, whichever of its connections sends them.
    pub tickets: Option<u64>,
    /// Time-out of requests and connects.
    pub timeout_ns: u64,
    /// The number of requests is bounded (`-n`): a request that times out is given up, so that the run can end.
    pub bounded: bool,
    /// The host to speak TLS with; `None` for plain http.
    pub tls_host: Option<String>,
    /// How sockets are waited for.
    pub io: Backend,
    /// How long a request may be held back so that it leaves with the next, in nanoseconds; `None` is the default.
    pub coalesce_ns: Option<u64>,
    /// This worker's share of all connections, and so of the offered rate.
    pub share: f64,
    /// Whose clock is to say when an answer came.
    pub receive_clock: ReceiveClock,
}

/// How a worker's run ended.
pub struct Ended {
    /// The times as they were in the end; an interrupt brings the end forward.
    pub window: Window,
    /// When the worker stopped waiting for answers.
    pub finished_ns: u64,
    /// Processor time within the recorded window.
    pub cpu: Cpu,
    /// What it had of the system.
    pub interface: Interface,
    /// The requests' source: its Lua state lives until `done` has asked for its values.
    pub source: Source,
}
