//! Sleeping until a moment, and what a timer costs on this machine.
//!
//! A wait with a time-out programs the processor's timer and takes its interrupt. On bare metal that is a few hundred
//! nanoseconds; under nested virtualization each is a trip to the hypervisor and costs several microseconds. When less
//! than that is left until the next intended start, looking again at once is cheaper than sleeping, and exact. Never
//! looking longer than a sleep would cost is Karlin's rule: at most twice the cost of the best choice (Karlin, Li,
//! Manasse, Owicki, "Empirical studies of competitive spinning", SOSP 1991).

use crate::clock::{monotonic_ns, sleep_until};
#[cfg(target_os = "linux")]
use std::sync::OnceLock;

/// Timers set to find the price: a millisecond in all where a timer is dear.
#[cfg(target_os = "linux")]
const SAMPLES: usize = 101;
/// Due soon enough that it becomes the processor's next timer, and late enough that none fires meanwhile.
#[cfg(target_os = "linux")]
const SOON_NS: i64 = 3_000_000;
/// The price is taken as no more than this, whatever was measured: the thread may have been without the processor.
#[cfg(target_os = "linux")]
const MOST_NS: u64 = 10_000;

/// Where at least this many times the median lateness is left, a sleep ends early by all of that lateness.
const EARLY_BEFORE: u64 = 2;
/// Where moments are at least this many times the median lateness apart, it does so however little is left: against such
/// a gap the time spent looking is small.
const LONG_GAP: u64 = 4;
/// Before a shorter gap it ends early by the median lateness divided by this: more would be more punctual, and cost more
/// time spent looking.
const PART: u64 = 3;
/// How far one sleep moves the median, and how far the first one does: at fifty requests per second a run has no more
/// than some hundred sleeps.
const STEP_NS: u64 = 250;
const FIRST_STEP_NS: u64 = 16_000;
/// A sleep that ends later than this was disturbed: that is not what waking takes.
const MOST_EARLY_NS: u64 = 50_000;

/// Nanoseconds that setting the processor's timer takes (median); 0 where it cannot be known. Measured once.
#[cfg(target_os = "linux")]
pub(crate) fn timer_price_ns() -> u64 {
    static PRICE: OnceLock<u64> = OnceLock::new();
    *PRICE.get_or_init(|| measure().unwrap_or(0).min(MOST_NS))
}

/// Nanoseconds that setting the processor's timer takes; not known here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn timer_price_ns() -> u64 {
    0
}

#[cfg(target_os = "linux")]
fn measure() -> rustix::io::Result<u64> {
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
    };
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
    let mut costs = Vec::with_capacity(SAMPLES);
    for sample in 0..SAMPLES {
        // Each a little earlier than the last, so that each becomes the next timer.
        let value = Timespec { tv_sec: 0, tv_nsec: SOON_NS - sample as i64 * 1000 };
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        let before = monotonic_ns();
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: none, it_value: value })?;
        costs.push(monotonic_ns() - before);
    }
    costs.sort_unstable();
    Ok(costs[SAMPLES / 2])
}

/// How punctual an alarm is to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Aim {
    /// The share of sleeps that are to end in time: a sleep ends early by what so many of the sleeps before it were late
    /// at most. What is left until the moment is spent looking at the clock, so that more of it costs more.
    pub(crate) in_time: f64,
    /// By which part of that sleeps end early, 0 to 1: less costs less, and all of them are later.
    pub(crate) early: f64,
}

impl Aim {
    /// Half of the sleeps end in time.
    pub(crate) const HALF: Aim = Aim { in_time: 0.5, early: 1.0 };
}

/// Wakes on time: a sleep ends late by what waking a processor takes, which is tens of microseconds on a virtual one, so
/// it is set to end earlier by what the sleeps before it were late.
#[derive(Debug)]
pub(crate) struct Alarm {
    aim: Aim,
    /// Running quantile of how late sleeps ended: that of [`Aim::in_time`].
    late_ns: u64,
    /// Sleeps so far.
    slept: u32,
    /// The moment for which it rang last: what is left until then is no time for another sleep.
    rang_for_ns: u64,
    /// The moment that it was set for last, and how far that was from the one before.
    moment_ns: u64,
    gap_ns: u64,
}

impl Default for Alarm {
    fn default() -> Self {
        Alarm { aim: Aim::HALF, late_ns: 0, slept: 0, rang_for_ns: 0, moment_ns: 0, gap_ns: 0 }
    }
}

impl Alarm {
    /// When a sleep until `moment_ns` is to end; `None`: there is no time for one, look again at once. What is left after
    /// it is spent looking, so it ends early by no more than half of a gap, or by all of one where more than half of the
    /// sleeps are to end in time: then who asks for that pays for it by fewer sleeps. The gap is that between moments: a
    /// response that woke the thread in the middle of it leaves less time for a sleep, and no more reason to be late.
    #[inline]
    pub(crate) fn set(&mut self, now_ns: u64, moment_ns: u64) -> Option<u64> {
        if moment_ns != self.moment_ns {
            self.gap_ns = moment_ns.saturating_sub(self.moment_ns);
            self.moment_ns = moment_ns;
        }
        let left_ns = moment_ns.saturating_sub(now_ns);
        if left_ns <= timer_price_ns() || moment_ns == self.rang_for_ns {
            return None;
        }
        let aimed = |early_ns: u64| (early_ns as f64 * self.aim.early) as u64;
        if self.gap_ns >= LONG_GAP * self.late_ns {
            return (left_ns > self.late_ns).then(|| moment_ns - aimed(self.late_ns));
        }
        let paid_for = self.aim.in_time > Aim::HALF.in_time && left_ns > self.late_ns + timer_price_ns();
        let early_ns = match left_ns {
            left if left >= EARLY_BEFORE * self.late_ns || paid_for => self.late_ns,
            left if left >= self.late_ns => self.late_ns / PART,
            _ => 0,
        };
        Some(moment_ns - aimed(early_ns))
    }

    /// Sets how punctual it is to be from now on.
    pub(crate) fn aim(&mut self, aim: Aim) {
        self.aim = aim;
    }

    /// Sleeps until a little before the moment, or looks at the clock for what is left until it. Something else may be
    /// due by the end of a sleep, so the caller looks before it asks for the rest.
    #[inline]
    pub(crate) fn sleep_until(&mut self, moment_ns: u64) {
        let Some(set_ns) = self.set(monotonic_ns(), moment_ns) else {
            while monotonic_ns() < moment_ns {
                std::hint::spin_loop();
            }
            return;
        };
        // A sleep that a signal ended early tells nothing of waking.
        if sleep_until(set_ns).is_ok() {
            self.rang(moment_ns, set_ns, monotonic_ns());
        }
    }

    /// The sleep until `moment_ns` that was to end at `set_ns` has run its time.
    #[inline]
    pub(crate) fn rang(&mut self, moment_ns: u64, set_ns: u64, now_ns: u64) {
        self.rang_for_ns = moment_ns;
        // Steps up and down, smaller each time, whose lengths are to each other as the share that is to end in time to
        // the rest, settle at that quantile (stochastic approximation: Robbins and Monro, "A stochastic approximation
        // method", 1951).
        self.slept = self.slept.saturating_add(1);
        let step_ns = (FIRST_STEP_NS / u64::from(self.slept)).max(STEP_NS) as f64;
        let later = now_ns.saturating_sub(set_ns) > self.late_ns;
        let share = if later { self.aim.in_time } else { 1.0 - self.aim.in_time };
        let step_ns = (2.0 * share * step_ns) as u64;
        self.late_ns =
            if later { (self.late_ns + step_ns).min(MOST_EARLY_NS) } else { self.late_ns.saturating_sub(step_ns) };
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_timer_has_a_price_and_it_is_bounded() {
        let price = timer_price_ns();
        assert!((1..=MOST_NS).contains(&price), "{price}");
        assert_eq!(price, timer_price_ns(), "measured once");
    }

    #[test]
    fn an_alarm_learns_how_late_sleeps_end_and_leaves_short_gaps_alone() {
        let mut alarm = Alarm::default();
        assert_eq!(alarm.set(0, 1_000_000), Some(1_000_000), "nothing is known yet");
        for sleep in 0..1000 {
            let set = alarm.set(0, 1_000_000).expect("a millisecond is time for a sleep");
            alarm.rang(sleep, set, set + 20_000 + sleep % 3 * 1000);
        }
        let early = 1_000_000 - alarm.set(0, 1_000_000).expect("a sleep");
        assert!((19_000..=23_000).contains(&early), "{early}");
        let part = 38_000 - alarm.set(0, 38_000).expect("a sleep");
        assert!((6_000..=8_000).contains(&part), "more than half of the gap is too much to spend: {part}");
        assert_eq!(alarm.set(0, 15_000), Some(15_000), "a gap that is shorter than the lateness");
        assert_eq!(alarm.set(0, timer_price_ns()), None);
        assert_eq!(alarm.set(1, 999), None, "it has fired for this moment");
        alarm.set(0, 2_000_000);
        assert_eq!(alarm.set(2_070_000, 2_100_000), Some(2_100_000 - early), "woken in the middle of a long gap");
        assert_eq!(alarm.set(2_085_000, 2_100_000), None, "a sleep now would end late");
        alarm.aim(Aim { early: 0.5, ..Aim::HALF });
        assert_eq!(alarm.set(0, 3_000_000), Some(3_000_000 - early / 2), "who spends too much looks for less long");
        alarm.aim(Aim::HALF);
        (0..1000).for_each(|_| alarm.rang(0, 0, 1_000_000_000));
        assert_eq!(alarm.set(0, 3_200_000), Some(3_200_000 - MOST_EARLY_NS), "a disturbance is not waited for");
    }

    #[test]
    fn so_many_sleeps_end_in_time_as_are_asked_for() {
        for in_time in [0.5, 0.75, 0.9] {
            let mut alarm = Alarm::default();
            alarm.aim(Aim { in_time, ..Aim::HALF });
            let sleeps = 4_000_u64;
            // In an order that jumps, 10 to 39.999 us late.
            let late = |sleep: u64| 10_000 + sleep * 7_919 % 30_000;
            let in_time_now = |alarm: &mut Alarm, sleep: u64| {
                let set_ns = alarm.set(0, 1_000_000 + sleep).expect("time for a sleep");
                alarm.rang(0, set_ns, set_ns + late(sleep));
                set_ns + late(sleep) <= 1_000_000 + sleep
            };
            for sleep in 0..sleeps {
                in_time_now(&mut alarm, sleep);
            }
            let kept = (0..sleeps).filter(|sleep| in_time_now(&mut alarm, *sleep)).count() as f64 / sleeps as f64;
            assert!((kept - in_time).abs() < 0.05, "{kept} of {in_time}");
        }
    }

    #[test]
    fn before_a_short_gap_an_alarm_is_early_only_for_who_pays_for_it() {
        let mut alarm = Alarm::default();
        (0..1000).for_each(|sleep| alarm.rang(sleep, 0, 22_000));
        let early = |alarm: &mut Alarm| 40_000 - alarm.set(0, 40_000).expect("a sleep");
        let part = early(&mut alarm);
        alarm.aim(Aim { in_time: 0.6, ..Aim::HALF });
        let paid_for = early(&mut alarm);
        assert!(part < 8_000 && (21_000..24_000).contains(&paid_for), "{part} {paid_for}");
    }
}
