//! Targets compared: ratios of their percentiles with intervals, and what a request's predecessor does to it.
//!
//! Requests of all targets that were intended within the same stretch of time met the same machine, so stretches are the
//! independent units: a ratio's interval is the delete-a-group jackknife's over stretches (Shao and Wu, "A general theory
//! for jackknife variance estimation", Annals of Statistics 1989), with Student's t. It assumes that stretches are
//! independent; drifts longer than one stretch make it too narrow, and differences from one start of a server to the next
//! are not in it at all.

use super::distribution::{rank, value_at_rank};
use super::interval::{CompactHistogram, new_compact_histogram};
use super::{Fate, Request};
use crate::schedule::Sequence;
use std::sync::Arc;

/// Stretches at most; when there are as many, neighbours are merged and stretches are twice as long.
const MOST_GROUPS: usize = 64;
/// With fewer there is no interval: Student's t grows too wide to say anything.
const LEAST_GROUPS: usize = 8;
/// Percentiles that are compared, in percent.
const PERCENTS: [f64; 3] = [50.0, 90.0, 99.0];

/// A 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval95 {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// A percentile of one target over that of the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Index of the target.
    pub target: usize,
    /// `response` or `service`.
    pub quantity: &'static str,
    /// Percent.
    pub percent: f64,
    /// The target's percentile over the first target's.
    pub ratio: f64,
    /// Its interval; `None` with too few stretches.
    pub interval: Option<Interval95>,
}

/// Service time of a target's requests right after requests to one target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CarryOver {
    /// Index of the target.
    pub target: usize,
    /// Index of the target before it in the schedule.
    pub predecessor: usize,
    /// Requests.
    pub count: u64,
    /// Their median service time in microseconds.
    pub p50_us: f64,
    /// Its interval by order statistics (binomial): it takes requests as independent.
    pub interval: Interval95,
}

#[derive(Debug, Clone)]
struct Times {
    response: CompactHistogram,
    service: CompactHistogram,
}

impl Times {
    fn new() -> Self {
        Times { response: new_compact_histogram(), service: new_compact_histogram() }
    }

    fn of(&self, quantity: &str) -> &CompactHistogram {
        if quantity == "service" { &self.service } else { &self.response }
    }

    fn add(&mut self, other: &Times) {
        for (sum, part) in [(&mut self.response, &other.response), (&mut self.service, &other.service)] {
            sum.add(part).expect("all histograms have the same bounds");
        }
    }
}

/// Takes each request, and compares at the end.
#[derive(Debug)]
pub struct Comparison {
    targets: usize,
    /// Stretches, each with the times of each target.
    groups: Vec<Vec<Times>>,
    group_ns: u64,
    /// Stretches hold requests of all targets, so that they can be compared one by one.
    paired: bool,
    sequence: Option<Arc<Sequence>>,
    /// Service times by target and predecessor.
    after: Vec<CompactHistogram>,
}

impl Comparison {
    /// Compares so many targets. `group_ns` is a length of time in which each target has its share of the requests;
    /// `None`: there is no such length, and so no interval. `sequence` is the order of targets where it goes by request.
    pub fn new(targets: usize, group_ns: Option<u64>, sequence: Option<Arc<Sequence>>) -> Self {
        let after = if sequence.is_some() { targets * targets } else { 0 };
        Comparison {
            targets,
            groups: Vec::new(),
            group_ns: group_ns.unwrap_or(u64::MAX).max(1),
            paired: group_ns.is_some(),
            sequence,
            after: (0..after).map(|_| new_compact_histogram()).collect(),
        }
    }

    /// Takes a request. One without a response counts with the time it had waited.
    pub fn take(&mut self, request: &Request) {
        let mut index = (request.intended_ns / self.group_ns) as usize;
        while index >= MOST_GROUPS {
            self.merge_neighbours();
            index = (request.intended_ns / self.group_ns) as usize;
        }
        if self.groups.len() <= index {
            self.groups.resize_with(index + 1, || vec![Times::new(); self.targets]);
        }
        let target = usize::from(request.target);
        let times = &mut self.groups[index][target];
        times.response.saturating_record(request.wait_ns + request.service_ns);
        if request.fate == Fate::Unsent {
            return;
        }
        times.service.saturating_record(request.service_ns);
        if let (Some(sequence), Some(before)) = (&self.sequence, request.slot.checked_sub(1)) {
            self.after[target * self.targets + sequence.target(before)].saturating_record(request.service_ns);
        }
    }

    fn merge_neighbours(&mut self) {
        let groups = std::mem::take(&mut self.groups);
        let mut groups = groups.into_iter();
        while let Some(mut group) = groups.next() {
            if let Some(next) = groups.next() {
                group.iter_mut().zip(&next).for_each(|(sum, part)| sum.add(part));
            }
            self.groups.push(group);
        }
        self.group_ns = self.group_ns.saturating_mul(2);
    }

    /// Ratios of each target's percentiles to those of the first.
    pub fn ratios(&self) -> Vec<Ratio> {
        let mut sums = vec![Times::new(); self.targets];
        for group in &self.groups {
            sums.iter_mut().zip(group).for_each(|(sum, part)| sum.add(part));
        }
        let mut ratios = Vec::new();
        for target in 1..self.targets {
            for quantity in ["response", "service"] {
                let both = [&sums[0], &sums[target]].map(|times| times.of(quantity));
                if both.iter().any(|times| times.is_empty()) {
                    continue;
                }
                let errors = self.standard_errors(&sums, target, quantity);
                for (place, percent) in PERCENTS.into_iter().enumerate() {
                    let log = log_ratio(both, percent);
                    let interval = errors.map(|halves| Interval95 {
                        low: (log - halves[place]).exp(),
                        high: (log + halves[place]).exp(),
                    });
                    ratios.push(Ratio { target, quantity, percent, ratio: log.exp(), interval });
                }
            }
        }
        ratios
    }

    /// Half of the interval of the logarithm, for each of `PERCENTS`.
    fn standard_errors(&self, sums: &[Times], target: usize, quantity: &str) -> Option<[f64; PERCENTS.len()]> {
        let holds = |group: &&Vec<Times>| [0, target].iter().all(|index| !group[*index].of(quantity).is_empty());
        let groups: Vec<_> = self.groups.iter().filter(holds).collect();
        if groups.len() < LEAST_GROUPS || !self.paired {
            return None;
        }
        let without: Vec<_> = groups
            .iter()
            .map(|group| {
                let left = [0, target].map(|index| {
                    let mut left = sums[index].of(quantity).clone();
                    left.subtract(group[index].of(quantity)).expect("a part of its sum");
                    left
                });
                PERCENTS.map(|percent| log_ratio([&left[0], &left[1]], percent))
            })
            .collect();
        let count = without.len() as f64;
        Some(std::array::from_fn(|place| {
            let mean = without.iter().map(|logs| logs[place]).sum::<f64>() / count;
            let squares = without.iter().map(|logs| (logs[place] - mean).powi(2)).sum::<f64>();
            student_97_5(count - 1.0) * ((count - 1.0) / count * squares).sqrt()
        }))
    }

    /// Each target's service time by its predecessor; empty where the order does not go by request.
    pub fn carry_over(&self) -> Vec<CarryOver> {
        let mut rows = Vec::new();
        for (index, times) in self.after.iter().enumerate().filter(|(_, times)| !times.is_empty()) {
            let count = times.len();
            // The ranks between which the median lies with 95 %: n / 2 -+ 1.96 * sqrt(n) / 2.
            let half = 0.98 / (count as f64).sqrt();
            let at = |quantile: f64| quantile_of(times, quantile.clamp(0.0, 1.0)) / 1000.0;
            rows.push(CarryOver {
                target: index / self.targets,
                predecessor: index % self.targets,
                count,
                p50_us: at(0.5),
                interval: Interval95 { low: at(0.5 - half), high: at(0.5 + half) },
            });
        }
        rows
    }

    /// How many stretches there are, and how long one is in seconds; `None` where no stretch holds all targets.
    pub fn stretches(&self) -> Option<(usize, f64)> {
        self.paired.then(|| (self.groups.len(), self.group_ns as f64 / 1e9))
    }
}

fn log_ratio([of, to]: [&CompactHistogram; 2], percent: f64) -> f64 {
    (quantile_of(to, percent / 100.0) / quantile_of(of, percent / 100.0)).ln()
}

/// A quantile, straight within its bucket: a bucket is a thousandth wide, and differences of less are to be seen.
fn quantile_of(times: &CompactHistogram, quantile: f64) -> f64 {
    if times.is_empty() {
        return 1.0;
    }
    let rank = rank(quantile * 100.0, times.len());
    let value = value_at_rank(times, rank);
    let (low, high) = (times.lowest_equivalent(value), times.highest_equivalent(value) + 1);
    let below = if low == 0 { 0 } else { times.count_between(0, low - 1) };
    let share = ((rank - below) as f64 - 0.5) / f64::from(times.count_at(value));
    low as f64 + (high - low) as f64 * share
}

/// Student's t at 97.5 %, by the first terms of the Cornish-Fisher expansion: right to 0.2 % from 7 degrees on.
fn student_97_5(degrees: f64) -> f64 {
    let z = 1.959_964_f64;
    let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
    z + (z3 + z) / (4.0 * degrees)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * degrees.powi(2))
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * degrees.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    fn request(slot: u64, target: u8, intended_ns: u64, service_ns: u64) -> Request {
        Request {
            slot,
            intended_ns,
            wait_ns: 1000,
            service_ns,
            read_ns: service_ns,
            lag_ns: 0,
            written: 0,
            read: 0,
            target,
            tag: 0,
            status: 200,
            fate: Fate::Completed,
            unstamped: false,
        }
    }

    /// Targets of 80 us and 80 us times `factor`, each with a spread of some ten per cent, and stalls that hit both.
    fn compared(factor: f64, seed: u64) -> Comparison {
        let sequence = Arc::new(Sequence::new(&[1, 1], seed));
        let mut comparison = Comparison::new(2, Some(250_000_000), Some(sequence.clone()));
        let mut random = SplitMix64::new(seed, 99);
        for slot in 0..40_000 {
            let target = sequence.target(slot) as u8;
            let stall = if random.below(1000) == 0 { 3_000_000.0 } else { 0.0 };
            let base = 75_000.0 + 5_000.0 * random.exponential() + stall;
            let service = base * if target == 1 { factor } else { 1.0 };
            comparison.take(&request(slot, target, slot * 250_000, service as u64));
        }
        comparison
    }

    /// How often the interval of the median's ratio holds 1 where there is no difference, and finds one of two per cent.
    fn coverage_and_power(seeds: u64) -> (u32, u32) {
        let (mut covered, mut detected) = (0, 0);
        for seed in 0..seeds {
            let median = |factor| {
                let ratios = compared(factor, seed).ratios();
                let at = ratios.iter().find(|ratio| ratio.quantity == "service" && ratio.percent == 50.0).copied();
                at.and_then(|ratio| ratio.interval).expect("an interval")
            };
            let (same, other) = (median(1.0), median(1.02));
            covered += u32::from((same.low..=same.high).contains(&1.0));
            detected += u32::from(other.low > 1.0 && (other.low..=other.high).contains(&1.02));
        }
        (covered, detected)
    }

    #[test]
    fn a_difference_of_two_per_cent_is_found_and_none_where_there_is_none() {
        let (covered, detected) = coverage_and_power(8);
        assert!(covered >= 6 && detected >= 6, "of 8: {covered}, {detected}");
    }

    #[test]
    #[ignore = "long: make test-long runs it"]
    fn intervals_hold_what_they_promise_in_many_simulations() {
        let (covered, detected) = coverage_and_power(40);
        assert!(covered >= 34 && detected >= 34, "95 % of 40 are 38: {covered}, {detected}");
    }

    #[test]
    fn stretches_are_merged_when_there_are_too_many() {
        let comparison = compared(1.0, 1);
        let (groups, length_s) = comparison.stretches().unwrap();
        assert_eq!((groups, length_s), (40, 0.25));
        let mut long = Comparison::new(1, Some(1_000), None);
        (0..1_000).for_each(|slot| long.take(&request(slot, 0, slot * 1_000, 80_000)));
        let (groups, length_s) = long.stretches().unwrap();
        assert!(groups <= MOST_GROUPS && groups > MOST_GROUPS / 4, "{groups}");
        assert!((length_s * 1e9 / 1_000.0).log2().fract() == 0.0, "{length_s}");
    }

    #[test]
    fn carry_over_is_split_by_predecessor() {
        let sequence = Arc::new(Sequence::new(&[1, 1], 4));
        let mut comparison = Comparison::new(2, Some(250_000_000), Some(sequence.clone()));
        for slot in 1..10_000 {
            let after_slow = sequence.target(slot - 1) == 1;
            let service = if after_slow { 90_000 } else { 80_000 } + slot % 100;
            comparison.take(&request(slot, sequence.target(slot) as u8, slot * 250_000, service));
        }
        let rows = comparison.carry_over();
        assert_eq!(rows.len(), 4);
        for row in rows {
            let expected = if row.predecessor == 1 { 90.05 } else { 80.05 };
            assert!((row.p50_us - expected).abs() < 0.1, "{row:?}");
            assert!(row.interval.low <= row.p50_us && row.p50_us <= row.interval.high && row.count > 2_000);
        }
    }

    #[test]
    fn without_stretches_of_all_targets_there_is_no_interval() {
        let mut comparison = Comparison::new(2, None, None);
        (0..1000).for_each(|slot| comparison.take(&request(slot, (slot / 500) as u8, slot * 1_000_000, 80_000)));
        assert_eq!(comparison.stretches(), None);
        assert!(comparison.ratios().iter().all(|ratio| ratio.interval.is_none() && (ratio.ratio - 1.0).abs() < 0.01));
    }

    #[test]
    fn students_t_is_that_of_the_tables() {
        for (degrees, expected) in [(7.0, 2.3646), (15.0, 2.1314), (31.0, 2.0395), (63.0, 1.9983)] {
            assert!((student_97_5(degrees) / expected - 1.0).abs() < 0.002, "{degrees}");
        }
    }
}
