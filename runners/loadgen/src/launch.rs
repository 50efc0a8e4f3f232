//! Prepares and starts the workers: their Lua states (made in the order in which wrk makes them), their shares of the
//! schedule, their threads.

use crate::cli::{Config, InterleaveKind, QueueKind};
use crate::clock::seconds_to_ns;
use crate::error::{Error, Result};
use crate::handover::Outbox;
use crate::lua::{Script, ThreadControl};
use crate::schedule::{Arrivals, Interleave, Place, Profile, Sequence, Slices};
use crate::tags::Tags;
use crate::target::Peer;
use crate::worker::{Ended, Lines, Plan, Shared, Source, TargetSharePlan, Worker};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// wrk2 throws away the latencies of its calibration: ten seconds, and 5 ms for each connection of a thread.
const CALIBRATION_S: f64 = 10.0;
const CALIBRATION_A_CONNECTION_S: f64 = 0.005;

/// One worker's requests and control for each target.
pub type Sources = Vec<(Source, ThreadControl)>;

/// Makes each worker's Lua state for each target, with its `setup` (in the target's main state) and its `init`.
///
/// # Errors
/// [`Error::Script`].
pub fn prepare_sources(
    config: &Config,
    mains: &[Option<Script>],
    addresses: &[Peer],
    tags: &Tags,
) -> Result<Vec<Sources>> {
    let mut workers = Vec::new();
    for thread in 0..config.threads {
        let mut sources = Vec::new();
        for ((target, main), address) in config.targets.iter().zip(mains).zip(addresses) {
            let control = ThreadControl::new(address.clone());
            let mut script = Script::load(target, tags)?;
            if let Some(main) = main {
                main.setup(&script, &control)?;
            }
            script.init(&target.target.url, &config.script_args)?;
            let mut source = Source::new(script)?;
            if config.wrk_compat && thread == 0 {
                source.swallow_one()?;
            }
            sources.push((source, control));
        }
        workers.push(sources);
    }
    Ok(workers)
}

/// The schedule of a run: its rate over time, and which target gets which of its slots.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// Offered rate over time; `None` in a closed loop.
    pub profile: Option<Profile>,
    /// How targets share it; `None` with one target.
    pub interleave: Option<Interleave>,
}

impl Schedule {
    /// The schedule that the command line asks for.
    pub fn new(config: &Config) -> Self {
        let weights: Vec<u32> = config.targets.iter().map(|target| target.weight).collect();
        let interleave = config.has_several().then(|| match config.interleave {
            InterleaveKind::Request => Interleave::Request(Arc::new(Sequence::new(&weights, config.seed))),
            InterleaveKind::Slice(slice_s) => {
                Interleave::Slices(Arc::new(Slices::random(&weights, seconds_to_ns(slice_s), config.seed)))
            }
            InterleaveKind::None => Interleave::Slices(Arc::new(Slices::one_after_the_other(
                weights.len(),
                seconds_to_ns(config.warmup_s),
                seconds_to_ns(config.duration_s),
            ))),
        });
        let profile = config.rate.as_ref().map(|rate| Profile::new(rate, config.warmup_s, config.duration_s));
        Schedule { profile, interleave }
    }

    /// The order of targets, where it goes by request.
    pub fn sequence(&self) -> Option<Arc<Sequence>> {
        match &self.interleave {
            Some(Interleave::Request(sequence)) => Some(sequence.clone()),
            _ => None,
        }
    }

    /// Which target is loaded when, where targets are loaded one at a time.
    pub fn slices(&self) -> Option<Arc<Slices>> {
        match &self.interleave {
            Some(Interleave::Slices(slices)) => Some(slices.clone()),
            _ => None,
        }
    }

    /// With `-n`: nanoseconds from the start of the run in which that many requests are due. `None` without `-n`, in a
    /// closed loop, and where the rate falls to zero before.
    fn bounded_ns(&self, config: &Config) -> Option<u64> {
        self.profile.as_ref()?.due_ns(config.requests? as f64)
    }

    /// The requests of one connection (or of one thread's queue) of a target; `None` in a closed loop.
    fn share(&self, config: &Config, place: Place) -> Option<Arrivals> {
        let profile = self.profile.as_ref()?;
        let place = config.share.place(place);
        Some(match &self.interleave {
            None => Arrivals::new(config.arrival, place, config.requests, config.seed),
            Some(interleave) => Arrivals::shared_out(interleave, profile, place, config.requests),
        })
    }
}

/// Deals connections, schedule and requests out to the workers.
pub fn prepare_workers(
    workers: Vec<Sources>,
    config: &Config,
    schedule: &Schedule,
    shared: &Shared,
    ready: &Sender<()>,
    outbox: &Outbox,
) -> Vec<Prepared> {
    let total = config.total_connections();
    let threads = config.threads as u64;
    let mut prepared = Vec::new();
    for (thread, (sources, &count)) in workers.into_iter().zip(&config.connections).enumerate() {
        let targets = sources.into_iter().zip(&config.targets).enumerate().map(|(target, ((source, control), of))| {
            let by_connection = config.queue == QueueKind::Connection;
            let share = |index| schedule.share(config, Place { target, index, of: total }).filter(|_| by_connection);
            let queue = schedule.share(config, Place { target, index: thread, of: config.threads });
            TargetSharePlan {
                control,
                source,
                tls_host: of.target.is_tls().then(|| of.target.host.clone()),
                connections: dealt(thread, config.threads, count).map(share).collect(),
                queue: queue.filter(|_| !by_connection),
            }
        });
        let requests_left = config.requests.filter(|_| schedule.profile.is_none());
        let calibration_s = CALIBRATION_S + CALIBRATION_A_CONNECTION_S * count as f64;
        // A run that is shorter ends before wrk2 throws anything away.
        let calibrates = config.wrk_compat && config.rate.is_some() && config.duration_s > calibration_s;
        let plan = Plan {
            targets: targets.collect(),
            profile: schedule.profile.clone(),
            slices: schedule.slices().filter(|_| schedule.profile.is_none()),
            warmup_ns: seconds_to_ns(config.warmup_s),
            duration_ns: seconds_to_ns(config.duration_s),
            bounded_ns: schedule.bounded_ns(config),
            drain_ns: seconds_to_ns(config.drain_s),
            calibration_ns: if calibrates { seconds_to_ns(calibration_s) } else { 0 },
            timeout_ns: config.timeout.as_nanos() as u64,
            requests_left: requests_left.map(|all| all / threads + u64::from((thread as u64) < all % threads)),
            bounded: config.requests.is_some(),
            catches_up_slowly: config.wrk_compat,
            times_batches: config.batch_latency,
            each_request: config.requests_log.is_some() || config.has_several(),
            io: config.io,
            coalesce_ns: config.coalesce_s.map(seconds_to_ns),
            share: count as f64 / total as f64 * config.share.fraction(),
            receive_clock: config.receive_clock,
        };
        let (start_to, start) = channel();
        let lines = Lines { ready: Some(ready.clone()), start, outbox: outbox.clone() };
        let shared = shared.clone();
        let work = Box::new(move || Worker::new(plan, shared, lines)?.run());
        prepared.push(Prepared { work, start: start_to });
    }
    prepared
}

/// The connections of one of `threads` workers: dealt in turn, as cards are, so that each worker's starts are as even
/// as those of the whole.
fn dealt(thread: usize, threads: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |number| thread + number * threads)
}

/// A worker whose thread is not started. The worker itself is made in that thread, because its sockets never leave it.
pub struct Prepared {
    work: Box<dyn FnOnce() -> Result<Ended> + Send>,
    start: Sender<u64>,
}

/// For every worker: where its start is sent to, and its thread.
pub type Launched = (Vec<Sender<u64>>, Vec<JoinHandle<Result<Ended>>>);

/// Calls a function when a thread ends, however it ends.
struct AtEnd<F: Fn()>(F);

impl<F: Fn()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Starts the threads. Each calls `on_end` with its number when it ends.
///
/// # Errors
/// [`Error::CouldNotRun`] when the system has no more threads.
pub fn launch(workers: Vec<Prepared>, on_end: impl Fn(usize) + Clone + Send + 'static) -> Result<Launched> {
    let mut starts = Vec::new();
    let mut handles = Vec::new();
    for (index, Prepared { work, start }) in workers.into_iter().enumerate() {
        let thread = std::thread::Builder::new().name(format!("load-{index}"));
        let on_end = on_end.clone();
        let handle = thread
            .spawn(move || {
                let _at_end = AtEnd(|| on_end(index));
                work()
            })
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
    use crate::properties::{CASES, for_inputs};

    #[test]
    fn each_connection_is_dealt_once_and_in_turn() {
        for_inputs(CASES, |source| {
            let (threads, more) = (source.int_in_range(1..=16)?, source.int_in_range(0..=199)?);
            let mut line = format!("truepace -t{threads} -c{} http://localhost", threads + more);
            if source.arbitrary()? {
                line += " --wrk-compat";
            }
            let config = parse(line.split(' ').map(str::to_owned).collect()).expect("it is taken");
            let mut owner = vec![None; config.total_connections()];
            for (thread, &count) in config.connections.iter().enumerate() {
                for index in dealt(thread, config.threads, count) {
                    assert_eq!(owner[index].replace(thread), None);
                }
            }
            let in_turn: Vec<_> = (0..owner.len()).map(|index| Some(index % threads)).collect();
            assert_eq!(owner, in_turn);
            Ok(())
        });
    }
}
