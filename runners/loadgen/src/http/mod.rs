//! HTTP/1.1: responses, read as they arrive, and the requests in a script's text.
//!
//! The outcome depends only on the bytes, never on how the network cut them into pieces: the head is looked at once,
//! when its end is there, and the body is counted by a state machine.

mod body;
mod header;
mod parser;
mod request;

pub use header::{defect as header_defect, is_token};
pub use parser::{ParseError, Parser, Response};
pub use request::{RequestKind, check as check_requests, divide as divide_requests};

/// Longest head (status line and headers) and longest trailer that is accepted, in bytes: as in wrk.
pub const MAX_HEAD_BYTES: usize = 80 * 1024;
/// Header lines that are read without asking for memory.
pub const USUAL_HEADERS: usize = 128;
