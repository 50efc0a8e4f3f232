//! Time. All intended and measured times are nanoseconds on the monotonic clock; the wall clock only labels results.

use rustix::time::{ClockId, clock_gettime};
use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds in a second.
pub const NS_PER_S: u64 = 1_000_000_000;

/// How often the two clocks are compared.
const CLOCK_READINGS: usize = 8;

/// Nanoseconds on `CLOCK_MONOTONIC`. A vDSO call on Linux: no system call, about 25 ns.
#[inline]
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * NS_PER_S + now.tv_nsec as u64
}

/// Microseconds since 1970 on the wall clock.
pub fn unix_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// Nanoseconds since 1970 on the wall clock.
pub fn unix_ns() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec as u64 * NS_PER_S + now.tv_nsec as u64
}

/// The moment of the monotonic clock at which the wall clock will show an instant, or how many nanoseconds ago it did.
///
/// The wall clock is read between two readings of the monotonic one; of several attempts the one counts in which they
/// are closest together, for between them the thread may have stalled.
///
/// # Errors
/// The instant has passed: the nanoseconds since.
pub fn moment_of(instant_unix_ns: u64) -> Result<u64, u64> {
    let read = || {
        let (before, wall, after) = (monotonic_ns(), unix_ns(), monotonic_ns());
        (after - before, before + (after - before) / 2, wall)
    };
    let (_, moment, wall) = (0..CLOCK_READINGS).map(|_| read()).min().unwrap_or_else(read);
    let ahead = instant_unix_ns.checked_sub(wall).ok_or_else(|| wall - instant_unix_ns)?;
    let due = moment + ahead;
    let now = monotonic_ns();
    if due < now { Err(now - due) } else { Ok(due) }
}

/// The wall clock, in microseconds since 1970, at a moment of the monotonic clock.
pub fn unix_us_at(moment_ns: u64) -> u64 {
    let (now_ns, wall_us) = (monotonic_ns(), unix_us());
    (wall_us as i64 + (moment_ns as i64 - now_ns as i64) / 1000) as u64
}

/// Seconds as nanoseconds, rounded.
pub fn seconds_to_ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// Asks the kernel for timers as exact as it has. Linux otherwise adds up to 50 us to every wait of a thread.
pub fn ask_for_exact_timers() {
    #[cfg(target_os = "linux")]
    {
        // A refusal costs accuracy, which the lag figures then show; it is no reason to stop.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    }
}
