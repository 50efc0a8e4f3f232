//! Fewer sleeps: sends that are due close together leave together (interrupt coalescing, as network cards do it).
//!
//! Being woken costs more processor time than sending a request. Where a worker's intended starts follow each other
//! within the slack of `--coalesce`, it sleeps until the last of those that lie within the slack of the first, and sends
//! them all. None leaves before its intended start, none is held back for longer than the slack, and each still counts
//! from its own intended start. A start that is so near that the worker would not sleep for it is not held back: that
//! would save nothing.

use super::Worker;
use super::connection::State;
use crate::clock::monotonic_ns;
use crate::io::ReceiveClock;
use crate::timer::timer_price_ns;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The slack where none is asked for: at 40 000/s two sends share a waking. What it gains and costs: runners/docs/0017.
const DEFAULT_SLACK_NS: u64 = 30_000;

/// Moment, connection, number of the connection's timer; the soonest is on top of a heap.
pub(super) type Timer = Reverse<(u64, u32, u32)>;

/// Until when to wait for the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Next {
    /// The moment of the clock.
    pub(super) moment_ns: u64,
    /// All that is due until then is requests whose connections are free.
    pub(super) free: bool,
}

/// Which sends wait for others.
#[derive(Debug, Default)]
pub(super) struct Coalescing {
    slack_ns: u64,
    /// The worker's schedule is dense enough: on average the next start lies within the slack.
    dense: bool,
    /// Starts before this moment were held back for one at it.
    held_until_ns: u64,
    looked_at: Vec<Timer>,
}

impl Coalescing {
    /// The worker's share of the schedule is so many requests per second now.
    pub(super) fn paced(&mut self, rate_rps: f64, slack_ns: u64) {
        self.slack_ns = slack_ns;
        self.dense = rate_rps * slack_ns as f64 >= 1e9;
    }

    /// Until when to wait. `free` tells of a timer whether it is the intended start of a free connection; `None`: it is
    /// no longer valid.
    #[inline]
    fn next(
        &mut self,
        now_ns: u64,
        timers: &mut BinaryHeap<Timer>,
        free: impl Fn(u32, u32) -> Option<bool>,
    ) -> Option<Next> {
        let Reverse((first_ns, connection, number)) = *timers.peek()?;
        let mut next = Next { moment_ns: first_ns, free: free(connection, number) == Some(true) };
        if !self.dense || !next.free || first_ns <= now_ns + timer_price_ns() {
            return Some(next);
        }
        let last_ns = first_ns + self.slack_ns;
        while let Some(timer) = timers.peek().copied().filter(|Reverse((due, _, _))| *due <= last_ns) {
            timers.pop();
            let Reverse((due_ns, connection, number)) = timer;
            match free(connection, number) {
                Some(true) => next.moment_ns = due_ns,
                Some(false) => next.free = false,
                None => continue,
            }
            self.looked_at.push(timer);
        }
        timers.extend(self.looked_at.drain(..));
        if next.moment_ns > first_ns {
            self.held_until_ns = next.moment_ns;
        }
        Some(next)
    }

    /// Whether a start at this moment was held back for a later one.
    #[inline]
    pub(super) fn held(&self, intended_ns: u64) -> bool {
        intended_ns < self.held_until_ns
    }
}

impl Worker {
    /// Looks at how dense the schedule is now.
    pub(super) fn pace(&mut self, now: u64) {
        if let Some(profile) = &self.plan.profile {
            let rate_rps = profile.rate_rps(now.saturating_sub(self.window.origin_ns));
            let slack_ns = self.slack_ns();
            self.coalescing.paced(rate_rps * self.plan.share, slack_ns);
        }
    }

    /// For how long at most a request may be held back. With our own clock each response has to wake the worker anyway,
    /// so that little would be saved.
    pub(super) fn slack_ns(&self) -> u64 {
        let stamped = self.io.receive_clock() == ReceiveClock::Kernel;
        self.plan.coalesce_ns.unwrap_or(if stamped { DEFAULT_SLACK_NS } else { 0 })
    }

    /// Until when to wait for the schedule; `None`: nothing is on it.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Next> {
        let (connections, lanes) = (&self.connections, &self.lanes);
        let open_loop = self.running && self.plan.profile.is_some();
        self.coalescing.next(monotonic_ns(), &mut self.timers, |index, number| match connections.get(index as usize) {
            Some(connection) => (connection.timer == number).then_some(open_loop && connection.state == State::Idle),
            None => {
                let queue = lanes[index as usize - connections.len()].queue.as_ref()?;
                (queue.timer == number).then_some(open_loop && queue.has_free())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Arrival, Arrivals, Place, Profile, RateSpec};
    use proptest::prelude::*;

    const SLACK_NS: u64 = 30_000;

    fn dense() -> Coalescing {
        let mut coalescing = Coalescing::default();
        coalescing.paced(40_000.0, SLACK_NS);
        coalescing
    }

    fn heap(dues: &[u64]) -> BinaryHeap<Timer> {
        dues.iter().enumerate().map(|(index, due)| Reverse((*due, index as u32, 0))).collect()
    }

    /// The first intended starts of a run of even gaps, all connections together, from one millisecond on.
    fn even(rate_rps: f64, connections: usize) -> Vec<u64> {
        let profile = Profile::new(&RateSpec::Constant(rate_rps), 0.0, 1.0);
        let mut dues = Vec::new();
        for index in 0..connections {
            let place = Place { target: 0, index, of: connections };
            let mut arrivals = Arrivals::new(Arrival::Constant, place, Some(1_000), 0);
            while let Some(due_ns) = arrivals.next_due_ns(&profile) {
                dues.push(1_000_000 + due_ns);
                arrivals.advance(&profile);
            }
        }
        dues.sort_unstable();
        dues
    }

    fn all_free(_: u32, _: u32) -> Option<bool> {
        Some(true)
    }

    #[test]
    fn starts_within_the_slack_of_the_first_wait_for_the_last_of_them() {
        let mut coalescing = dense();
        let mut timers = heap(&[1_025_000, 1_000_000, 1_050_000]);
        let next = coalescing.next(0, &mut timers, all_free);
        assert_eq!(next, Some(Next { moment_ns: 1_025_000, free: true }));
        assert!(coalescing.held(1_000_000) && !coalescing.held(1_025_000), "the last was not held back");
        assert_eq!(timers.len(), 3, "looking takes nothing off the schedule");
    }

    #[test]
    fn a_start_that_needs_no_sleep_is_not_held_back() {
        let mut coalescing = dense();
        let next = coalescing.next(1_000_000 - timer_price_ns(), &mut heap(&[1_000_000, 1_025_000]), all_free);
        assert_eq!(next, Some(Next { moment_ns: 1_000_000, free: true }));
        assert!(!coalescing.held(1_000_000));
    }

    #[test]
    fn a_thin_schedule_is_kept_to_the_moment_and_so_is_every_one_without_slack() {
        for (slack_ns, rate_rps) in [(SLACK_NS, 33_333.0), (SLACK_NS, 5_000.0), (0, 40_000.0), (0, 10e6)] {
            let mut coalescing = Coalescing::default();
            coalescing.paced(rate_rps, slack_ns);
            let next = coalescing.next(0, &mut heap(&[1_000_000, 1_000_001]), all_free);
            assert_eq!(next, Some(Next { moment_ns: 1_000_000, free: true }), "{slack_ns} {rate_rps}");
        }
    }

    #[test]
    fn on_even_gaps_a_slack_counts_in_whole_gaps() {
        let dues = even(40_000.0, 64);
        assert!(dues.windows(2).all(|pair| pair[1] - pair[0] == 25_000), "exact to the nanosecond");
        for (slack_ns, last) in [(24_999, 0), (25_000, 1), (SLACK_NS, 1), (49_999, 1), (50_000, 2)] {
            let mut coalescing = Coalescing::default();
            coalescing.paced(40_000.0, slack_ns);
            let next = coalescing.next(0, &mut heap(&dues), all_free);
            assert_eq!(next, Some(Next { moment_ns: dues[last], free: true }), "{slack_ns}");
        }
    }

    #[test]
    fn what_is_no_start_of_a_free_connection_is_not_waited_for() {
        let busy_last = |index: u32, _| Some(index != 1);
        let next = dense().next(0, &mut heap(&[1_000_000, 1_010_000]), busy_last);
        assert_eq!(next, Some(Next { moment_ns: 1_000_000, free: false }));
        let busy_first = |index: u32, _| Some(index != 0);
        let next = dense().next(0, &mut heap(&[1_000_000, 1_010_000]), busy_first);
        assert_eq!(next, Some(Next { moment_ns: 1_000_000, free: false }));
        let void_last = |index: u32, _| (index != 1).then_some(true);
        let next = dense().next(0, &mut heap(&[1_000_000, 1_010_000]), void_last);
        assert_eq!(next, Some(Next { moment_ns: 1_000_000, free: true }));
        assert_eq!(dense().next(0, &mut BinaryHeap::new(), all_free), None);
    }

    proptest! {
        /// Starts are rounded to nanoseconds; that never puts the next one out of reach.
        #[test]
        fn where_an_even_schedule_is_dense_the_next_start_lies_within_the_slack(
            rate_rps in 2_000.0..1e6f64, connections in 1usize..70, more_ns in 0u64..2,
        ) {
            let slack_ns = (1e9 / rate_rps) as u64 + more_ns;
            let mut coalescing = Coalescing::default();
            coalescing.paced(rate_rps, slack_ns);
            prop_assert!(coalescing.dense || more_ns == 0);
            let within = even(rate_rps, connections).windows(2).all(|pair| pair[1] - pair[0] <= slack_ns);
            prop_assert!(within || !coalescing.dense);
        }

        /// A worker that is never kept from waking, on any schedule: what is due when it wakes leaves.
        #[test]
        fn none_leaves_early_none_is_held_longer_than_the_slack_and_none_is_lost(
            gaps in prop::collection::vec(0u64..80_000, 1..200), slack_ns in 0u64..60_000, work_ns in 0u64..20_000,
        ) {
            let dues: Vec<u64> = gaps.iter().scan(1_000_000, |due, gap| { *due += gap; Some(*due) }).collect();
            let mut timers = heap(&dues);
            let mut coalescing = Coalescing::default();
            coalescing.paced(10e6, slack_ns);
            let (mut now, mut sent, mut sleeps) = (0, 0, 0);
            while let Some(next) = coalescing.next(now, &mut timers, all_free) {
                sleeps += 1;
                prop_assert!(next.moment_ns <= timers.peek().unwrap().0.0 + slack_ns);
                let woke = now.max(next.moment_ns);
                now = woke;
                while let Some(Reverse((due, _, _))) = timers.peek().copied().filter(|timer| timer.0.0 <= now) {
                    timers.pop();
                    prop_assert!(!coalescing.held(due) || due + slack_ns >= next.moment_ns);
                    sent += 1;
                    now += work_ns;
                }
            }
            prop_assert_eq!(sent, dues.len());
            prop_assert!(sleeps <= dues.len());
        }
    }
}
