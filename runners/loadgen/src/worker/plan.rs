//! What a worker is given, and what it gives back.

use super::{Source, Stalls, TargetSharePlan, Window};
use crate::error::Error;
use crate::handover::Outbox;
use crate::io::{Backend, Interface, ReceiveClock};
use crate::record::{Chunks, Failures, Intervals, Pool, Request};
use crate::schedule::{Profile, Slices};
use crate::signal::Interrupt;
use crate::usage::Cpu;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender};

/// What a worker hands to the collector.
pub enum Delivery {
    /// A second of each target, or the last part of one.
    Second {
        /// What was seen, by target.
        intervals: Intervals,
        /// The last second that they hold: the first is their index.
        last: u32,
        /// They lasted full seconds.
        whole: bool,
    },
    /// Requests, one by one.
    Requests(Vec<Request>),
    /// Nothing more is waited for: a worker was left behind.
    End,
}

/// A worker's lines to the main thread.
pub struct Lines {
    /// Called once when all connections are made (or the time for that is over), and dropped then.
    pub ready: Option<Sender<()>>,
    /// The common start, as a moment of the monotonic clock.
    pub start: Receiver<u64>,
    /// To the collector.
    pub outbox: Outbox,
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
    /// Empty chunks of requests.
    pub chunks: Chunks,
}

/// What a worker has to do.
pub struct Plan {
    /// Its part of each target's load.
    pub targets: Vec<TargetSharePlan>,
    /// Offered rate over time; `None` in a closed loop.
    pub profile: Option<Profile>,
    /// Which target is loaded when, in a closed loop over several.
    pub slices: Option<Arc<Slices>>,
    /// Nanoseconds of load before the recorded window.
    pub warmup_ns: u64,
    /// Nanoseconds of the recorded window.
    pub duration_ns: u64,
    /// Open loop with `-n`: nanoseconds from the start of the run in which all its requests are due.
    pub bounded_ns: Option<u64>,
    /// For how long at most, after the window, its last responses are awaited.
    pub drain_ns: u64,
    /// Requests of the first nanoseconds of the window are counted but not timed (`--wrk-compat`).
    pub calibration_ns: u64,
    /// Closed loop with `-n`: requests of this worker, whichever of its connections sends them.
    pub requests_left: Option<u64>,
    /// Time-out of requests and connects.
    pub timeout_ns: u64,
    /// The number of requests is bounded (`-n`): a request that times out is given up, so that the run can end.
    pub bounded: bool,
    /// A connection that is behind sends at no more than twice its rate (`--wrk-compat`).
    pub catches_up_slowly: bool,
    /// Of pipelined requests only the last is timed (`-B`).
    pub times_batches: bool,
    /// Each request is handed over by itself.
    pub each_request: bool,
    /// How sockets are waited for.
    pub io: Backend,
    /// How long a request may be held back so that it leaves with the next, in nanoseconds; `None` is the default.
    pub coalesce_ns: Option<u64>,
    /// This worker's share of the connections of all generators, and so of the offered rate.
    pub share: f64,
    /// Whose clock is to say when a response came.
    pub receive_clock: ReceiveClock,
}

/// How a worker's run ended.
pub struct Ended {
    /// The times as they were in the end; an interrupt brings the end forward.
    pub window: Window,
    /// When the worker stopped waiting for responses.
    pub finished_ns: u64,
    /// Processor time within the recorded window.
    pub cpu: Cpu,
    /// What it had of the system.
    pub interface: Interface,
    /// Requests that could not be handed over one by one.
    pub requests_dropped: u64,
    /// Mean response time of the calibration, in microseconds; `None` without one, or without a response in it.
    pub calibration_mean_us: Option<f64>,
    /// Time in which the worker was kept from its work.
    pub stalls: Stalls,
    /// A script has ended the load.
    pub stopped: bool,
    /// What failed, by target.
    pub failures: Vec<Failures>,
    /// Why the load ended early, if a script failed.
    pub failure: Option<Error>,
    /// The requests' sources: their Lua states live until `done` has asked for its values.
    pub sources: Vec<Source>,
}
