//! `stall-witness CPUS FILE`: record when cores stall, whoever takes them: the hypervisor, an interrupt, the kernel.
//!
//! On each core of CPUS (`0,1`) a thread of real-time priority wakes each millisecond. No program of usual priority can
//! delay it, so when it wakes late the core itself stalled. It prints `ready` when all threads watch. On SIGTERM or
//! SIGINT it writes FILE; nothing is written before, for the disk would delay the witness. `docs/stalls.md` describes
//! the file.

use std::process::ExitCode;
use truepace::output::complain;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [list, file] = arguments.as_slice() else {
        complain(format_args!("stall-witness: two arguments are needed; call it as stall-witness CPUS FILE"));
        return ExitCode::from(2);
    };
    let Ok(cpus) = list.split(',').map(str::parse).collect::<Result<Vec<usize>, _>>() else {
        complain(format_args!(
            "stall-witness: {list:?} is no list of cores; give those that this process may use, such as 0,1"
        ));
        return ExitCode::from(2);
    };
    match linux::watch(&cpus).and_then(|watched| linux::write(file, &watched)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            complain(format_args!("stall-witness: {message}"));
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    complain(format_args!("stall-witness: this system has no real-time threads bound to a core; use Linux"));
    ExitCode::FAILURE
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::thread::{CpuSet, Pid, sched_setaffinity};
    use rustix::time::{ClockId, clock_gettime};
    use std::fmt::Write as _;
    use std::io::Write as _;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::{Sender, channel};
    use truepace::clock::{NS_PER_S, monotonic_ns, sleep_until, wall_clock_ahead_ns};

    const PERIOD_NS: u64 = 1_000_000;
    /// What a wake-up takes on an idle core is far below, what delays a request by a millisecond far above.
    const LATE_NS: u64 = 100_000;
    const PRIORITY: libc::c_int = 50;
    /// Room for the worst hour; beyond it memory is added, which may delay a wake-up.
    const ROOM: usize = 1 << 16;

    /// One late wake-up.
    struct Stall {
        woke_ns: u64,
        late_ns: u64,
    }

    /// One core's late wake-ups, and the CPU time that its thread took for all.
    struct Core {
        cpu: usize,
        cpu_ns: u64,
        stalls: Vec<Stall>,
    }

    /// The same moment by two clocks.
    #[derive(Clone, Copy)]
    struct Moment {
        monotonic_ns: u64,
        unix_ns: u64,
    }

    impl Moment {
        fn now() -> Self {
            let monotonic_ns = monotonic_ns();
            Moment { monotonic_ns, unix_ns: monotonic_ns.saturating_add_signed(wall_clock_ahead_ns()) }
        }
    }

    /// All cores, from when to when they were watched.
    pub struct Watched {
        begin: Moment,
        end: Moment,
        cores: Vec<Core>,
    }

    /// Watches cores until the process is asked to end.
    pub fn watch(cpus: &[usize]) -> Result<Watched, String> {
        let ended = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
            signal_hook::flag::register(signal, Arc::clone(&ended))
                .map_err(|error| format!("signal {signal}: {error}"))?;
        }
        // SAFETY: takes plain values. Where it is refused pages are in memory all the same, as they are in use.
        unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
        let (prepared_to, prepared) = channel();
        let threads: Vec<_> = cpus
            .iter()
            .map(|&cpu| {
                let (ended, prepared_to) = (Arc::clone(&ended), prepared_to.clone());
                std::thread::spawn(move || watch_one(cpu, &ended, &prepared_to))
            })
            .collect();
        drop(prepared_to);
        let all_watch = prepared.iter().take(cpus.len()).count() == cpus.len();
        let begin = Moment::now();
        if all_watch {
            let mut stdout = std::io::stdout();
            writeln!(stdout, "ready")
                .and_then(|()| stdout.flush())
                .map_err(|error| format!("standard output: {error}"))?;
        } else {
            ended.store(true, Ordering::Relaxed);
        }
        let cores: Result<Vec<Core>, String> =
            threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?).collect();
        Ok(Watched { begin, end: Moment::now(), cores: cores? })
    }

    fn watch_one(cpu: usize, ended: &AtomicBool, prepared: &Sender<()>) -> Result<Core, String> {
        prepare(cpu)?;
        let mut stalls = Vec::with_capacity(ROOM);
        let _ = prepared.send(());
        let mut due_ns = monotonic_ns() + PERIOD_NS;
        while !ended.load(Ordering::Relaxed) {
            if sleep_until(due_ns).is_err() {
                continue;
            }
            let woke_ns = monotonic_ns();
            if woke_ns - due_ns >= LATE_NS {
                stalls.push(Stall { woke_ns, late_ns: woke_ns - due_ns });
            }
            due_ns = if woke_ns - due_ns < PERIOD_NS { due_ns + PERIOD_NS } else { woke_ns + PERIOD_NS };
        }
        Ok(Core { cpu, cpu_ns: thread_cpu_ns(), stalls })
    }

    fn prepare(cpu: usize) -> Result<(), String> {
        let mut cpus = CpuSet::new();
        if cpu >= CpuSet::MAX_CPU {
            return Err(format!("there is no core {cpu}; give one that this process may use"));
        }
        cpus.set(cpu);
        sched_setaffinity(None::<Pid>, &cpus)
            .map_err(|error| format!("core {cpu} is refused ({error}); give one that this process may use"))?;
        let parameters = libc::sched_param { sched_priority: PRIORITY };
        // SAFETY: a pointer to a local that outlives the call.
        if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) } != 0 {
            let error = std::io::Error::last_os_error();
            return Err(format!(
                "real-time priority is refused ({error}); give the program the right to it (sudo setcap cap_sys_nice+ep \
                 stall-witness), raise the limit (ulimit -r {PRIORITY}), or run as root"
            ));
        }
        Ok(())
    }

    /// CPU time of the calling thread.
    fn thread_cpu_ns() -> u64 {
        let spent = clock_gettime(ClockId::ThreadCPUTime);
        spent.tv_sec as u64 * NS_PER_S + spent.tv_nsec as u64
    }

    /// Writes the head, a line for each core, and one for each stall.
    pub fn write(file: &str, watched: &Watched) -> Result<(), String> {
        let mut text = format!("#stall-witness/1 period_ns={PERIOD_NS} late_ns={LATE_NS}\n");
        // Writing to a String cannot fail.
        for (name, moment) in [("begin", watched.begin), ("end", watched.end)] {
            let _ = writeln!(text, "#{name} monotonic_ns={} unix_ns={}", moment.monotonic_ns, moment.unix_ns);
        }
        for Core { cpu, cpu_ns, .. } in &watched.cores {
            let _ = writeln!(text, "#core {cpu} cpu_ns={cpu_ns}");
        }
        for Core { cpu, stalls, .. } in &watched.cores {
            for Stall { woke_ns, late_ns } in stalls {
                let _ = writeln!(text, "{cpu} {woke_ns} {late_ns}");
            }
        }
        std::fs::write(file, text).map_err(|error| format!("{file} can't be written ({error}); choose another file"))
    }
}
