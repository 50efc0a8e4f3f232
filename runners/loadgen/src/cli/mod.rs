//! The command line: wrk2's and wrk's flags, and ours. Everything is checked here, before anything is opened.

mod args;
mod config;
mod manual;
mod targets;

pub use config::{Config, InterleaveKind, QueueKind, TargetConfig};

use crate::clock::unix_ns;
use crate::error::{Error, Result};
use crate::http::header_defect;
use crate::io::ReceiveClock;
use crate::output;
use crate::schedule::{Arrival, RateSpec, Share};
use crate::units::parse_count;
use args::Args;
use clap::Parser;
use std::io::IsTerminal;
use std::time::Duration;

/// Highest rate that is taken; more is a slip of the keyboard.
const MAX_RATE_RPS: f64 = 10e6;
/// Most connections: one address has no more ports.
const MAX_CONNECTIONS: u64 = 60_000;
/// Most threads.
const MAX_THREADS: u64 = 1024;
/// Longest run and longest warm-up, in seconds.
const MAX_DURATION_S: f64 = 7.0 * 86_400.0;
/// Longest time for which a request may be held back, in seconds: wrk2's whole tick.
const MAX_COALESCE_S: f64 = 1e-3;
/// Longest wait for the instant of `--start-at`, in seconds.
const MAX_START_AHEAD_S: f64 = 3600.0;
/// Length of a run when neither `-d` nor `-n` is given, in seconds: as in wrk and wrk2.
const DEFAULT_DURATION_S: f64 = 10.0;

/// Reads the command line. Help, the manual page and completions end the process; the version does so only without a
/// URL, as in wrk.
///
/// # Errors
/// [`Error::Usage`] with a sentence that names the flag; [`Error::CouldNotRun`] when what it prints cannot be written.
pub fn parse(command: Vec<String>) -> Result<Config> {
    let args = match Args::try_parse_from(&command) {
        Ok(args) => args,
        Err(error) if error.use_stderr() => {
            let _ = error.print();
            // clap's own code for usage is 2, which here means that the run could not be done.
            std::process::exit(1);
        }
        Err(help) => {
            let text = help.render();
            let styled = std::io::stdout().is_terminal();
            output::print("the help", if styled { text.ansi().to_string() } else { text.to_string() })?;
            std::process::exit(0);
        }
    };
    if args.man {
        manual::print_page()?;
        std::process::exit(0);
    }
    if let Some(shell) = args.completions {
        manual::print_completions(shell)?;
        std::process::exit(0);
    }
    if args.version {
        output::print("the version", concat!("truepace ", env!("CARGO_PKG_VERSION"), "\n"))?;
        if args.url.is_none() {
            std::process::exit(0);
        }
    }
    check(args, command)
}

pub(crate) fn usage<T>(text: impl Into<String>) -> Result<T> {
    Err(Error::Usage(text.into()))
}

fn within(flag: &str, value: u64, max: u64) -> Result<u64> {
    if (1..=max).contains(&value) {
        Ok(value)
    } else {
        usage(format!("{flag} {value} is out of range; give 1 to {max}"))
    }
}

fn check(args: Args, command: Vec<String>) -> Result<Config> {
    let connections = within("--connections", args.connections, MAX_CONNECTIONS)?;
    let threads = match args.threads {
        Some(threads) => within("--threads", threads, MAX_THREADS)?,
        None => connections.min(2),
    };
    if threads > connections {
        return usage(format!(
            "{threads} threads for {connections} connections leave threads idle; give -c {threads} or more, or -t {connections} or less"
        ));
    }
    let rate = args.rate.as_deref().map(parse_rate).transpose()?;
    let shared = (connections / threads, connections % threads);
    let shares =
        (0..threads).map(|thread| (shared.0 + u64::from(!args.wrk_compat && thread < shared.1)) as usize).collect();
    let unbounded = args.requests.is_some() && args.duration.is_none();
    let duration_s = args.duration.unwrap_or(if unbounded { MAX_DURATION_S } else { DEFAULT_DURATION_S });
    if !(0.001..=MAX_DURATION_S).contains(&duration_s) {
        return usage("--duration is out of range; give 1ms to 168h");
    }
    if args.warmup > MAX_DURATION_S {
        return usage("--warmup is out of range; give 0s to 168h");
    }
    if !(0.001..=MAX_DURATION_S).contains(&args.timeout) {
        return usage("--timeout is out of range; give 1ms or more");
    }
    if args.coalesce.is_some_and(|slack_s| slack_s > MAX_COALESCE_S) {
        return usage("--coalesce is out of range; give 0s to 1ms: what is held back for longer is a burst");
    }
    if args.requests == Some(0) {
        return usage("--requests 0 sends nothing; give 1 or more");
    }
    if args.requests.is_some() && unbounded && matches!(rate, Some(RateSpec::Ramp { .. } | RateSpec::Steps(_))) {
        return usage("a ramp or steps need a length; give -d too");
    }
    if args.arrival == Arrival::Poisson && rate.is_none() {
        return usage("--arrival poisson needs a rate; give -R");
    }
    if args.share.is_some() && rate.is_none() {
        return usage("--share is a part of a schedule, and a closed loop has none; give -R, or leave --share out");
    }
    if let Some(instant) = args.start_at {
        let ahead_s = (instant as f64 - unix_ns() as f64) / 1e9;
        if ahead_s > MAX_START_AHEAD_S {
            return usage("--start-at lies more than an hour ahead; give nanoseconds since 1970");
        }
    }
    let objectives = match &args.slo {
        Some(list) => crate::slo::parse(list, rate.is_some()).map_err(|why| Error::Usage(format!("--slo: {why}")))?,
        None => Vec::new(),
    };
    for (flag, given) in [("--weights", args.weights.is_some()), ("--interleave", args.interleave.is_some())] {
        if given && args.targets.is_empty() {
            return usage(format!("{flag} is of several targets, and none is given; name them by --target NAME=URL"));
        }
    }
    let interleave = args.interleave.as_deref().map_or(Ok(InterleaveKind::Request), targets::parse_interleave)?;
    let targets = targets::parse(&args)?;
    if targets.len() > 1 {
        if rate.is_none() && interleave == InterleaveKind::Request {
            return usage(
                "several targets in a closed loop share the processor by its scheduler, not by a schedule; \
                 give -R, or --interleave slice=100ms",
            );
        }
        if args.arrival == Arrival::Poisson {
            return usage("--arrival poisson and several targets exclude each other: their shared order has even gaps");
        }
    }
    if args.drain.is_some_and(|drain_s| drain_s > MAX_DURATION_S) {
        return usage("--drain is out of range; give 0s to 168h");
    }
    // wrk2 waits for nothing, and reads its own clock, as wrk does.
    let by_user = rate.is_none() || args.wrk_compat;
    Ok(Config {
        targets,
        interleave,
        queue: args.queue,
        command,
        threads: threads as usize,
        connections: shares,
        connections_asked: connections as usize,
        duration_s,
        warmup_s: args.warmup,
        rate,
        arrival: args.arrival,
        seed: args.seed,
        requests: args.requests,
        share: args.share.unwrap_or(Share::WHOLE),
        start_at_unix_ns: args.start_at,
        script_args: [args.words, args.script_args].concat(),
        // As in wrk2, whose -U prints both.
        print_response: args.latency || args.u_latency,
        print_service: args.u_latency,
        summary: args.summary,
        timeout: Duration::from_secs_f64(args.timeout),
        drain_s: args.drain.unwrap_or(if args.wrk_compat { 0.0 } else { args.timeout }),
        wrk_compat: args.wrk_compat,
        batch_latency: args.batch_latency,
        json: args.json,
        hlog: args.hlog,
        requests_log: args.requests_log,
        hgrm: args.hgrm,
        objectives,
        io: args.io,
        coalesce_s: args.coalesce,
        receive_clock: args.receive_clock.unwrap_or(if by_user { ReceiveClock::User } else { ReceiveClock::Kernel }),
    })
}

fn parse_rate(text: &str) -> Result<RateSpec> {
    let number = |part: &str, lowest: f64| match parse_count(part) {
        Ok(rate) if (lowest..=MAX_RATE_RPS).contains(&rate) => Ok(rate),
        Ok(_) => {
            usage(format!("--rate {part} is out of range; give {lowest} to 10M requests/s, or no -R for a closed loop"))
        }
        Err(reason) => usage(format!("--rate: {reason}")),
    };
    if let Some((from, to)) = text.split_once(':') {
        let (from, to) = (number(from, 0.0)?, number(to, 0.0)?);
        return if from == to {
            Ok(RateSpec::Constant(number(text.split(':').next().unwrap_or(""), 0.001)?))
        } else {
            Ok(RateSpec::Ramp { from, to })
        };
    }
    let steps = text.split(',').map(|part| number(part, 0.001)).collect::<Result<Vec<_>>>()?;
    Ok(if let [rate] = steps[..] { RateSpec::Constant(rate) } else { RateSpec::Steps(steps) })
}

/// A header's name and value; no value takes a header away, as with curl.
pub(crate) fn parse_header(text: &str) -> Result<(String, Option<String>)> {
    let (name, value) = match (text.split_once(':'), text.strip_suffix(';')) {
        (Some((name, value)), _) => (name, Some(value.trim_matches([' ', '\t'])).filter(|value| !value.is_empty())),
        (None, Some(name)) => (name, Some("")),
        (None, None) => {
            return usage(format!("--header '{}' is no header; write -H 'Name: value'", text.escape_debug()));
        }
    };
    let name = name.trim();
    match header_defect(format!("{name}:{}", value.unwrap_or("")).as_bytes()) {
        Some(why) => usage(format!("--header '{}': {why}", text.escape_debug())),
        None => Ok((name.to_owned(), value.map(str::to_owned))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(line: &str) -> Result<Config> {
        let command: Vec<String> = format!("truepace {line}").split(' ').map(str::to_owned).collect();
        check(Args::try_parse_from(&command).expect("clap takes it"), command)
    }

    #[test]
    fn wrk2_lines_are_taken_as_they_are() {
        let taken = config("-t6 -c64 -d120s -R20k -L -U --timeout 3s http://127.0.0.1:8080/v0 -- a b").unwrap();
        assert_eq!((taken.threads, taken.total_connections(), taken.duration_s), (6, 64, 120.0));
        assert_eq!(taken.rate, Some(RateSpec::Constant(20_000.0)));
        assert_eq!(taken.script_args, ["a", "b"]);
        assert!(taken.print_response && taken.print_service);
    }

    #[test]
    fn what_getopt_takes_is_taken() {
        let taken = config("--thread 2 --conn=4 --dur 1m -T5s --lat http://localhost").unwrap();
        assert_eq!((taken.threads, taken.total_connections(), taken.duration_s), (2, 4, 60.0));
        assert_eq!(taken.timeout, Duration::from_secs(5));
        assert!(taken.print_response && !taken.print_service);
        let last = config("-d1s -d3s -H A:b -H C:d http://localhost").unwrap();
        assert_eq!((last.duration_s, last.first().headers.len()), (3.0, 2), "the last counts, but headers add up");
        let words = config("-s a.lua http://localhost one two -c1 -- -three").unwrap();
        assert_eq!(
            (words.script_args, words.connections_asked),
            (["one", "two", "-three"].map(str::to_owned).into(), 1)
        );
        let both = config("http://localhost -U").unwrap();
        assert!(both.print_response && both.print_service, "wrk2's -U prints both");
    }

    #[test]
    fn defaults_are_those_of_wrk() {
        let taken = config("http://localhost").unwrap();
        assert_eq!((taken.threads, taken.total_connections(), taken.duration_s), (2, 10, 10.0));
        assert_eq!((taken.timeout, taken.rate), (Duration::from_secs(2), None));
        assert_eq!(config("-c1 http://localhost").unwrap().threads, 1);
    }

    #[test]
    fn wrk_compat_rounds_connections_down() {
        assert_eq!(config("-t6 -c64 --wrk-compat http://localhost").unwrap().total_connections(), 60);
    }

    #[test]
    fn ramps_and_steps_are_rates_too() {
        assert_eq!(config("-R 1k:9k http://localhost").unwrap().rate, Some(RateSpec::Ramp { from: 1e3, to: 9e3 }));
        assert_eq!(config("-R 1k,2k http://localhost").unwrap().rate, Some(RateSpec::Steps(vec![1e3, 2e3])));
    }

    #[test]
    fn a_header_that_servers_refuse_is_named_with_its_cause() {
        for (header, parts) in [
            ("X-Bell: a\u{7}b", ["'X-Bell'", "0x07"]),
            ("X-Line: a\r\nX-More: b", ["'X-Line'", "0x0d"]),
            ("X-End: a\n", ["'X-End'", "0x0a"]),
            ("X Blank: a", ["the name 'X Blank'", "--header"]),
            (": a", ["the name ''", "--header"]),
            ("X-Lone", ["'X-Lone'", "-H 'Name: value'"]),
        ] {
            let refused = parse_header(header).expect_err(header).to_string();
            for part in parts {
                assert!(refused.contains(part), "'{part}' is missing in: {refused}");
            }
        }
        let taken = |name: &str, value: Option<&str>| Ok((name.to_owned(), value.map(str::to_owned)));
        assert_eq!(parse_header("X-Tab :\ta\tb\u{e4} "), taken("X-Tab", Some("a\tb\u{e4}")));
        assert_eq!(parse_header("X-Taken-Away: "), taken("X-Taken-Away", None));
        assert_eq!(parse_header("X-Empty;"), taken("X-Empty", Some("")));
    }

    #[test]
    fn units_are_taken_in_either_case_and_exponents_too() {
        let taken = config("-d 2M -T 2S --warmup 1E1s -R 1e+03 -c 1e1 -n 1K http://localhost").unwrap();
        assert_eq!((taken.duration_s, taken.timeout, taken.warmup_s), (120.0, Duration::from_secs(2), 10.0));
        assert_eq!((taken.rate, taken.connections_asked), (Some(RateSpec::Constant(1000.0)), 10));
        assert_eq!((taken.requests, config("-d 2H http://localhost").unwrap().duration_s), (Some(1000), 7200.0));
        for line in ["-R inf http://localhost", "-R nan http://localhost", "-R 1e999 http://localhost"] {
            assert!(config(line).is_err(), "{line}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_the_flag_and_a_remedy() {
        for (line, flag) in [
            ("-t4 -c2 http://localhost", "threads"),
            ("-c0 http://localhost", "--connections"),
            ("-R 0 http://localhost", "--rate"),
            ("-R fast http://localhost", "--rate"),
            ("-R 100M http://localhost", "--rate"),
            ("-d 0s http://localhost", "--duration"),
            ("-n 0 http://localhost", "--requests"),
            ("--coalesce 2ms http://localhost", "--coalesce"),
            ("-H nothing http://localhost", "--header"),
            ("--arrival poisson http://localhost", "--arrival"),
            ("-n 5 -R 1:2 http://localhost", "ramp"),
            ("--share 1/2 http://localhost", "--share"),
            ("--start-at 9999999999999999999 http://localhost", "nanoseconds"),
            ("--slo p99=soon http://localhost", "--slo"),
            ("--slo p99=10 http://localhost", "unit"),
            ("-m GE,T http://localhost", "--method"),
            ("-b @/nowhere/body http://localhost", "/nowhere/body"),
            ("ftp://localhost", "ftp"),
        ] {
            let error = config(line).expect_err(line);
            assert!(matches!(&error, Error::Usage(text) if text.contains(flag)), "{line}: {error}");
        }
    }
}
