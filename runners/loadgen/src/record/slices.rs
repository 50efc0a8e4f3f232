//! Response times by tenths of a second, in coarse bins: enough to tell when a tail happened and how much of it.
//!
//! Bins are log-linear as in HdrHistogram, with 16 of them to an octave, so a bin is at most 6.25 % wide. They are
//! counted beside the histograms, which are exact but cover a whole second.

use super::interval::MAX_NS;
use crate::clock::NS_PER_S;

/// Slices in a second.
pub const SLICES: usize = 10;
/// Length of a slice.
const SLICE_NS: u64 = NS_PER_S / SLICES as u64;
/// Bins in an octave, as a power of two.
const BITS: u32 = 4;
/// Bins in all: the longest time that is resolved falls into the last.
const BINS: usize = bin_of(MAX_NS) + 1;

/// The bin of a time in nanoseconds.
const fn bin_of(ns: u64) -> usize {
    let ns = if ns > MAX_NS { MAX_NS } else { ns };
    let octave = (u64::BITS - (ns | 1).leading_zeros()).saturating_sub(BITS + 1);
    ((octave as usize) << BITS) + (ns >> octave) as usize
}

/// The lowest time of a bin, in nanoseconds.
const fn lowest_ns(bin: usize) -> u64 {
    let octave = (bin >> BITS).saturating_sub(1);
    ((bin - (octave << BITS)) as u64) << octave
}

/// The middle of a bin, in nanoseconds: at most 3.2 % from any time in it.
pub const fn middle_ns(bin: usize) -> f64 {
    (lowest_ns(bin) + lowest_ns(bin + 1)) as f64 / 2.0
}

/// Counts by slice and bin within one second.
#[derive(Debug, Clone)]
pub struct Slices(Box<[[u32; BINS]; SLICES]>);

impl Slices {
    /// Nothing counted.
    pub fn new() -> Self {
        Slices(vec![[0; BINS]; SLICES].try_into().expect("the length is that of the type"))
    }

    /// Counts a response that came `offset_ns` after the start of the second; what came after its end is in the last
    /// slice.
    #[inline]
    pub fn record(&mut self, offset_ns: u64, response_ns: u64) {
        let slice = (offset_ns / SLICE_NS).min(SLICES as u64 - 1) as usize;
        self.0[slice][bin_of(response_ns)] += 1;
    }

    /// Adds another second's counts.
    pub fn add(&mut self, other: &Slices) {
        for (sums, counts) in self.0.iter_mut().zip(other.0.iter()) {
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum += count;
            }
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.fill([0; BINS]);
    }

    /// For each slice its bins that are not empty, with their counts.
    pub fn counted(&self) -> impl Iterator<Item = impl Iterator<Item = (usize, u32)>> {
        self.0.iter().map(|bins| bins.iter().copied().enumerate().filter(|(_, count)| *count > 0))
    }
}

impl Default for Slices {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_lies_in_its_bin_and_a_bin_is_narrow() {
        for ns in (0..200).chain([999, 1_000, 44_100, 1_000_000, 3_999_999, 250_000_000, MAX_NS - 1, MAX_NS]) {
            let bin = bin_of(ns);
            assert!(lowest_ns(bin) <= ns && ns < lowest_ns(bin + 1), "{ns} in {bin}");
            assert!((lowest_ns(bin + 1) - lowest_ns(bin)) as f64 <= (ns as f64 / 16.0).max(1.0), "{ns}");
        }
        assert_eq!(bin_of(u64::MAX), BINS - 1);
    }

    #[test]
    fn slices_of_several_workers_add_up_and_late_responses_are_in_the_last() {
        let (mut one, mut other) = (Slices::new(), Slices::new());
        one.record(0, 50_000);
        other.record(SLICE_NS - 1, 50_000);
        other.record(20 * SLICE_NS, 50_000);
        one.add(&other);
        let counts: Vec<u32> = one.counted().map(|bins| bins.map(|(_, count)| count).sum()).collect();
        assert_eq!(counts, [2, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        one.clear();
        assert_eq!(one.counted().flatten().count(), 0);
    }
}
