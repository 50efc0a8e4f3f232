//! HTTP/1.1 answers, read as they arrive.
//!
//! The outcome depends only on the bytes, never on how the network cut them into pieces: the head is looked at once,
//! when its end is there, and the body is counted by a state machine.

mod body;
mod parser;

pub use parser::{Answer, ParseError, Parser};

/// Longest head (status line and headers) and longest trailer that is accepted, in bytes.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Most header lines of one answer.
pub const MAX_HEADERS: usize = 128;
