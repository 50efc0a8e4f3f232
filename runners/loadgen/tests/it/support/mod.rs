//! A server that misbehaves on command, and a way to run the program against it.

pub mod hlog;
// The properties of the crate itself need more of it.
#[allow(dead_code)]
#[path = "../../../src/properties.rs"]
pub mod properties;
pub mod requests_log;
pub mod responses;

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// No test run takes longer; one that does is killed and fails.
const LIMIT: Duration = Duration::from_secs(60);

/// What a server does for so long is waited for by no run that ends: it is longer than [`LIMIT`].
pub const LONGER_THAN_A_RUN: Duration = Duration::from_secs(180);

/// A measurement that other work may have disturbed is made so often.
const ATTEMPTS: u32 = 10;
/// Before the second measurement; before each further one so much more.
const PAUSE: Duration = Duration::from_millis(500);

pub const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub struct Seen {
    pub line: String,
    pub headers: Vec<String>,
    pub body: Vec<u8>,
    /// Counts from 0 over all connections.
    pub number: u64,
    /// When it was read.
    pub at: Instant,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|header| {
            let (key, value) = header.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// Responds on the stream; `false` closes it.
type Behaviour = dyn Fn(&mut TcpStream, &Seen) -> bool + Send + Sync;

/// A server on a port of its own, with a thread a connection. It ends when it is dropped.
pub struct Server {
    pub address: SocketAddr,
    pub seen: Arc<Mutex<Vec<Seen>>>,
    pub accepted: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Server {
    pub fn start(behaviour: impl Fn(&mut TcpStream, &Seen) -> bool + Send + Sync + 'static) -> Self {
        Self::on("127.0.0.1:0", behaviour).expect("a free port of 127.0.0.1")
    }

    pub fn ok() -> Self {
        Self::start(|stream, _| stream.write_all(OK).is_ok())
    }

    pub fn on(
        address: &str,
        behaviour: impl Fn(&mut TcpStream, &Seen) -> bool + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let server = Server {
            address: listener.local_addr()?,
            seen: Arc::default(),
            accepted: Arc::default(),
            stop: Arc::default(),
        };
        let (seen, accepted, stop) = (server.seen.clone(), server.accepted.clone(), server.stop.clone());
        let behaviour: Arc<Behaviour> = Arc::new(behaviour);
        let numbers = Arc::new(AtomicU64::new(0));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                accepted.fetch_add(1, Ordering::SeqCst);
                let (behaviour, seen, numbers) = (behaviour.clone(), seen.clone(), numbers.clone());
                std::thread::spawn(move || serve(stream, &*behaviour, &seen, &numbers));
            }
        });
        Ok(server)
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn lines(&self) -> Vec<String> {
        self.seen.lock().unwrap().iter().map(|seen| seen.line.clone()).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the accept.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(mut stream: TcpStream, behaviour: &Behaviour, all: &Mutex<Vec<Seen>>, numbers: &AtomicU64) {
    let _ = stream.set_nodelay(true);
    let Ok(copy) = stream.try_clone() else { return };
    let mut reader = BufReader::new(copy);
    while let Some(mut seen) = read_request(&mut reader) {
        seen.number = numbers.fetch_add(1, Ordering::SeqCst);
        all.lock().unwrap().push(seen.clone());
        if !behaviour(&mut stream, &seen) {
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<Seen> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let at = Instant::now();
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok().filter(|count| *count > 0)?;
        match header.trim_end() {
            "" => break,
            text => headers.push(text.to_owned()),
        }
    }
    let mut seen = Seen { line: line.trim_end().to_owned(), headers, body: Vec::new(), number: 0, at };
    let length = seen.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    seen.body.resize(length, 0);
    reader.read_exact(&mut seen.body).ok()?;
    Some(seen)
}

/// A folder that is removed when the test ends.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("truepace-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::SeqCst));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder for temporary files");
        Scratch(path)
    }

    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("a temporary file");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A run that is over.
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// The JSON report; null if there is none.
    pub json: Value,
}

impl Run {
    pub fn number(&self, pointer: &str) -> f64 {
        self.json.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {pointer} in {}", self.json))
    }

    pub fn count(&self, pointer: &str) -> u64 {
        self.number(pointer) as u64
    }

    /// Every request that was due is accounted for.
    pub fn assert_nothing_vanished(&self) {
        let of = |name: &str| self.count(&format!("/requests/{name}"));
        assert_eq!(of("scheduled"), of("completed") + of("failed") + of("censored"), "{}", self.json["requests"]);
        assert_eq!(of("scheduled"), of("sent") + of("unsent"), "{}", self.json["requests"]);
    }
}

/// Starts the program, with SIGHUP as usual even where whoever runs the tests ignores it (`nohup`): a child inherits that.
pub fn spawn(arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_truepace"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    let as_usual = || {
        // SAFETY: a system call on two numbers, which may be made between fork and exec.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_DFL) };
        Ok(())
    };
    // SAFETY: the closure makes one call, which signal-safety(7) allows, and touches no memory of the parent.
    unsafe { command.pre_exec(as_usual) };
    command.spawn().expect("the program starts")
}

/// Waits for the end, but not for ever.
pub fn wait(child: Child) -> Output {
    wait_for(child, LIMIT)
}

fn wait_for(mut child: Child, limit: Duration) -> Output {
    let started = Instant::now();
    while child.try_wait().expect("the child can be waited for").is_none() {
        if started.elapsed() > limit {
            let _ = child.kill();
            panic!("the run did not end within {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().expect("its output")
}

pub fn finish(child: Child, json: &Path) -> Run {
    finish_within(child, json, LIMIT)
}

/// As [`finish`], for what may take longer.
pub fn finish_within(child: Child, json: &Path, limit: Duration) -> Run {
    let output = wait_for(child, limit);
    let text = std::fs::read_to_string(json).unwrap_or_default();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        json: serde_json::from_str(&text).unwrap_or(Value::Null),
    }
}

/// Runs with `--json`; the command line is cut at blanks.
pub fn run(line: &str) -> Run {
    run_within(line, LIMIT)
}

/// As [`run`], for what may take longer.
pub fn run_within(line: &str, limit: Duration) -> Run {
    let scratch = Scratch::new();
    let json = scratch.0.join("out.json");
    let mut arguments = vec!["--json", json.to_str().expect("a plain path")];
    arguments.extend(line.split_whitespace());
    finish_within(spawn(&arguments), &json, limit)
}

/// A machine wakes who sleeps within this time, or other work is in the way.
const IN_TIME: Duration = Duration::from_millis(1);
/// So many wake-ups in time, one after the other, are a machine with time to spare.
const WAKE_UPS: u32 = 200;
/// For a machine with time to spare is waited so long before each further measurement.
const CALM_WITHIN: Duration = Duration::from_secs(60);

/// Waits until other work leaves the machine time to spare, but not for ever.
fn await_calm() {
    let begun = Instant::now();
    let mut in_time = 0;
    while in_time < WAKE_UPS && begun.elapsed() < CALM_WITHIN {
        let asleep = Instant::now();
        std::thread::sleep(IN_TIME);
        in_time = if asleep.elapsed() < 2 * IN_TIME { in_time + 1 } else { 0 };
    }
}

/// Makes a measurement until one agrees.
///
/// A busy machine can take the processor away for longer than what is held, so each measurement may be made again a few
/// times, when the machine has time to spare again; an instrument that is wrong is wrong every time.
pub fn agrees(measure: impl Fn() -> Result<(), String>) {
    let mut reasons = Vec::new();
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            std::thread::sleep(PAUSE * attempt);
            await_calm();
        }
        match measure() {
            Ok(()) => return,
            Err(reason) => reasons.push(reason),
        }
    }
    panic!("none of {ATTEMPTS} measurements agrees: {reasons:#?}");
}

/// What only a machine with time to spare shows, for [`agrees`].
pub fn held(truth: bool, measured: impl std::fmt::Display) -> Result<(), String> {
    if truth { Ok(()) } else { Err(measured.to_string()) }
}

/// A script of the repository.
pub fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts").join(name)
}
