//! Fewer sleeps: sends that are due close together leave together (interrupt coalescing, as network cards do it).
//!
//! Being woken costs more processor time than sending a request. A worker that would spend more than half a core on
//! waking for each intended start prolongs some of its sleeps: it then sleeps until the last start that lies within the
//! slack of `--coalesce` of the first, and sends all of them. It does so as often as it takes to spend half a core, so
//! there is no rate at which anything jumps; where the slack was asked for, at each sleep of a dense schedule.
//!
//! No request leaves before its intended start or is held back for longer than the slack, and each counts from its own
//! intended start. A start so near that the worker would not sleep for it is not held back: that would save nothing.

use super::Worker;
use super::connection::State;
use crate::clock::monotonic_ns;
use crate::io::ReceiveClock;
use crate::timer::{Aim, timer_price_ns};
use crate::usage::Cpu;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The slack where none is asked for: at 20 000/s two sends can share a waking, at 40 000/s three. What it gains and
/// costs: runners/docs/0017.
const DEFAULT_SLACK_NS: u64 = 60_000;
/// The share of a core that a worker may spend before it saves.
const CORE_SHARE: f64 = 0.5;
/// How much of the difference to that share moves what is saved, each time: some looks, or tenths of a second, until it
/// is right, and no swinging.
const GAIN: f64 = 1.2;
/// What is saved at most, see [`Coalescing::spent`].
const MOST_SAVED: f64 = 3.0;
/// Of the sends that are not held back, as many as this can be in time.
const MOST_IN_TIME: f64 = 0.9;
/// The median request is in time where so many of all are.
const HALF: f64 = 0.5;
/// The weight of the newest in a running mean.
const FADING: f64 = 0.01;

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
    /// How much processor time is saved, from 0 to [`MOST_SAVED`].
    saved: f64,
    /// The share of sleeps that are prolonged, 0 to 1, and what is left over of it.
    prolonged: f64,
    remainder: f64,
    /// How many starts a prolonged sleep holds back: a running mean.
    held_per_sleep: f64,
    /// The start for which was decided last, and whether its sleep is prolonged.
    decided: (u64, bool),
    /// Starts before this moment were held back for one at it.
    held_until_ns: u64,
    looked_at: Vec<Timer>,
}

impl Coalescing {
    /// Every sleep is prolonged: the slack was asked for, and on average the next start lies within it.
    pub(super) fn always(&mut self, slack_ns: u64) {
        (self.slack_ns, self.prolonged) = (slack_ns, 1.0);
    }

    /// The worker has used this share of a core since this was called last. Returns how punctual its sleeps are to be.
    ///
    /// Three things save processor time, one after the other. First sleeps are prolonged, but only so many that more
    /// than half of all requests are not held back, and the sleeps end in time so often that these are half of all: the
    /// median request is still in time. Where that is not enough, sleeps end less early, which makes all requests later.
    /// The last is to prolong the other sleeps too.
    pub(super) fn spent(&mut self, core_share: f64, slack_ns: u64) -> Aim {
        self.slack_ns = slack_ns;
        if slack_ns == 0 {
            return Aim::HALF;
        }
        self.saved = (self.saved + GAIN * (core_share - CORE_SHARE)).clamp(0.0, MOST_SAVED);
        let [first, second, third] = [0.0, 1.0, 2.0].map(|before| (self.saved - before).clamp(0.0, 1.0));
        // With this share of sleeps prolonged, `HALF / MOST_IN_TIME` of the requests are not held back.
        let median_kept = ((MOST_IN_TIME / HALF - 1.0) / self.held_per_sleep).min(1.0);
        self.prolonged = median_kept * first + (1.0 - median_kept) * third;
        let not_held = 1.0 / (1.0 + self.prolonged * self.held_per_sleep);
        // Where there is nothing to hold back, being late would save little.
        let early = 1.0 - second * self.held_per_sleep.min(1.0);
        Aim { in_time: (HALF / not_held).clamp(HALF, MOST_IN_TIME), early }
    }

    /// Whether the sleep for the start at this moment is prolonged: the same each time that it is asked.
    #[inline]
    fn prolongs(&mut self, first_ns: u64) -> bool {
        if self.decided.0 != first_ns {
            self.remainder += self.prolonged;
            let prolong = self.remainder >= 1.0;
            self.remainder -= f64::from(u8::from(prolong));
            self.decided = (first_ns, prolong);
        }
        self.decided.1
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
        if self.slack_ns == 0 || !next.free || first_ns <= now_ns + timer_price_ns() || !self.prolongs(first_ns) {
            return Some(next);
        }
        let last_ns = first_ns + self.slack_ns;
        let mut starts: u32 = 0;
        while let Some(timer) = timers.peek().copied().filter(|Reverse((due, _, _))| *due <= last_ns) {
            timers.pop();
            let Reverse((due_ns, connection, number)) = timer;
            match free(connection, number) {
                Some(true) => {
                    next.moment_ns = due_ns;
                    starts += 1;
                }
                Some(false) => next.free = false,
                None => continue,
            }
            self.looked_at.push(timer);
        }
        timers.extend(self.looked_at.drain(..));
        self.held_per_sleep += (f64::from(starts - 1) - self.held_per_sleep) * FADING;
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
    /// Adjusts how often sends wait for each other to the processor time spent since the last call.
    pub(super) fn adjust_coalescing(&mut self, now: u64) {
        let Some(profile) = self.plan.profile.as_ref().filter(|_| self.running) else { return };
        let rate_rps = profile.rate_rps(now.saturating_sub(self.window.origin_ns)) * self.plan.share;
        let slack_ns = self.slack_ns();
        if self.plan.coalesce_ns.is_some() && rate_rps * slack_ns as f64 >= 1e9 {
            return self.coalescing.always(slack_ns);
        }
        let cpu_s = Cpu::of_thread().total_s();
        let (before_ns, before_s) = std::mem::replace(&mut self.cpu_at_last_look, (now, cpu_s));
        if before_ns > 0 && now > before_ns {
            let core_share = (cpu_s - before_s) * 1e9 / (now - before_ns) as f64;
            self.alarm.aim(self.coalescing.spent(core_share, slack_ns));
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
        let (connections, targets) = (&self.connections, &self.targets);
        let open_loop = self.running && self.plan.profile.is_some();
        self.coalescing.next(monotonic_ns(), &mut self.timers, |index, number| match connections.get(index as usize) {
            Some(connection) => (connection.timer == number).then_some(open_loop && connection.state == State::Idle),
            None => {
                let queue = targets[index as usize - connections.len()].queue.as_ref()?;
                (queue.timer == number).then_some(open_loop && queue.has_free())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::{CASES, float, for_inputs, list};

    const SLACK_NS: u64 = 30_000;

    /// One that prolongs this share of its sleeps.
    fn prolonging(share: f64, slack_ns: u64) -> Coalescing {
        Coalescing { slack_ns, prolonged: share, ..Coalescing::default() }
    }

    fn heap(dues: &[u64]) -> BinaryHeap<Timer> {
        dues.iter().enumerate().map(|(index, due)| Reverse((*due, index as u32, 0))).collect()
    }

    fn all_free(_: u32, _: u32) -> Option<bool> {
        Some(true)
    }

    #[test]
    fn starts_within_the_slack_of_the_first_wait_for_the_last_of_them() {
        let mut coalescing = prolonging(1.0, SLACK_NS);
        let mut timers = heap(&[1_025_000, 1_000_000, 1_050_000]);
        let next = coalescing.next(0, &mut timers, all_free);
        assert_eq!(next, Some(Next { moment_ns: 1_025_000, free: true }));
        assert!(coalescing.held(1_000_000) && !coalescing.held(1_025_000), "the last was not held back");
        assert_eq!(timers.len(), 3, "looking takes nothing off the schedule");
    }

    #[test]
    fn a_start_that_needs_no_sleep_is_not_held_back() {
        let mut coalescing = prolonging(1.0, SLACK_NS);
        let next = coalescing.next(1_000_000 - timer_price_ns(), &mut heap(&[1_000_000, 1_025_000]), all_free);
        assert_eq!(next, Some(Next { moment_ns: 1_000_000, free: true }));
        assert!(!coalescing.held(1_000_000));
    }

    #[test]
    fn who_spends_little_keeps_to_the_moment_and_so_does_who_has_no_slack() {
        for (slack_ns, core_share) in [(SLACK_NS, 0.1), (SLACK_NS, 0.49), (0, 1.0)] {
            let mut coalescing = Coalescing::default();
            assert!((0..100).all(|_| coalescing.spent(core_share, slack_ns) == Aim::HALF));
            let next = coalescing.next(0, &mut heap(&[1_000_000, 1_000_001]), all_free);
            assert_eq!(next, Some(Next { moment_ns: 1_000_000, free: true }), "{slack_ns} {core_share}");
        }
    }

    /// What a worker arrives at on even gaps.
    #[derive(Debug)]
    struct Settled {
        core_share: f64,
        not_held: f64,
        aim: Aim,
    }

    /// A worker whose sleep takes 14 us of processor time, the looking before a moment 8 us where half of the sleeps end
    /// in time (more where more do), and each request 7 us.
    fn settled(rate_rps: f64) -> Settled {
        let (mut coalescing, mut aim) = (Coalescing::default(), Aim::HALF);
        let gap_ns = 1e9 / rate_rps;
        let (mut number, mut looks) = (0_u64, Vec::new());
        for tick in 1..=200_u64 {
            let (mut sleeps, begun) = (0.0, number);
            while (number as f64) * gap_ns < tick as f64 * 50e6 {
                let dues: Vec<u64> = (number..number + 8).map(|one| 1_000_000 + (one as f64 * gap_ns) as u64).collect();
                let next = coalescing.next(dues[0] - 20_000, &mut heap(&dues), all_free).expect("a start");
                number += dues.iter().filter(|due| **due <= next.moment_ns).count() as u64;
                sleeps += 1.0;
            }
            let requests = (number - begun) as f64;
            let looking_us = 8.0 * aim.early * (0.5 + aim.in_time);
            let core_share = (sleeps * (14.0 + looking_us) + requests * 7.0) / 50e3;
            aim = coalescing.spent(core_share, DEFAULT_SLACK_NS);
            looks.push((core_share, sleeps / requests));
        }
        let mean = |of: fn(&(f64, f64)) -> f64| looks[100..].iter().map(of).sum::<f64>() / 100.0;
        Settled { core_share: mean(|look| look.0), not_held: mean(|look| look.1), aim }
    }

    #[test]
    fn as_much_is_saved_as_it_takes_to_spend_half_a_core_and_nothing_jumps() {
        for rate_rps in [20_000.0, 25_000.0, 30_000.0, 33_000.0, 34_000.0, 40_000.0] {
            let settled = settled(rate_rps);
            assert!((0.47..0.55).contains(&settled.core_share), "{rate_rps}: {settled:?}");
        }
        let thin = settled(10_000.0);
        assert!((thin.core_share - 0.29).abs() < 0.01 && thin.not_held == 1.0 && thin.aim == Aim::HALF, "{thin:?}");
        let shares: Vec<f64> = (0..40).map(|step| settled(10_000.0 + 1_000.0 * f64::from(step)).core_share).collect();
        assert!(shares.windows(2).all(|pair| (pair[1] - pair[0]).abs() < 0.08), "{shares:?}");
    }

    #[test]
    fn as_long_as_half_a_core_is_enough_the_median_request_is_in_time() {
        for rate_rps in [16_000.0, 18_000.0, 20_000.0, 22_000.0] {
            let Settled { not_held, aim, .. } = settled(rate_rps);
            assert!(not_held * aim.in_time > 0.49 && aim.early > 0.99, "{rate_rps}: {not_held} {aim:?}");
        }
        let dense = settled(40_000.0);
        assert!(dense.aim.early < 0.01 && dense.not_held < 0.5, "{dense:?}");
    }

    #[test]
    fn who_has_no_starts_to_put_together_saves_nothing_by_being_late() {
        let early = |dues: &[u64]| {
            let mut coalescing = Coalescing { saved: MOST_SAVED, ..prolonging(1.0, SLACK_NS) };
            for _ in 0..1000 {
                let _ = coalescing.next(0, &mut heap(dues), all_free);
            }
            coalescing.spent(CORE_SHARE, SLACK_NS).early
        };
        assert!(early(&[1_000_000, 1_200_000]) > 0.99 && early(&[1_000_000, 1_020_000]) < 0.01);
    }

    #[test]
    fn a_sleep_is_decided_once_however_often_it_is_looked_at() {
        let mut coalescing = prolonging(0.5, SLACK_NS);
        let mut timers = heap(&[1_000_000, 1_010_000]);
        let first = coalescing.next(0, &mut timers, all_free);
        assert!((0..10).all(|_| coalescing.next(0, &mut timers, all_free) == first));
    }

    #[test]
    fn what_is_no_start_of_a_free_connection_is_not_waited_for() {
        let next = |free: fn(u32, u32) -> Option<bool>| {
            prolonging(1.0, SLACK_NS).next(0, &mut heap(&[1_000_000, 1_010_000]), free)
        };
        assert_eq!(next(|index, _| Some(index != 1)), Some(Next { moment_ns: 1_000_000, free: false }));
        assert_eq!(next(|index, _| Some(index != 0)), Some(Next { moment_ns: 1_000_000, free: false }));
        assert_eq!(next(|index, _| (index != 1).then_some(true)), Some(Next { moment_ns: 1_000_000, free: true }));
        assert_eq!(prolonging(1.0, SLACK_NS).next(0, &mut BinaryHeap::new(), all_free), None);
    }

    /// A worker that is never kept from waking, on any schedule: what is due when it wakes leaves.
    #[test]
    fn none_leaves_early_none_is_held_longer_than_the_slack_and_none_is_lost() {
        for_inputs(CASES, |source| {
            let gaps = list(source, 1..=199, |source| source.int_in_range(0..=79_999_u64))?;
            let slack_ns = source.int_in_range(0..=59_999)?;
            let work_ns = source.int_in_range(0..=19_999)?;
            let share = float(source, 0.0..1.0)?;
            let next_due = |due: &mut u64, gap: &u64| {
                *due += gap;
                Some(*due)
            };
            let dues: Vec<u64> = gaps.iter().scan(1_000_000, next_due).collect();
            let mut timers = heap(&dues);
            let mut coalescing = prolonging(share, slack_ns);
            let (mut now, mut sent, mut sleeps) = (0, 0, 0);
            while let Some(next) = coalescing.next(now, &mut timers, all_free) {
                sleeps += 1;
                assert!(next.moment_ns <= timers.peek().unwrap().0.0 + slack_ns);
                let woke = now.max(next.moment_ns);
                now = woke;
                while let Some(Reverse((due, _, _))) = timers.peek().copied().filter(|timer| timer.0.0 <= now) {
                    timers.pop();
                    assert!(!coalescing.held(due) || due + slack_ns >= next.moment_ns);
                    sent += 1;
                    now += work_ns;
                }
            }
            assert_eq!(sent, dues.len());
            assert!(sleeps <= dues.len());
            Ok(())
        });
    }
}
