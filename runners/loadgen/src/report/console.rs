//! The report on stdout: wrk's layout for a closed loop, wrk2's for an open one, line by line, since other programs read
//! them. What they lack stands in lines that begin with `truepace:`, after the report and on request (`--summary`); those
//! without which the figures would mislead go to stderr otherwise.

use super::spectrum::table;
use super::{Outcome, Run, side_by_side};
use crate::cli::Config;
use crate::error::Result;
use crate::output;
use crate::record::Distribution;
use crate::units::{format_binary, format_length, format_metric, format_us};
use std::fmt::Write as _;
use std::io::Write as _;

/// Percentiles in wrk's table.
const WRK_PERCENTS: [f64; 4] = [50.0, 75.0, 90.0, 99.0];
/// Percentiles in wrk2's table.
const PERCENTS: [f64; 8] = [50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0];
/// How often the rate of a thread is sampled for `Req/Sec`: once for each second that it hands over.
const RATE_SAMPLING_MS: u32 = 1000;
const RULE: &str = "----------------------------------------------------------\n";
/// Begins every line that neither wrk nor wrk2 prints.
pub(super) const PREFIX: &str = "truepace:";

/// wrk's first two lines, before the load begins.
pub fn print_start(config: &Config) {
    let length = if config.requests.is_some() && config.duration_s > 86_400.0 {
        format!("{} request", config.requests.unwrap_or(0))
    } else {
        format_length(config.duration_s)
    };
    let text = format!(
        "Running {length} test @ {}\n  {} threads and {} connections{}\n",
        where_to(config),
        config.threads,
        config.connections_asked,
        if config.has_several() { " to each" } else { "" }
    );
    // Where that fails the report will fail too, and is missed more.
    let _ = output::print("the report", text);
}

/// The URL, or those of all targets with their names.
fn where_to(config: &Config) -> String {
    if !config.has_several() {
        return config.first().target.url.clone();
    }
    config.targets.iter().map(|target| format!("{}={}", target.name, target.target.url)).collect::<Vec<_>>().join(", ")
}

/// Prints everything after the first two lines.
///
/// # Errors
/// [`crate::error::Error::CouldNotRun`] when standard output cannot be written.
pub fn print(config: &Config, run: &Run) -> Result<()> {
    let outcome = &run.whole;
    let (mut out, mut aside) = (String::new(), String::new());
    // Writing to a String cannot fail.
    let _ = calibrations(&mut out, &run.calibrations_us);
    let _ = report(&mut out, config, outcome);
    let _ = if config.summary { ours(&mut out, config, run) } else { reservations(&mut aside, run) };
    let _ = side_by_side::write(&mut out, config, run);
    let _ = std::io::stderr().write_all(aside.as_bytes());
    output::print("the report", out)
}

fn report(out: &mut String, config: &Config, outcome: &Outcome) -> std::fmt::Result {
    thread_stats(out, outcome)?;
    if config.print_response {
        if config.rate.is_some() {
            spectrum(out, "Recorded Latency", &outcome.response)?;
        } else {
            distribution(out, &outcome.response)?;
        }
    }
    if config.print_service {
        out.push('\n');
        let title = "Uncorrected Latency (measured without taking delayed starts into account)";
        spectrum(out, title, &outcome.service)?;
    }
    totals(out, outcome)
}

/// wrk2's line of each thread's calibration. `Req/Sec` is sampled each second here, and in wrk2 each 10 ms or more.
fn calibrations(out: &mut String, means_us: &[f64]) -> std::fmt::Result {
    for mean_us in means_us {
        // wrk2 cuts the mean to whole microseconds.
        let mean_ms = mean_us.floor() / 1e3;
        writeln!(out, "  Thread calibration: mean lat.: {mean_ms:.3}ms, rate sampling interval: {RATE_SAMPLING_MS}ms")?;
    }
    Ok(())
}

/// A figure with its unit so that figures stand under each other whatever the unit's length, as wrk does it.
fn aligned(text: &str, width: usize) -> String {
    let letters = text.bytes().rev().take(2).take_while(u8::is_ascii_alphabetic).count();
    let pad = 2 - letters;
    format!("{text:>width$}{:pad$}", "", width = width.saturating_sub(pad))
}

fn thread_stats(out: &mut String, outcome: &Outcome) -> std::fmt::Result {
    writeln!(out, "  Thread Stats{:>6}{:>11}{:>8}{:>12}", "Avg", "Stdev", "Max", "+/- Stdev")?;
    let latency = &outcome.response;
    stats_row(
        out,
        "Latency",
        [latency.mean_us(), latency.stdev_us(), latency.max_us()].map(format_us),
        latency.within_stdev(),
    )?;
    // A run that is shorter than a second has its mean only.
    let only = [outcome.achieved_rps / outcome.conditions.threads.max(1) as f64];
    let measured = outcome.collected.thread_rates.as_slice();
    let rates = if measured.is_empty() { &only } else { measured };
    let count = rates.len().max(1) as f64;
    let mean = rates.iter().sum::<f64>() / count;
    let stdev = (rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / count).sqrt();
    let within = rates.iter().filter(|rate| (*rate - mean).abs() <= stdev).count() as f64 / count;
    let max = rates.iter().copied().fold(0.0, f64::max);
    stats_row(out, "Req/Sec", [mean, stdev, max].map(format_metric), within)
}

fn stats_row(out: &mut String, name: &str, [mean, stdev, max]: [String; 3], within: f64) -> std::fmt::Result {
    writeln!(
        out,
        "    {name:<10}{}{}{}{:8.2}%",
        aligned(&mean, 8),
        aligned(&stdev, 10),
        aligned(&max, 9),
        within * 100.0
    )
}

/// wrk's short table.
fn distribution(out: &mut String, times: &Distribution) -> std::fmt::Result {
    writeln!(out, "  Latency Distribution")?;
    for percent in WRK_PERCENTS {
        writeln!(out, "{percent:7.0}%{}", aligned(&format_us(times.percentile(percent).value_us), 10))?;
    }
    Ok(())
}

/// wrk2's short table, and the detailed one under it.
fn spectrum(out: &mut String, title: &str, times: &Distribution) -> std::fmt::Result {
    writeln!(out, "  Latency Distribution (HdrHistogram - {title})")?;
    for percent in PERCENTS {
        writeln!(out, "{percent:7.3}%{}", aligned(&format_us(times.percentile(percent).value_us), 10))?;
    }
    writeln!(out, "\n  Detailed Percentile spectrum:")?;
    out.push_str(&table(times));
    out.push_str(RULE);
    Ok(())
}

fn totals(out: &mut String, outcome: &Outcome) -> std::fmt::Result {
    let counts = &outcome.collected.total.counts;
    let errors = &counts.errors;
    let elapsed = format_us(outcome.conditions.elapsed_s * 1e6);
    writeln!(out, "  {} requests in {elapsed}, {}B read", counts.completed, format_binary(counts.bytes_read as f64))?;
    // wrk has no name for what is no HTTP; it counts it as a read error.
    let read = errors.read + errors.parse;
    if errors.connect + read + errors.write + errors.timeout > 0 {
        writeln!(
            out,
            "  Socket errors: connect {}, read {read}, write {}, timeout {}",
            errors.connect, errors.write, errors.timeout
        )?;
    }
    if errors.status > 0 {
        writeln!(out, "  Non-2xx or 3xx responses: {}", errors.status)?;
    }
    writeln!(out, "Requests/sec: {:9.2}", outcome.achieved_rps)?;
    let per_second =
        if outcome.conditions.elapsed_s > 0.0 { counts.bytes_read as f64 / outcome.conditions.elapsed_s } else { 0.0 };
    writeln!(out, "Transfer/sec: {:>10}B", format_binary(per_second))
}

fn ours(out: &mut String, config: &Config, run: &Run) -> std::fmt::Result {
    let outcome = &run.whole;
    let counts = &outcome.collected.total.counts;
    let errors = &counts.errors;
    match outcome.offered_rps {
        Some(rate) => {
            writeln!(out, "{PREFIX} open loop, {} arrivals, offered {rate:.2} requests/s", config.arrival.name())?
        }
        None => writeln!(out, "{PREFIX} closed loop")?,
    }
    writeln!(
        out,
        "{PREFIX} scheduled {}, sent {}, completed {}, failed {}, censored {} (never sent {}), warm-up sent {}, warm-up completed {}, warm-up unsent {}",
        outcome.scheduled(),
        counts.sent,
        counts.completed,
        counts.failed,
        counts.censored,
        counts.unsent,
        counts.warmup_sent,
        counts.warmup_completed,
        counts.warmup_unsent
    )?;
    writeln!(
        out,
        "{PREFIX} errors connect {}, read {}, write {}, timeout {}, parse {}, status {}; connects {}, reconnects {}",
        errors.connect,
        errors.read,
        errors.write,
        errors.timeout,
        errors.parse,
        errors.status,
        counts.connects,
        counts.reconnects
    )?;
    failures(out, outcome)?;
    reconnects(out, outcome)?;
    times(out, outcome)?;
    bounds(out, outcome)?;
    let lag = &outcome.collected.total.lag;
    let lag_us = |quantile: f64| super::outcome::lag_us(lag, quantile * 100.0);
    writeln!(
        out,
        "{PREFIX} lag p50 {:.1} us, p99 {:.1} us, p99.9 {:.1} us, max {:.1} us over {} sends; cpu user {:.3} s, system {:.3} s; io {}, {} clock",
        lag_us(0.5),
        lag_us(0.99),
        lag_us(0.999),
        lag_us(1.0),
        lag.len(),
        outcome.conditions.cpu.user_s,
        outcome.conditions.cpu.system_s,
        outcome.conditions.interface.io,
        outcome.conditions.interface.receive_clock.name()
    )?;
    if counts.held > 0 {
        writeln!(
            out,
            "{PREFIX} {} of {} sends held back, each for at most {}, so that they leave with the next (--coalesce; 0s for none)",
            counts.held,
            lag.len(),
            format_us(outcome.conditions.interface.coalesce_ns as f64 / 1e3)
        )?;
    }
    let clocks = outcome.clocks();
    let medians: Vec<String> = clocks
        .iter()
        .map(|(clock, response, service)| {
            let [response, service] = [response, service].map(|times| format_us(times.percentile(50.0).value_us));
            format!("{} clock p50 response {response}, service {service}", clock.name())
        })
        .collect();
    let (own, other) = outcome.conditions.interface.receive_clock.and_other();
    writeln!(
        out,
        "{PREFIX} {}; {:.2} us of processor time per request with the {} clock (with the {other} clock: --receive-clock {other})",
        medians.join("; "),
        outcome.cpu_us_per_request(),
        own.name(),
        other = other.name()
    )?;
    unstamped(out, outcome)?;
    for (tag, response, service) in outcome.operations() {
        let name = run.tags.get(tag - 1).map_or("", String::as_str);
        writeln!(out, "{PREFIX} {name} response time {}; service time {}", short(&response), short(&service))?;
    }
    writeln!(out, "{PREFIX} {}", outcome.verdict.sentence)?;
    for objective in &outcome.objectives {
        writeln!(out, "{PREFIX} {objective}")?;
    }
    early_end(out, run)
}

/// What a reader must know besides the report, or its figures would mislead.
fn reservations(out: &mut String, run: &Run) -> std::fmt::Result {
    let outcome = &run.whole;
    let counts = &outcome.collected.total.counts;
    if let Some(shortfall) = &outcome.shortfall {
        writeln!(out, "{PREFIX} {shortfall}")?;
    }
    failures(out, outcome)?;
    reconnects(out, outcome)?;
    bounds(out, outcome)?;
    unstamped(out, outcome)?;
    if !outcome.verdict.kept_up || counts.unsent > 0 {
        writeln!(out, "{PREFIX} {}", outcome.verdict.sentence)?;
    }
    for objective in outcome.objectives.iter().filter(|objective| !objective.met) {
        writeln!(out, "{PREFIX} {objective}")?;
    }
    early_end(out, run)
}

/// A line for each cause of failures.
fn failures(out: &mut String, outcome: &Outcome) -> std::fmt::Result {
    for (cause, failure) in outcome.failures.iter() {
        let text = &failure.first.text;
        let first = if text.is_empty() { String::new() } else { format!(": {text}") };
        let at = format_us(failure.first_ns as f64 / 1e3);
        writeln!(out, "{PREFIX} {} x {}, the first after {at}{first}", failure.count, cause.name())?;
    }
    Ok(())
}

/// How often connections were made anew, and what that cost.
fn reconnects(out: &mut String, outcome: &Outcome) -> std::fmt::Result {
    let counts = &outcome.collected.total.counts;
    let Some(took) = outcome.collected.total.reconnect.as_deref().filter(|took| !took.is_empty()) else {
        return Ok(());
    };
    let [median, longest] = [50.0, 100.0].map(|percent| format_us(super::outcome::lag_us(took, percent)));
    writeln!(
        out,
        "{PREFIX} {} connections made anew ({} were closed by the server while idle); each took p50 {median}, max \
         {longest}, which is in the response time of the request that needed it",
        took.len(),
        counts.closed_idle
    )
}

/// Responses whose times are not by the clock that the report is by.
fn unstamped(out: &mut String, outcome: &Outcome) -> std::fmt::Result {
    match outcome.collected.total.counts.unstamped_sentence() {
        Some(sentence) => writeln!(out, "{PREFIX} {sentence}"),
        None => Ok(()),
    }
}

/// Percentiles that are at least as long as printed, since requests beyond them had no response; in one line.
fn bounds(out: &mut String, outcome: &Outcome) -> std::fmt::Result {
    let at = PERCENTS.map(|percent| (percent, outcome.response.percentile(percent)));
    let bounds = at.iter().filter(|(_, bound)| bound.at_least);
    let bounds: Vec<String> =
        bounds.map(|(percent, bound)| format!("{percent:.3}% >= {}", format_us(bound.value_us))).collect();
    if bounds.is_empty() {
        return Ok(());
    }
    writeln!(out, "{PREFIX} bound {} (requests without a response)", bounds.join(", "))
}

fn early_end(out: &mut String, run: &Run) -> std::fmt::Result {
    if let Some(sentence) = run.left_behind_sentence() {
        writeln!(out, "{PREFIX} {sentence}")?;
    }
    if run.requests_dropped > 0 {
        let dropped = run.requests_dropped;
        writeln!(out, "{PREFIX} {dropped} requests are missing in the log of requests: writing it was too slow")?;
    }
    let conditions = &run.whole.conditions;
    if conditions.interrupted {
        writeln!(out, "{PREFIX} interrupted after {}", format_us(conditions.elapsed_s * 1e6))?;
    }
    Ok(())
}

/// Response and service time in a line each, then those of each status class where there are several or errors, with
/// the codes that came.
fn times(out: &mut String, outcome: &Outcome) -> std::fmt::Result {
    for (name, times) in [("response", &outcome.response), ("service", &outcome.service)] {
        writeln!(out, "{PREFIX} {name} time {}", short(times))?;
    }
    if !outcome.has_classes() {
        return Ok(());
    }
    let status = outcome.collected.total.status.iter().enumerate().filter(|(_, count)| **count > 0);
    let codes: Vec<String> = status.map(|(code, count)| format!("{code}: {count}")).collect();
    writeln!(out, "{PREFIX} status codes {}", codes.join(", "))?;
    for (class, response, service) in outcome.classes() {
        writeln!(out, "{PREFIX} {class}xx response time {}; service time {}", short(&response), short(&service))?;
    }
    Ok(())
}

pub(super) fn short(times: &Distribution) -> String {
    if times.histogram().is_empty() {
        return "of nothing, no request got a response".into();
    }
    let reported = [("p50", 50.0), ("p99", 99.0), ("max", 100.0)].map(|(name, percent)| {
        let percentile = times.percentile(percent);
        format!("{name} {}{}", if percentile.at_least { ">= " } else { "" }, format_us(percentile.value_us))
    });
    reported.join(", ")
}

#[cfg(test)]
mod tests {
    use super::{aligned, calibrations};

    #[test]
    fn each_thread_s_calibration_has_wrk2_s_line() {
        let mut out = String::new();
        calibrations(&mut out, &[1464.9, 30_000.0]).unwrap();
        let lines = [
            "  Thread calibration: mean lat.: 1.464ms, rate sampling interval: 1000ms",
            "  Thread calibration: mean lat.: 30.000ms, rate sampling interval: 1000ms",
        ];
        assert_eq!(out.lines().collect::<Vec<_>>(), lines);
        calibrations(&mut out, &[]).unwrap();
        assert_eq!(out.lines().count(), 2, "none without a calibration");
    }

    #[test]
    fn figures_align_as_in_wrk() {
        assert_eq!(aligned("1.02ms", 8), "  1.02ms");
        assert_eq!(aligned("3.00s", 8), "  3.00s ");
        assert_eq!(aligned("12.00", 8), " 12.00  ");
    }
}
