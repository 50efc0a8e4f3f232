//! Targets compared, on the console: the results of each, their ratios, and the effect of their order.

use super::Run;
use super::console::{PREFIX, short};
use crate::cli::Config;
use std::fmt::Write;

/// Writes the results of several targets; nothing for one.
pub(super) fn write(out: &mut String, config: &Config, run: &Run) -> std::fmt::Result {
    if run.targets.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "{PREFIX} {} targets in one schedule, interleave {}, seed {}",
        run.targets.len(),
        config.interleave.name(),
        config.seed
    )?;
    let name = |index: usize| config.targets[index].name.as_str();
    for (index, outcome) in run.targets.iter().enumerate() {
        let counts = &outcome.collected.total.counts;
        let offered = outcome.offered_rps.map_or(String::new(), |rate| format!(" of {rate:.2} offered"));
        writeln!(
            out,
            "{PREFIX} {}: {:.2} requests/s{offered} in {:.2} s, scheduled {}, completed {}, failed {}, censored {}, errors {}",
            name(index),
            outcome.achieved_rps,
            outcome.loaded_s,
            outcome.scheduled(),
            counts.completed,
            counts.failed,
            counts.censored,
            counts.errors.total()
        )?;
        writeln!(
            out,
            "{PREFIX} {}: response time {}; service time {}",
            name(index),
            short(&outcome.response),
            short(&outcome.service)
        )?;
        for (tag, response, service) in outcome.operations() {
            let tag = run.tags.get(tag - 1).map_or("", String::as_str);
            let (response, service) = (short(&response), short(&service));
            writeln!(out, "{PREFIX} {}: {tag} response time {response}; service time {service}", name(index))?;
        }
        writeln!(out, "{PREFIX} {}: {}", name(index), outcome.verdict.sentence)?;
        for objective in &outcome.objectives {
            writeln!(out, "{PREFIX} {}: {objective}", name(index))?;
        }
    }
    let Some(comparison) = &run.comparison else { return Ok(()) };
    let stretches = match comparison.stretches() {
        Some((count, length_s)) => format!("; {count} stretches of {length_s:.2} s"),
        None => ", each was loaded in a time of its own".to_owned(),
    };
    for ratio in comparison.ratios() {
        let interval = match ratio.interval {
            Some(interval) => format!("95 % {:.4} to {:.4}", interval.low, interval.high),
            None => "no interval: too few stretches of all targets".to_owned(),
        };
        writeln!(
            out,
            "{PREFIX} {} over {}, {} p{}: {:.4} ({interval}{stretches})",
            name(ratio.target),
            name(0),
            ratio.quantity,
            ratio.percent,
            ratio.ratio
        )?;
    }
    for row in comparison.carry_over() {
        writeln!(
            out,
            "{PREFIX} {} after {}: service p50 {:.2} us (95 % {:.2} to {:.2}) of {} requests",
            name(row.target),
            name(row.predecessor),
            row.p50_us,
            row.interval.low,
            row.interval.high,
            row.count
        )?;
    }
    Ok(())
}
