//! The stall witness sees a core that stalls, whoever holds it, and says why where it can't watch.

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const HELD: Duration = Duration::from_millis(50);
const NS_PER_MS: u64 = 1_000_000;

fn witness(cpus: &str, file: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_stall-witness"))
        .arg(cpus)
        .arg(file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Puts the calling thread above the witness; false where the system refuses real-time priority.
fn rise() -> bool {
    let parameters = libc::sched_param { sched_priority: 90 };
    // SAFETY: a pointer to a local that outlives the call.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) == 0 }
}

/// Holds a core as a hypervisor does: nothing else runs on it. False where that is refused.
fn hold(cpu: usize) -> bool {
    std::thread::spawn(move || {
        let mut cpus = CpuSet::new();
        cpus.set(cpu);
        sched_setaffinity(None, &cpus).unwrap();
        let risen = rise();
        let start = Instant::now();
        while risen && start.elapsed() < HELD {
            std::hint::spin_loop();
        }
        risen
    })
    .join()
    .unwrap()
}

#[test]
fn a_core_that_stalls_is_recorded() {
    let usable = sched_getaffinity(None).unwrap();
    let cpu = (0..CpuSet::MAX_CPU).find(|&cpu| usable.is_set(cpu)).unwrap();
    let file = std::env::temp_dir().join(format!("stall-witness-{}.txt", std::process::id()));
    let mut child = witness(&cpu.to_string(), &file);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let held = line == "ready\n" && hold(cpu);
    if line == "ready\n" {
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    if !held {
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.contains("real-time priority is refused")
                && said.contains("cap_sys_nice")
                && said.contains("ulimit -r"),
            "{said}"
        );
        return;
    }
    assert!(output.status.success());
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let heads: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix('#')?.split(' ').next()).collect();
    assert_eq!(heads, ["stall-witness/1", "begin", "end", "core"]);
    let longest = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(' ').map(|field| field.parse::<u64>().unwrap()).collect::<Vec<_>>())
        .inspect(|fields| assert_eq!((fields.len(), fields[0]), (3, cpu as u64)))
        .map(|fields| fields[2])
        .max();
    // It was due within a millisecond of the beginning.
    let least = u64::try_from(HELD.as_nanos()).unwrap() - 2 * NS_PER_MS;
    assert!(longest.is_some_and(|late| late >= least), "{text}");
}

#[test]
fn a_list_that_is_none_is_refused() {
    let output = witness("0,one", Path::new("never-written")).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("\"0,one\" is no list of cores"));
}

#[test]
fn a_core_that_is_not_there_is_named() {
    let output = witness("100000", Path::new("never-written")).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("core 100000"), "{said}");
}
