//! Thousands of connections: all of them carry requests, and the generator's memory stays small and flat.

use crate::support::{OK, Scratch, agrees, finish_within, held, run_within, spawn};
use polling::{Event, Events, Poller};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

/// Files of a process besides its connections.
const BESIDES: u64 = 200;
/// The listener's key; streams count from 0.
const LISTENER: usize = usize::MAX - 1;

/// Room for as many connections as the machine allows, 10 000 at most.
fn connections() -> u64 {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let hard = maximum.unwrap_or(u64::MAX);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).expect("the soft limit goes up to the hard one");
    let count = hard.saturating_sub(BESIDES).min(10_000);
    if count < 10_000 {
        eprintln!("{hard} open files allow {count} connections only");
    }
    count
}

/// One thread that responds to every request on every connection.
fn start() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.set_nonblocking(true).expect("a listener can be made non-blocking");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || serve(&listener));
    address
}

fn serve(listener: &TcpListener) -> std::io::Result<()> {
    let mut streams: Vec<TcpStream> = Vec::new();
    let poller = Poller::new()?;
    // SAFETY: the poller is declared last, so it goes before the streams; the listener is the caller's.
    unsafe { poller.add(listener, Event::readable(LISTENER))? };
    let mut events = Events::new();
    let mut buffer = [0; 4096];
    loop {
        events.clear();
        poller.wait(&mut events, None)?;
        for event in events.iter() {
            if event.key == LISTENER {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    // SAFETY: as above.
                    unsafe { poller.add(&stream, Event::readable(streams.len()))? };
                    streams.push(stream);
                }
                poller.modify(listener, Event::readable(LISTENER))?;
                continue;
            }
            let stream = &mut streams[event.key];
            // A closed connection reads as nothing and is not watched again.
            if let Ok(1..) = stream.read(&mut buffer)
                && stream.write_all(OK).is_ok()
            {
                poller.modify(&*stream, Event::readable(event.key))?;
            }
        }
    }
}

#[test]
fn ten_thousand_connections_carry_their_requests() {
    let count = connections();
    let address = start();
    // Two requests a connection, bounded by their number: a busy machine takes longer and leaves none out. A connection
    // whose first packet found no room in the server's queue waits seconds for the next.
    let requests = 2 * count;
    let line = format!("-t1 -c{count} -R {count} -n {requests} --timeout 15s http://{address}/");
    let run = run_within(&line, Duration::from_secs(60));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.assert_nothing_vanished();
    assert_eq!((run.count("/requests/completed"), run.count("/requests/failed")), (requests, 0));
    assert_eq!((run.count("/errors/connect"), run.count("/reconnects")), (0, 0));
}

#[test]
#[ignore = "timed: make test-long runs it alone"]
fn memory_is_small_and_flat_with_a_thousand_connections() {
    if !cfg!(target_os = "linux") {
        eprintln!("skipped: memory of another process is read from /proc");
        return;
    }
    connections();
    agrees(|| {
        let address = start();
        let scratch = Scratch::new();
        let json = scratch.0.join("out.json");
        let url = format!("http://{address}/");
        let mut child = spawn(&["-t1", "-c1000", "-R5000", "-d10s", "--json", json.to_str().unwrap(), &url]);
        let status = format!("/proc/{}/status", child.id());
        let resident_kib = || -> Option<u64> {
            let text = std::fs::read_to_string(&status).ok()?;
            let line = text.lines().find(|line| line.starts_with("VmRSS:"))?;
            line.split_whitespace().nth(1)?.parse().ok()
        };
        let mut seen = Vec::new();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(9500) && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(100));
            seen.extend(resident_kib());
        }
        let run = finish_within(child, &json, Duration::from_secs(60));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let peak = run.count("/generator/peak_memory_bytes");
        assert!(peak < 32 << 20, "{peak} bytes");
        // The first seconds touch pages of the few intervals that go round; after them a page here and there is new. On
        // full cores they go round later.
        let (settled, last) = (seen[seen.len() * 6 / 10], *seen.last().unwrap());
        held(last <= settled + 1024, format!("{settled} KiB grew to {last} KiB: {seen:?}"))
    });
}

#[test]
fn too_few_open_files_are_reported_before_anything_is_opened() {
    let shell = format!("ulimit -n 200 && exec {} -c500 http://127.0.0.1:9/", env!("CARGO_BIN_EXE_truepace"));
    let output = Command::new("sh").args(["-c", &shell]).output().expect("a shell");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    for part in ["500 connections need", "the hard limit is 200", "ulimit -Hn", "-c"] {
        assert!(stderr.contains(part), "'{part}' is missing in {stderr}");
    }
}

#[test]
fn a_low_soft_limit_is_raised() {
    let address = start();
    let shell =
        format!("ulimit -S -n 100 && exec {} -t1 -c300 -n600 http://{address}/", env!("CARGO_BIN_EXE_truepace"));
    let output = Command::new("sh").args(["-c", &shell]).output().expect("a shell");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains("  600 requests in ") && !stdout.contains("Socket errors"), "{stdout}");
}
