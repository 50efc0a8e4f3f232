//! Everything that reports need of a run, and the generator's judgement of itself.

use crate::cli::{Config, QueueKind};
use crate::error::Error;
use crate::io::{Interface, ReceiveClock};
use crate::record::{Collected, Collection, Comparison, Distribution, Failures, Histogram, Pair, rank, value_at_rank};
use crate::slo::Verified;
use crate::units::format_us;
use crate::usage::Cpu;

/// The status class of responses that are as wanted.
pub const SUCCESS: usize = 2;
/// A thread that used this share of a core was itself the limit.
const BUSY_SHARE: f64 = 0.9;
/// Percentiles at which its own lateness is held against the response time, and up to which share of that it may be: a
/// quarter in the median, which every waking is part of, and half above, where most of the time is the server's then.
const KEPT_UP_AT: [(f64, f64); 4] = [(50.0, 0.25), (90.0, 0.5), (99.0, 0.5), (99.9, 0.5)];
/// A closed loop in which a thread was kept from its work for more than this share of the time is no measurement.
const STALLED_SHARE: f64 = 0.05;
/// Below this share of a core a thread sleeps before most of its sends, and below this lateness at p90, in microseconds,
/// it is the waking of a sleeping thread that is late.
const ASLEEP_SHARE: f64 = 0.3;
const WAKING_US: f64 = 500.0;
/// What helps.
const OWN_CORE: &str = "give the generator a core of its own, or a lower rate";
const WAKING: &str = "that is the waking of a thread that sleeps between requests, which no lower rate makes shorter: \
    service time is free of it, and a core that is kept from deep sleep (cpupower idle-set -D 0), or a higher rate, has \
    less of it";
/// So large a share of the requests that waited for a connection shapes the load.
const WAITED_SHARE: f64 = 0.01;
/// It kept up if it did so up to here. `kept_up_to` says what lies above.
const KEPT_UP_LEAST: f64 = 90.0;

/// Whether the figures are those of the server, or those of the generator.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The generator kept to its schedule.
    pub kept_up: bool,
    /// The highest percentile up to which it did; `None` in a closed loop, 0 if at none.
    pub kept_up_to: Option<f64>,
    /// Why, in a sentence.
    pub sentence: String,
}

/// What is the same for all targets of a run.
#[derive(Debug, Clone, Copy)]
pub struct Conditions {
    /// Seconds from the start of the window to the end of the wait for its last responses.
    pub elapsed_s: f64,
    /// Seconds of the recorded window.
    pub window_s: f64,
    /// Wall clock at the start of the window, in microseconds since 1970.
    pub start_unix_us: u64,
    /// Worker threads.
    pub threads: usize,
    /// Processor time of all workers within the window.
    pub cpu: Cpu,
    /// The largest share of a core that a worker used.
    pub busiest: f64,
    /// What the run had of the system.
    pub interface: Interface,
    /// A signal ended the run.
    pub interrupted: bool,
    /// A script ended the load of a thread.
    pub stopped: bool,
    /// Seconds in which the worker that was most so was kept from its work.
    pub stalled_s: f64,
    /// The longest stall of a worker, in seconds.
    pub longest_stall_s: f64,
    /// Worker threads that did not end after it, because their script did not return.
    pub threads_left_behind: usize,
}

/// A target, or all together, when the run is over.
#[derive(Debug)]
pub struct Outcome {
    /// Everything recorded.
    pub collected: Collected,
    /// Response times.
    pub response: Distribution,
    /// Service times.
    pub service: Distribution,
    /// What is the same for all targets.
    pub conditions: Conditions,
    /// Seconds of the window in which it was loaded.
    pub loaded_s: f64,
    /// Mean offered rate while it was loaded; `None` in a closed loop.
    pub offered_rps: Option<f64>,
    /// Requests that were sent in the window and completed, in closed loop while the target was loaded, over its length.
    pub achieved_rps: f64,
    /// Did the generator keep up?
    pub verdict: Verdict,
    /// Why not all that was scheduled was sent and had its response, or that nothing succeeded; `None` where all was.
    pub shortfall: Option<String>,
    /// What failed, by cause.
    pub failures: Failures,
    /// The objectives, compared.
    pub objectives: Vec<Verified>,
}

/// A run that is over.
#[derive(Debug)]
pub struct Run {
    /// All targets together.
    pub whole: Outcome,
    /// Each target, where there are several.
    pub targets: Vec<Outcome>,
    /// Targets compared, where there are several.
    pub comparison: Option<Comparison>,
    /// Names of operations in the order of their numbers, from 1.
    pub tags: Vec<String>,
    /// Mean response time of each thread's calibration (`--wrk-compat`), in microseconds.
    pub calibrations_us: Vec<f64>,
    /// Requests that are not in the log of requests.
    pub requests_dropped: u64,
    /// Of each log that is not whole: which it is, and why.
    pub log_errors: Vec<String>,
    /// The script's error that ended the load early, if one did.
    pub failure: Option<Error>,
}

impl Run {
    /// Draws everything together. `loaded` gives each target's seconds under load and its share of the offered rate
    /// while it was loaded.
    pub fn new(
        config: &Config,
        collection: Collection,
        conditions: Conditions,
        loaded: impl Fn(usize) -> (f64, f64),
        tags: Vec<String>,
        calibrations_us: Vec<f64>,
        failure: Option<Error>,
    ) -> Self {
        let Collection { whole, targets, comparison, failures, requests_dropped, log_errors } = collection;
        let mut all = Failures::default();
        failures.iter().for_each(|of_target| all.add(of_target));
        let outcome = |collected, (loaded_s, share), failures| {
            Outcome::new(config, collected, conditions, loaded_s, share, failures)
        };
        let targets = targets.into_iter().enumerate();
        Run {
            whole: outcome(whole, (conditions.window_s, 1.0), all),
            targets: targets
                .map(|(index, collected)| outcome(collected, loaded(index), failures[index].clone()))
                .collect(),
            comparison,
            tags,
            calibrations_us,
            requests_dropped,
            log_errors,
            failure,
        }
    }

    /// What is missing because a script did not return; `None` where all threads ended.
    pub fn left_behind_sentence(&self) -> Option<String> {
        let threads = self.whole.conditions.threads_left_behind;
        (threads > 0).then(|| {
            format!(
                "the script did not return in {threads} of {} threads: what these did in their last second is missing, \
                 and done() is not called",
                self.whole.conditions.threads
            )
        })
    }
}

impl Outcome {
    fn new(
        config: &Config,
        collected: Collected,
        conditions: Conditions,
        loaded_s: f64,
        share: f64,
        failures: Failures,
    ) -> Self {
        let counts = collected.total.counts;
        let (response, service) = (collected.response(), collected.service());
        let slack_us = conditions.interface.coalesce_ns as f64 / 1e3 * f64::from(u8::from(counts.held > 0));
        let lag = config.rate.as_ref().map(|_| &collected.total.lag);
        let mut outcome = Outcome {
            verdict: judge(lag, &response, &conditions, slack_us),
            shortfall: None,
            failures,
            achieved_rps: if loaded_s > 0.0 {
                (counts.completed - counts.completed_late - counts.completed_after_slice) as f64 / loaded_s
            } else {
                0.0
            },
            offered_rps: config.offered_rps().map(|rate_rps| rate_rps * share),
            response,
            service,
            collected,
            conditions,
            loaded_s,
            objectives: Vec::new(),
        };
        outcome.shortfall = outcome.fell_short(config.drain_s > 0.0);
        if let Some(waits) = outcome.waits_sentence(config.queue) {
            outcome.verdict.sentence = format!("{waits}; the generator itself {}", outcome.verdict.sentence);
        }
        outcome.objectives = config.objectives.iter().map(|objective| objective.verify(&outcome)).collect();
        outcome
    }

    /// How long requests that were due waited for a connection; those that were never sent at least so long.
    pub fn connection_waits(&self) -> Option<&Histogram> {
        Some(&self.collected.total.connection_wait).filter(|waits| !waits.is_empty())
    }

    /// Says why not all that was scheduled was sent and had its response, or that no response had a status below 400.
    /// `drained`: the last responses were awaited. What a script that ended the load left is as it wanted.
    fn fell_short(&self, drained: bool) -> Option<String> {
        let counts = &self.collected.total.counts;
        let succeeded = self.collected.total.status[..400].iter().any(|count| *count > 0);
        let left = !self.conditions.stopped;
        let parts = [
            (counts.failed, "failed"),
            (if left { counts.unsent } else { 0 }, "were never sent"),
            (if left && drained { counts.censored - counts.unsent } else { 0 }, "had no response when the run ended"),
            (if succeeded { 0 } else { counts.completed }, "had a status of 400 or more, so that none succeeded"),
        ];
        let parts: Vec<String> =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        match (parts.is_empty(), counts.completed, counts.errors.connect) {
            (false, ..) => Some(format!("of {} requests {}", self.scheduled(), parts.join(", "))),
            (true, 0, 1..) => Some("no request could be sent: no connection could be made".into()),
            (true, ..) => None,
        }
    }

    /// Says how many requests waited for a connection, where enough did to shape the load.
    fn waits_sentence(&self, queue: QueueKind) -> Option<String> {
        let waits = self.connection_waits()?;
        let (waited, scheduled, unsent) = (waits.len(), self.scheduled(), self.collected.total.counts.unsent);
        if unsent == 0 && (waited as f64) < WAITED_SHARE * scheduled as f64 {
            return None;
        }
        let [median, longest] = [50.0, 100.0].map(|percent| format_us(lag_us(waits, percent)));
        let never = if unsent > 0 { format!(", and {unsent} were never sent") } else { String::new() };
        let why = match queue {
            QueueKind::Connection => {
                "each connection has a queue of its own, and one response that is late holds up all behind it \
                 (--queue shared: any free connection takes the next request)"
            }
            QueueKind::Shared => "all connections were in use (more with -c)",
        };
        let begin = if unsent > 0 { "the load was not sent as scheduled" } else { "the load was sent late in part" };
        Some(format!(
            "{begin}: {waited} of {scheduled} requests waited for a connection (p50 {median}, max {longest}){never}; {why}"
        ))
    }

    /// Whether responses came in another status class than 2xx.
    pub fn has_classes(&self) -> bool {
        self.classes().any(|(class, ..)| class != SUCCESS)
    }

    /// Response and service times of the completed requests of each status class that came, for example `4` for 4xx.
    pub fn classes(&self) -> impl Iterator<Item = (usize, Distribution, Distribution)> {
        self.collected.classes().map(|(class, pair)| {
            let [response, service] = both(pair);
            (class, response, service)
        })
    }

    /// Response and service times of the completed requests of each named operation, with the operation's number.
    pub fn operations(&self) -> impl Iterator<Item = (usize, Distribution, Distribution)> {
        self.collected.tags().map(|(tag, pair)| {
            let [response, service] = both(pair);
            (tag, response, service)
        })
    }

    /// Response and service times by each clock that can be shown. Where responses were left unread or requests held
    /// back on purpose, the user's clock holds that delay and is not shown; stamps are not shown where there were none.
    pub fn clocks(&self) -> Vec<(ReceiveClock, Distribution, Distribution)> {
        let counts = &self.collected.total.counts;
        let mut clocks = Vec::new();
        let own = self.conditions.interface.receive_clock;
        let mut show = |clock, pair: &Pair| {
            let delayed = clock == ReceiveClock::User && counts.deferred_reads + counts.held > 0;
            if !delayed {
                let [response, service] = both(pair);
                clocks.push((clock, response, service));
            }
        };
        show(own, &self.collected.total.all_classes());
        let (_, other) = own.and_other();
        if let Some(pair) = self.collected.other_clock() {
            show(other, pair);
        }
        clocks
    }

    /// Requests of the window: those that were sent and those that were due but never sent.
    pub fn scheduled(&self) -> u64 {
        let counts = &self.collected.total.counts;
        counts.sent + counts.unsent
    }

    /// Requests that were sent in the window and completed, as a share of those scheduled in it, in percent.
    pub fn achieved_percent(&self) -> f64 {
        let counts = &self.collected.total.counts;
        match self.scheduled() {
            0 => 0.0,
            scheduled => (counts.completed - counts.completed_late) as f64 / scheduled as f64 * 100.0,
        }
    }

    /// The generator's processor time for one completed request, in microseconds.
    pub fn cpu_us_per_request(&self) -> f64 {
        self.conditions.cpu.total_s() * 1e6 / self.collected.total.counts.completed.max(1) as f64
    }
}

fn both(pair: &Pair) -> [Distribution; 2] {
    [&pair.response, &pair.service].map(|times| Distribution::new(times.clone(), None))
}

/// Microseconds at a percentile of lateness.
pub(super) fn lag_us(lag: &Histogram, percent: f64) -> f64 {
    value_at_rank(lag, rank(percent, lag.len())) as f64 / 1000.0
}

/// `lag`: how late requests left; `None` in a closed loop. `slack_us`: how long some were held back on purpose.
fn judge(lag: Option<&Histogram>, response: &Distribution, conditions: &Conditions, slack_us: f64) -> Verdict {
    let percent = conditions.busiest * 100.0;
    let busy = conditions.busiest >= BUSY_SHARE;
    let busy_sentence = || {
        format!(
            "did not keep up: a thread used {percent:.0} % of a core, so the generator may be the limit; give more threads with -t"
        )
    };
    let Some(lag) = lag else {
        let stalled = conditions.stalled_s > STALLED_SHARE * conditions.elapsed_s;
        let sentence = match (busy, stalled) {
            (true, _) => busy_sentence(),
            (false, true) => format!(
                "did not keep up: a thread was kept from its work for {} in all, for {} at the longest; {OWN_CORE}",
                format_us(conditions.stalled_s * 1e6),
                format_us(conditions.longest_stall_s * 1e6)
            ),
            (false, false) => format!("kept up: the busiest thread used {percent:.0} % of a core"),
        };
        return Verdict { kept_up: !busy && !stalled, kept_up_to: None, sentence };
    };
    let at = |percent: f64| (lag_us(lag, percent), response.percentile(percent).value_us);
    let kept = |(percent, share): &(f64, f64)| {
        let (late_us, response_us) = at(*percent);
        late_us <= slack_us + share * response_us
    };
    let kept_up_to = KEPT_UP_AT.into_iter().take_while(kept).last().map_or(0.0, |(percent, _)| percent);
    let kept_up = !busy && kept_up_to >= KEPT_UP_LEAST;
    let sentence = if busy {
        busy_sentence()
    } else if lag.is_empty() {
        format!("kept up: no request was sent; busiest thread {percent:.0} % of a core")
    } else {
        let missed = KEPT_UP_AT.into_iter().map(|(percent, _)| percent).find(|percent| *percent > kept_up_to);
        let beyond = missed.map(|missed| {
            let (late_us, response_us) = at(missed);
            format!("at p{missed} its own lateness is {late_us:.0} us of a response time of {response_us:.0} us")
        });
        match (kept_up, beyond) {
            (true, None) => format!(
                "kept up: 99.9 % of the requests left within {:.0} us of when they could; busiest thread {percent:.0} % of a core",
                lag_us(lag, 99.9)
            ),
            (true, Some(beyond)) => {
                format!("kept up to p{kept_up_to}, but {beyond}; busiest thread {percent:.0} % of a core")
            }
            (false, beyond) => {
                let waking = conditions.busiest < ASLEEP_SHARE && lag_us(lag, 90.0) < WAKING_US;
                let remedy = if waking { WAKING } else { OWN_CORE };
                format!("did not keep up: {}; {remedy}", beyond.unwrap_or_default())
            }
        }
    };
    Verdict { kept_up, kept_up_to: Some(kept_up_to), sentence }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::new_histogram;

    fn conditions(busiest: f64, stalled_s: f64) -> Conditions {
        let interface = Interface { io: "none", receive_clock: ReceiveClock::User, coalesce_ns: 0 };
        Conditions {
            elapsed_s: 3.0,
            window_s: 3.0,
            start_unix_us: 0,
            threads: 1,
            cpu: Cpu::default(),
            busiest,
            interface,
            interrupted: false,
            stopped: false,
            threads_left_behind: 0,
            stalled_s,
            longest_stall_s: stalled_s,
        }
    }

    #[test]
    fn a_closed_loop_that_was_stopped_for_a_while_did_not_keep_up() {
        let response = Distribution::new(new_histogram(), None);
        assert!(judge(None, &response, &conditions(0.2, 0.02), 0.0).kept_up);
        let verdict = judge(None, &response, &conditions(0.2, 1.0), 0.0);
        assert!(!verdict.kept_up && verdict.sentence.contains("1.00s"), "{}", verdict.sentence);
    }

    #[test]
    fn waking_that_is_late_is_not_blamed_on_the_rate() {
        let mut times = new_histogram();
        times.record_n(100_000, 100).unwrap();
        let response = Distribution::new(times, None);
        let mut lag = new_histogram();
        lag.record_n(60_000, 100).unwrap();
        let remedy = |lag: &Histogram, busiest| judge(Some(lag), &response, &conditions(busiest, 0.0), 0.0).sentence;
        assert!(remedy(&lag, 0.02).ends_with(WAKING) && remedy(&lag, 0.6).ends_with(OWN_CORE));
        lag.record_n(900_000, 100).unwrap();
        assert!(remedy(&lag, 0.02).ends_with(OWN_CORE), "that is no waking");
    }

    #[test]
    fn lateness_is_held_against_the_response_time() {
        let of = |values: &[(u64, u64)]| {
            let mut times = new_histogram();
            values.iter().for_each(|(us, count)| times.record_n(us * 1000, *count).unwrap());
            times
        };
        let quick = Distribution::new(of(&[(60, 980), (3_000, 20)]), None);
        let slow = Distribution::new(of(&[(4_000, 1000)]), None);
        let late = of(&[(1, 500), (900, 500)]);
        let judge = |lag: Option<&Histogram>, response: &Distribution, busiest: f64, slack_us: f64| {
            judge(lag, response, &conditions(busiest, 0.0), slack_us)
        };
        assert!(judge(Some(&of(&[(1, 1000)])), &quick, 0.2, 0.0).kept_up);
        let verdict = judge(Some(&late), &quick, 0.2, 0.0);
        assert!(!verdict.kept_up && verdict.sentence.contains("core of its own"), "{}", verdict.sentence);
        assert_eq!(judge(Some(&late), &slow, 0.2, 0.0).kept_up_to, Some(99.9), "little against what is measured");
        let stall = of(&[(1, 985), (2_900, 15)]);
        let verdict = judge(Some(&stall), &quick, 0.2, 0.0);
        assert!(verdict.kept_up && verdict.kept_up_to == Some(90.0), "{verdict:?}");
        assert!(judge(Some(&of(&[(28, 1000)])), &quick, 0.2, 30.0).kept_up, "held back on purpose");
        assert!(!judge(Some(&of(&[(1, 1000)])), &quick, 0.95, 0.0).kept_up);
        assert!(!judge(None, &quick, 0.95, 0.0).kept_up && judge(None, &quick, 0.2, 0.0).kept_up);
    }
}
