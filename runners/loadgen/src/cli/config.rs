//! A command line that was checked.

use crate::io::{Backend, ReceiveClock};
use crate::schedule::{Arrival, RateSpec};
use crate::slo::Objective;
use crate::target::Target;
use std::path::PathBuf;
use std::time::Duration;

/// A checked command line.
#[derive(Debug, Clone)]
pub struct Config {
    /// The command line as given, program included.
    pub command: Vec<String>,
    /// What to load.
    pub target: Target,
    /// Worker threads.
    pub threads: usize,
    /// Connections of each thread.
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
    /// Lua script.
    pub script: Option<PathBuf>,
    /// Headers as name and value.
    pub headers: Vec<(String, String)>,
    /// Arguments of the script.
    pub script_args: Vec<String>,
    /// Print the spectrum of response time.
    pub print_response: bool,
    /// Print the spectrum of service time.
    pub print_service: bool,
    /// Time-out of a request and of a connect.
    pub timeout: Duration,
    /// Order of `request()` calls as in wrk2.
    pub wrk_compat: bool,
    /// Where JSON goes.
    pub json: Option<PathBuf>,
    /// Where the histogram log goes.
    pub hlog: Option<PathBuf>,
    /// Where response times by tenths of a second go.
    pub slices: Option<PathBuf>,
    /// Where the percentile table goes.
    pub hgrm: Option<PathBuf>,
    /// What the run must meet.
    pub objectives: Vec<Objective>,
    /// System interface.
    pub io: Backend,
    /// How long a request may be held back so that it leaves with the next, in seconds; `None` is the default.
    pub coalesce_s: Option<f64>,
    /// Whose clock is to say when an answer came.
    pub receive_clock: ReceiveClock,
}

impl Config {
    /// Connections over all threads.
    pub fn total_connections(&self) -> usize {
        self.connections.iter().sum()
    }
}
