//! A run from its command line to its exit code.

use crate::cli::{Config, TargetConfig};
use crate::clock::{moment_of, monotonic_ns, seconds_to_ns, unix_us_at};
use crate::error::{Error, Result};
use crate::handover;
use crate::io::{Interface, ReceiveClock};
use crate::launch::{Schedule, launch, prepare_sources, prepare_workers};
use crate::lua::{Script, Totals, done};
use crate::output::complain;
use crate::record::{Chunks, Collector, Comparison, Logs, Pool, Summary, Times};
use crate::report::files::{self, Files};
use crate::report::{Conditions, Outcome, Run, console};
use crate::signal::{EXIT_INTERRUPTED, Interrupt};
use crate::tags::Tags;
use crate::target::Peer;
use crate::units::format_us;
use crate::usage::Cpu;
use crate::worker::{Delivery, Ended, Shared, Source};
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Exit code of a run that missed an objective of `--slo`.
const EXIT_OBJECTIVE_MISSED: u8 = 3;
/// Exit code of a run in which not all that was scheduled was sent and had its response, or nothing succeeded.
const EXIT_FELL_SHORT: u8 = 4;
/// Seconds that each worker may have under way to the collector, besides the one that it fills.
const SECONDS_UNDER_WAY: usize = 3;
/// Chunks of requests under way to the collector: half a second at 500 000 requests per second.
const CHUNKS_UNDER_WAY: usize = 128;
/// Shortest stretch of time in which targets are compared.
const LEAST_STRETCH_NS: u64 = 250_000_000;
/// Time between the last worker's readiness and position 0 of the schedule.
const START_DELAY_NS: u64 = 2_000_000;
/// How long after a signal a worker may take to end: many times what one takes whose script returns.
const PATIENCE: Duration = Duration::from_secs(3);
/// The same after a second signal.
const SHORT_PATIENCE: Duration = Duration::from_millis(300);
/// To a terminal: back to the line's begin, and wipe it.
const CLEAR_LINE: &str = "\r\x1b[K";

/// What the main thread waits for while the load goes on.
enum Happening {
    /// The worker of this number ended.
    WorkerEnded(usize),
    /// A signal came.
    Signal,
}

/// Where happenings are reported and heard of.
struct Watch {
    interrupt: Interrupt,
    to: Sender<Happening>,
    from: Receiver<Happening>,
}

impl Watch {
    fn begin() -> Result<Self> {
        let (to, from) = channel();
        let signalled = to.clone();
        let on_signal = move || drop(signalled.send(Happening::Signal));
        Ok(Watch { interrupt: Interrupt::install(on_signal, files::remove_empty)?, to, from })
    }
}

/// A run whose load is over.
struct Measured {
    run: Run,
    /// Each target's main Lua state.
    mains: Vec<Option<Script>>,
    /// The threads' Lua states, which `done` asks for their values.
    _sources: Vec<Source>,
    interrupt: Interrupt,
}

/// Runs, reports, and gives the exit code.
///
/// # Errors
/// Every reason for which there is no result.
pub fn run(config: &Config) -> Result<u8> {
    let watch = Watch::begin()?;
    let tags = Tags::default();
    let schedule = Schedule::new(config);
    let (files, logs) = Files::create(config, schedule.sequence(), &tags)?;
    let measured = measure(config, &schedule, &tags, logs, watch)?;
    report(config, &measured, files)
}

/// Loads the targets.
fn measure(config: &Config, schedule: &Schedule, tags: &Tags, mut logs: Logs, watch: Watch) -> Result<Measured> {
    // A wrong script is reported first: it needs no server.
    let load = |target: &TargetConfig| target.script.is_some().then(|| Script::load(target, tags)).transpose();
    let mains = config.targets.iter().map(load).collect::<Result<Vec<_>>>()?;
    crate::limits::allow_files_for(config.total_connections() * config.targets.len(), config.threads)?;
    let mut addresses = Vec::new();
    for (target, main) in config.targets.iter().zip(&mains) {
        let listening = listening_peers(config, target)?;
        if let Some(script) = main {
            script.set_addresses(&listening)?;
        }
        addresses.push(listening[0].clone());
    }
    let sources = prepare_sources(config, &mains, &addresses, tags)?;
    let Watch { interrupt, to: happenings_to, from: happenings } = watch;
    interrupt.load_begins();
    let pool = Pool::new(config.targets.len(), config.threads * (1 + SECONDS_UNDER_WAY));
    let each_request = config.requests_log.is_some() || config.has_several();
    let chunks = Chunks::new(if each_request { CHUNKS_UNDER_WAY } else { 0 });
    let shared = Shared {
        interrupt: interrupt.clone(),
        abort: Arc::new(AtomicBool::new(false)),
        pool: pool.clone(),
        chunks: chunks.clone(),
    };
    if config.rate.is_some() && sources.iter().flatten().any(|(source, _)| source.script().wants_delay()) {
        complain(
            "truepace: the script's delay() is not called: with -R the schedule says when requests leave; \
             leave -R out for a closed loop with delays",
        );
    }
    console::print_start(config);

    let (outbox, inbox, urgency) = handover::queue(config.threads * (2 + SECONDS_UNDER_WAY) + CHUNKS_UNDER_WAY);
    let (ready_to, ready) = channel();
    let workers = prepare_workers(sources, config, schedule, &shared, &ready_to, &outbox);
    drop(ready_to);
    let (starts, workers) = launch(workers, move |worker| drop(happenings_to.send(Happening::WorkerEnded(worker))))?;
    // Ends when each worker has said so, or has ended without.
    ready.iter().for_each(drop);
    let origin_ns = begin_at(config)?;
    let start_unix_us = unix_us_at(origin_ns + seconds_to_ns(config.warmup_s));
    files::begin(&mut logs, config, start_unix_us)?;
    let collector = Collector::new(
        config.threads,
        config.targets.len(),
        pool,
        chunks,
        logs,
        config.has_several().then(|| compare(config, schedule)),
        live_line(config),
    );
    let collecting = std::thread::spawn(move || Ok(inbox.collect(collector)));
    for start in &starts {
        // A worker that has ended already tells why when it is joined.
        let _ = start.send(origin_ns);
    }
    let left_behind = wait_for_workers(&happenings, workers.len(), &interrupt);
    urgency.raise();
    let ended = workers.into_iter().enumerate().filter(|(worker, _)| !left_behind.contains(worker));
    let ends = ended.map(|(_, handle)| join(handle)).collect::<Vec<_>>().into_iter().collect::<Result<Vec<Ended>>>()?;
    if !left_behind.is_empty() {
        outbox.deliver(Delivery::End);
    }
    drop(outbox);
    let mut collector = join(collecting)?;

    let conditions = conditions(config, &ends, origin_ns, start_unix_us, interrupt.is_set(), left_behind.len());
    let Conditions { elapsed_s, window_s, .. } = conditions;
    let loaded = |target: usize| match (&schedule.interleave, schedule.slices()) {
        (_, Some(slices)) => {
            let warmup_ns = seconds_to_ns(config.warmup_s);
            let loaded_ns = slices.loaded_ns(target, warmup_ns, warmup_ns + seconds_to_ns(window_s));
            (loaded_ns as f64 / 1e9, 1.0)
        }
        (Some(interleave), None) => (window_s, interleave.share(target)),
        (None, None) => (window_s, 1.0),
    };
    let dropped = ends.iter().map(|end| end.requests_dropped).sum();
    ends.iter().for_each(|end| collector.take_failures(&end.failures));
    let failure = ends.iter().find_map(|end| end.failure.clone());
    let calibrations_us = ends.iter().filter_map(|end| end.calibration_mean_us).collect();
    let collection = collector.finish(elapsed_s, dropped);
    let run = Run::new(config, collection, conditions, loaded, tags.names(), calibrations_us, failure);
    let sources = ends.into_iter().flat_map(|end| end.sources).collect();
    Ok(Measured { run, mains, _sources: sources, interrupt })
}

/// What is the same for all targets, by what the workers say at their end.
fn conditions(
    config: &Config,
    ends: &[Ended],
    origin_ns: u64,
    start_unix_us: u64,
    interrupted: bool,
    threads_left_behind: usize,
) -> Conditions {
    let started_ns = origin_ns + seconds_to_ns(config.warmup_s);
    let now_ns = monotonic_ns();
    let finished_ns = ends.iter().map(|end| end.finished_ns).max().unwrap_or(now_ns);
    let window_end_ns = ends
        .iter()
        .map(|end| end.window.scheduled_until_ns(end.finished_ns))
        .max()
        .unwrap_or(now_ns.min(started_ns + seconds_to_ns(config.duration_s)));
    let elapsed_s = finished_ns.saturating_sub(started_ns) as f64 / 1e9;
    let busiest_s = ends.iter().map(|end| end.cpu.total_s()).fold(0.0, f64::max);
    let no_interface = Interface { io: "none", receive_clock: ReceiveClock::User, coalesce_ns: 0 };
    Conditions {
        elapsed_s,
        window_s: window_end_ns.saturating_sub(started_ns) as f64 / 1e9,
        start_unix_us,
        threads: config.threads,
        cpu: ends.iter().fold(Cpu::default(), |sum, end| sum.and(end.cpu)),
        busiest: busiest_s / elapsed_s.max(1e-9),
        interface: ends.first().map_or(no_interface, |end| end.interface),
        interrupted,
        stopped: ends.iter().any(|end| end.stopped),
        stalled_s: ends.iter().map(|end| end.stalls.total_ns).max().unwrap_or(0) as f64 / 1e9,
        longest_stall_s: ends.iter().map(|end| end.stalls.longest_ns).max().unwrap_or(0) as f64 / 1e9,
        threads_left_behind,
    }
}

/// Waits until all workers have ended. Returns those that have not, although a signal came a while ago: their script
/// does not return.
fn wait_for_workers(happenings: &Receiver<Happening>, workers: usize, interrupt: &Interrupt) -> BTreeSet<usize> {
    let mut running: BTreeSet<usize> = (0..workers).collect();
    let mut give_up: Option<Instant> = None;
    while !running.is_empty() {
        let happening = match give_up {
            None => happenings.recv().ok(),
            Some(moment) => happenings.recv_timeout(moment.saturating_duration_since(Instant::now())).ok(),
        };
        match happening {
            Some(Happening::WorkerEnded(worker)) => drop(running.remove(&worker)),
            Some(Happening::Signal) => {
                let patience = if interrupt.count() > 1 { SHORT_PATIENCE } else { PATIENCE };
                let moment = Instant::now() + patience;
                give_up = Some(give_up.map_or(moment, |earlier| earlier.min(moment)));
            }
            None => break,
        }
    }
    running
}

/// The moment of position 0 of the schedule: soon, or at the agreed instant. A generator that would begin after it is of
/// no use to those that began with it.
fn begin_at(config: &Config) -> Result<u64> {
    let Some(instant) = config.start_at_unix_ns else { return Ok(monotonic_ns() + START_DELAY_NS) };
    moment_of(instant).map_err(|late_ns| {
        Error::CouldNotRun(format!(
            "the instant of --start-at had passed {} before all connections were made; agree on a later one",
            format_us(late_ns as f64 / 1e3)
        ))
    })
}

fn exit_code(config: &Config, run: &Run) -> Result<u8> {
    let interrupted = run.whole.conditions.interrupted;
    let outcomes = if run.targets.is_empty() { std::slice::from_ref(&run.whole) } else { &run.targets };
    for (outcome, target) in outcomes.iter().zip(&config.targets) {
        let counts = &outcome.collected.total.counts;
        if !interrupted && counts.connects == 0 && counts.errors.connect > 0 {
            return Err(Error::CouldNotRun(format!(
                "no connection to {} was ever made ({} attempts failed, the first so: {}), so nothing was measured; \
                 see whether the server still runs and takes as many connections",
                target.target.url,
                counts.errors.connect,
                outcome.failures.first().unwrap_or_default()
            )));
        }
    }
    Ok(match () {
        () if interrupted => EXIT_INTERRUPTED,
        () if outcomes.iter().flat_map(|outcome| &outcome.objectives).any(|objective| !objective.met) => {
            EXIT_OBJECTIVE_MISSED
        }
        // wrk and wrk2 have one exit code for every run.
        () if outcomes.iter().any(|outcome| outcome.shortfall.is_some()) && !config.wrk_compat => EXIT_FELL_SHORT,
        () => 0,
    })
}

/// Targets are compared in stretches of time in which each has its share of the requests.
fn compare(config: &Config, schedule: &Schedule) -> Comparison {
    let of_rounds = |round_ns: f64| (LEAST_STRETCH_NS as f64 / round_ns).ceil().max(1.0) * round_ns;
    let weights: u32 = config.targets.iter().map(|target| target.weight).sum();
    let stretch_ns = match (schedule.sequence(), schedule.slices().and_then(|slices| slices.even_slice_ns())) {
        (Some(sequence), _) => {
            let rate_rps = config.rate.as_ref().map_or(1.0, |rate| rate.mean_rps().max(1e-3));
            Some(of_rounds(sequence.block_slots() as f64 / rate_rps * 1e9))
        }
        (None, Some(slice_ns)) => Some(of_rounds(slice_ns as f64 * f64::from(weights))),
        (None, None) => None,
    };
    Comparison::new(config.targets.len(), stretch_ns.map(|length| length as u64), schedule.sequence())
}

/// Writes every report, whatever becomes of the others, and calls `done`. Returns the exit code.
fn report(config: &Config, measured: &Measured, files: Files) -> Result<u8> {
    let Measured { run, mains, interrupt, .. } = measured;
    end_live_line();
    let mut errors: Vec<Error> = run.failure.iter().cloned().collect();
    errors.extend(console::print(config, run).err());
    errors.extend(files.write(config, run));
    interrupt.reports_are_written();
    // The states of a thread that was left behind are in use.
    if run.whole.conditions.threads_left_behind == 0 {
        let outcomes = if run.targets.is_empty() { std::slice::from_ref(&run.whole) } else { &run.targets };
        for (outcome, main) in outcomes.iter().zip(mains) {
            errors.extend(main.as_ref().and_then(|script| call_done(config, outcome, script).err()));
        }
    }
    let code = exit_code(config, run);
    let Some(first) = errors.first() else { return code };
    errors.iter().for_each(|error| complain(format_args!("truepace: {error}")));
    Ok(first.exit_code())
}

fn call_done(config: &Config, outcome: &Outcome, script: &Script) -> Result<()> {
    let counts = &outcome.collected.total.counts;
    let totals = Totals {
        duration_us: (outcome.conditions.elapsed_s * 1e6) as u64,
        requests: counts.completed,
        bytes: counts.bytes_read,
        errors: counts.errors,
    };
    done(script, &totals, outcome.response.completed(), &outcome.collected.thread_rates, config.rate.is_some())
}

/// The addresses of the host at which a server listens: for a script all of them (`wrk.addrs`), otherwise the first.
fn listening_peers(config: &Config, target: &TargetConfig) -> Result<Vec<Peer>> {
    let mut listening = Vec::new();
    let mut reasons = Vec::new();
    for address in target.target.peers()? {
        match address.listens(config.timeout) {
            Ok(_) if target.script.is_none() => return Ok(vec![address]),
            Ok(_) => listening.push(address),
            Err(error) => reasons.push(format!("{address}: {error}")),
        }
    }
    if !listening.is_empty() {
        return Ok(listening);
    }
    Err(Error::CouldNotRun(format!(
        "cannot connect to {} ({}); start the server, or check host and port of the URL",
        target.target.url,
        reasons.join("; ")
    )))
}

fn join<T>(handle: JoinHandle<Result<T>>) -> Result<T> {
    handle
        .join()
        .unwrap_or_else(|_| Err(Error::CouldNotRun("a thread ended by a panic; this is a fault of truepace".into())))
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
        let _ = write!(
            std::io::stderr(),
            "{CLEAR_LINE}{} s{of}: {} responses/s, response {}, service {}, errors {} (status {})",
            second.index + 1,
            second.counts.completed,
            times(&second.response),
            times(&second.service),
            errors.total(),
            errors.status,
        );
    })
}

/// Clears the live line, so that the report begins there.
fn end_live_line() {
    if std::io::stderr().is_terminal() {
        let _ = write!(std::io::stderr(), "{CLEAR_LINE}");
    }
}
