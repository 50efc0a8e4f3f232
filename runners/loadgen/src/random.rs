//! Seeded random numbers: the same seed gives the same schedule on every machine.

/// Sebastiano Vigna's SplitMix64: small, seedable, good enough for gaps and orders.
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

/// Its increment: 2^64 over the golden ratio.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

impl SplitMix64 {
    /// Stream number `stream` of a seed; neighbouring streams are independent for all that is done with them here.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut random = SplitMix64(seed ^ stream.wrapping_add(1).wrapping_mul(GOLDEN));
        // Without it stream n would be stream 0 a few steps on.
        random.0 = random.draw();
        random
    }

    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Exponential with mean 1, by inversion. The draw lies in (0, 1], so the logarithm is finite.
    pub fn exponential(&mut self) -> f64 {
        let uniform = ((self.draw() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        -uniform.ln()
    }

    /// Uniform below `bound`, which is at least 1 (Lemire's multiplication; its bias is below 2^-40 for the bounds here).
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.draw()) * bound as u128) >> 64) as usize
    }

    /// Shuffles in place (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
