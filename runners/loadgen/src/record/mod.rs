//! What was measured. Workers fill an [`Interval`] a second and hand it over; the [`Collector`] adds intervals up and
//! forgets them, so memory does not grow with the length of a run.
//!
//! Times are recorded in nanoseconds with three significant digits, because microseconds would be too coarse: at a
//! round trip of 45 us one unit would be 2 %.

mod collector;
mod comparison;
mod distribution;
mod failures;
mod interval;
mod requests;

pub use collector::{Collected, Collection, Collector, Intervals, Logs, Pool, Summary, Times};
pub use comparison::{CarryOver, Comparison, Interval95, Ratio};
pub use distribution::{Distribution, Percentile, rank, value_at_rank};
pub use failures::{Cause, Failure, Failures, Seen, shown};
pub use interval::{CLASSES, Counts, DIGITS, Errors, Interval, Measured, Pair, TENTHS, new_histogram};
pub use requests::{CHUNK_REQUESTS, Chunks, Fate, Request};

/// Histogram of nanoseconds.
pub type Histogram = hdrhistogram::Histogram<u64>;
