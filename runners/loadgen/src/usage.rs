//! The processor time that the generator itself takes, and its priority.

use std::sync::atomic::{AtomicI32, Ordering};

/// Processor time of the calling thread, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cpu {
    /// In user mode.
    pub user_s: f64,
    /// In the kernel.
    pub system_s: f64,
}

impl Cpu {
    /// Both together.
    pub fn total_s(self) -> f64 {
        self.user_s + self.system_s
    }

    /// The sum with another's.
    pub fn and(self, other: Cpu) -> Cpu {
        Cpu { user_s: self.user_s + other.user_s, system_s: self.system_s + other.system_s }
    }

    /// What was used since an earlier reading.
    pub fn since(self, earlier: Cpu) -> Cpu {
        Cpu { user_s: self.user_s - earlier.user_s, system_s: self.system_s - earlier.system_s }
    }

    /// The calling thread's processor time so far.
    #[cfg(target_os = "linux")]
    pub fn of_thread() -> Cpu {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointer is to a rusage that outlives the call, and all zeroes are a valid rusage.
        let usage = unsafe {
            libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
            usage.assume_init()
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Cpu { user_s: seconds(usage.ru_utime), system_s: seconds(usage.ru_stime) }
    }

    /// The calling thread's processor time so far; this system does not part it, so all of it counts as user time.
    #[cfg(not(target_os = "linux"))]
    pub fn of_thread() -> Cpu {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Cpu { user_s: time.tv_sec as f64 + time.tv_nsec as f64 / 1e9, system_s: 0.0 }
    }
}

/// The most memory that the process has held at once, in bytes: its peak resident set. 0 where the system does not say.
///
/// Not from getrusage: there Linux counts what the process held before it became this program, which is the size of
/// whoever started it.
#[cfg(target_os = "linux")]
pub fn peak_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// The most memory that the process has held at once, in bytes: its peak resident set. 0 where the system does not say.
#[cfg(not(target_os = "linux"))]
pub fn peak_memory_bytes() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a rusage that outlives the call, and all zeroes are a valid rusage.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    // Kilobytes everywhere but on Apple's systems.
    let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    u64::try_from(usage.ru_maxrss).unwrap_or(0) * unit
}

/// Nice value of a background thread that could not come back from idle priority: a tenth of the share of the others.
#[cfg(target_os = "linux")]
const BACKGROUND_NICE: i32 = 10;

/// A thread's place behind all others, and its way back.
///
/// Under idle priority (`SCHED_IDLE`) adding up results never delays a request, but next to a busy process on each core
/// it gets a third of a per cent of one, so it must be raised when its work is waited for. An unprivileged process may
/// not raise it (sched(7), `RLIMIT_NICE`); there the thread has a lower nice value instead, and needs no way back.
#[derive(Debug, Default)]
pub struct Background {
    /// The thread of idle priority, 0 while there is none, or [`URGENT`].
    idle_thread: AtomicI32,
}

/// No thread is to have idle priority any more.
const URGENT: i32 = -1;

impl Background {
    /// Puts the calling thread behind all others, unless its work is waited for already.
    #[cfg(target_os = "linux")]
    pub fn enter(&self) {
        let may_return = || set_policy(0, libc::SCHED_IDLE) && set_policy(0, libc::SCHED_OTHER);
        // Tried in a thread of its own: where the way back is barred, it is stuck.
        if !std::thread::spawn(may_return).join().unwrap_or(false) {
            // SAFETY: a system call on numbers; 0 stands for the calling thread. A refusal changes nothing.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, BACKGROUND_NICE) };
            return;
        }
        set_policy(0, libc::SCHED_IDLE);
        // SAFETY: a system call without arguments.
        let thread = unsafe { libc::gettid() };
        if self.idle_thread.compare_exchange(0, thread, Ordering::AcqRel, Ordering::Acquire).is_err() {
            set_policy(0, libc::SCHED_OTHER);
        }
    }

    /// Puts the calling thread behind all others; not known here.
    #[cfg(not(target_os = "linux"))]
    pub fn enter(&self) {}

    /// Gives the thread that entered, or will, normal priority: its work is waited for.
    pub fn raise(&self) {
        if self.idle_thread.load(Ordering::Acquire) == URGENT {
            return;
        }
        let _thread = self.idle_thread.swap(URGENT, Ordering::AcqRel);
        #[cfg(target_os = "linux")]
        if _thread > 0 {
            set_policy(_thread, libc::SCHED_OTHER);
        }
    }
}

/// Sets the scheduling policy of a thread (0: the calling one); returns whether the system allowed it.
#[cfg(target_os = "linux")]
fn set_policy(thread: libc::pid_t, policy: libc::c_int) -> bool {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameters outlive the call.
    unsafe { libc::sched_setscheduler(thread, policy, &parameters) == 0 }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_background_thread_that_is_waited_for_is_idle_no_more() {
        let background = Background::default();
        std::thread::scope(|scope| {
            let (entered_to, entered) = std::sync::mpsc::channel();
            let (raised_to, raised) = std::sync::mpsc::channel::<()>();
            let background = &background;
            let thread = scope.spawn(move || {
                background.enter();
                let _ = entered_to.send(());
                let _ = raised.recv();
                // SAFETY: a system call on a number; 0 stands for the calling thread.
                unsafe { libc::sched_getscheduler(0) }
            });
            entered.recv().unwrap();
            background.raise();
            drop(raised_to);
            assert_eq!(thread.join().unwrap(), libc::SCHED_OTHER);
        });
    }

    #[test]
    fn the_peak_holds_what_was_held() {
        let before = peak_memory_bytes();
        assert!(before > 0);
        let held = vec![1_u8; 64 << 20];
        assert!(peak_memory_bytes() >= held.iter().map(|byte| u64::from(*byte)).sum());
    }
}
