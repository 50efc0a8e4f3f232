//! What is reported of a run: to people on the console, to programs as JSON and as an HdrHistogram log.

pub mod console;
pub mod files;
pub mod hgrm;
pub mod hlog;
pub mod json;
mod outcome;
pub mod requests_log;
mod side_by_side;
mod spectrum;

pub use outcome::{Conditions, Outcome, Run, Verdict};
