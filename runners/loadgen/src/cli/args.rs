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
const TARGETS: &str = "Targets";
const MEASUREMENT: &str = "Measurement";
const SCRIPTS: &str = "Scripts";
const REPORTS: &str = "Reports";
const SYSTEM: &str = "System";

/// Open-loop HTTP load generator with wrk2's command line, scripts and report.
///
/// With -R: open loop; requests start on a fixed schedule and response time counts from the intended start.
/// Without -R: closed loop as wrk; each connection sends its next request as soon as it has its response.
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
    after_help = "truepace --help adds examples and exit codes.",
    after_long_help = manual::after_help()
)]
pub(super) struct Args {
    /// Offered rate in requests/s over all connections; A:B is a ramp, A,B,C are steps
    #[arg(short = 'R', long, value_name = "RATE", help_heading = LOAD)]
    pub(super) rate: Option<String>,
    /// Length of the recorded window, e.g. 30s, 2m [default: 10s; with -n unbounded]
    #[arg(short, long, value_name = "T", value_parser = parse_seconds, help_heading = LOAD)]
    pub(super) duration: Option<f64>,
    /// Connections kept open, over all threads
    #[arg(short, long, value_name = "N", default_value = "10", value_parser = parse_whole, help_heading = LOAD)]
    pub(super) connections: u64,
    /// Worker threads [default: 2, or fewer connections]
    #[arg(short, long, value_name = "N", value_parser = parse_whole, help_heading = LOAD)]
    pub(super) threads: Option<u64>,
    /// Send exactly N requests in all, then stop; -d is then an upper bound
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_whole, help_heading = LOAD)]
    pub(super) requests: Option<u64>,
    /// Load sent before the recorded window
    #[arg(long, value_name = "T", default_value = "0s", value_parser = parse_seconds, help_heading = LOAD)]
    pub(super) warmup: f64,
    /// Distribution of the gaps between requests
    #[arg(long, value_enum, default_value_t = Arrival::Constant, help_heading = LOAD)]
    pub(super) arrival: Arrival,
    /// Seed of the Poisson arrivals, and of the order of several targets
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = LOAD)]
    pub(super) seed: u64,
    /// Who takes a request that is due: its own connection, or any that is free
    #[arg(long, value_enum, default_value_t = QueueKind::Connection, help_heading = LOAD)]
    pub(super) queue: QueueKind,
    /// This generator's part of a load that N share: of the schedule every N-th request from the I-th on. -R, -n and
    /// --seed are those of the whole load, -c and -t this generator's own, alike in all. Needs -R
    #[arg(long, value_name = "I/N", value_parser = Share::parse, help_heading = LOAD)]
    pub(super) share: Option<Share>,
    /// Begin, with the warm-up if there is one, at this instant of the wall clock, in nanoseconds since 1970
    #[arg(long, value_name = "UNIX_NS", help_heading = LOAD)]
    pub(super) start_at: Option<u64>,
    /// Method of the requests [default: GET; with -b POST]
    #[arg(short, long, value_name = "METHOD", help_heading = LOAD)]
    pub(super) method: Option<String>,
    /// Body of the requests; @FILE: what the file holds, @-: what standard input gives
    #[arg(short, long, value_name = "BODY|@FILE", help_heading = LOAD)]
    pub(super) body: Option<String>,
    /// Header to add, 'Name: value'; may be given often. As with curl, 'Name:' takes a header away that would be sent
    /// (Host), and 'Name;' sends one without a value
    #[arg(short = 'H', long = "header", value_name = "H", help_heading = LOAD)]
    pub(super) headers: Vec<String>,
    /// One of several servers that share one schedule; may be given often. -R is the rate over all of them, -c the
    /// connections to each. After the URL may follow ,script=FILE ,header=NAME:VALUE ,weight=N
    #[arg(
        long = "target",
        value_name = "NAME=URL[,KEY=VALUE…]",
        conflicts_with = "url",
        value_hint = ValueHint::Other,
        help_heading = TARGETS
    )]
    pub(super) targets: Vec<String>,
    /// How the targets share the schedule: 'request' (each request to one or the other, in an order balanced for the
    /// predecessor), 'slice=100ms' (one is loaded, the others idle, in random order), 'none' (one after the other)
    /// [default: request]
    #[arg(long, value_name = "HOW", help_heading = TARGETS)]
    pub(super) interleave: Option<String>,
    /// Shares of the targets in the order given, e.g. 1:1:0.2
    #[arg(long, value_name = "A:B…", help_heading = TARGETS)]
    pub(super) weights: Option<String>,
    /// Count a request as timed out when its response takes longer
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
    /// Whose clock says when a response came: the kernel's stamp (Linux, not with --io uring), or our own reading once
    /// we were woken [default: kernel; user in a closed loop and with --wrk-compat]
    #[arg(long, value_enum, help_heading = MEASUREMENT)]
    pub(super) receive_clock: Option<ReceiveClock>,
    /// Of requests that a script pipelines, time the last of each batch only
    #[arg(short = 'B', long = "batch_latency", help_heading = MEASUREMENT)]
    pub(super) batch_latency: bool,
    /// Objectives, e.g. p99=10ms,errors=0,achieved=99%; exit code 3 when one is missed
    #[arg(long, value_name = "LIST", help_heading = MEASUREMENT)]
    pub(super) slo: Option<String>,
    /// As wrk2 does it: the first request() on the first thread is thrown away, connections are c/t rounded down, the
    /// first 10 s (and 5 ms per connection) are counted but not timed, and a connection that is behind catches up at
    /// twice the rate
    #[arg(long, help_heading = MEASUREMENT)]
    pub(super) wrk_compat: bool,
    /// Lua script
    #[arg(short, long, value_name = "FILE", help_heading = SCRIPTS)]
    pub(super) script: Option<PathBuf>,
    /// Print percentiles of response time: with -R the detailed spectrum, as wrk2 does; without, wrk's four lines
    #[arg(short = 'L', long, help_heading = REPORTS)]
    pub(super) latency: bool,
    /// As -L, and the detailed spectrum of service time too (uncorrected, from the actual send)
    #[arg(short = 'U', long = "u_latency", help_heading = REPORTS)]
    pub(super) u_latency: bool,
    /// Print what wrk and wrk2 do not say, in lines that begin with `truepace:`: every count, response and service time,
    /// lag, and whether the generator kept up. Without it, standard error says what makes the figures doubtful
    #[arg(long, help_heading = REPORTS)]
    pub(super) summary: bool,
    /// Write results as JSON (format: docs/json.md)
    #[arg(long, value_name = "FILE", help_heading = REPORTS)]
    pub(super) json: Option<PathBuf>,
    /// Write response times as an HdrHistogram percentile table (FILE), service times with it (FILE.service), and
    /// both once more by status class where not all responses are 2xx (FILE.4xx, FILE.service.4xx, …)
    #[arg(long, value_name = "FILE", help_heading = REPORTS)]
    pub(super) hgrm: Option<PathBuf>,
    /// Write an HdrHistogram V2 log: response times by tenths of a second, all others by the second
    #[arg(long, value_name = "FILE", help_heading = REPORTS)]
    pub(super) hlog: Option<PathBuf>,
    /// Write every request of the window, in binary (format: docs/requests.md)
    #[arg(long, visible_alias = "pairs", value_name = "FILE", help_heading = REPORTS)]
    pub(super) requests_log: Option<PathBuf>,
    /// System interface that waits for sockets
    #[arg(long, value_enum, default_value_t = Backend::Auto, help_heading = SYSTEM)]
    pub(super) io: Backend,
    /// Hold a request back for at most this time so that it leaves with the next, in threads whose requests follow each
    /// other as closely as that; 0s: never [default: 30us; with our own clock 0s]
    #[arg(long, value_name = "T", value_parser = parse_seconds, help_heading = SYSTEM)]
    pub(super) coalesce: Option<f64>,
    /// Print the completions of a shell, and end
    #[arg(long, value_enum, value_name = "SHELL", help_heading = SYSTEM)]
    pub(super) completions: Option<Shell>,
    /// Print the manual page (roff), and end
    #[arg(long, help_heading = SYSTEM)]
    pub(super) man: bool,
    /// Print help: -h in short, --help with examples and exit codes
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
    /// Arguments for the script's init(), as far as they are no flags; the rest after `--`
    #[arg(value_name = "ARGS", requires = "script")]
    pub(super) words: Vec<String>,
    /// Arguments for the script's init(), after `--`
    #[arg(last = true, value_name = "SCRIPT ARGS")]
    pub(super) script_args: Vec<String>,
}
