//! Every request by itself, handed over in chunks of fixed size, so that memory is bounded whatever the rate.

use std::sync::{Arc, Mutex};

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Fate {
    /// A response came whole.
    Completed = 0,
    /// An error came instead of a response.
    Failed = 1,
    /// It had no response when the run ended.
    Censored = 2,
    /// It was due, but never sent.
    Unsent = 3,
}

/// One request of the recorded window.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// Its slot in the schedule of all targets; in a closed loop 0.
    pub slot: u64,
    /// Intended start, in nanoseconds from the start of the window.
    pub intended_ns: u64,
    /// From the intended start to the send; of an unsent request, to the end of the run.
    pub wait_ns: u64,
    /// From the send to the response, or to the moment it was given up.
    pub service_ns: u64,
    /// The same by the clock of the reader; equal where that is the clock of the report.
    pub read_ns: u64,
    /// How late it left, against a generator that never sleeps; 0 of an unsent request and in a closed loop.
    pub lag_ns: u64,
    /// Bytes sent.
    pub written: u32,
    /// Bytes received.
    pub read: u32,
    /// Index of the target.
    pub target: u8,
    /// Index of the operation's tag; 0 is none.
    pub tag: u8,
    /// HTTP status; 0 where there was none.
    pub status: u16,
    /// How it ended.
    pub fate: Fate,
    /// The kernel's clock was asked for, and gave no stamp of the response.
    pub unstamped: bool,
}

/// Requests in a chunk.
pub const CHUNK_REQUESTS: usize = 2048;

/// Empty chunks. There are so many and no more: who finds none drops what it has and counts it.
#[derive(Debug, Clone)]
pub struct Chunks(Arc<Mutex<Vec<Vec<Request>>>>);

impl Chunks {
    /// So many chunks.
    pub fn new(count: usize) -> Self {
        Chunks(Arc::new(Mutex::new((0..count).map(|_| Vec::with_capacity(CHUNK_REQUESTS)).collect())))
    }

    /// An empty chunk, if one is left.
    pub fn take(&self) -> Option<Vec<Request>> {
        self.0.lock().ok().and_then(|mut chunks| chunks.pop())
    }

    /// Empties a chunk and keeps it.
    pub fn give(&self, mut chunk: Vec<Request>) {
        chunk.clear();
        if let Ok(mut chunks) = self.0.lock() {
            chunks.push(chunk);
        }
    }
}
