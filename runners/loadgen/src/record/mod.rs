//! What was measured. Workers fill an [`Interval`] a second and hand it over; the [`Collector`] adds intervals up and
//! forgets them, so memory does not grow with the length of a run.
//!
//! Times are recorded in nanoseconds with three significant digits, because microseconds would be too coarse: at a
//! round trip of 45 us one unit would be 2 %.

mod collector;
mod distribution;
mod interval;
mod slices;

pub use collector::{Collected, Collector, Pool, Summary, Times};
pub use distribution::{Distribution, Percentile};
pub use interval::{CLASSES, Counts, DIGITS, Errors, Interval, Pair, new_histogram};
pub use slices::{SLICES, Slices, middle_ns};

/// Histogram of nanoseconds.
pub type Histogram = hdrhistogram::Histogram<u64>;
