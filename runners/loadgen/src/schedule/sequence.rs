//! Which target each slot of a shared schedule belongs to: a random order balanced for the predecessor.
//!
//! A request on a shared core is served a little differently after a request to a slow target than after one to a fast
//! one (carry-over). So within each block every target follows every target, itself included, in proportion to their
//! weights and exactly as often as the weights say: no target is favoured by its predecessors. Such an order is an
//! Eulerian circuit of the multigraph that has an edge for each wanted succession; a uniformly random one is drawn by the
//! BEST theorem (van Aardenne-Ehrenfest and de Bruijn, 1951): a random arborescence of last exits towards the first
//! vertex, found by a random walk (Aldous 1990, Broder 1989), and a random order of all other exits. All circuits begin
//! at the same target, so the succession from block to block is balanced too.
//!
//! Blocks are drawn from the seed and their number alone, so any slot can be found without those before it.

use crate::random::SplitMix64;
use std::sync::Mutex;

/// A block has at least so many slots, so that its order can't be foreseen.
const LEAST_SLOTS: usize = 64;
/// Blocks that are kept: requests under way lie close together, and those of a target that is behind a little further.
const KEPT: usize = 16;
/// Largest sum of the weights as whole numbers; their square is the length of a block.
pub const MOST_WEIGHT: u32 = 100;

/// One block: the slots of each target in order, and the targets in the order of slots.
#[derive(Debug, Clone)]
struct Block {
    number: u64,
    slots: Vec<Vec<u32>>,
    order: Vec<u8>,
}

/// The order of targets over the slots of a schedule.
#[derive(Debug)]
pub struct Sequence {
    seed: u64,
    weights: Vec<u32>,
    /// How often each succession comes in a block, beyond the product of the two weights.
    repeats: usize,
    kept: Mutex<Vec<Option<Block>>>,
}

impl Clone for Sequence {
    fn clone(&self) -> Self {
        Sequence::new(&self.weights, self.seed)
    }
}

impl Sequence {
    /// An order of targets with these weights, each at least 1 and at most [`MOST_WEIGHT`] in all.
    pub fn new(weights: &[u32], seed: u64) -> Self {
        let sum: u32 = weights.iter().sum();
        debug_assert!(weights.iter().all(|weight| *weight > 0) && sum <= MOST_WEIGHT);
        let repeats = LEAST_SLOTS.div_ceil((sum * sum) as usize).max(1);
        Sequence { seed, weights: weights.to_vec(), repeats, kept: Mutex::new(vec![None; KEPT]) }
    }

    /// Slots in a block.
    pub fn block_slots(&self) -> u64 {
        let sum = u64::from(self.weights.iter().sum::<u32>());
        sum * sum * self.repeats as u64
    }

    /// A target's share of all slots.
    pub fn share(&self, target: usize) -> f64 {
        f64::from(self.weights[target]) / f64::from(self.weights.iter().sum::<u32>())
    }

    /// Slots of a target in a block.
    fn slots_of(&self, target: usize) -> u64 {
        self.block_slots() / u64::from(self.weights.iter().sum::<u32>()) * u64::from(self.weights[target])
    }

    /// The slot of a target's `nth` request, both counted from 0.
    pub fn slot(&self, target: usize, nth: u64) -> u64 {
        let a_block = self.slots_of(target);
        let number = nth / a_block;
        let within = self.block(number, |block| block.slots[target][(nth % a_block) as usize]);
        number * self.block_slots() + u64::from(within)
    }

    /// The target of a slot.
    pub fn target(&self, slot: u64) -> usize {
        let a_block = self.block_slots();
        usize::from(self.block(slot / a_block, |block| block.order[(slot % a_block) as usize]))
    }

    fn block<T>(&self, number: u64, look: impl Fn(&Block) -> T) -> T {
        let mut kept = self.kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let place = &mut kept[(number % KEPT as u64) as usize];
        match place {
            Some(block) if block.number == number => look(block),
            _ => look(place.insert(self.draw(number))),
        }
    }

    fn draw(&self, number: u64) -> Block {
        let mut random = SplitMix64::new(self.seed, number);
        let mut order = circuit(&self.weights, self.repeats, &mut random);
        order.truncate(self.block_slots() as usize);
        let mut slots = vec![Vec::new(); self.weights.len()];
        for (slot, target) in order.iter().enumerate() {
            slots[usize::from(*target)].push(slot as u32);
        }
        Block { number, slots, order }
    }
}

/// A random Eulerian circuit from vertex 0, as the vertices in order.
fn circuit(weights: &[u32], repeats: usize, random: &mut SplitMix64) -> Vec<u8> {
    let targets = weights.len();
    let last_exits = arborescence(weights, random);
    let mut exits: Vec<Vec<u8>> = (0..targets)
        .map(|from| {
            let mut exits: Vec<u8> = Vec::new();
            for (to, weight) in weights.iter().enumerate() {
                let edges = (weights[from] * weight) as usize * repeats;
                exits.extend(std::iter::repeat_n(to as u8, edges - usize::from(last_exits[from] == Some(to))));
            }
            random.shuffle(&mut exits);
            // Exits are taken from the end, so what is taken last comes first.
            exits.splice(0..0, last_exits[from].map(|to| to as u8));
            exits
        })
        .collect();
    let mut order = Vec::new();
    let mut at = 0_usize;
    loop {
        order.push(at as u8);
        match exits[at].pop() {
            Some(next) => at = usize::from(next),
            None => return order,
        }
    }
}

/// The last exit of each vertex but 0: a random tree towards 0. A step of the walk backwards along an edge is as likely
/// as the weight of where it leads.
fn arborescence(weights: &[u32], random: &mut SplitMix64) -> Vec<Option<usize>> {
    let sum: u32 = weights.iter().sum();
    let draw = |random: &mut SplitMix64| {
        let mut left = random.below(sum as usize) as u32;
        weights.iter().position(|weight| {
            let is_drawn = left < *weight;
            left = left.saturating_sub(*weight);
            is_drawn
        })
    };
    let mut exits = vec![None; weights.len()];
    let (mut at, mut left) = (0, weights.len() - 1);
    while left > 0 {
        let Some(next) = draw(random) else { continue };
        if next != 0 && exits[next].is_none() {
            exits[next] = Some(at);
            left -= 1;
        }
        at = next;
    }
    exits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::{CASES, for_inputs, list};

    fn targets(sequence: &Sequence, slots: u64) -> Vec<usize> {
        (0..slots).map(|slot| sequence.target(slot)).collect()
    }

    #[test]
    fn in_each_block_each_target_follows_each_as_often_as_the_weights_say() {
        for_inputs(CASES, |source| {
            let weights = list(source, 1..=5, |source| source.int_in_range(1..=5))?;
            let (seed, first) = (source.arbitrary()?, source.int_in_range(0..=999)?);
            let sequence = Sequence::new(&weights, seed);
            let slots = sequence.block_slots();
            let sum: u32 = weights.iter().sum();
            let mut follows = vec![vec![0; weights.len()]; weights.len()];
            for slot in first * slots..(first + 1) * slots {
                follows[sequence.target(slot)][sequence.target(slot + 1)] += 1;
            }
            let unit = slots / u64::from(sum * sum);
            for (from, row) in follows.iter().enumerate() {
                for (to, count) in row.iter().enumerate() {
                    assert_eq!(*count, unit * u64::from(weights[from] * weights[to]));
                }
            }
            Ok(())
        });
    }

    #[test]
    fn a_targets_slots_are_just_those_that_are_its() {
        for_inputs(CASES, |source| {
            let weights = list(source, 1..=5, |source| source.int_in_range(1..=5))?;
            let sequence = Sequence::new(&weights, source.arbitrary()?);
            let mut nth = vec![0; weights.len()];
            for slot in 0..sequence.block_slots() * 3 {
                let target = sequence.target(slot);
                assert_eq!(sequence.slot(target, nth[target]), slot);
                nth[target] += 1;
            }
            Ok(())
        });
    }

    #[test]
    fn a_seed_gives_the_same_order_and_another_seed_another() {
        let order = |seed| targets(&Sequence::new(&[1, 1, 1], seed), 500);
        assert_eq!(order(7), order(7));
        assert_ne!(order(7), order(8));
    }

    #[test]
    fn any_place_in_a_block_can_be_any_targets() {
        // But for the first slot of a block, from which each circuit begins.
        let sequence = Sequence::new(&[1, 1], 3);
        let slots = sequence.block_slots();
        for place in 1..slots {
            let firsts = (0..200).filter(|block| sequence.target(block * slots + place) == 0).count();
            assert!((50..=150).contains(&firsts), "place {place}: {firsts} of 200");
        }
    }
}
