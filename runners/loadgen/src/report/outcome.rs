//! Everything that reports need of a run, and the generator's judgement of itself.

use crate::cli::Config;
use crate::error::Error;
use crate::io::{Interface, ReceiveClock};
use crate::record::{Collected, Collection, Comparison, Distribution, Histogram, Pair, rank, value_at_rank};
use crate::slo::Verified;
use crate::usage::Cpu;

/// The status class of responses that are as wanted.
pub const SUCCESS: usize = 2;
/// A thread that used this share of a core was itself the limit.
const BUSY_SHARE: f64 = 0.9;
/// Percentiles at which its own lateness is held against the response time, and up to which share of that it may be: a
/// quarter in the median, which every waking is part of, and half above, where most of the time is the server's then.
const KEPT_UP_AT: [(f64, f64); 4] = [(50.0, 0.25), (90.0, 0.5), (99.0, 0.5), (99.9, 0.5)];
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
        let Collection { whole, targets, comparison, requests_dropped, log_errors } = collection;
        let outcome = |collected, (loaded_s, share)| Outcome::new(config, collected, conditions, loaded_s, share);
        Run {
            whole: outcome(whole, (conditions.window_s, 1.0)),
            targets: targets.into_iter().enumerate().map(|(index, one)| outcome(one, loaded(index))).collect(),
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
    fn new(config: &Config, collected: Collected, conditions: Conditions, loaded_s: f64, share: f64) -> Self {
        let counts = collected.total.counts;
        let (response, service) = (collected.response(), collected.service());
        let slack_us = conditions.interface.coalesce_ns as f64 / 1e3 * f64::from(u8::from(counts.held > 0));
        let lag = config.rate.as_ref().map(|_| &collected.total.lag);
        let mut outcome = Outcome {
            verdict: judge(lag, &response, conditions.busiest, slack_us),
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
        outcome.objectives = config.objectives.iter().map(|objective| objective.verify(&outcome)).collect();
        outcome
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
            let delayed = clock == ReceiveClock::User && counts.rested + counts.held > 0;
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
fn judge(lag: Option<&Histogram>, response: &Distribution, busiest: f64, slack_us: f64) -> Verdict {
    let percent = busiest * 100.0;
    let Some(lag) = lag else {
        return Verdict {
            kept_up: busiest < BUSY_SHARE,
            kept_up_to: None,
            sentence: match busiest < BUSY_SHARE {
                true => format!("kept up: the busiest thread used {percent:.0} % of a core"),
                false => busy(percent),
            },
        };
    };
    let at = |percent: f64| (lag_us(lag, percent), response.percentile(percent).value_us);
    let kept = |(percent, share): &(f64, f64)| {
        let (late_us, response_us) = at(*percent);
        late_us <= slack_us + share * response_us
    };
    let kept_up_to = KEPT_UP_AT.into_iter().take_while(kept).last().map_or(0.0, |(percent, _)| percent);
    let kept_up = busiest < BUSY_SHARE && kept_up_to >= KEPT_UP_LEAST;
    let sentence = if busiest >= BUSY_SHARE {
        busy(percent)
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
            (false, beyond) => format!(
                "did not keep up: {}; give the generator a core of its own, or a lower rate",
                beyond.unwrap_or_default()
            ),
        }
    };
    Verdict { kept_up, kept_up_to: Some(kept_up_to), sentence }
}

fn busy(percent: f64) -> String {
    format!(
        "did not keep up: a thread used {percent:.0} % of a core, so the generator may be the limit; give more threads with -t"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::new_histogram;

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
