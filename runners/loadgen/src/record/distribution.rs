//! Percentiles of times of which some are only known to be at least so long.
//!
//! A request that had no response when it failed or the run ended (right-censored) counts with the time it had waited,
//! which is a lower bound. A percentile is exact if it is the same with those requests at infinity; otherwise it is a
//! bound.

use super::Histogram;
use super::interval::add;
use hdrhistogram::Counter;

/// A percentile in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentile {
    /// Percent, 0 to 100.
    pub percent: f64,
    /// Microseconds.
    pub value_us: f64,
    /// The true value is this or more: requests without a response could raise it.
    pub at_least: bool,
}

/// Times of completed requests together with those of censored ones.
#[derive(Debug, Clone)]
pub struct Distribution {
    completed: Histogram,
    all: Histogram,
}

impl Distribution {
    /// `waiting` holds the times that requests without a response had waited; both in nanoseconds.
    pub fn new(completed: Histogram, waiting: Option<&Histogram>) -> Self {
        let mut all = completed.clone();
        if let Some(waiting) = waiting {
            add(&mut all, waiting);
        }
        Distribution { completed, all }
    }

    /// All requests, in nanoseconds; the censored ones with what they had waited.
    pub fn histogram(&self) -> &Histogram {
        &self.all
    }

    /// Completed requests only, in nanoseconds.
    pub fn completed(&self) -> &Histogram {
        &self.completed
    }

    /// How many requests are censored.
    pub fn censored(&self) -> u64 {
        self.all.len() - self.completed.len()
    }

    /// The smallest time that at least `percent` of all requests did not exceed.
    pub fn percentile(&self, percent: f64) -> Percentile {
        let (total, completed) = (self.all.len(), self.completed.len());
        let rank = rank(percent, total);
        let value = value_at_rank(&self.all, rank);
        let exact = completed == total
            || (rank <= completed && self.all.equivalent(value_at_rank(&self.completed, rank), value));
        Percentile { percent, value_us: value as f64 / 1000.0, at_least: !exact }
    }

    /// Largest time, in microseconds.
    pub fn max_us(&self) -> f64 {
        self.all.max() as f64 / 1000.0
    }

    /// Smallest time, in microseconds; 0 if there is none.
    pub fn min_us(&self) -> f64 {
        if self.all.is_empty() { 0.0 } else { self.all.min() as f64 / 1000.0 }
    }

    /// Mean, in microseconds; a lower bound if requests are censored.
    pub fn mean_us(&self) -> f64 {
        self.all.mean() / 1000.0
    }

    /// Standard deviation, in microseconds.
    pub fn stdev_us(&self) -> f64 {
        self.all.stdev() / 1000.0
    }

    /// Share of requests within one standard deviation of the mean, 0 to 1, as wrk prints it.
    pub fn within_stdev(&self) -> f64 {
        let (mean, stdev) = (self.all.mean(), self.all.stdev());
        let low = (mean - stdev).max(0.0) as u64;
        if self.all.is_empty() {
            0.0
        } else {
            self.all.count_between(low, (mean + stdev) as u64) as f64 / self.all.len() as f64
        }
    }
}

/// The rank of a percentile among `total` values in order, from 1: `ceil(total * percent / 100)`.
///
/// In whole numbers, with percents to a millionth: in floating point 99.9 / 100 * 1000 is 999.0000000000001, and the
/// ceiling of that a rank too high.
pub fn rank(percent: f64, total: u64) -> u64 {
    const PARTS: u128 = 100_000_000;
    let parts = (percent * 1e6).round() as u128;
    ((u128::from(total) * parts).div_ceil(PARTS) as u64).clamp(1, total.max(1))
}

/// The value of a rank, from 1, as the highest that the histogram does not tell from it; 0 if it is empty.
pub fn value_at_rank<T: Counter>(histogram: &hdrhistogram::Histogram<T>, rank: u64) -> u64 {
    // The quantile in the middle of the rank: rounding can't take it to another.
    let quantile = (rank as f64 - 0.5) / histogram.len() as f64;
    histogram.value_at_quantile(quantile).min(histogram.max())
}

#[cfg(test)]
mod tests {
    use super::super::new_histogram;
    use super::*;

    fn distribution(completed: impl IntoIterator<Item = u64>, waiting: impl IntoIterator<Item = u64>) -> Distribution {
        let (mut done, mut open) = (new_histogram(), new_histogram());
        completed.into_iter().for_each(|value| done.saturating_record(value));
        waiting.into_iter().for_each(|value| open.saturating_record(value));
        Distribution::new(done, Some(&open))
    }

    #[test]
    fn without_censored_requests_every_percentile_is_exact() {
        let times = distribution((1..=1000).map(|value| value * 1000), []);
        let median = times.percentile(50.0);
        assert!(!median.at_least && (median.value_us - 500.0).abs() < 1.0);
        assert!(!times.percentile(100.0).at_least);
    }

    #[test]
    fn censored_requests_turn_the_percentiles_above_them_into_bounds() {
        let times = distribution(vec![1_000; 900], vec![3_000_000_000; 100]);
        assert!(!times.percentile(50.0).at_least);
        assert!(!times.percentile(90.0).at_least);
        let tail = times.percentile(99.0);
        assert!(tail.at_least && (tail.value_us - 3e6).abs() < 3e3);
        assert_eq!(times.censored(), 100);
    }

    #[test]
    fn short_waits_can_still_hide_long_responses() {
        let times = distribution((1..=900).map(|value| value * 1000), vec![500; 100]);
        assert!(times.percentile(50.0).at_least, "the hundred could lie anywhere above");
    }

    #[test]
    fn ranks_are_exact_where_floating_point_is_not() {
        assert_eq!((rank(99.9, 1000), rank(99.99, 10_000), rank(50.0, 3)), (999, 9_999, 2));
        assert_eq!((rank(100.0, 7), rank(0.0, 7), rank(99.999, 0)), (7, 1, 1));
        assert_eq!(rank(99.9, u64::MAX), (u128::from(u64::MAX) * 999).div_ceil(1000) as u64);
        let times = distribution((1..=1000).map(|value| value * 1000), []);
        assert!((times.percentile(99.9).value_us - 999.0).abs() < 0.6, "{:?}", times.percentile(99.9));
    }

    #[test]
    fn nothing_recorded_is_zero_and_no_bound() {
        let times = distribution([], []);
        assert_eq!(times.percentile(99.0), Percentile { percent: 99.0, value_us: 0.0, at_least: false });
        assert_eq!((times.min_us(), times.within_stdev()), (0.0, 0.0));
    }
}
