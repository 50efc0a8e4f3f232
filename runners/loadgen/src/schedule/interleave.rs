//! Which target gets which request of a schedule that several targets share.

use super::{Sequence, Slices};
use std::sync::Arc;

/// How targets share a schedule.
#[derive(Debug, Clone)]
pub enum Interleave {
    /// Each request goes to one target or another, by a random order balanced for the predecessor.
    Request(Arc<Sequence>),
    /// One target is loaded at a time.
    Slices(Arc<Slices>),
}

impl Interleave {
    /// The target of a slot that is due at a moment of the run.
    pub fn target(&self, slot: u64, due_ns: u64) -> usize {
        match self {
            Interleave::Request(sequence) => sequence.target(slot),
            Interleave::Slices(slices) => slices.target(slices.at(due_ns)).unwrap_or(0),
        }
    }

    /// A target's share of the requests.
    pub fn share(&self, target: usize) -> f64 {
        match self {
            Interleave::Request(sequence) => sequence.share(target),
            Interleave::Slices(slices) => slices.share(target),
        }
    }
}
