//! The flags as clap reads them.

use crate::io::{Backend, ReceiveClock};
use crate::schedule::Arrival;
use crate::units::{parse_seconds, parse_whole};
use clap::Parser;
use std::path::PathBuf;

/// Open-loop HTTP load generator with wrk2's command line, scripts and report.
///
/// With -R: open loop; requests start on a fixed schedule and response time counts from the intended start.
/// Without -R: closed loop as wrk; each connection sends as soon as it is answered.
#[derive(Debug, Parser)]
#[command(
    name = "loadgen",
    version,
    disable_version_flag = true,
    infer_long_args = true,
    args_override_self = true,
    about,
    verbatim_doc_comment
)]
pub(super) struct Args {
    /// Worker threads [default: 2, or fewer connections]
    #[arg(short, long, value_name = "N", value_parser = parse_whole)]
    pub(super) threads: Option<u64>,
    /// Connections kept open, over all threads
    #[arg(short, long, value_name = "N", default_value = "10", value_parser = parse_whole)]
    pub(super) connections: u64,
    /// Length of the recorded window, e.g. 30s, 2m [default: 10s; with -n unbounded]
    #[arg(short, long, value_name = "T", value_parser = parse_seconds)]
    pub(super) duration: Option<f64>,
    /// Offered rate in requests/s over all connections; A:B is a ramp, A,B,C are steps
    #[arg(short = 'R', long, value_name = "RATE")]
    pub(super) rate: Option<String>,
    /// Lua script
    #[arg(short, long, value_name = "FILE")]
    pub(super) script: Option<PathBuf>,
    /// Header to add, 'Name: value'; may be given often
    #[arg(short = 'H', long = "header", value_name = "H")]
    pub(super) headers: Vec<String>,
    /// Print the detailed spectrum of response time
    #[arg(short = 'L', long)]
    pub(super) latency: bool,
    /// As -L, and the detailed spectrum of service time too (uncorrected, from the actual send)
    #[arg(short = 'U', long = "u_latency")]
    pub(super) u_latency: bool,
    /// Count a request as timed out when its answer takes longer
    #[arg(short = 'T', long, value_name = "T", default_value = "2s", value_parser = parse_seconds)]
    pub(super) timeout: f64,
    /// Load sent before the recorded window
    #[arg(long, value_name = "T", default_value = "0s", value_parser = parse_seconds)]
    pub(super) warmup: f64,
    /// Send exactly N requests in all, then stop; -d is then an upper bound
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_whole)]
    pub(super) requests: Option<u64>,
    /// Distribution of the gaps between requests
    #[arg(long, value_enum, default_value_t = Arrival::Constant)]
    pub(super) arrival: Arrival,
    /// Seed of the Poisson arrivals
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Call request() in wrk2's order: its first value on the first thread is thrown away, and connections are c/t rounded down
    #[arg(long)]
    pub(super) wrk_compat: bool,
    /// Write results as JSON
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Write an HdrHistogram V2 log, one interval a second
    #[arg(long, value_name = "FILE")]
    pub(super) hlog: Option<PathBuf>,
    /// Write response times in coarse bins, ten slices a second, as text
    #[arg(long, value_name = "FILE")]
    pub(super) slices: Option<PathBuf>,
    /// Write response times as an HdrHistogram percentile table (FILE), service times beside it (FILE.service), and both
    /// once more by status class where not all answers are 2xx (FILE.4xx, FILE.service.4xx, …)
    #[arg(long, value_name = "FILE")]
    pub(super) hgrm: Option<PathBuf>,
    /// Objectives, e.g. p99=10ms,errors=0,achieved=99%; exit code 3 when one is missed
    #[arg(long, value_name = "LIST")]
    pub(super) slo: Option<String>,
    /// System interface that waits for sockets
    #[arg(long, value_enum, default_value_t = Backend::Auto)]
    pub(super) io: Backend,
    /// Hold a request back for at most so long that it leaves with the next, in threads whose requests follow each other
    /// as closely as that; 0s: never [default: 30us; with our own clock 0s]
    #[arg(long, value_name = "T", value_parser = parse_seconds)]
    pub(super) coalesce: Option<f64>,
    /// Whose clock says when an answer came: the kernel's (Linux, not with --io uring), or our own once we were woken
    #[arg(long, value_enum, default_value_t = ReceiveClock::Kernel)]
    pub(super) receive_clock: ReceiveClock,
    /// wrk2's flag for batches of pipelined requests; there are none here, so each request is measured anyway
    #[arg(short = 'B', long = "batch_latency")]
    pub(super) batch_latency: bool,
    /// Print the version first; without a URL, that is all
    #[arg(short = 'v', long)]
    pub(super) version: bool,
    /// What to load: http://host[:port]/path
    #[arg(value_name = "URL", required_unless_present = "version")]
    pub(super) url: Option<String>,
    /// Arguments for the script's init(), as far as they are no flags; the rest after `--`
    #[arg(value_name = "ARGS", requires = "script")]
    pub(super) words: Vec<String>,
    /// Arguments for the script's init(), after `--`
    #[arg(last = true, value_name = "SCRIPT ARGS")]
    pub(super) script_args: Vec<String>,
}
