//! The detailed percentile spectrum: HdrHistogram's percentile iterator, five steps a half distance, as wrk2 prints.

use crate::record::Distribution;

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
            Point { value_us: value_ns as f64 / 1000.0, percentile: step.quantile_iterated_to(), total_count }
        })
        .collect()
}
