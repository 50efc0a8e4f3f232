//! `stall-witness CPU FILE`: record when a core stands still, whoever takes it: the hypervisor, an interrupt, the kernel.
//!
//! A thread of real-time priority wakes on that core each millisecond. Nothing that a program under test does can delay
//! it, so when it wakes late the core itself stood still. It prints `ready` when it watches. On SIGTERM or SIGINT it
//! writes FILE, a line for each late wake-up: CLOCK_MONOTONIC in nanoseconds when it woke, a space, and by how many
//! nanoseconds that was late. Nothing is written before, for the disk would delay the witness.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [cpu, file] = arguments.as_slice() else {
        eprintln!("stall-witness: two arguments are needed; call it as stall-witness CPU FILE");
        return ExitCode::from(2);
    };
    let Ok(cpu) = cpu.parse() else {
        eprintln!("stall-witness: the core {cpu:?} is not a number; give one that this process may use, such as 1");
        return ExitCode::from(2);
    };
    match linux::watch(cpu).and_then(|stalls| linux::write(file, &stalls)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("stall-witness: {message}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("stall-witness: this system has no real-time threads bound to a core; use Linux");
    ExitCode::FAILURE
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::thread::{CpuSet, Pid, sched_setaffinity};
    use std::fmt::Write as _;
    use std::io::Write as _;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    const PERIOD_NS: i64 = 1_000_000;
    /// What a wake-up takes on an idle core is far below, what delays a request by a millisecond far above.
    const LATE_NS: i64 = 100_000;
    const PRIORITY: libc::c_int = 50;
    const NS_PER_S: i64 = 1_000_000_000;
    /// Room for the worst hour; beyond it memory is added, which may delay a wake-up.
    const ROOM: usize = 1 << 16;

    /// One late wake-up.
    pub struct Stall {
        woke_ns: i64,
        late_ns: i64,
    }

    /// Watches a core until the process is asked to end.
    pub fn watch(cpu: usize) -> Result<Vec<Stall>, String> {
        let ended = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
            signal_hook::flag::register(signal, Arc::clone(&ended))
                .map_err(|error| format!("signal {signal}: {error}"))?;
        }
        prepare(cpu)?;
        let mut stalls = Vec::with_capacity(ROOM);
        println!("ready");
        std::io::stdout().flush().map_err(|error| format!("standard output: {error}"))?;
        let mut due_ns = now_ns() + PERIOD_NS;
        while !ended.load(Ordering::Relaxed) {
            if !sleep_until(due_ns) {
                continue;
            }
            let woke_ns = now_ns();
            if woke_ns - due_ns >= LATE_NS {
                stalls.push(Stall { woke_ns, late_ns: woke_ns - due_ns });
            }
            due_ns = if woke_ns - due_ns < PERIOD_NS { due_ns + PERIOD_NS } else { woke_ns + PERIOD_NS };
        }
        Ok(stalls)
    }

    fn prepare(cpu: usize) -> Result<(), String> {
        let mut cpus = CpuSet::new();
        if cpu >= CpuSet::MAX_CPU {
            return Err(format!("there is no core {cpu}; give one that this process may use"));
        }
        cpus.set(cpu);
        sched_setaffinity(None::<Pid>, &cpus)
            .map_err(|error| format!("core {cpu} is refused ({error}); give one that this process may use"))?;
        // SAFETY: both calls take plain values or a pointer to a local that outlives them.
        let refused = unsafe {
            let parameters = libc::sched_param { sched_priority: PRIORITY };
            libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE);
            libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters)
        };
        if refused != 0 {
            let error = std::io::Error::last_os_error();
            return Err(format!("real-time priority is refused ({error}); run as root or with CAP_SYS_NICE"));
        }
        Ok(())
    }

    fn now_ns() -> i64 {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        now.tv_sec * NS_PER_S + now.tv_nsec
    }

    /// Returns whether the time has come; a signal ends the sleep before.
    fn sleep_until(due_ns: i64) -> bool {
        let due = libc::timespec { tv_sec: due_ns / NS_PER_S, tv_nsec: due_ns % NS_PER_S };
        // SAFETY: the pointer is to a local that outlives the call, and no remaining time is asked for.
        unsafe {
            libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const due, std::ptr::null_mut()) == 0
        }
    }

    /// Writes a line for each stall.
    pub fn write(file: &str, stalls: &[Stall]) -> Result<(), String> {
        let mut text = String::new();
        for Stall { woke_ns, late_ns } in stalls {
            let _ = writeln!(text, "{woke_ns} {late_ns}");
        }
        std::fs::write(file, text).map_err(|error| format!("{file} can't be written ({error}); choose another file"))
    }
}
