//! Objectives (`--slo p99=10ms,errors=0,achieved=99%`): what a run must meet, and whether it did.

use crate::report::Outcome;
use crate::units::{format_us, parse_count, parse_seconds};
use std::fmt;

/// What an objective is about.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Subject {
    /// Response time at a percentile, at most so many microseconds. 100 is the maximum.
    ResponsePercentile { percent: f64, limit_us: f64 },
    /// Mean response time, at most so many microseconds.
    ResponseMean { limit_us: f64 },
    /// Errors of all kinds (status codes from 400 on too), at most so many.
    Errors { limit: f64 },
    /// Errors as a share of the scheduled requests, at most, in percent.
    ErrorShare { limit_percent: f64 },
    /// Requests sent in the window and completed, as a share of those scheduled in it, at least, in percent.
    Achieved { limit_percent: f64 },
}

/// One objective as written.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    text: String,
    subject: Subject,
}

/// An objective after the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified {
    /// As written, for example `p99=10ms`.
    pub objective: String,
    /// What was measured, with its unit; `>=` where requests without a response leave it open.
    pub measured: String,
    /// It was met. What is only known as a lower bound is not.
    pub met: bool,
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.met { "met" } else { "missed" };
        write!(f, "objective {} {word}: measured {}", self.objective, self.measured)
    }
}

/// Reads a list of objectives.
///
/// # Errors
/// A sentence that names the objective.
pub fn parse(text: &str, open_loop: bool) -> Result<Vec<Objective>, String> {
    text.split(',').map(|objective| parse_one(objective.trim(), open_loop)).collect()
}

fn parse_one(text: &str, open_loop: bool) -> Result<Objective, String> {
    let wrong =
        |why: &str| format!("'{text}' {why}; write for example p99=10ms, max=1s, errors=0, errors=0.1%, achieved=99%");
    let (name, limit) = text.split_once('=').ok_or_else(|| wrong("has no '='"))?;
    // A bare number would be seconds, as with the other flags, and is meant as milliseconds as often as not.
    let duration = || {
        if limit.ends_with(|letter: char| letter.is_ascii_digit() || letter == '.') {
            return Err(wrong("has a limit without a unit"));
        }
        parse_seconds(limit).map(|seconds| seconds * 1e6).map_err(|reason| wrong(&format!("has no limit: {reason}")))
    };
    let share = || {
        let digits = limit.strip_suffix('%').ok_or_else(|| wrong("has no limit in percent"))?;
        parse_count(digits).ok().filter(|share| *share <= 100.0).ok_or_else(|| wrong("has no limit of 0 to 100 %"))
    };
    let subject = match name {
        "max" => Subject::ResponsePercentile { percent: 100.0, limit_us: duration()? },
        "mean" => Subject::ResponseMean { limit_us: duration()? },
        "errors" if limit.ends_with('%') => Subject::ErrorShare { limit_percent: share()? },
        "errors" => {
            Subject::Errors { limit: parse_count(limit).map_err(|reason| wrong(&format!("has no limit: {reason}")))? }
        }
        "achieved" if !open_loop => return Err(wrong("needs an offered rate (-R)")),
        "achieved" => Subject::Achieved { limit_percent: share()? },
        _ => match name.strip_prefix('p').and_then(|digits| digits.parse::<f64>().ok()) {
            Some(percent) if percent > 0.0 && percent < 100.0 => {
                Subject::ResponsePercentile { percent, limit_us: duration()? }
            }
            _ => return Err(wrong("is about nothing that is measured")),
        },
    };
    Ok(Objective { text: text.to_owned(), subject })
}

impl Objective {
    /// Compares with what was measured. Without any request nothing is met.
    pub fn verify(&self, outcome: &Outcome) -> Verified {
        let scheduled = outcome.scheduled();
        let errors = outcome.collected.total.counts.errors.total() as f64;
        let percent_of = |part: f64, whole: f64| if whole > 0.0 { part / whole * 100.0 } else { 0.0 };
        let (measured, within) = match self.subject {
            Subject::ResponsePercentile { percent, limit_us } => {
                let value = outcome.response.percentile(percent);
                let sign = if value.at_least { ">= " } else { "" };
                (format!("{sign}{}", format_us(value.value_us)), value.value_us <= limit_us && !value.at_least)
            }
            Subject::ResponseMean { limit_us } => {
                let (mean_us, open) = (outcome.response.mean_us(), outcome.response.censored() > 0);
                let sign = if open { ">= " } else { "" };
                (format!("{sign}{}", format_us(mean_us)), mean_us <= limit_us && !open)
            }
            Subject::Errors { limit } => (format!("{errors}"), errors <= limit),
            Subject::ErrorShare { limit_percent } => {
                let share = percent_of(errors, scheduled as f64);
                (format!("{share:.3}%"), share <= limit_percent)
            }
            Subject::Achieved { limit_percent } => {
                let share = outcome.achieved_percent();
                (format!("{share:.2}%"), share >= limit_percent)
            }
        };
        Verified { objective: self.text.clone(), measured, met: within && scheduled > 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let list = parse("p99=10ms, p99.9=1s,max=2s,mean=500us,errors=0,errors=0.1%,achieved=99%", true).unwrap();
        assert_eq!(list.len(), 7);
        assert_eq!(list[0].subject, Subject::ResponsePercentile { percent: 99.0, limit_us: 10_000.0 });
        assert_eq!(list[6].subject, Subject::Achieved { limit_percent: 99.0 });
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "p99",
            "p99=fast",
            "p99=1",
            "max=0.5",
            "mean=1e3",
            "p0=1s",
            "p100=1s",
            "latency=1s",
            "errors=few",
            "achieved=99",
            "achieved=101%",
        ] {
            assert!(parse(text, true).is_err(), "{text}");
        }
        assert!(parse("achieved=99%", false).is_err());
    }
}
