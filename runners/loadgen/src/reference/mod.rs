//! The simplest honest clients, to measure the generator against: what they read, the machine costs.
//!
//! The issue that asked for them says C. They are Rust, and make the very system calls that the same program in C would
//! make (`epoll_pwait2`, `read`, `write`; `clock_nanosleep`, `read`, `write`), through rustix, which adds nothing to a
//! call; so ours and theirs share a compiler, a parser and a histogram, and what differs is the design alone.
//!
//! They send one fixed GET at a constant rate on the same schedule and record the same two times, but have nothing
//! else: no scripts, no reconnects, no time-outs. Any failure ends the run.

mod blocking;
#[cfg(target_os = "linux")]
mod epoll;
mod script;
#[cfg(target_os = "linux")]
mod server;

use crate::clock::{ask_for_exact_timers, monotonic_ns, seconds_to_ns, unix_us_at};
use crate::error::{Error, Result};
use crate::http::Parser;
use crate::record::{Distribution, Pair};
use crate::report::json::spectrum;
use crate::target::Target;
use crate::units::{parse_count, parse_seconds};
use crate::usage::Cpu;
use crate::worker::Window;
use serde_json::{Map, Value, json};
use std::io;
use std::net::TcpStream;

/// How long the last responses are awaited after the window.
const DRAIN_NS: u64 = crate::clock::NS_PER_S / 10;

/// Which client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// One connection, a blocking socket, `clock_nanosleep` to an absolute time.
    Blocking,
    /// A plain `epoll_pwait2` loop over all connections.
    Epoll,
    /// No connection: processor time of a script's `request()`.
    Script,
    /// The other side: a server that does nothing, or spins for `--work` on each request. It prints its URL.
    Server,
}

/// Reference clients for the load generator: constant rate, one fixed GET, JSON on stdout.
#[derive(Debug, clap::Parser)]
#[command(name = "truepace-reference", version)]
pub struct Args {
    /// Which client
    #[arg(long, value_enum)]
    kind: Kind,
    /// Connections (blocking: 1)
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    connections: usize,
    /// Requests/s over all connections
    #[arg(short = 'R', long, value_name = "RATE", value_parser = parse_count)]
    rate: Option<f64>,
    /// How long the server spins on each request (--kind server)
    #[arg(long, value_name = "T", default_value = "0us", value_parser = parse_seconds)]
    work: f64,
    /// Lua script (--kind script)
    #[arg(short, long, value_name = "FILE")]
    script: Option<std::path::PathBuf>,
    /// Length of the recorded window
    #[arg(short, long, value_name = "T", default_value = "10s", value_parser = parse_seconds)]
    duration: f64,
    /// Load sent before the recorded window
    #[arg(long, value_name = "T", default_value = "0s", value_parser = parse_seconds)]
    warmup: f64,
    /// What to ask for
    #[arg(value_name = "URL")]
    url: String,
}

/// The load of a reference client.
struct Load {
    request: Vec<u8>,
    streams: Vec<TcpStream>,
    period_ns: f64,
    window: Window,
}

impl Load {
    /// Intended start of request `number` over all connections; connections in rotation.
    fn intended_ns(&self, number: u64) -> u64 {
        self.window.origin_ns + (number as f64 * self.period_ns).round() as u64
    }
}

/// What was recorded, and what it cost.
struct Recorded {
    times: Pair,
    sent: u64,
    at_window_start: Option<Cpu>,
}

impl Recorded {
    fn new() -> Self {
        Recorded { times: Pair::new(), sent: 0, at_window_start: None }
    }

    fn sending(&mut self, window: &Window, intended_ns: u64) {
        if window.records(intended_ns) {
            self.at_window_start.get_or_insert_with(Cpu::of_thread);
            self.sent += 1;
        }
    }

    fn received(&mut self, window: &Window, intended_ns: u64, sent_ns: u64, now_ns: u64) {
        if window.records(intended_ns) {
            self.times.response.saturating_record(now_ns - intended_ns);
            self.times.service.saturating_record(now_ns - sent_ns);
        }
    }
}

/// Runs a client. Returns its report.
///
/// # Errors
/// [`Error::Usage`] for wrong flags, [`Error::CouldNotRun`] when a socket or a response fails.
pub fn run(args: &Args) -> Result<Value> {
    match (args.kind, &args.script, args.rate) {
        (Kind::Script, Some(script), _) => {
            script::run(script, &args.url, std::time::Duration::from_secs_f64(args.duration))
        }
        (Kind::Server, ..) => serve(args),
        (Kind::Script, None, _) => Err(Error::Usage("--kind script needs a --script".into())),
        (_, _, Some(rate)) => load(args, rate),
        (_, _, None) => Err(Error::Usage("this --kind needs a --rate".into())),
    }
}

#[cfg(target_os = "linux")]
fn serve(args: &Args) -> Result<Value> {
    let served = server::run(&Target::parse(&args.url)?, seconds_to_ns(args.work));
    served.map(|()| Value::Null).map_err(|error| {
        Error::CouldNotRun(format!("cannot serve at {}: {error}; name another port, or none for a free one", args.url))
    })
}

#[cfg(not(target_os = "linux"))]
fn serve(_: &Args) -> Result<Value> {
    Err(Error::CouldNotRun("--kind server exists on Linux only".into()))
}

fn load(args: &Args, rate: f64) -> Result<Value> {
    let target = Target::parse(&args.url)?;
    if target.is_tls() || target.socket.is_some() {
        return Err(Error::Usage("the reference clients speak http:// only".into()));
    }
    let connections = args.connections;
    if connections == 0 || (args.kind == Kind::Blocking && connections != 1) {
        return Err(Error::Usage("--connections is 1 with --kind blocking, and 1 or more with --kind epoll".into()));
    }
    if !(0.001..=10e6).contains(&rate) || !(0.001..=86_400.0).contains(&args.duration) {
        return Err(Error::Usage("give a --rate of 0.001 to 10M and a --duration of 1ms to 24h".into()));
    }
    let failed =
        |error: io::Error| Error::CouldNotRun(format!("{}: {error}; start the server, or check the URL", args.url));
    let addresses = target.resolve()?;
    let connect = |_| {
        let stream = TcpStream::connect(addresses.as_slice())?;
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    let streams = (0..connections).map(connect).collect::<io::Result<Vec<_>>>().map_err(failed)?;
    let host = args.url.split("://").nth(1).unwrap_or("").split(['/', '?', '#']).next().unwrap_or("");
    let request = format!("GET {} HTTP/1.1\r\nHost: {host}\r\n\r\n", target.path).into_bytes();
    ask_for_exact_timers();
    let origin_ns = monotonic_ns() + 2_000_000;
    let window = Window::new(origin_ns, seconds_to_ns(args.warmup), seconds_to_ns(args.duration));
    let load = Load { request, streams, period_ns: 1e9 / rate, window };
    let recorded = match args.kind {
        Kind::Blocking => blocking::run(load),
        #[cfg(target_os = "linux")]
        Kind::Epoll => epoll::run(load),
        #[cfg(not(target_os = "linux"))]
        Kind::Epoll => Err(io::ErrorKind::Unsupported.into()),
        Kind::Script | Kind::Server => Err(io::ErrorKind::InvalidInput.into()),
    };
    recorded.map(|recorded| report(args, &window, &recorded)).map_err(failed)
}

fn report(args: &Args, window: &Window, recorded: &Recorded) -> Value {
    let elapsed_s = monotonic_ns().saturating_sub(window.start_ns) as f64 / 1e9;
    let cpu = recorded.at_window_start.map_or_else(Cpu::default, |start| Cpu::of_thread().since(start));
    let completed = recorded.times.response.len();
    let response = Distribution::new(recorded.times.response.clone(), None);
    let service = Distribution::new(recorded.times.service.clone(), None);
    json!({
        "schema": "truepace-reference/1",
        "version": env!("CARGO_PKG_VERSION"),
        "kind": if args.kind == Kind::Blocking { "blocking" } else { "epoll" },
        "url": args.url,
        "start_unix_us": unix_us_at(window.start_ns),
        "connections": args.connections,
        "offered_rps": args.rate,
        "warmup_s": args.warmup,
        "duration_s": args.duration,
        "elapsed_s": elapsed_s,
        "requests": {"sent": recorded.sent, "completed": completed},
        "achieved_rps": completed as f64 / elapsed_s,
        "latency_us": {"response": distribution(&response), "service": distribution(&service)},
        "spectrum": {"response": spectrum(&response), "service": spectrum(&service)},
        "generator": {"cpu_user_s": cpu.user_s, "cpu_system_s": cpu.system_s},
    })
}

fn distribution(times: &Distribution) -> Value {
    let mut fields = Map::new();
    fields.insert("count".into(), json!(times.histogram().len()));
    fields.insert("min".into(), json!(times.min_us()));
    fields.insert("mean".into(), json!(times.mean_us()));
    fields.insert("stdev".into(), json!(times.stdev_us()));
    fields.insert("max".into(), json!(times.max_us()));
    for (name, percent) in crate::report::json::PERCENTILES {
        fields.insert(name.into(), json!(times.percentile(percent).value_us));
    }
    Value::Object(fields)
}

/// Feeds a response's bytes; `true` once it is whole.
fn feed(parser: &mut Parser, bytes: &[u8]) -> io::Result<bool> {
    if bytes.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let (_, response) = parser.feed(bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(response.is_some())
}
