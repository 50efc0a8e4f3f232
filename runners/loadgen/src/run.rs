//! One run from the checked command line to the exit code.

use crate::cli::Config;
use crate::clock::{monotonic_ns, seconds_to_ns, unix_us_at};
use crate::error::{Error, Result};
use crate::io::{Interface, ReceiveClock};
use crate::launch::{launch, prepare_sources, prepare_workers};
use crate::lua::{Script, done, ended};
use crate::record::{Collector, Pool, Summary, Times};
use crate::report::hlog::HlogWriter;
use crate::report::slices::SlicesWriter;
use crate::report::{Outcome, console, hgrm, json};
use crate::signal::Interrupt;
use crate::units::format_us;
use crate::usage::{Cpu, yield_to_everybody};
use crate::worker::{Ended, Second, Shared};
use std::io::{IsTerminal, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

/// Exit code of a run that was ended by a signal.
const EXIT_INTERRUPTED: u8 = 130;
/// Exit code of a run that missed an objective of `--slo`.
const EXIT_OBJECTIVE_MISSED: u8 = 3;
/// Time between the last worker's readiness and position 0 of the schedule.
const START_DELAY_NS: u64 = 2_000_000;
/// To a terminal: back to the line's begin, and wipe it.
const CLEAR_LINE: &str = "\r\x1b[K";

/// Runs, reports, and gives the exit code.
///
/// # Errors
/// Every reason for which there is no result.
pub fn run(config: &Config) -> Result<u8> {
    // A wrong script is told first: it needs no server.
    let main_script = config.script.is_some().then(|| Script::load(config)).transpose()?;
    crate::limits::make_room(config.total_connections(), config.threads)?;
    let addresses = those_that_listen(config)?;
    if let Some(script) = &main_script {
        script.set_addresses(&addresses)?;
    }
    let json_file = config.json.as_deref().map(json::create).transpose()?;
    if let Some(path) = &config.hgrm {
        hgrm::create(path)?;
    }
    let mut log = config.hlog.as_deref().map(HlogWriter::create).transpose().map_err(Error::CouldNotRun)?;
    let mut slices = config.slices.as_deref().map(SlicesWriter::create).transpose()?;
    let interrupt = Interrupt::install()?;
    let pool = Pool::default();
    let shared = Shared { interrupt: interrupt.clone(), abort: Arc::new(AtomicBool::new(false)), pool: pool.clone() };
    let sources = prepare_sources(config, main_script.as_ref(), addresses[0])?;
    if config.rate.is_some() && sources.iter().any(|(source, _)| source.script().wants_delay()) {
        eprintln!(
            "loadgen: the script's delay() is not called: with -R the schedule says when requests leave; \
             leave -R out for a closed loop with delays"
        );
    }
    console::print_start(config);

    let (seconds_to, seconds) = channel();
    let (ready_to, ready) = channel();
    let workers = prepare_workers(sources, config, &shared, &ready_to, &seconds_to);
    drop((ready_to, seconds_to));
    let (starts, workers) = launch(workers)?;
    // Ends when each worker has said so, or has ended without.
    ready.iter().for_each(drop);
    let origin_ns = monotonic_ns() + START_DELAY_NS;
    let start_unix_us = unix_us_at(origin_ns + seconds_to_ns(config.warmup_s));
    if let Some(log) = &mut log {
        log.begin(start_unix_us).map_err(Error::CouldNotRun)?;
    }
    if let Some(slices) = &mut slices {
        slices.begin(start_unix_us).map_err(Error::CouldNotRun)?;
    }
    let collector = Collector::new(config.threads, pool, log, slices, live_line(config));
    let collecting = std::thread::spawn(move || collect(collector, &seconds));
    for start in &starts {
        // A worker that has ended already tells why when it is joined.
        let _ = start.send(origin_ns);
    }
    let ends = workers.into_iter().map(join).collect::<Vec<_>>().into_iter().collect::<Result<Vec<Ended>>>()?;
    let collector = join(collecting)?;

    let started_ns = origin_ns + seconds_to_ns(config.warmup_s);
    let finished_ns = ends.iter().map(|end| end.finished_ns).max().unwrap_or(started_ns);
    let elapsed_s = finished_ns.saturating_sub(started_ns) as f64 / 1e9;
    let cpus: Vec<Cpu> = ends.iter().map(|end| end.cpu).collect();
    let interface = ends
        .first()
        .map_or(Interface { io: "none", receive_clock: ReceiveClock::User, coalesce_ns: 0 }, |end| end.interface);
    let outcome =
        Outcome::new(config, collector.finish(elapsed_s), &cpus, elapsed_s, start_unix_us, interface, interrupt.came());
    end_live_line();
    report(config, &outcome, json_file, main_script.as_ref())?;
    let counts = &outcome.collected.total.counts;
    if !outcome.interrupted && counts.connects == 0 && counts.errors.connect > 0 {
        return Err(Error::CouldNotRun(format!(
            "no connection to {} ever stood ({} attempts failed), so nothing was measured; \
             see whether the server still runs and takes as many connections",
            config.target.url, counts.errors.connect
        )));
    }
    Ok(match () {
        () if outcome.interrupted => EXIT_INTERRUPTED,
        () if outcome.objectives.iter().any(|objective| !objective.met) => EXIT_OBJECTIVE_MISSED,
        () => 0,
    })
}

fn report(
    config: &Config,
    outcome: &Outcome,
    json_file: Option<std::fs::File>,
    main_script: Option<&Script>,
) -> Result<()> {
    // A reader that went away (`| head`) is no reason to lose the other reports.
    let _ = std::io::stdout().write_all(console::text(config, outcome).as_bytes());
    if let Some(file) = json_file {
        json::write(file, config, outcome)?;
    }
    if let Some(path) = &config.hgrm {
        hgrm::write(path, outcome)?;
    }
    if let Some(reason) = &outcome.collected.log_error {
        return Err(Error::CouldNotRun(reason.clone()));
    }
    let Some(script) = main_script else { return Ok(()) };
    let counts = &outcome.collected.total.counts;
    let summary = ended((outcome.elapsed_s * 1e6) as u64, counts.completed, counts.bytes_read, counts.errors);
    done(script, &summary, outcome.response.completed(), &outcome.collected.thread_rates, config.rate.is_some())
}

/// Tries each address of the host once: a script may ask for all that listen (`wrk.addrs`), else the first will do.
fn those_that_listen(config: &Config) -> Result<Vec<SocketAddr>> {
    let mut found = Vec::new();
    let mut reasons = Vec::new();
    for address in config.target.resolve()? {
        match TcpStream::connect_timeout(&address, config.timeout) {
            Ok(_) if config.script.is_none() => return Ok(vec![address]),
            Ok(_) => found.push(address),
            Err(error) => reasons.push(format!("{address}: {error}")),
        }
    }
    if !found.is_empty() {
        return Ok(found);
    }
    Err(Error::CouldNotRun(format!(
        "cannot connect to {} ({}); start the server, or check host and port of the URL",
        config.target.url,
        reasons.join("; ")
    )))
}

fn collect(mut collector: Collector, seconds: &Receiver<Second>) -> Result<Collector> {
    yield_to_everybody();
    for Second { interval, whole } in seconds {
        collector.take(interval, whole);
    }
    Ok(collector)
}

fn join<T>(handle: JoinHandle<Result<T>>) -> Result<T> {
    handle
        .join()
        .unwrap_or_else(|_| Err(Error::CouldNotRun("a thread ended by a panic; this is a fault of loadgen".into())))
}

/// On a terminal: one line that is written over each second.
fn live_line(config: &Config) -> Box<dyn FnMut(&Summary) + Send> {
    if !std::io::stderr().is_terminal() {
        return Box::new(|_| {});
    }
    let duration = crate::units::format_seconds(config.duration_s);
    let bounded = config.requests.is_some();
    Box::new(move |second| {
        let of = if bounded { String::new() } else { format!(" of {duration}") };
        let errors = &second.counts.errors;
        let times = |times: &Times| format!("p50 {}, p99 {}", format_us(times.p50_us), format_us(times.p99_us));
        eprint!(
            "{CLEAR_LINE}{} s{of}: {} answers/s, response {}, service {}, errors {} (status {})",
            second.index + 1,
            second.counts.completed,
            times(&second.response),
            times(&second.service),
            errors.total(),
            errors.status,
        );
    })
}

/// Makes room for the report where the live line stood.
fn end_live_line() {
    if std::io::stderr().is_terminal() {
        eprint!("{CLEAR_LINE}");
    }
}
