//! What a timer costs on this machine.
//!
//! A wait with a time-out programs the processor's timer and takes its interrupt. On bare metal that is a few hundred
//! nanoseconds; under nested virtualization each is a trip to the hypervisor and costs several microseconds. When less
//! than that is left until the next intended start, looking again at once is cheaper than sleeping, and exact. Never
//! looking longer than a sleep would cost is Karlin's rule: at most twice the cost of the best choice (Karlin, Li,
//! Manasse, Owicki, "Empirical studies of competitive spinning", SOSP 1991).

use crate::clock::monotonic_ns;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::sync::OnceLock;

/// Timers set to find the price: a millisecond in all where a timer is dear.
const SAMPLES: usize = 101;
/// Due soon enough that it becomes the processor's next timer, and late enough that none fires meanwhile.
const SOON_NS: i64 = 3_000_000;
/// No machine should look longer than this, whatever was measured in a moment without the processor.
const MOST_NS: u64 = 10_000;

/// Nanoseconds that setting the processor's timer takes (median); 0 where it cannot be known. Measured once.
pub(super) fn timer_price_ns() -> u64 {
    static PRICE: OnceLock<u64> = OnceLock::new();
    *PRICE.get_or_init(|| measure().unwrap_or(0).min(MOST_NS))
}

fn measure() -> rustix::io::Result<u64> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_has_a_price_and_it_is_bounded() {
        let price = timer_price_ns();
        assert!((1..=MOST_NS).contains(&price), "{price}");
        assert_eq!(price, timer_price_ns(), "measured once");
    }
}
