//! `done(summary, latency, requests)`: the end of a run, handed to a script in wrk2's units.

use super::Script;
use crate::error::Result;
use crate::record::{Errors, Histogram};
use mlua::{MetaMethod, UserData, UserDataMethods, Value, Variadic};

/// The totals of a run, for `summary`.
#[derive(Debug, Clone, Copy)]
pub struct Totals {
    /// Microseconds.
    pub duration_us: u64,
    /// Completed requests.
    pub requests: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Errors by kind.
    pub errors: Errors,
}

/// Values in the unit that scripts expect: microseconds of latency, or responses per second of each thread.
///
/// What `#latency` counts differs between the tools: in wrk2 all values (`latency[i]` is the i-th in order), in wrk the
/// distinct values (`latency(i)` is the i-th of them, and how often it came). An open loop counts as wrk2 does, a closed
/// loop as wrk does.
struct Stats {
    histogram: Histogram,
    /// Factor from the histogram's unit to the script's.
    scale: f64,
    /// Distinct whole values in the script's unit in order, and how many values lie up to each.
    distinct: Vec<(f64, u64)>,
    open_loop: bool,
}

impl Stats {
    fn new(histogram: Histogram, scale: f64, open_loop: bool) -> Self {
        let mut stats = Stats { histogram, scale, distinct: Vec::new(), open_loop };
        let mut distinct: Vec<(f64, u64)> = Vec::new();
        let mut upto = 0;
        for step in stats.histogram.iter_recorded() {
            upto += step.count_at_value();
            // A bucket stands for its highest value, but the first and the last value are known exactly.
            let exact = if distinct.is_empty() { stats.histogram.min() } else { step.value_iterated_to() };
            let value = stats.scaled(exact.min(stats.histogram.max()));
            match distinct.last_mut().filter(|last| last.0 == value) {
                Some(last) => last.1 = upto,
                None => distinct.push((value, upto)),
            }
        }
        stats.distinct = distinct;
        stats
    }

    fn len(&self) -> u64 {
        if self.open_loop { self.histogram.len() } else { self.distinct.len() as u64 }
    }

    /// wrk2: the value below which so many of all lie.
    fn ranked(&self, rank: f64) -> f64 {
        let place = self.distinct.partition_point(|(_, upto)| (*upto as f64) < rank);
        self.distinct.get(place).or(self.distinct.last()).map_or(0.0, |(value, _)| *value)
    }

    fn at_quantile(&self, quantile: f64) -> f64 {
        self.scaled(self.histogram.value_at_quantile(quantile.clamp(0.0, 1.0)).min(self.histogram.max()))
    }

    /// wrk gives whole numbers, and scripts print them with `%d`.
    fn scaled(&self, value: u64) -> f64 {
        (value as f64 * self.scale).round()
    }

    /// wrk: the i-th distinct value and how often it came.
    fn distinct(&self, index: usize) -> (f64, f64) {
        let Some(before) = index.checked_sub(1) else { return (0.0, 0.0) };
        let below = before.checked_sub(1).and_then(|last| self.distinct.get(last)).map_or(0, |(_, upto)| *upto);
        self.distinct.get(before).map_or((0.0, 0.0), |(value, upto)| (*value, (upto - below) as f64))
    }
}

impl UserData for Stats {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("percentile", |_, stats, percent: f64| Ok(stats.at_quantile(percent / 100.0)));
        methods.add_meta_method(MetaMethod::Len, |_, stats, ()| Ok(stats.len() as f64));
        methods.add_meta_method(MetaMethod::Call, |_, stats, index: Variadic<f64>| {
            Ok(stats.distinct(index.first().copied().unwrap_or(1.0) as usize))
        });
        methods.add_meta_method(MetaMethod::Index, |_, stats, key: Value| {
            let histogram = &stats.histogram;
            let number = match &key {
                Value::String(name) => match name.to_string_lossy().as_str() {
                    "min" if histogram.is_empty() => 0.0,
                    "min" => stats.scaled(histogram.min()),
                    "max" => stats.scaled(histogram.max()),
                    "mean" => histogram.mean() * stats.scale,
                    "stdev" => histogram.stdev() * stats.scale,
                    _ => return Ok(Value::Nil),
                },
                Value::Integer(rank) => stats.ranked(*rank as f64),
                Value::Number(rank) => stats.ranked(*rank),
                _ => return Ok(Value::Nil),
            };
            Ok(Value::Number(number))
        });
    }
}

/// In the main state: calls `done`, if the script has one.
///
/// `latency_ns` is in nanoseconds; `thread_rates` are responses per second of each thread; `open_loop` decides what
/// `#latency` counts.
///
/// # Errors
/// [`crate::error::Error::Script`].
pub fn done(
    script: &Script,
    totals: &Totals,
    latency_ns: &Histogram,
    thread_rates: &[f64],
    open_loop: bool,
) -> Result<()> {
    let call = || -> mlua::Result<()> {
        let lua = script.lua();
        let Value::Function(done) = lua.globals().get("done")? else { return Ok(()) };
        let errors = lua.create_table()?;
        let Errors { connect, read, write, timeout, parse, status } = totals.errors;
        // wrk counts a response that it cannot parse as a read error.
        for (name, count) in
            [("connect", connect), ("read", read + parse), ("write", write), ("status", status), ("timeout", timeout)]
        {
            errors.set(name, count as f64)?;
        }
        let summary = lua.create_table()?;
        summary.set("duration", totals.duration_us as f64)?;
        summary.set("requests", totals.requests as f64)?;
        summary.set("bytes", totals.bytes as f64)?;
        summary.set("errors", errors)?;
        let latency = Stats::new(latency_ns.clone(), 1e-3, open_loop);
        let mut rates = crate::record::new_histogram();
        thread_rates.iter().for_each(|rate| rates.saturating_record(rate.round() as u64));
        script.call((
            done,
            summary,
            lua.create_userdata(latency)?,
            lua.create_userdata(Stats::new(rates, 1.0, open_loop))?,
        ))
    };
    call().map_err(|error| script.failed(&error))
}

#[cfg(test)]
mod tests {
    use super::Stats;

    #[test]
    fn the_first_and_the_last_distinct_value_are_the_extremes() {
        let mut histogram = crate::record::new_histogram();
        // the bucket of the first reaches from 300.3 to 300.5 us, which are different whole numbers
        for value_ns in [300_400, 350_000, 999_600] {
            histogram.saturating_record(value_ns);
        }
        let stats = Stats::new(histogram, 1e-3, false);
        assert_eq!(stats.distinct(1), (stats.scaled(stats.histogram.min()), 1.0));
        assert_eq!(stats.distinct(stats.distinct.len()), (stats.scaled(stats.histogram.max()), 1.0));
    }
}
