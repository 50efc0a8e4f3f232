//! A command line that was checked.

use crate::io::{Backend, ReceiveClock};
use crate::schedule::{Arrival, RateSpec, Share};
use crate::slo::Objective;
use crate::target::Target;
use std::path::PathBuf;
use std::time::Duration;

/// One of the servers under load.
#[derive(Debug, Clone)]
pub struct TargetConfig {
    /// Its name in reports.
    pub name: String,
    /// Where it is, and what to ask for.
    pub target: Target,
    /// Lua script.
    pub script: Option<PathBuf>,
    /// Method of its requests, where the script sets no other.
    pub method: String,
    /// Body of its requests, where the script sets no other.
    pub body: Option<Vec<u8>>,
    /// Headers as name and value.
    pub headers: Vec<(String, String)>,
    /// A `Host` header is sent.
    pub sends_host: bool,
    /// Its share of the schedule, against those of the others.
    pub weight: u32,
}

/// How targets share one schedule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InterleaveKind {
    /// Each request goes to one or the other.
    Request,
    /// One is loaded for so many seconds, then another.
    Slice(f64),
    /// One after the other, each for its part of the window.
    None,
}

impl InterleaveKind {
    /// As on the command line.
    pub fn name(self) -> String {
        match self {
            InterleaveKind::Request => "request".into(),
            InterleaveKind::Slice(seconds) => format!("slice={}ms", seconds * 1e3),
            InterleaveKind::None => "none".into(),
        }
    }
}

/// Who takes a request that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum QueueKind {
    /// The one whose turn it is, as in wrk2: a request waits until it is free.
    Connection,
    /// Any that is free, as in a pool of clients.
    Shared,
}

/// A checked command line.
#[derive(Debug, Clone)]
pub struct Config {
    /// The command line as given, program included.
    pub command: Vec<String>,
    /// What to load; more than one share one schedule.
    pub targets: Vec<TargetConfig>,
    /// How several targets share it.
    pub interleave: InterleaveKind,
    /// Who takes a request that is due.
    pub queue: QueueKind,
    /// Worker threads.
    pub threads: usize,
    /// Connections of each thread to each target.
    pub connections: Vec<usize>,
    /// Connections as asked for; `--wrk-compat` may open fewer.
    pub connections_asked: usize,
    /// Length of the recorded window, in seconds.
    pub duration_s: f64,
    /// Length of the warm-up before it, in seconds.
    pub warmup_s: f64,
    /// Offered rate; `None` is a closed loop.
    pub rate: Option<RateSpec>,
    /// How requests follow each other.
    pub arrival: Arrival,
    /// Seed of random arrivals.
    pub seed: u64,
    /// Requests to send in all; `None` is no bound.
    pub requests: Option<u64>,
    /// This generator's part of the schedule.
    pub share: Share,
    /// When to begin, in nanoseconds since 1970; `None`: as soon as all connections are made.
    pub start_at_unix_ns: Option<u64>,
    /// Arguments of the scripts.
    pub script_args: Vec<String>,
    /// Print the spectrum of response time.
    pub print_response: bool,
    /// Print the spectrum of service time.
    pub print_service: bool,
    /// Print our own lines under the report.
    pub summary: bool,
    /// Time-out of a request and of a connect.
    pub timeout: Duration,
    /// For how long at most the last responses are awaited after the window, in seconds.
    pub drain_s: f64,
    /// As wrk2 does it: order of `request()` calls, calibration, catching up, layout.
    pub wrk_compat: bool,
    /// Of pipelined requests only the last is timed.
    pub batch_latency: bool,
    /// Where JSON goes.
    pub json: Option<PathBuf>,
    /// Where the histogram log goes.
    pub hlog: Option<PathBuf>,
    /// Where every request goes.
    pub requests_log: Option<PathBuf>,
    /// Where the percentile table goes.
    pub hgrm: Option<PathBuf>,
    /// What the run must meet.
    pub objectives: Vec<Objective>,
    /// System interface.
    pub io: Backend,
    /// How long a request may be held back so that it leaves with the next, in seconds; `None` is the default.
    pub coalesce_s: Option<f64>,
    /// Whose clock is to say when a response came.
    pub receive_clock: ReceiveClock,
}

impl Config {
    /// The first target, which is the only one unless `--target` was given more than once.
    pub fn first(&self) -> &TargetConfig {
        &self.targets[0]
    }

    /// Whether several targets share the schedule.
    pub fn has_several(&self) -> bool {
        self.targets.len() > 1
    }

    /// Mean offered rate of this generator over the recorded window; `None` in a closed loop.
    pub fn offered_rps(&self) -> Option<f64> {
        self.rate.as_ref().map(|rate| rate.mean_rps() * self.share.fraction())
    }

    /// The lowest and the highest rate that this generator ever offers; `None` in a closed loop.
    pub fn offered_range_rps(&self) -> Option<(f64, f64)> {
        let fraction = self.share.fraction();
        self.rate.as_ref().map(RateSpec::range_rps).map(|(low, high)| (low * fraction, high * fraction))
    }

    /// Connections to each target over all threads.
    pub fn total_connections(&self) -> usize {
        self.connections.iter().sum()
    }
}
