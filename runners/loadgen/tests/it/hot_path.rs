//! After its warm-up a worker allocates nothing for a request.
//!
//! The allocator is that of all tests, but counts only in a process that runs this test alone: workers of no other test
//! are counted, and the tests' own process keeps its signals, which a run catches.

use crate::support::wait;
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use truepace::cli::parse;
use truepace::run::run;

/// This module's test, as the test program names it.
const TEST: &str = "hot_path::a_worker_allocates_nothing_for_a_request_after_the_warm_up";
/// Set in the environment of the process that runs it alone.
const ALONE: &str = "TRUEPACE_TEST_ALONE";
/// Begins the name of each worker's thread.
const WORKER: &[u8] = b"load-";
/// The load: its first half warms everything up, and the measured requests lie well within one second of the window, for
/// with each second a worker may take a new interval.
const LOAD: &str = "truepace -t1 -c4 -R 4000 --warmup 1s -d 900ms";
const FIRST: u64 = 4_400;
const LAST: u64 = 7_200;
const ATTEMPTS: u32 = 10;

/// Whether allocations are counted; a thread's name costs a system call each time.
static COUNTED: AtomicBool = AtomicBool::new(false);
/// Allocations of the workers.
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

impl Counting {
    fn count() {
        if !COUNTED.load(Ordering::Relaxed) {
            return;
        }
        let mut name = [0u8; 16];
        // SAFETY: the kernel writes at most 16 bytes.
        unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
        if name.starts_with(WORKER) {
            ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        }
    }
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::count();
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::count();
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Responds to each request, and notes how often workers had allocated when the first and the last measured one came.
fn serve(stream: TcpStream, number: &AtomicU64, noted: &Mutex<Vec<u64>>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut out = stream.try_clone()?;
    let mut lines = BufReader::new(stream);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        if line == b"\r\n" {
            if [FIRST, LAST].contains(&number.fetch_add(1, Ordering::SeqCst)) {
                noted.lock().unwrap().push(ALLOCATIONS.load(Ordering::Relaxed));
            }
            out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")?;
        }
        line.clear();
    }
    Ok(())
}

/// How often workers had allocated when the first and the last measured request came; less where one did not come.
fn measure() -> Vec<u64> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (number, noted) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let (number, noted): (&'static AtomicU64, &'static Mutex<Vec<u64>>) =
        (Box::leak(Box::new(number)), Box::leak(Box::new(noted)));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream, number, noted));
        }
    });
    let line = LOAD.split(' ').map(str::to_owned).chain([url]).collect();
    let code = run(&parse(line).unwrap()).unwrap();
    assert!([0, 4].contains(&code), "{code}");
    noted.lock().unwrap().clone()
}

/// Fails where a worker allocated from the first measured request to the last.
fn check() {
    COUNTED.store(true, Ordering::SeqCst);
    // A machine that stalls for long leaves the last ones unsent.
    let noted = (0..ATTEMPTS).map(|_| measure()).find(|noted| noted.len() == 2).expect("the last measured request");
    assert!(noted[0] > 0, "the workers' allocations are not counted");
    assert_eq!(noted[1] - noted[0], 0, "allocations over {} requests", LAST - FIRST);
}

#[test]
fn a_worker_allocates_nothing_for_a_request_after_the_warm_up() {
    if std::env::var_os(ALONE).is_some() {
        return check();
    }
    let alone = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", TEST, "--nocapture"])
        .env(ALONE, "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let output = wait(alone.unwrap());
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    // Indented, so that nobody takes its results for this process's.
    let shown = said.replace('\n', "\n    ");
    assert!(output.status.success() && said.contains("1 passed"), "alone, {}:\n    {shown}", output.status);
}
