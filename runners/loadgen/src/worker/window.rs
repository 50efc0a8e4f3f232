//! The times of a run on the monotonic clock.

use crate::clock::NS_PER_S;

/// Warm-up, recorded window, end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Position 0 of the schedule.
    pub origin_ns: u64,
    /// Requests intended from here on are recorded.
    pub start_ns: u64,
    /// Requests intended from here on are never due.
    pub end_ns: u64,
}

impl Window {
    /// A window after a warm-up.
    pub fn new(origin_ns: u64, warmup_ns: u64, duration_ns: u64) -> Self {
        Window { origin_ns, start_ns: origin_ns + warmup_ns, end_ns: origin_ns + warmup_ns + duration_ns }
    }

    /// Whether a request with this intended start is recorded.
    #[inline]
    pub fn records(&self, intended_ns: u64) -> bool {
        intended_ns >= self.start_ns && intended_ns < self.end_ns
    }

    /// The second of the window that a moment belongs to; what comes after the end belongs to the last.
    pub fn second_of(&self, moment_ns: u64) -> u32 {
        let last_ns = self.end_ns.saturating_sub(1).max(self.start_ns);
        (moment_ns.clamp(self.start_ns, last_ns).saturating_sub(self.start_ns) / NS_PER_S) as u32
    }

    /// Time since a second of the window began; zero before.
    #[inline]
    pub fn since_second(&self, moment_ns: u64, second: u32) -> u64 {
        moment_ns.saturating_sub(self.start_ns + u64::from(second) * NS_PER_S)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_count_from_the_window_and_the_drain_belongs_to_the_last() {
        let window = Window::new(5, 2 * NS_PER_S, 3 * NS_PER_S);
        assert_eq!(window.second_of(5), 0);
        assert_eq!(window.second_of(5 + 3 * NS_PER_S), 1);
        assert_eq!(window.second_of(window.end_ns + NS_PER_S), 2);
        assert!(
            !window.records(window.start_ns - 1) && window.records(window.start_ns) && !window.records(window.end_ns)
        );
    }
}
