//! When each request is *intended* to start.
//!
//! The schedule is fixed before the run and knows nothing of responses. So a request that had to wait for its
//! connection is still measured from its intended start, and a stall of the server is seen in full (no coordinated
//! omission: Gil Tene, "How NOT to measure latency", 2015).
//!
//! [`Profile`] turns the position of a request in the whole run (0, 1, 2, …) into a time. [`Arrivals`] deals the
//! positions to the connections: round robin, so that connections never send at the same moment, or as a Poisson process.
//! Where several targets share one schedule, [`Interleave`] says which target a position belongs to.

mod arrivals;
mod interleave;
mod profile;
mod sequence;
mod slices;

pub use arrivals::{Arrival, Arrivals, Place, Share};
pub use interleave::Interleave;
pub use profile::{Profile, RateSpec};
pub use sequence::{MOST_WEIGHT, Sequence};
pub use slices::Slices;
