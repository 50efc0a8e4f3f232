//! Time in which the worker was kept from its work: by other processes, by a stop signal, or by its own share of it.

/// A wait that ends so much later than it was to is a stall; less is the waking of a thread.
const LEAST_NS: u64 = 1_000_000;

/// Stalls within the recorded window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stalls {
    /// All together, in nanoseconds.
    pub total_ns: u64,
    /// The longest, in nanoseconds.
    pub longest_ns: u64,
}

impl Stalls {
    /// The worker was to go on at `planned_ns` and did at `now`, or earlier for an event.
    #[inline]
    pub(super) fn resumed(&mut self, planned_ns: u64, now: u64) {
        let late_ns = now.saturating_sub(planned_ns);
        if late_ns >= LEAST_NS {
            self.total_ns += late_ns;
            self.longest_ns = self.longest_ns.max(late_ns);
        }
    }
}
