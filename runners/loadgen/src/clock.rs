//! Time. All intended and measured times are nanoseconds on the monotonic clock; the wall clock only labels results.

use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds in a second.
pub const NS_PER_S: u64 = 1_000_000_000;

/// How often the two clocks are compared, each time that they are.
const READINGS: usize = 5;

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

/// How far the wall clock is ahead of the monotonic one, in nanoseconds.
///
/// A reading of the wall clock between two of the monotonic one lies somewhere between them: the middle is off by at
/// most half of the bracket, tens of nanoseconds where nothing comes between. Of several readings the narrowest counts,
/// since in another the thread may have stalled. (Cristian, "Probabilistic clock synchronization", 1989, with both
/// clocks in one machine.)
pub fn wall_clock_ahead_ns() -> i64 {
    let read = |_| (monotonic_ns(), unix_ns(), monotonic_ns());
    narrowest_ahead_ns((0..READINGS).map(read))
}

/// How far the second clock of each reading is ahead of the first and third, by the narrowest reading; 0 without any.
fn narrowest_ahead_ns(readings: impl Iterator<Item = (u64, u64, u64)>) -> i64 {
    let narrowest = readings.min_by_key(|(before, _, after)| after - before);
    narrowest.map_or(0, |(before, wall, after)| wall as i64 - (before + (after - before) / 2) as i64)
}

/// The moment of the monotonic clock at which the wall clock will show an instant, or how many nanoseconds ago it did.
///
/// # Errors
/// The instant has passed: the nanoseconds since.
pub fn moment_of(instant_unix_ns: u64) -> Result<u64, u64> {
    let due_ns = i128::from(instant_unix_ns) - i128::from(wall_clock_ahead_ns());
    let now_ns = i128::from(monotonic_ns());
    if due_ns < now_ns { Err((now_ns - due_ns) as u64) } else { Ok(due_ns as u64) }
}

/// The wall clock, in microseconds since 1970, at a moment of the monotonic clock.
pub fn unix_us_at(moment_ns: u64) -> u64 {
    moment_ns.saturating_add_signed(wall_clock_ahead_ns()) / 1000
}

/// Seconds as nanoseconds, rounded.
pub fn seconds_to_ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// Sleeps until the monotonic clock shows `moment_ns`; a moment that is over is no sleep.
///
/// # Errors
/// When a signal ends the sleep early.
#[cfg(target_os = "linux")]
pub fn sleep_until(moment_ns: u64) -> io::Result<()> {
    use rustix::thread::clock_nanosleep_absolute;
    if moment_ns <= monotonic_ns() {
        return Ok(());
    }
    let moment = rustix::time::Timespec { tv_sec: (moment_ns / NS_PER_S) as i64, tv_nsec: (moment_ns % NS_PER_S) as _ };
    Ok(clock_nanosleep_absolute(rustix::thread::ClockId::Monotonic, &moment)?)
}

/// Sleeps until the monotonic clock shows `moment_ns`; a moment that is over is no sleep.
///
/// # Errors
/// None here.
#[cfg(not(target_os = "linux"))]
pub fn sleep_until(moment_ns: u64) -> io::Result<()> {
    std::thread::sleep(std::time::Duration::from_nanos(moment_ns.saturating_sub(monotonic_ns())));
    Ok(())
}

/// Asks the kernel for timers as exact as it has. Linux otherwise adds up to 50 us to every wait of a thread.
pub fn ask_for_exact_timers() {
    #[cfg(target_os = "linux")]
    {
        // A refusal costs accuracy, which the lag figures then show; it is no reason to stop.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_reading_of_the_clocks_counts_by_its_middle() {
        // The wall clock is 7 000 ns ahead; the first reading was interrupted before it, the last after it.
        let readings = [(1_000, 908_020, 901_040), (2_000, 9_020, 2_040), (3_000, 10_020, 903_000)];
        assert_eq!(narrowest_ahead_ns(readings.into_iter()), 7_000);
        assert_eq!(narrowest_ahead_ns([(9_000, 2_000, 9_000)].into_iter()), -7_000, "or behind");
    }

    #[test]
    fn an_instant_and_its_moment_are_the_same_time() {
        let ahead_ns = 5 * NS_PER_S;
        let instant_ns = unix_ns() + ahead_ns;
        let moment_ns = moment_of(instant_ns).expect("it lies ahead");
        // Between them nothing but a step of the wall clock or a stall in all five readings.
        assert!(unix_us_at(moment_ns).abs_diff(instant_ns / 1000) < 1_000, "{moment_ns} {instant_ns}");
        assert!(moment_of(unix_ns() - ahead_ns).is_err_and(|since_ns| since_ns >= ahead_ns / 2));
    }
}
