//! The requests of one connection: which slots of the schedule it serves.

use super::{Interleave, Profile, Sequence, Slices};
use crate::random::SplitMix64;
use std::sync::Arc;

/// How requests follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Arrival {
    /// Even gaps; connections in rotation.
    Constant,
    /// Independent arrivals, as of many users: gaps are exponential.
    Poisson,
}

impl Arrival {
    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Arrival::Constant => "constant",
            Arrival::Poisson => "poisson",
        }
    }
}

/// Which slots a connection serves.
#[derive(Debug, Clone)]
enum Order {
    /// Every slot is this target's; connections in rotation.
    Even,
    /// Independent arrivals.
    Poisson(SplitMix64),
    /// Slots go to targets by a random sequence; the target's connections take its slots in turn.
    Sequence { sequence: Arc<Sequence>, target: usize, nth: u64 },
    /// Slots go to targets by stretches of time.
    Slices { slices: Arc<Slices>, target: usize, slice: u64, offset: u64 },
}

/// Which connection of which target: what its slots depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The target, from 0.
    pub target: usize,
    /// The connection among those of the target, from 0.
    pub index: usize,
    /// Connections of the target.
    pub of: usize,
}

/// One generator's part of a load that several share: its connections are every `of`-th of those of all together, so
/// that the shares are one schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Which part, from 0.
    pub index: usize,
    /// How many generators share the load.
    pub of: usize,
}

impl Share {
    /// The only generator.
    pub const WHOLE: Share = Share { index: 0, of: 1 };
    /// Most generators that share a load.
    const MOST: usize = 1000;

    /// Reads `2/3`: the second of three.
    ///
    /// # Errors
    /// A sentence that names what is wrong.
    pub fn parse(text: &str) -> Result<Share, String> {
        let parts = text.split_once('/').map(|(index, of)| (index.parse::<usize>(), of.parse::<usize>()));
        match parts {
            Some((Ok(index), Ok(of))) if (1..=of).contains(&index) && of <= Self::MOST => {
                Ok(Share { index: index - 1, of })
            }
            _ => Err(format!(
                "'{text}' is no share; write for example 2/3 for the second of three, of {} at most",
                Self::MOST
            )),
        }
    }

    /// What is offered here, as a part of the whole rate.
    pub fn fraction(self) -> f64 {
        1.0 / self.of as f64
    }

    /// The place of a connection of this generator among those of all.
    pub fn place(self, own: Place) -> Place {
        Place { index: self.index + own.index * self.of, of: own.of * self.of, ..own }
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}/{}", self.index + 1, self.of)
    }
}

/// The intended start times of one connection, in order.
#[derive(Debug, Clone)]
pub struct Arrivals {
    /// The next slot of the whole schedule.
    position: f64,
    /// Slots from one of this connection to its next.
    step: f64,
    order: Order,
    place: Place,
    /// With `-n`: the first slot that no connection serves; with independent arrivals, how many requests this connection
    /// may still start.
    limit: Option<u64>,
}

impl Arrivals {
    /// The slots of a connection of the only target. `total` bounds the requests of all connections together (`-n`).
    pub fn new(arrival: Arrival, place: Place, total: Option<u64>, seed: u64) -> Self {
        let (index, of) = (place.index as u64, place.of as u64);
        let mut arrivals =
            Arrivals { position: index as f64, step: of as f64, order: Order::Even, place, limit: total };
        if arrival == Arrival::Poisson {
            let mut random = SplitMix64::new(seed, index);
            arrivals.position = random.exponential() * arrivals.step;
            arrivals.order = Order::Poisson(random);
            arrivals.limit = total.map(|total| total / of + u64::from(index < total % of));
        }
        arrivals
    }

    /// The slots of a connection of one of several targets.
    pub fn shared_out(interleave: &Interleave, profile: &Profile, place: Place, total: Option<u64>) -> Self {
        let (order, share) = match interleave {
            Interleave::Request(sequence) => {
                let (sequence, nth) = (sequence.clone(), place.index as u64);
                let share = sequence.share(place.target);
                (Order::Sequence { sequence, target: place.target, nth }, share)
            }
            Interleave::Slices(slices) => {
                let (slice, offset) = (slices.first_of(place.target), place.index as u64);
                let order = Order::Slices { slices: slices.clone(), target: place.target, slice, offset };
                (order, slices.share(place.target))
            }
        };
        let mut arrivals = Arrivals { position: 0.0, step: place.of as f64 / share, order, place, limit: total };
        arrivals.seek(profile);
        arrivals
    }

    /// Nanoseconds from the start of the run at which the next request is due; `None` when this connection is done.
    #[inline]
    pub fn next_due_ns(&self, profile: &Profile) -> Option<u64> {
        match (&self.order, self.limit) {
            (Order::Poisson(_), Some(0)) => None,
            (Order::Poisson(_), _) | (_, None) => profile.due_ns(self.position),
            (_, Some(total)) if self.position >= total as f64 => None,
            _ => profile.due_ns(self.position),
        }
    }

    /// The slot of the schedule of the next request; with independent arrivals, about its place in the schedule.
    #[inline]
    pub fn slot(&self) -> u64 {
        self.position as u64
    }

    /// Takes the next request off the schedule.
    #[inline]
    pub fn advance(&mut self, profile: &Profile) {
        match &mut self.order {
            Order::Even => self.position += self.step,
            Order::Poisson(random) => {
                self.position += random.exponential() * self.step;
                self.limit = self.limit.map(|left| left.saturating_sub(1));
            }
            Order::Sequence { nth, .. } => {
                *nth += self.place.of as u64;
                self.seek(profile);
            }
            Order::Slices { offset, .. } => {
                *offset += self.place.of as u64;
                self.seek(profile);
            }
        }
    }

    /// Sets the position to the slot of the next request, where the order goes by targets.
    fn seek(&mut self, profile: &Profile) {
        match &mut self.order {
            Order::Even | Order::Poisson(_) => {}
            Order::Sequence { sequence, target, nth } => self.position = sequence.slot(*target, *nth) as f64,
            Order::Slices { slices, target, slice, offset } => loop {
                // A slot belongs to the slice in which it is due, so a slice begins with the first slot due within it.
                let begin = slices.begin_ns(*slice).map(|at| profile.first_from(at)).filter(|begin| begin.is_finite());
                let end = slices.begin_ns(*slice + 1).map(|at| profile.first_from(at));
                let (Some(begin), Some(end)) = (begin, end) else {
                    self.position = f64::INFINITY;
                    return;
                };
                if begin + (*offset as f64) < end {
                    self.position = begin + *offset as f64;
                    return;
                }
                // The rotation of connections goes on: the connection whose turn it was begins the next slice.
                (*slice, *offset) = (slices.next_of(*target, *slice), *offset - (end - begin) as u64);
            },
        }
    }

    /// The larger of 1 and `most` such that so many requests are left and all of them are due before `end_ns`.
    pub fn stride_before(&self, profile: &Profile, end_ns: u64, most: u64) -> u64 {
        let last = self.position + (most - 1) as f64 * self.step;
        let within = match (&self.order, self.limit) {
            (_, None) => true,
            (Order::Poisson(_), Some(left)) => left >= most,
            (_, Some(total)) => last < total as f64,
        };
        let exact = matches!(self.order, Order::Even | Order::Poisson(_));
        if exact && within && profile.due_ns(last).is_some_and(|due| due < end_ns) { most } else { 1 }
    }

    /// Takes `count` requests off the schedule, as if their gaps were even.
    pub fn skip(&mut self, profile: &Profile, count: u64) {
        if count == 1 || !matches!(self.order, Order::Even | Order::Poisson(_)) {
            return (0..count).for_each(|_| self.advance(profile));
        }
        self.position += count as f64 * self.step;
        if let (Order::Poisson(_), Some(left)) = (&self.order, &mut self.limit) {
            *left -= count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::RateSpec;
    use super::*;
    use crate::properties::{CASES, for_inputs, list};

    fn times(arrivals: &mut Arrivals, profile: &Profile, until_ns: u64) -> Vec<u64> {
        let mut times = Vec::new();
        while let Some(due) = arrivals.next_due_ns(profile).filter(|due| *due < until_ns) {
            times.push(due);
            arrivals.advance(profile);
        }
        times
    }

    fn only(arrival: Arrival, index: usize, of: usize, total: Option<u64>, seed: u64) -> Arrivals {
        Arrivals::new(arrival, Place { target: 0, index, of }, total, seed)
    }

    #[test]
    fn connections_together_make_one_even_comb() {
        for_inputs(CASES, |source| {
            let (connections, rate) = (source.int_in_range(1..=49)?, source.int_in_range(1..=19_999_u32)?);
            let profile = Profile::new(&RateSpec::Constant(f64::from(rate)), 0.0, 1.0);
            let of_one = |index| only(Arrival::Constant, index, connections, None, 0);
            let mut all: Vec<u64> =
                (0..connections).flat_map(|index| times(&mut of_one(index), &profile, 1_000_000_000)).collect();
            all.sort_unstable();
            assert_eq!(all.len(), rate as usize);
            let gap = 1e9 / f64::from(rate);
            for (index, time) in all.iter().enumerate() {
                assert!((*time as f64 - index as f64 * gap).abs() <= 1.0);
            }
            Ok(())
        });
    }

    #[test]
    fn a_total_is_shared_out_exactly() {
        for_inputs(CASES, |source| {
            let (connections, total) = (source.int_in_range(1..=69)?, source.int_in_range(0..=4_999)?);
            let arrival = if source.arbitrary()? { Arrival::Poisson } else { Arrival::Constant };
            let profile = Profile::new(&RateSpec::Constant(1e6), 0.0, 1.0);
            let sum: usize = (0..connections)
                .map(|index| times(&mut only(arrival, index, connections, Some(total), 0), &profile, u64::MAX).len())
                .sum();
            assert_eq!(sum as u64, total);
            Ok(())
        });
    }

    #[test]
    fn targets_together_make_one_even_comb_too() {
        for_inputs(CASES, |source| {
            let weights = list(source, 2..=4, |source| source.int_in_range(1..=3))?;
            let (connections, rate) = (source.int_in_range(1..=8)?, source.int_in_range(100..=19_999_u32)?);
            let (by_slices, seed) = (source.arbitrary()?, source.arbitrary()?);
            let profile = Profile::new(&RateSpec::Constant(f64::from(rate)), 0.3, 0.7);
            let interleave = if by_slices {
                Interleave::Slices(Arc::new(Slices::random(&weights, 10_000_000, seed)))
            } else {
                Interleave::Request(Arc::new(Sequence::new(&weights, seed)))
            };
            let mut all: Vec<(u64, usize)> = Vec::new();
            for target in 0..weights.len() {
                for index in 0..connections {
                    let place = Place { target, index, of: connections };
                    let mut arrivals = Arrivals::shared_out(&interleave, &profile, place, None);
                    let dues = times(&mut arrivals, &profile, 1_000_000_000);
                    all.extend(dues.into_iter().map(|due| (due, target)));
                }
            }
            all.sort_unstable();
            assert_eq!(all.len(), rate as usize, "each slot is somebody's, and nobody's twice");
            for (slot, (due, target)) in all.into_iter().enumerate() {
                assert_eq!(Some(due), profile.due_ns(slot as f64));
                assert_eq!(target, interleave.target(slot as u64, due));
            }
            Ok(())
        });
    }

    /// The union of all generators' shares is the schedule of one generator with all their connections, slot by
    /// slot, and no slot is sent twice.
    #[test]
    fn shares_together_are_the_one_schedule() {
        for_inputs(CASES, |source| {
            let (generators, connections) = (source.int_in_range(1..=5)?, source.int_in_range(1..=6)?);
            let (rate, seed) = (source.int_in_range(100..=19_999_u32)?, source.arbitrary()?);
            let (total, bounded) = (source.int_in_range(1..=2_999)?, source.arbitrary::<bool>()?);
            let kind = source.int_in_range(0..=3)?;
            let profile = Profile::new(&RateSpec::Constant(f64::from(rate)), 0.1, 0.4);
            let weights = [2, 1];
            let interleave = match kind {
                2 => Some(Interleave::Request(Arc::new(Sequence::new(&weights, seed)))),
                3 => Some(Interleave::Slices(Arc::new(Slices::random(&weights, 10_000_000, seed)))),
                _ => None,
            };
            let arrival = if kind == 1 { Arrival::Poisson } else { Arrival::Constant };
            let total = bounded.then_some(total);
            let of_place = |place: Place| {
                let mut arrivals = match &interleave {
                    Some(interleave) => Arrivals::shared_out(interleave, &profile, place, total),
                    None => Arrivals::new(arrival, place, total, seed),
                };
                let mut requests = Vec::new();
                while let Some(due) = arrivals.next_due_ns(&profile).filter(|due| *due < 500_000_000) {
                    requests.push((due, arrivals.slot(), place.target));
                    arrivals.advance(&profile);
                }
                requests
            };
            let targets = if interleave.is_some() { weights.len() } else { 1 };
            let sent_by = |share: Share, of: usize| {
                (0..targets).flat_map(move |target| (0..of).map(move |index| share.place(Place { target, index, of })))
            };
            let mut one: Vec<_> = sent_by(Share::WHOLE, generators * connections).flat_map(of_place).collect();
            let mut all = Vec::new();
            for index in 0..generators {
                all.extend(sent_by(Share { index, of: generators }, connections).flat_map(of_place));
            }
            one.sort_unstable();
            all.sort_unstable();
            assert_eq!(one, all);
            Ok(())
        });
    }

    #[test]
    fn a_share_is_read_and_nonsense_is_refused() {
        assert_eq!(Share::parse("2/3"), Ok(Share { index: 1, of: 3 }));
        assert_eq!(Share { index: 1, of: 3 }.to_string(), "2/3");
        for text in ["0/3", "4/3", "2", "a/b", "1/0", "1/1001", "-1/2"] {
            assert!(Share::parse(text).is_err_and(|why| why.contains(text)), "{text}");
        }
    }

    #[test]
    fn poisson_has_the_rate_and_the_spread_of_a_poisson_process() {
        let profile = Profile::new(&RateSpec::Constant(20_000.0), 0.0, 10.0);
        let mut all: Vec<u64> = (0..8)
            .flat_map(|index| times(&mut only(Arrival::Poisson, index, 8, None, 42), &profile, 10_000_000_000))
            .collect();
        all.sort_unstable();
        let count = all.len() as f64;
        // 200 000 expected, standard deviation 447: five of them.
        assert!((count - 200_000.0).abs() < 2_236.0, "{count}");
        let gaps: Vec<f64> = all.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "an exponential's deviation equals its mean");
    }
}
