//! With a busy process on each core a run ends when its load does.

use crate::support::{Server, agrees, held, run, run_within};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// So many busy threads on each core: the more, the less is left to idle priority.
const THREADS_A_CORE: usize = 4;

fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// Keeps every core busy until it is dropped.
struct Busy(Arc<AtomicBool>);

impl Busy {
    fn every_core() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        for _ in 0..THREADS_A_CORE * cores() {
            let over = over.clone();
            std::thread::spawn(move || while !over.load(Ordering::Relaxed) {});
        }
        Busy(over)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Processes that end when this is dropped.
struct Processes(Vec<Child>);

impl Processes {
    /// One for each core, busy until this process ends.
    fn busy() -> Self {
        let line = format!(
            "while kill -0 {} 2>&-; do i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; done",
            std::process::id()
        );
        Processes((0..cores()).map(|_| Command::new("sh").args(["-c", &line]).spawn().expect("a shell")).collect())
    }

    /// The server that does nothing, and its URL.
    fn server() -> (Self, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_truepace-reference"));
        let command = command.args(["--kind", "server", "http://127.0.0.1/"]).stdout(Stdio::piped());
        let mut server = command.spawn().expect("the server starts");
        let mut url = String::new();
        BufReader::new(server.stdout.take().expect("a pipe")).read_line(&mut url).expect("its address");
        (Processes(vec![server]), url.trim_end().to_owned())
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for process in &mut self.0 {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

#[test]
fn what_is_left_to_the_collector_is_not_left_to_idle_priority() {
    let server = Server::ok();
    let _busy = Busy::every_core();
    let begun = Instant::now();
    let run =
        run_within(&format!("-t2 -c16 -R 2000 -d 2s --drain 500ms {}", server.url("/")), Duration::from_secs(120));
    let took = begun.elapsed();
    run.assert_nothing_vanished();
    // At idle priority its end took more than ten seconds.
    assert!(took < Duration::from_secs(10), "a load of two seconds took {took:?}");
}

#[test]
#[ignore = "timed: make test-long runs it alone"]
fn with_a_busy_process_on_each_core_20_000_a_second_for_3_s_end_within_4_s() {
    if !cfg!(target_os = "linux") {
        eprintln!("skipped: the server that does nothing is there on Linux only");
        return;
    }
    let (_server, url) = Processes::server();
    agrees(|| {
        let busy = Processes::busy();
        let begun = Instant::now();
        let run = run(&format!("-R20000 -d3s {url}"));
        let took = begun.elapsed();
        drop(busy);
        run.assert_nothing_vanished();
        assert_eq!(run.count("/requests/scheduled"), 60_000, "{}", run.stderr);
        held(took < Duration::from_secs(4), format!("{took:?}, {}", run.json["requests"]))
    });
}
