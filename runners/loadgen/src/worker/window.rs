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
    /// Where a bounded number of requests (`-n`) has been due at its rate; what is sent later is late.
    pub last_due_ns: Option<u64>,
}

impl Window {
    /// A window after a warm-up.
    pub fn new(origin_ns: u64, warmup_ns: u64, duration_ns: u64) -> Self {
        let start_ns = origin_ns + warmup_ns;
        Window { origin_ns, start_ns, end_ns: start_ns + duration_ns, last_due_ns: None }
    }

    /// The window of a bounded number of requests, which takes so long at its rate from the start of the run.
    pub fn bounded(self, bounded_ns: Option<u64>) -> Self {
        let last_due_ns = bounded_ns.map(|bounded_ns| self.origin_ns.saturating_add(bounded_ns));
        Window { last_due_ns, ..self }
    }

    /// Whether a request is sent when the schedule it belongs to is over.
    #[inline]
    pub fn is_late(&self, intended_ns: u64, sent_ns: u64) -> bool {
        sent_ns >= self.end_ns || self.last_due_ns.is_some_and(|last| sent_ns >= last && intended_ns < last)
    }

    /// When the schedule ended for a worker that finished at `finished_ns`.
    pub fn scheduled_until_ns(&self, finished_ns: u64) -> u64 {
        self.end_ns.min(self.last_due_ns.unwrap_or(finished_ns))
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

    #[test]
    fn a_bounded_number_of_requests_has_a_schedule_that_ends() {
        let window = Window::new(5, 0, 1_000 * NS_PER_S).bounded(Some(2 * NS_PER_S));
        let last = 5 + 2 * NS_PER_S;
        assert!(window.is_late(last - 1, last) && !window.is_late(last - 2, last - 1));
        assert!(!window.is_late(last + 1, last + 2), "arrivals by chance may be due later than the mean rate says");
        assert_eq!(window.scheduled_until_ns(last - 7), last);
        assert_eq!(Window { end_ns: 9, ..window }.scheduled_until_ns(last), 9, "ended early");
        assert_eq!(Window::new(5, 0, NS_PER_S).scheduled_until_ns(7), 7);
    }
}
