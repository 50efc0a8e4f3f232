//! wrk's and wrk2's scripts, on LuaJIT.
//!
//! Each worker has a state of its own, and one more belongs to the main thread, where `setup` and `done` run. Random
//! numbers are seeded as LuaJIT seeds them, that is, always alike, because published results depend on it.

mod address;
mod failure;
mod script;
mod stats;
mod thread;

pub use crate::http::RequestKind;
pub use script::Script;
pub use stats::{Totals, done};
pub use thread::ThreadControl;
