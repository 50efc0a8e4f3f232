//! Workers before and at their start: Lua states in wrk's order, shares of the schedule, threads.

use crate::cli::Config;
use crate::clock::seconds_to_ns;
use crate::error::{Error, Result};
use crate::lua::{Script, ThreadControl};
use crate::schedule::{Arrivals, Profile};
use crate::worker::{Ended, Lines, Plan, Second, Shared, Source, Worker};
use std::net::SocketAddr;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// Makes each worker's Lua state, with its `setup` (in the main state) and its `init`.
///
/// # Errors
/// [`Error::Script`].
pub fn prepare_sources(
    config: &Config,
    main: Option<&Script>,
    address: SocketAddr,
) -> Result<Vec<(Source, ThreadControl)>> {
    let mut sources = Vec::new();
    for thread in 0..config.threads {
        let control = ThreadControl::new(address);
        let mut script = Script::load(config)?;
        if let Some(main) = main {
            main.setup(&script, &control)?;
        }
        script.init(&config.target.url, &config.script_args)?;
        let mut source = Source::new(script)?;
        if config.wrk_compat && thread == 0 {
            source.swallow_one()?;
        }
        sources.push((source, control));
    }
    Ok(sources)
}

/// Deals connections, schedule and requests out to the workers.
pub fn prepare_workers(
    sources: Vec<(Source, ThreadControl)>,
    config: &Config,
    shared: &Shared,
    ready: &Sender<()>,
    seconds: &Sender<Second>,
) -> Vec<Prepared> {
    let total = config.total_connections();
    let threads = config.threads as u64;
    let profile = config.rate.as_ref().map(|rate| Profile::new(rate, config.warmup_s, config.duration_s));
    let mut workers = Vec::new();
    for (thread, ((source, control), &count)) in sources.into_iter().zip(&config.connections).enumerate() {
        let share = |index: usize| {
            profile.as_ref().map(|_| Arrivals::new(config.arrival, index, total, config.requests, config.seed))
        };
        let tickets = config.requests.filter(|_| profile.is_none());
        let plan = Plan {
            arrivals: dealt(thread, config.threads, count).map(share).collect(),
            profile: profile.clone(),
            warmup_ns: seconds_to_ns(config.warmup_s),
            duration_ns: seconds_to_ns(config.duration_s),
            timeout_ns: config.timeout.as_nanos() as u64,
            tickets: tickets.map(|all| all / threads + u64::from((thread as u64) < all % threads)),
            bounded: config.requests.is_some(),
            tls_host: config.target.is_tls().then(|| config.target.host.clone()),
            io: config.io,
            coalesce_ns: config.coalesce_s.map(seconds_to_ns),
            share: count as f64 / total as f64,
            receive_clock: config.receive_clock,
        };
        let (start_to, start) = channel();
        let lines = Lines { ready: Some(ready.clone()), start, seconds: seconds.clone() };
        let shared = shared.clone();
        let work = Box::new(move || Worker::new(plan, shared, control, source, lines)?.run());
        workers.push(Prepared { work, start: start_to });
    }
    workers
}

/// The connections of one of `threads` workers: dealt in turn, as cards are, so that each worker's starts are as even
/// as those of the whole.
fn dealt(thread: usize, threads: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |turn| thread + turn * threads)
}

/// A worker before its thread. It is made in its thread, because its sockets never leave it.
pub struct Prepared {
    work: Box<dyn FnOnce() -> Result<Ended> + Send>,
    start: Sender<u64>,
}

/// The way to tell each worker its start, and the way to wait for its end.
pub type Launched = (Vec<Sender<u64>>, Vec<JoinHandle<Result<Ended>>>);

/// Starts the threads.
///
/// # Errors
/// [`Error::CouldNotRun`] when the system has no more threads.
pub fn launch(workers: Vec<Prepared>) -> Result<Launched> {
    let mut starts = Vec::new();
    let mut handles = Vec::new();
    for (index, Prepared { work, start }) in workers.into_iter().enumerate() {
        let thread = std::thread::Builder::new().name(format!("load-{index}"));
        let handle = thread
            .spawn(work)
            .map_err(|error| Error::CouldNotRun(format!("cannot start thread {index}: {error}; give fewer with -t")))?;
        starts.push(start);
        handles.push(handle);
    }
    Ok((starts, handles))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parse;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_connection_is_dealt_once_and_in_turn(threads in 1usize..17, more in 0usize..200, compat: bool) {
            let mut line = format!("loadgen -t{threads} -c{} http://localhost", threads + more);
            if compat {
                line += " --wrk-compat";
            }
            let config = parse(line.split(' ').map(str::to_owned).collect()).expect("it is taken");
            let mut owner = vec![None; config.total_connections()];
            for (thread, &count) in config.connections.iter().enumerate() {
                for index in dealt(thread, config.threads, count) {
                    prop_assert_eq!(owner[index].replace(thread), None);
                }
            }
            let in_turn: Vec<_> = (0..owner.len()).map(|index| Some(index % threads)).collect();
            prop_assert_eq!(owner, in_turn);
        }
    }
}
