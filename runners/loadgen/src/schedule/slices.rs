//! Which target is loaded when, where targets are loaded by stretches of time: one is loaded, the others are idle.

use crate::random::SplitMix64;

/// The order of targets over stretches of time, from the start of the run.
#[derive(Debug, Clone)]
pub struct Slices {
    slice_ns: u64,
    order: SliceOrder,
    targets: usize,
    weights: Vec<u32>,
}

#[derive(Debug, Clone)]
enum SliceOrder {
    /// In each block of slices each target comes as often as its weight says, in random order.
    Random { seed: u64 },
    /// One stretch each in the order given, after a warm-up that belongs to all by short slices.
    OneAfterTheOther { warmup_slices: u64, warmup_slice_ns: u64 },
}

/// The length of a slice of the warm-up that comes before stretches.
const WARMUP_SLICE_NS: u64 = 100_000_000;

impl Slices {
    /// Slices of `slice_ns` in random order.
    pub fn random(weights: &[u32], slice_ns: u64, seed: u64) -> Self {
        Slices {
            slice_ns: slice_ns.max(1),
            order: SliceOrder::Random { seed },
            targets: weights.len(),
            weights: weights.to_vec(),
        }
    }

    /// The recorded window in as many equal stretches as there are targets.
    pub fn one_after_the_other(targets: usize, warmup_ns: u64, duration_ns: u64) -> Self {
        // Whole rounds of all targets, so that all are warmed alike.
        let rounds = warmup_ns.div_ceil(WARMUP_SLICE_NS * targets as u64);
        let warmup_slices = rounds * targets as u64;
        let order = SliceOrder::OneAfterTheOther {
            warmup_slices,
            warmup_slice_ns: warmup_ns.checked_div(warmup_slices).unwrap_or(0),
        };
        let slice_ns = duration_ns.div_ceil(targets as u64).max(1);
        Slices { slice_ns, order, targets, weights: vec![1; targets] }
    }

    /// The length of a slice where they come in blocks in which each target has its share; `None` for stretches.
    pub fn even_slice_ns(&self) -> Option<u64> {
        matches!(self.order, SliceOrder::Random { .. }).then_some(self.slice_ns)
    }

    /// A target's share of all slices.
    pub fn share(&self, target: usize) -> f64 {
        f64::from(self.weights[target]) / f64::from(self.weights.iter().sum::<u32>())
    }

    /// The target of a slice; `None` after the last stretch.
    pub fn target(&self, slice: u64) -> Option<usize> {
        match self.order {
            SliceOrder::Random { seed } => {
                let block = u64::from(self.weights.iter().sum::<u32>());
                let mut order: Vec<usize> = Vec::with_capacity(block as usize);
                for (target, weight) in self.weights.iter().enumerate() {
                    order.extend(std::iter::repeat_n(target, *weight as usize));
                }
                SplitMix64::new(seed, slice / block).shuffle(&mut order);
                Some(order[(slice % block) as usize])
            }
            SliceOrder::OneAfterTheOther { warmup_slices, .. } if slice < warmup_slices => {
                Some((slice % self.targets as u64) as usize)
            }
            SliceOrder::OneAfterTheOther { warmup_slices, .. } => {
                Some((slice - warmup_slices) as usize).filter(|target| *target < self.targets)
            }
        }
    }

    /// When a slice begins, in nanoseconds from the start of the run; `None` beyond the end of the last.
    pub fn begin_ns(&self, slice: u64) -> Option<u64> {
        match self.order {
            SliceOrder::Random { .. } => slice.checked_mul(self.slice_ns),
            SliceOrder::OneAfterTheOther { warmup_slices, warmup_slice_ns } => match slice.checked_sub(warmup_slices) {
                None => Some(slice * warmup_slice_ns),
                Some(stretch) if stretch > self.targets as u64 => None,
                Some(stretch) => Some(warmup_slices * warmup_slice_ns + stretch * self.slice_ns),
            },
        }
    }

    /// The slice of a moment, in nanoseconds from the start of the run.
    pub fn at(&self, moment_ns: u64) -> u64 {
        match self.order {
            SliceOrder::Random { .. } => moment_ns / self.slice_ns,
            SliceOrder::OneAfterTheOther { warmup_slices, warmup_slice_ns } => {
                let warmup_ns = warmup_slices * warmup_slice_ns;
                match moment_ns.checked_sub(warmup_ns) {
                    None => moment_ns / warmup_slice_ns,
                    Some(after) => warmup_slices + after / self.slice_ns,
                }
            }
        }
    }

    /// A target's first slice.
    pub fn first_of(&self, target: usize) -> u64 {
        if self.target(0) == Some(target) { 0 } else { self.next_of(target, 0) }
    }

    /// A target's next slice after one of anybody's; beyond the last stretch, one that never begins.
    pub fn next_of(&self, target: usize, slice: u64) -> u64 {
        (slice + 1..)
            .find(|next| self.target(*next).is_none_or(|of| of == target))
            .map_or(u64::MAX, |next| if self.target(next).is_some() { next } else { u64::MAX - 1 })
    }

    /// How long a target is loaded between two moments of the run, in nanoseconds.
    pub fn loaded_ns(&self, target: usize, from_ns: u64, to_ns: u64) -> u64 {
        let mut sum = 0;
        for slice in self.at(from_ns).. {
            let Some(begin) = self.begin_ns(slice).filter(|begin| *begin < to_ns) else { return sum };
            if self.target(slice) == Some(target) {
                let end = self.begin_ns(slice + 1).unwrap_or(to_ns).min(to_ns);
                sum += end.saturating_sub(begin.max(from_ns));
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_each_block_each_target_comes_as_often_as_its_weight_says() {
        let slices = Slices::random(&[2, 1], 1000, 5);
        let mut orders = std::collections::BTreeSet::new();
        for block in 0..100 {
            let order: Vec<_> = (block * 3..block * 3 + 3).filter_map(|slice| slices.target(slice)).collect();
            assert_eq!(order.iter().filter(|target| **target == 0).count(), 2);
            orders.insert(order);
        }
        assert_eq!(orders.len(), 3, "every order comes");
        assert_eq!(slices.loaded_ns(0, 0, 300_000), 200_000);
    }

    #[test]
    fn stretches_follow_each_other_after_a_warm_up_of_all() {
        let slices = Slices::one_after_the_other(2, 1_000_000_000, 4_000_000_000);
        assert_eq!([0, 9, 10, 11, 12].map(|slice| slices.target(slice)), [Some(0), Some(1), Some(0), Some(1), None]);
        assert_eq!(slices.begin_ns(10), Some(1_000_000_000));
        assert_eq!(slices.begin_ns(12), Some(5_000_000_000));
        assert_eq!(slices.begin_ns(13), None);
        assert_eq!([0, 999_999_999, 1_000_000_000, 3_000_000_000].map(|at| slices.at(at)), [0, 9, 10, 11]);
        assert_eq!(slices.loaded_ns(1, 1_000_000_000, 5_000_000_000), 2_000_000_000);
        assert_eq!(Slices::one_after_the_other(3, 0, 3_000).at(0), 0);
    }
}
