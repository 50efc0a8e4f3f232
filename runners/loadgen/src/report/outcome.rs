//! Everything that reports need of a run, and the generator's judgement of itself.

use crate::cli::Config;
use crate::io::Interface;
use crate::record::{Collected, Distribution, Histogram, new_histogram};
use crate::slo::Verified;
use crate::usage::Cpu;

/// The status class of answers that are as wanted.
pub const SUCCESS: usize = 2;
/// A thread that used this share of a core was itself the limit.
const BUSY_SHARE: f64 = 0.9;
/// Lateness of its own, at the 99th percentile and in microseconds, up to which the generator kept up.
const KEPT_UP_LAG_P99_US: f64 = 1000.0;

/// Whether the figures are those of the server, or those of the generator.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The generator kept to its schedule.
    pub kept_up: bool,
    /// Why, in a sentence.
    pub sentence: String,
}

/// A run that is over.
#[derive(Debug)]
pub struct Outcome {
    /// Everything recorded.
    pub collected: Collected,
    /// Response times.
    pub response: Distribution,
    /// Service times.
    pub service: Distribution,
    /// Seconds from the start of the window to its end, the wait for last answers included.
    pub elapsed_s: f64,
    /// Wall clock at the start of the window, in microseconds since 1970.
    pub start_unix_us: u64,
    /// Mean offered rate; `None` in a closed loop.
    pub offered_rps: Option<f64>,
    /// Completed requests over elapsed time.
    pub achieved_rps: f64,
    /// Worker threads.
    pub threads: usize,
    /// Processor time of all workers within the window.
    pub cpu: Cpu,
    /// What it had of the system.
    pub interface: Interface,
    /// Did the generator keep up?
    pub verdict: Verdict,
    /// The objectives, compared.
    pub objectives: Vec<Verified>,
    /// A signal ended the run.
    pub interrupted: bool,
}

impl Outcome {
    /// Draws everything together.
    pub fn new(
        config: &Config,
        collected: Collected,
        cpus: &[Cpu],
        elapsed_s: f64,
        start_unix_us: u64,
        interface: Interface,
        interrupted: bool,
    ) -> Self {
        let cpu = cpus.iter().fold(Cpu::default(), |sum, one| Cpu {
            user_s: sum.user_s + one.user_s,
            system_s: sum.system_s + one.system_s,
        });
        let busiest = cpus.iter().map(|one| one.total_s()).fold(0.0, f64::max) / elapsed_s.max(1e-9);
        let completed = collected.total.counts.completed as f64;
        let mut outcome = Outcome {
            verdict: judge(config.rate.is_some(), busiest, &collected.total.lag),
            response: collected.response(),
            service: collected.service(),
            achieved_rps: if elapsed_s > 0.0 { completed / elapsed_s } else { 0.0 },
            offered_rps: config.rate.as_ref().map(|rate| rate.mean_rps()),
            threads: cpus.len(),
            collected,
            elapsed_s,
            start_unix_us,
            cpu,
            interface,
            objectives: Vec::new(),
            interrupted,
        };
        outcome.objectives = config.objectives.iter().map(|objective| objective.verify(&outcome)).collect();
        outcome
    }

    /// Whether answers came in another status class than 2xx.
    pub fn has_classes(&self) -> bool {
        self.classes().any(|(class, ..)| class != SUCCESS)
    }

    /// Response and service times of the completed requests of each status class that came, for example `4` for 4xx.
    pub fn classes(&self) -> impl Iterator<Item = (usize, Distribution, Distribution)> {
        let whole = |times: &Histogram| Distribution::new(times.clone(), &new_histogram());
        self.collected.classes().map(move |(class, pair)| (class, whole(&pair.response), whole(&pair.service)))
    }

    /// Requests of the window: those that were sent and those that were due but never sent.
    pub fn scheduled(&self) -> u64 {
        let counts = &self.collected.total.counts;
        counts.sent + counts.unsent
    }
}

fn judge(open_loop: bool, busiest: f64, lag: &Histogram) -> Verdict {
    let lag_p99_us = lag.value_at_quantile(0.99).min(lag.max()) as f64 / 1000.0;
    let percent = busiest * 100.0;
    let (kept_up, sentence) = if busiest >= BUSY_SHARE {
        (
            false,
            format!(
                "did not keep up: a thread used {percent:.0} % of a core, so the generator may be the limit; give more threads with -t"
            ),
        )
    } else if open_loop && lag_p99_us > KEPT_UP_LAG_P99_US {
        (
            false,
            format!(
                "did not keep up: 1 % of the requests left {lag_p99_us:.0} us late or later although their connection was free; \
                 give the generator a core of its own, or a lower rate"
            ),
        )
    } else if open_loop && lag.is_empty() {
        (
            true,
            format!(
                "kept up: no connection was free at an intended start, so all delay is the server's; busiest thread {percent:.0} % of a core"
            ),
        )
    } else if open_loop {
        (
            true,
            format!(
                "kept up: 99 % of the requests left within {lag_p99_us:.0} us of their intended start; busiest thread {percent:.0} % of a core"
            ),
        )
    } else {
        (true, format!("kept up: the busiest thread used {percent:.0} % of a core"))
    };
    Verdict { kept_up, sentence }
}

#[cfg(test)]
mod tests {
    use super::judge;
    use crate::record::new_histogram;

    #[test]
    fn a_late_or_busy_generator_says_so() {
        let mut lag = new_histogram();
        assert!(judge(true, 0.2, &lag).kept_up, "a connection that is never free is not the generator's fault");
        lag.record_n(50_000, 1000).unwrap();
        assert!(judge(true, 0.2, &lag).kept_up);
        assert!(!judge(true, 0.95, &lag).kept_up);
        assert!(!judge(false, 0.95, &lag).kept_up);
        lag.record_n(5_000_000, 100).unwrap();
        let verdict = judge(true, 0.2, &lag);
        assert!(!verdict.kept_up && verdict.sentence.contains("core of its own"), "{}", verdict.sentence);
        assert!(judge(false, 0.2, &lag).kept_up);
    }
}
