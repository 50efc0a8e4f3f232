//! Offered rate over time, and its inverse: the time at which the n-th request is due.

/// What `-R` asked for, in requests a second over all connections.
#[derive(Debug, Clone, PartialEq)]
pub enum RateSpec {
    /// `-R 5000`
    Constant(f64),
    /// `-R 1000:9000`: a straight line over the recorded window.
    Ramp {
        /// Rate at the start of the window (and during warm-up).
        from: f64,
        /// Rate at the end of the window.
        to: f64,
    },
    /// `-R 1000,2000,4000`: steps of equal length over the recorded window.
    Steps(Vec<f64>),
}

impl RateSpec {
    /// Mean offered rate over the recorded window, in requests a second.
    pub fn mean_rps(&self) -> f64 {
        match self {
            RateSpec::Constant(rate) => *rate,
            RateSpec::Ramp { from, to } => (from + to) / 2.0,
            RateSpec::Steps(rates) => rates.iter().sum::<f64>() / rates.len() as f64,
        }
    }

    /// The lowest and the highest rate that is ever offered.
    pub fn range_rps(&self) -> (f64, f64) {
        match self {
            RateSpec::Constant(rate) => (*rate, *rate),
            RateSpec::Ramp { from, to } => (from.min(*to), from.max(*to)),
            RateSpec::Steps(rates) => {
                rates.iter().fold((f64::INFINITY, 0.0), |(low, high), rate| (low.min(*rate), high.max(*rate)))
            }
        }
    }
}

/// A stretch of time in which the rate is a straight line.
#[derive(Debug, Clone, PartialEq)]
struct Segment {
    start_s: f64,
    /// Requests due before this stretch.
    start_count: f64,
    rate_rps: f64,
    /// Change of the rate, in requests a second per second.
    slope: f64,
}

/// Offered rate over the whole run, warm-up included. Time 0 is the start of the run.
///
/// Times are computed from positions, never added up, so nothing drifts: an `f64` holds nanoseconds of a run of
/// 100 days exactly.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    segments: Vec<Segment>,
}

impl Profile {
    /// Warm-up runs at the first rate; after the window the last rate goes on.
    pub fn new(spec: &RateSpec, warmup_s: f64, duration_s: f64) -> Self {
        let mut profile = Profile { segments: Vec::new() };
        match spec {
            RateSpec::Constant(rate) => profile.push(0.0, *rate, 0.0),
            RateSpec::Ramp { from, to } => {
                if warmup_s > 0.0 && *from > 0.0 {
                    profile.push(0.0, *from, 0.0);
                }
                profile.push(warmup_s, *from, (to - from) / duration_s);
                profile.push(warmup_s + duration_s, *to, 0.0);
            }
            RateSpec::Steps(rates) => {
                let step_s = duration_s / rates.len() as f64;
                for (index, rate) in rates.iter().enumerate() {
                    let start_s = if index == 0 { 0.0 } else { warmup_s + step_s * index as f64 };
                    profile.push(start_s, *rate, 0.0);
                }
            }
        }
        profile
    }

    fn push(&mut self, start_s: f64, rate_rps: f64, slope: f64) {
        let start_count = self.segments.last().map_or(0.0, |last| {
            let length_s = start_s - last.start_s;
            last.start_count + length_s * (last.rate_rps + last.slope * length_s / 2.0)
        });
        self.segments.push(Segment { start_s, start_count, rate_rps, slope });
    }

    /// The offered rate at a moment, in nanoseconds from the start of the run.
    pub fn rate_rps(&self, moment_ns: u64) -> f64 {
        let moment_s = moment_ns as f64 / 1e9;
        let index = self.segments.partition_point(|segment| segment.start_s <= moment_s).saturating_sub(1);
        let segment = &self.segments[index];
        segment.rate_rps + segment.slope * (moment_s - segment.start_s)
    }

    /// Nanoseconds from the start of the run at which the request at `position` is due.
    #[inline]
    pub fn due_ns(&self, position: f64) -> u64 {
        let index = self.segments.partition_point(|segment| segment.start_count <= position).saturating_sub(1);
        let segment = &self.segments[index];
        let count = position - segment.start_count;
        let offset_s = if segment.slope == 0.0 {
            count / segment.rate_rps
        } else {
            // The stable form of the quadratic's root: no cancellation for small slopes, right for a rate of 0 too.
            let rate = segment.rate_rps;
            2.0 * count / (rate + (rate * rate + 2.0 * segment.slope * count).max(0.0).sqrt())
        };
        if offset_s.is_nan() {
            (segment.start_s * 1e9) as u64
        } else {
            ((segment.start_s + offset_s) * 1e9).round() as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn constant_rate_has_even_gaps_and_no_drift() {
        let profile = Profile::new(&RateSpec::Constant(3.0), 5.0, 10.0);
        assert_eq!(profile.due_ns(0.0), 0);
        assert_eq!(profile.due_ns(1.0), 333_333_333);
        assert_eq!(profile.due_ns(3_000_000_000.0), 1_000_000_000_000_000_000);
    }

    #[test]
    fn ramp_offers_the_mean_of_its_ends() {
        let profile = Profile::new(&RateSpec::Ramp { from: 0.0, to: 2000.0 }, 0.0, 10.0);
        assert_eq!(profile.due_ns(10_000.0), 10_000_000_000);
        assert_eq!(profile.due_ns(2500.0), 5_000_000_000);
        assert_eq!(profile.due_ns(12_000.0), 11_000_000_000);
        assert_eq!([0, 5, 10, 11].map(|at| profile.rate_rps(at * 1_000_000_000)), [0.0, 1000.0, 2000.0, 2000.0]);
    }

    #[test]
    fn steps_are_of_equal_length_after_the_warmup() {
        let profile = Profile::new(&RateSpec::Steps(vec![10.0, 20.0]), 1.0, 4.0);
        assert_eq!(profile.due_ns(10.0), 1_000_000_000);
        assert_eq!(profile.due_ns(30.0), 3_000_000_000);
        assert_eq!(profile.due_ns(70.0), 5_000_000_000);
        assert_eq!([0, 2, 3, 9].map(|at| profile.rate_rps(at * 1_000_000_000)), [10.0, 10.0, 20.0, 20.0]);
    }

    proptest! {
        #[test]
        fn due_times_never_go_back(from in 0.0..1e5f64, to in 1.0..1e5f64, position in 0.0..1e6f64, gap in 0.0..1e4f64) {
            let profile = Profile::new(&RateSpec::Ramp { from, to }, 1.0, 7.0);
            prop_assert!(profile.due_ns(position) <= profile.due_ns(position + gap));
        }

        #[test]
        fn constant_rate_sends_exactly_rate_times_duration(rate in 1u32..1_000_000, seconds in 1u32..100) {
            let profile = Profile::new(&RateSpec::Constant(f64::from(rate)), 0.0, f64::from(seconds));
            let last = f64::from(rate) * f64::from(seconds);
            let end_ns = u64::from(seconds) * 1_000_000_000;
            prop_assert!(profile.due_ns(last - 1.0) < end_ns);
            prop_assert!(profile.due_ns(last) >= end_ns);
        }
    }
}
