//! Properties of any input, checked for a number of inputs: the same ones in every run, however slow the machine is.

use arbtest::arbitrary::{Result, Unstructured};
use arbtest::arbtest;
use std::ops::{Range, RangeInclusive};

/// Inputs of a property where nothing else is said.
pub const CASES: u64 = 256;

/// What an input is drawn from: more bytes than any takes, because after the last one only starts of ranges are drawn.
const SOURCE_BYTES: u64 = 1024;

/// 2^64 over the golden ratio: its multiples lie evenly.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Checks a property for so many inputs.
///
/// # Panics
/// When it does not hold; the seed of the input is printed.
pub fn for_inputs(cases: u64, mut property: impl FnMut(&mut Unstructured<'_>) -> Result<()>) {
    for case in 1..=cases {
        // The lower half of a seed is the length of its source.
        let seed = (case.wrapping_mul(GOLDEN) & !u64::from(u32::MAX)) | SOURCE_BYTES;
        let checked = arbtest(|source| {
            property(source)?;
            assert!(!source.is_empty(), "the input takes more than {SOURCE_BYTES} bytes");
            Ok(())
        });
        checked.seed(seed).run();
    }
}

/// A uniform number.
pub fn float(source: &mut Unstructured<'_>, range: Range<f64>) -> Result<f64> {
    let share = source.int_in_range(0..=(1_u64 << 53) - 1)? as f64 / (1_u64 << 53) as f64;
    Ok(range.start + share * (range.end - range.start))
}

/// A list, as long as any in a range.
pub fn list<'a, T>(
    source: &mut Unstructured<'a>,
    lengths: RangeInclusive<usize>,
    mut element: impl FnMut(&mut Unstructured<'a>) -> Result<T>,
) -> Result<Vec<T>> {
    (0..source.int_in_range(lengths)?).map(|_| element(source)).collect()
}
