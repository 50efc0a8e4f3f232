//! The flags as clap reads them.

use super::config::QueueKind;
use super::manual;
use crate::io::{Backend, ReceiveClock};
use crate::schedule::{Arrival, Share};
use crate::units::{parse_seconds, parse_whole};
use clap::{ArgAction, Parser, ValueHint};
use clap_complete::Shell;
use std::path::PathBuf;

const LOAD: &str = "Load";
const REQUESTS: &str = "Requests";
const TARGETS: &str = "Targets";
const MEASUREMENT: &str = "Measurement";
const REPORTS: &str = "Reports";
const SYSTEM: &str = "System";

/// HTTP load generator with the command line, the Lua scripts and the report of wrk and wrk2.
///
/// A command line of wrk or wrk2 runs as it is.
///
/// With -R, as wrk2 (open loop): requests start on a fixed schedule, and response time counts from
/// the moment at which a request was to start, so that waiting behind a slow response is part of it.
///
/// Without -R, as wrk (closed loop): each connection sends its next request when it has its response.
#[derive(Debug, Parser)]
#[command(
    name = "truepace",
    version,
    disable_help_flag = true,
    disable_version_flag = true,
    infer_long_args = true,
    args_override_self = true,
    about,
    verbatim_doc_comment,
    max_term_width = 100,
    after_help = "truepace --help adds examples, the meaning of the output and exit codes.",
    after_long_help = manual::after_help()
)]
pub(super) struct Args {
    /// Requests per second to offer over all connections: 2000, 2k, a ramp A:B, or steps A,B,C; without it, as many as
    /// the server takes (closed loop)
    #[arg(short = 'R', long, value_name = "RATE", help_heading = LOAD)]
    pub(super) rate: Option<String>,
    /// How long to record, e.g. 30s, 2m [default: 10s; with -n until all requests are sent]
    #[arg(short, long, value_name = "T", value_parser = parse_seconds, help_heading = LOAD)]
    pub(super) duration: Option<f64>,
    /// Connections kept open, over all threads
    #[arg(short, long, value_name = "N", default_value = "10", value_parser = parse_whole, help_heading = LOAD)]
    pub(super) connections: u64,
    /// Worker threads [default: 2, or fewer connections]
    #[arg(short, long, value_name = "N", value_parser = parse_whole, help_heading = LOAD)]
    pub(super) threads: Option<u64>,
    /// Send N requests in all, then stop; -d is then an upper bound
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_whole, help_heading = LOAD)]
    pub(super) requests: Option<u64>,
    /// Load for this time first, without recording
    #[arg(long, value_name = "T", default_value = "0s", value_parser = parse_seconds, help_heading = LOAD)]
    pub(super) warmup: f64,
    /// How the requests of -R follow each other
    #[arg(long, value_enum, default_value_t = Arrival::Constant, help_heading = LOAD)]
    pub(super) arrival: Arrival,
    /// Seed of what is random: Poisson arrivals, and the order of several targets
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = LOAD)]
    pub(super) seed: u64,
    /// Which connection sends the next request of -R
    #[arg(long, value_enum, default_value_t = QueueKind::Connection, help_heading = LOAD)]
    pub(super) queue: QueueKind,
    /// Send the I-th of N shares of a load that N generators send together: every N-th request of the schedule. -R, -n
    /// and --seed are those of the whole load; -c and -t are this generator's own, and must be the same in all. Needs -R
    #[arg(long, value_name = "I/N", value_parser = Share::parse, help_heading = LOAD)]
    pub(super) share: Option<Share>,
    /// Begin (with the warm-up, if there is one) when the wall clock shows so many nanoseconds since 1970
    #[arg(long, value_name = "UNIX_NS", help_heading = LOAD)]
    pub(super) start_at: Option<u64>,
    /// Method of the requests [default: GET; with -b POST]
    #[arg(short, long, value_name = "METHOD", help_heading = REQUESTS)]
    pub(super) method: Option<String>,
    /// Body of the requests; @FILE: what the file holds, @-: what standard input gives
    #[arg(short, long, value_name = "BODY|@FILE", help_heading = REQUESTS)]
    pub(super) body: Option<String>,
    /// Header to add, 'Name: value'; may be given often. As with curl, 'Name:' takes a header away that would be sent
    /// (Host), and 'Name;' sends one without a value
    #[arg(short = 'H', long = "header", value_name = "H", help_heading = REQUESTS)]
    pub(super) headers: Vec<String>,
    /// Lua script that makes the requests (docs/scripts.md)
    #[arg(short, long, value_name = "FILE", help_heading = REQUESTS)]
    pub(super) script: Option<PathBuf>,
    /// One of several servers to compare in one run; give it once for each. -R is the rate over all of them, -c the
    /// connections to each. ,script=FILE ,header=NAME:VALUE and ,weight=N may follow the URL
    #[arg(
        long = "target",
        value_name = "NAME=URL[,KEY=VALUE…]",
        conflicts_with = "url",
        value_hint = ValueHint::Other,
        help_heading = TARGETS
    )]
    pub(super) targets: Vec<String>,
    /// How the targets share the run: 'request' (each request goes to one or the other, in random order in which each
    /// follows each as often), 'slice=100ms' (one is loaded for that time while the others idle, in random order),
    /// 'none' (one after the other) [default: request]
    #[arg(long, value_name = "HOW", help_heading = TARGETS)]
    pub(super) interleave: Option<String>,
    /// How many of the requests each target gets, in the order given, e.g. 1:1:0.2
    #[arg(long, value_name = "A:B…", help_heading = TARGETS)]
    pub(super) weights: Option<String>,
    /// Count a request as timed out when its response takes longer than this; its connection is then closed and made
    /// anew, while wrk and wrk2 wait on
    #[arg(
        short = 'T',
        long,
        value_name = "T",
        default_value = "2s",
        value_parser = parse_seconds,
        help_heading = MEASUREMENT
    )]
    pub(super) timeout: f64,
    /// After the window, wait for its last responses for at most this time [default: the time-out]
    #[arg(long, value_name = "T", value_parser = parse_seconds, help_heading = MEASUREMENT)]
    pub(super) drain: Option<f64>,
    /// Which clock says when a response came [default: kernel with -R; user in a closed loop and with --wrk-compat]
    #[arg(long, value_enum, help_heading = MEASUREMENT)]
    pub(super) receive_clock: Option<ReceiveClock>,
    /// Of the requests that a script sends at once (pipelining), time the last only
    #[arg(short = 'B', long = "batch_latency", help_heading = MEASUREMENT)]
    pub(super) batch_latency: bool,
    /// Objectives for response time (pN, max, mean), errors and the achieved share of the rate, e.g.
    /// p99=10ms,errors=0.1%,achieved=99%; exit code 3 when one is missed
    #[arg(long, value_name = "LIST", help_heading = MEASUREMENT)]
    pub(super) slo: Option<String>,
    /// Imitate wrk2: throw the first request() of the first thread away, round connections a thread down, count but do
    /// not time the first 10 s (and 5 ms per connection), let a connection that is behind catch up at twice the rate,
    /// and end with code 0 where it would be 4
    #[arg(long, help_heading = MEASUREMENT)]
    pub(super) wrk_compat: bool,
    /// Print percentiles of response time: with -R wrk2's detailed spectrum, without wrk's four lines
    #[arg(short = 'L', long, help_heading = REPORTS)]
    pub(super) latency: bool,
    /// As -L, and the spectrum of service time too: from the actual send, what wrk2 calls uncorrected
    #[arg(short = 'U', long = "u_latency", help_heading = REPORTS)]
    pub(super) u_latency: bool,
    /// Print what wrk and wrk2 do not say, in lines that begin with `truepace:`: all counts, response and service time,
    /// how late the generator was, and whether the figures are the server's or its own. Without it, standard error says
    /// what makes the figures doubtful
    #[arg(long, help_heading = REPORTS)]
    pub(super) summary: bool,
    /// Write the results as JSON (format: docs/json.md)
    #[arg(long, value_name = "FILE", help_heading = REPORTS)]
    pub(super) json: Option<PathBuf>,
    /// Write percentile tables for HdrHistogram's plotter: response times (FILE), service times (FILE.service), and
    /// both by status class where not all responses are 2xx (FILE.4xx, FILE.service.4xx, …)
    #[arg(long, value_name = "FILE", help_heading = REPORTS)]
    pub(super) hgrm: Option<PathBuf>,
    /// Write an HdrHistogram log: response times by tenths of a second, all else by the second
    #[arg(long, value_name = "FILE", help_heading = REPORTS)]
    pub(super) hlog: Option<PathBuf>,
    /// Write every request of the window, in binary (format: docs/requests.md)
    #[arg(long, visible_alias = "pairs", value_name = "FILE", help_heading = REPORTS)]
    pub(super) requests_log: Option<PathBuf>,
    /// How to wait for sockets
    #[arg(long, value_enum, default_value_t = Backend::Auto, help_heading = SYSTEM)]
    pub(super) io: Backend,
    /// Send requests together that are due within this time of each other, which saves processor time; 0s: each at its
    /// own moment [default: 60us where a thread uses half a core; with --receive-clock user 0s]
    #[arg(long, value_name = "T", value_parser = parse_seconds, help_heading = SYSTEM)]
    pub(super) coalesce: Option<f64>,
    /// Print the completions of a shell, and end
    #[arg(long, value_enum, value_name = "SHELL", help_heading = SYSTEM)]
    pub(super) completions: Option<Shell>,
    /// Print the manual page (roff), and end
    #[arg(long, help_heading = SYSTEM)]
    pub(super) man: bool,
    /// Print help: -h in short, --help with examples, the meaning of the output and exit codes
    #[arg(short, long, action = ArgAction::Help, help_heading = SYSTEM)]
    help: Option<bool>,
    /// Print the version first; without a URL, that is all
    #[arg(short = 'v', long, help_heading = SYSTEM)]
    pub(super) version: bool,
    /// What to load: http://host[:port]/path, https too, or http+unix://%2Fpath%2Fof.sock/path
    #[arg(
        value_name = "URL",
        required_unless_present_any = ["version", "targets", "completions", "man"],
        value_hint = ValueHint::Url
    )]
    pub(super) url: Option<String>,
    /// Arguments for the script's init(); those that begin with a hyphen go after `--`
    #[arg(value_name = "ARGS", requires = "script")]
    pub(super) words: Vec<String>,
    /// Arguments for the script's init(), after `--`
    #[arg(last = true, value_name = "SCRIPT ARGS")]
    pub(super) script_args: Vec<String>,
}
