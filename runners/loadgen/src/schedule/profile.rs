//! Offered rate over time, and its inverse: the time at which the n-th request is due.

/// What `-R` asked for, in requests per second over all connections.
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
    /// Mean offered rate over the recorded window, in requests per second.
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
    /// Change of the rate, in requests per second, per second.
    slope: f64,
}

/// Due times beyond this are never: a hundred years. It leaves room for an origin on the clock to be added.
const LATEST_NS: f64 = 3.2e18;

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
        let segment = self.segment_at(moment_ns);
        segment.rate_rps + segment.slope * (moment_ns as f64 / 1e9 - segment.start_s)
    }

    /// The number of requests that are due before a moment, in nanoseconds from the start of the run: the inverse of
    /// [`Profile::due_ns`].
    pub fn position_at(&self, moment_ns: u64) -> f64 {
        let segment = self.segment_at(moment_ns);
        let offset_s = moment_ns as f64 / 1e9 - segment.start_s;
        segment.start_count + offset_s * (segment.rate_rps + segment.slope * offset_s / 2.0)
    }

    /// The first request that is due at a moment of the run or after it; infinite if none is.
    pub fn first_from(&self, moment_ns: u64) -> f64 {
        // The inverse is off by a rounding, so neighbours are looked at.
        let mut position = self.position_at(moment_ns).round().max(0.0);
        while position > 0.0 && self.due_ns(position - 1.0).is_none_or(|due| due >= moment_ns) {
            position -= 1.0;
        }
        loop {
            match self.due_ns(position) {
                Some(due) if due < moment_ns => position += 1.0,
                Some(_) => return position,
                None => return f64::INFINITY,
            }
        }
    }

    fn segment_at(&self, moment_ns: u64) -> &Segment {
        let moment_s = moment_ns as f64 / 1e9;
        let index = self.segments.partition_point(|segment| segment.start_s <= moment_s).saturating_sub(1);
        &self.segments[index]
    }

    /// Nanoseconds from the start of the run at which the request at `position` is due; `None`: never, because the rate
    /// falls to zero before it.
    #[inline]
    pub fn due_ns(&self, position: f64) -> Option<u64> {
        let index = self.segments.partition_point(|segment| segment.start_count <= position).saturating_sub(1);
        let segment = &self.segments[index];
        let count = position - segment.start_count;
        if count <= 0.0 && segment.rate_rps > 0.0 {
            return Some((segment.start_s * 1e9).round() as u64);
        }
        let rate = segment.rate_rps;
        let offset_s = if segment.slope == 0.0 {
            count / rate
        } else {
            // The stable form of the quadratic's root: no cancellation for small slopes, right for a rate of 0 too.
            2.0 * count / (rate + (rate * rate + 2.0 * segment.slope * count).max(0.0).sqrt())
        };
        let due_ns = match offset_s {
            // The very first request of a ramp from zero: 0 / 0.
            offset_s if offset_s.is_nan() && segment.slope > 0.0 => segment.start_s * 1e9,
            offset_s => (segment.start_s + offset_s) * 1e9,
        };
        (due_ns < LATEST_NS).then(|| due_ns.round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::{CASES, float, for_inputs};

    #[test]
    fn constant_rate_has_even_gaps_and_no_drift() {
        let profile = Profile::new(&RateSpec::Constant(3.0), 5.0, 10.0);
        assert_eq!(profile.due_ns(0.0), Some(0));
        assert_eq!(profile.due_ns(1.0), Some(333_333_333));
        assert_eq!(profile.due_ns(3_000_000_000.0), Some(1_000_000_000_000_000_000));
    }

    #[test]
    fn ramp_offers_the_mean_of_its_ends() {
        let profile = Profile::new(&RateSpec::Ramp { from: 0.0, to: 2000.0 }, 0.0, 10.0);
        assert_eq!(profile.due_ns(10_000.0), Some(10_000_000_000));
        assert_eq!(profile.due_ns(2500.0), Some(5_000_000_000));
        assert_eq!(profile.due_ns(12_000.0), Some(11_000_000_000));
        assert_eq!([0, 5, 10, 11].map(|at| profile.rate_rps(at * 1_000_000_000)), [0.0, 1000.0, 2000.0, 2000.0]);
    }

    #[test]
    fn steps_are_of_equal_length_after_the_warmup() {
        let profile = Profile::new(&RateSpec::Steps(vec![10.0, 20.0]), 1.0, 4.0);
        assert_eq!(profile.due_ns(10.0), Some(1_000_000_000));
        assert_eq!(profile.due_ns(30.0), Some(3_000_000_000));
        assert_eq!(profile.due_ns(70.0), Some(5_000_000_000));
        assert_eq!([0, 2, 3, 9].map(|at| profile.rate_rps(at * 1_000_000_000)), [10.0, 10.0, 20.0, 20.0]);
    }

    #[test]
    fn due_times_never_go_back() {
        for_inputs(CASES, |source| {
            let (from, to) = (float(source, 0.0..1e5)?, float(source, 1.0..1e5)?);
            let (position, gap) = (float(source, 0.0..1e6)?, float(source, 0.0..1e4)?);
            let profile = Profile::new(&RateSpec::Ramp { from, to }, 1.0, 7.0);
            let (Some(due), Some(later)) = (profile.due_ns(position), profile.due_ns(position + gap)) else {
                panic!("a rate that never falls to zero ends");
            };
            assert!(due <= later);
            Ok(())
        });
    }

    #[test]
    fn a_ramp_to_zero_ends_and_one_from_zero_begins() {
        for_inputs(CASES, |source| {
            let (peak, down, share) = (float(source, 1.0..1e5)?, source.arbitrary()?, float(source, 0.0..2.0)?);
            let (from, to) = if down { (peak, 0.0) } else { (0.0, peak) };
            let profile = Profile::new(&RateSpec::Ramp { from, to }, 1.0, 7.0);
            // The warm-up runs at the first rate; the ramp's area is that of a triangle.
            let all = from * 1.0 + peak * 7.0 / 2.0;
            let due = profile.due_ns(all * share);
            if down && share > 1.0 {
                assert_eq!(due, None, "after the end of the ramp nothing is due");
            } else {
                let due = due.expect("due within the ramp or after it");
                assert!(share > 1.0 || due <= 8_000_000_001, "{due}");
                // The inverse loses precision where the rate is nearly zero.
                assert!((profile.position_at(due) - all * share).abs() <= 1e-3 + all * 1e-9);
            }
            Ok(())
        });
    }

    #[test]
    fn constant_rate_sends_exactly_rate_times_duration() {
        for_inputs(CASES, |source| {
            let (rate, seconds) = (source.int_in_range(1..=999_999_u32)?, source.int_in_range(1..=99_u32)?);
            let profile = Profile::new(&RateSpec::Constant(f64::from(rate)), 0.0, f64::from(seconds));
            let last = f64::from(rate) * f64::from(seconds);
            let end_ns = u64::from(seconds) * 1_000_000_000;
            assert!(profile.due_ns(last - 1.0).is_some_and(|due| due < end_ns));
            assert!(profile.due_ns(last).is_some_and(|due| due >= end_ns));
            Ok(())
        });
    }
}
