//! The requests of one connection: which positions of the run it serves.

use super::Profile;

/// How requests follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Arrival {
    /// Even gaps; connections take turns.
    Constant,
    /// Independent arrivals: the gaps of each connection are exponential, and so are those of the whole.
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

/// The intended start times of one connection, in order.
#[derive(Debug, Clone)]
pub struct Arrivals {
    position: f64,
    connections: f64,
    random: Option<SplitMix64>,
    /// Requests that this connection may still start; `None` is no bound.
    left: Option<u64>,
}

impl Arrivals {
    /// Connection `index` of `connections`. `total` bounds the requests of all connections together (`-n`).
    pub fn new(arrival: Arrival, index: usize, connections: usize, total: Option<u64>, seed: u64) -> Self {
        let left =
            total.map(|total| total / connections as u64 + u64::from((index as u64) < total % connections as u64));
        let mut arrivals = Arrivals { position: index as f64, connections: connections as f64, random: None, left };
        if arrival == Arrival::Poisson {
            let mut random = SplitMix64(seed ^ (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            arrivals.position = random.exponential() * arrivals.connections;
            arrivals.random = Some(random);
        }
        arrivals
    }

    /// Nanoseconds from the start of the run at which the next request is due; `None` when this connection is done.
    #[inline]
    pub fn next_due_ns(&self, profile: &Profile) -> Option<u64> {
        (self.left != Some(0)).then(|| profile.due_ns(self.position))
    }

    /// Takes `count` requests off the schedule, as if their gaps were even.
    pub fn skip(&mut self, count: u64) {
        if count == 1 {
            return self.advance();
        }
        self.position += count as f64 * self.connections;
        if let Some(left) = &mut self.left {
            *left -= count;
        }
    }

    /// The larger of 1 and `most` such that so many requests are left and all of them are due before `end_ns`.
    pub fn stride_before(&self, profile: &Profile, end_ns: u64, most: u64) -> u64 {
        let last_due_ns = profile.due_ns(self.position + (most - 1) as f64 * self.connections);
        if last_due_ns < end_ns && self.left.is_none_or(|left| left >= most) { most } else { 1 }
    }

    /// Takes the next request off the schedule.
    #[inline]
    pub fn advance(&mut self) {
        let gap = self.random.as_mut().map_or(1.0, SplitMix64::exponential);
        self.position += gap * self.connections;
        if let Some(left) = &mut self.left {
            *left -= 1;
        }
    }
}

/// Sebastiano Vigna's SplitMix64: small, seedable, good enough for gaps.
#[derive(Debug, Clone)]
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Exponential with mean 1, by inversion. The draw lies in (0, 1], so the logarithm is finite.
    fn exponential(&mut self) -> f64 {
        let uniform = ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        -uniform.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::super::RateSpec;
    use super::*;
    use proptest::prelude::*;

    fn times(arrivals: &mut Arrivals, profile: &Profile, until_ns: u64) -> Vec<u64> {
        let mut times = Vec::new();
        while let Some(due) = arrivals.next_due_ns(profile) {
            if due >= until_ns {
                break;
            }
            times.push(due);
            arrivals.advance();
        }
        times
    }

    proptest! {
        #[test]
        fn connections_together_make_one_even_comb(connections in 1usize..50, rate in 1u32..20_000) {
            let profile = Profile::new(&RateSpec::Constant(f64::from(rate)), 0.0, 1.0);
            let mut all: Vec<u64> = (0..connections)
                .flat_map(|index| times(&mut Arrivals::new(Arrival::Constant, index, connections, None, 0), &profile, 1_000_000_000))
                .collect();
            all.sort_unstable();
            prop_assert_eq!(all.len(), rate as usize);
            let gap = 1e9 / f64::from(rate);
            for (index, time) in all.iter().enumerate() {
                prop_assert!((*time as f64 - index as f64 * gap).abs() <= 1.0);
            }
        }

        #[test]
        fn a_total_is_shared_out_exactly(connections in 1usize..70, total in 0u64..5_000) {
            let profile = Profile::new(&RateSpec::Constant(1e6), 0.0, 1.0);
            let sum: usize = (0..connections)
                .map(|index| times(&mut Arrivals::new(Arrival::Constant, index, connections, Some(total), 0), &profile, u64::MAX).len())
                .sum();
            prop_assert_eq!(sum as u64, total);
        }
    }

    #[test]
    fn poisson_has_the_rate_and_the_spread_of_a_poisson_process() {
        let profile = Profile::new(&RateSpec::Constant(20_000.0), 0.0, 10.0);
        let mut all: Vec<u64> = (0..8)
            .flat_map(|index| times(&mut Arrivals::new(Arrival::Poisson, index, 8, None, 42), &profile, 10_000_000_000))
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
