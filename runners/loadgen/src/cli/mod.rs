//! The command line: wrk2's and wrk's flags, and ours. Everything is checked here, before anything is opened.

mod args;
mod config;

pub use config::Config;

use crate::error::{Error, Result};
use crate::schedule::{Arrival, RateSpec};
use crate::target::Target;
use crate::units::parse_count;
use args::Args;
use clap::Parser;
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
/// Length of a run when neither `-d` nor `-n` is given, in seconds: as in wrk and wrk2.
const DEFAULT_DURATION_S: f64 = 10.0;

/// Reads the command line. Help ends the process; the version does so only without a URL, as in wrk.
///
/// # Errors
/// [`Error::Usage`] with a sentence that names the flag.
pub fn parse(command: Vec<String>) -> Result<Config> {
    let args = Args::try_parse_from(&command).unwrap_or_else(|error| {
        let _ = error.print();
        // clap's own code for usage is 2, which here means that the run could not be done.
        std::process::exit(i32::from(error.use_stderr()));
    });
    if args.version {
        println!("loadgen {}", env!("CARGO_PKG_VERSION"));
        if args.url.is_none() {
            std::process::exit(0);
        }
    }
    check(args, command)
}

fn usage<T>(text: impl Into<String>) -> Result<T> {
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
    let objectives = match &args.slo {
        Some(list) => crate::slo::parse(list, rate.is_some()).map_err(|why| Error::Usage(format!("--slo: {why}")))?,
        None => Vec::new(),
    };
    let headers = args.headers.iter().map(|header| parse_header(header)).collect::<Result<_>>()?;
    Ok(Config {
        target: Target::parse(args.url.as_deref().unwrap_or_default())?,
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
        script: args.script,
        headers,
        script_args: [args.words, args.script_args].concat(),
        // As in wrk2, whose -U prints both.
        print_response: args.latency || args.u_latency,
        print_service: args.u_latency,
        timeout: Duration::from_secs_f64(args.timeout),
        wrk_compat: args.wrk_compat,
        json: args.json,
        hlog: args.hlog,
        slices: args.slices,
        hgrm: args.hgrm,
        objectives,
        io: args.io,
        coalesce_s: args.coalesce,
        receive_clock: args.receive_clock,
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

fn parse_header(text: &str) -> Result<(String, String)> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() && !text.contains(['\r', '\n']) => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => usage(format!("--header '{}' is no header; write -H 'Name: value'", text.escape_default())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(line: &str) -> Result<Config> {
        let command: Vec<String> = format!("loadgen {line}").split(' ').map(str::to_owned).collect();
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
        assert_eq!((last.duration_s, last.headers.len()), (3.0, 2), "the last counts, but headers add up");
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
            ("--slo p99=soon http://localhost", "--slo"),
            ("ftp://localhost", "ftp"),
        ] {
            let error = config(line).expect_err(line);
            assert!(matches!(&error, Error::Usage(text) if text.contains(flag)), "{line}: {error}");
        }
    }
}
