//! The processor time that the generator itself takes, and its priority.

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

/// Lets the calling thread run only when nobody else wants the processor, so that adding up results never delays a
/// request. A refusal changes nothing but that.
pub fn yield_to_everybody() {
    #[cfg(target_os = "linux")]
    {
        let parameters = libc::sched_param { sched_priority: 0 };
        // SAFETY: 0 stands for the calling thread, and the parameters outlive the call.
        unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameters) };
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_peak_holds_what_was_held() {
        let before = peak_memory_bytes();
        assert!(before > 0);
        let held = vec![1_u8; 64 << 20];
        assert!(peak_memory_bytes() >= held.iter().map(|byte| u64::from(*byte)).sum());
    }
}
