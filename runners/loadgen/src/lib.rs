//! The load generator's parts. The programs `truepace` and `truepace-reference` put them together.

pub mod cli;
pub mod clock;
pub mod error;
pub mod handover;
pub mod http;
pub mod io;
pub mod launch;
pub mod limits;
pub mod lua;
pub mod output;
#[cfg(test)]
mod properties;
pub mod random;
pub mod record;
pub mod reference;
pub mod report;
pub mod run;
pub mod schedule;
pub mod signal;
pub mod slo;
pub mod tags;
pub mod target;
mod timer;
pub mod units;
pub mod usage;
pub mod worker;
