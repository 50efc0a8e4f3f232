//! The detailed percentile spectrum: HdrHistogram's percentile iterator, five steps a half distance, as wrk2 prints.

use crate::record::{DIGITS, Distribution};
use std::fmt::Write as _;

/// Steps between one percentile and the one half as far from 100 %.
pub const TICKS_PER_HALF_DISTANCE: u32 = 5;

/// A point of the spectrum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Microseconds.
    pub value_us: f64,
    /// 0 to 1.
    pub percentile: f64,
    /// Requests that took at most this long.
    pub total_count: u64,
}

/// All points, from the smallest value to the largest. Empty if nothing was recorded.
pub fn points(times: &Distribution) -> Vec<Point> {
    let histogram = times.histogram();
    let mut total_count = 0;
    histogram
        .iter_quantiles(TICKS_PER_HALF_DISTANCE)
        .filter(|_| !histogram.is_empty())
        .map(|step| {
            total_count += step.count_since_last_iteration();
            let value_ns = step.value_iterated_to().min(histogram.max());
            Point { value_us: value_ns as f64 / 1000.0, percentile: exact(step.quantile_iterated_to()), total_count }
        })
        .collect()
}

/// Takes off what the iterator's sums have gathered of rounding, or a sixth digit would differ from wrk2's.
fn exact(quantile: f64) -> f64 {
    (quantile * 1e12).round() / 1e12
}

/// The table that HdrHistogram tools read (`.hgrm`) and wrk2 prints: milliseconds, with its footer.
pub fn table(times: &Distribution) -> String {
    let mut out = format!("{:>12} {:>12} {:>12} {:>12}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    // Writing to a String cannot fail.
    for point in points(times) {
        let (value_ms, inverse) = (point.value_us / 1000.0, 1.0 / (1.0 - point.percentile));
        let _ = writeln!(out, "{value_ms:12.3} {:12.6} {:12} {inverse:12.2}", point.percentile, point.total_count);
    }
    let histogram = times.histogram();
    let (mean_ms, stdev_ms) = (times.mean_us() / 1000.0, times.stdev_us() / 1000.0);
    let _ = writeln!(out, "#[Mean    = {mean_ms:12.3}, StdDeviation   = {stdev_ms:12.3}]");
    let _ = writeln!(out, "#[Max     = {:12.3}, Total count    = {:12}]", times.max_us() / 1000.0, histogram.len());
    // HdrHistogram's rule for its digits: three of them need 2048 sub-buckets.
    let sub_buckets = (2 * 10_u64.pow(u32::from(DIGITS))).next_power_of_two();
    let _ = writeln!(out, "#[Buckets = {:12}, SubBuckets     = {sub_buckets:12}]", histogram.buckets());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::new_histogram;

    #[test]
    fn percentiles_have_the_digits_of_wrk2_s() {
        let mut histogram = new_histogram();
        (1..=196).for_each(|ms| histogram.record(ms * 1_000_000).unwrap());
        let text = table(&Distribution::new(histogram, None));
        let column: Vec<_> = text.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
        let printed = ["0.975000", "0.978125", "0.981250", "0.984375", "0.985938", "0.987500", "0.989062", "0.990625"];
        assert!(column.windows(8).any(|rows| rows == printed), "{text}");
    }
}
