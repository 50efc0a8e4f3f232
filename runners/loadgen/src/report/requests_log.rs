//! Every request of the recorded window, in binary, written while the run goes on. The format is in `docs/requests.md`.

use crate::error::{Error, Result};
use crate::record::Request;
use crate::schedule::Sequence;
use crate::tags::Tags;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// First bytes of the file: the format's name and version.
const MAGIC: &[u8; 8] = b"LGREQS\x02\n";
/// Bytes of one request.
pub const ROW_BYTES: usize = 64;
/// Kinds of blocks.
const DESCRIPTION: u32 = 1;
const REQUESTS: u32 = 2;
/// Where there is no predecessor.
const NOBODY: u8 = 255;

/// Writes blocks: descriptions in JSON, and requests in rows.
pub struct RequestsLog {
    file: File,
    name: String,
    buffer: Vec<u8>,
    description: Value,
    sequence: Option<Arc<Sequence>>,
    tags: Tags,
    tags_written: usize,
    /// Bytes and requests of the whole blocks in the file.
    written_bytes: u64,
    written_requests: u64,
    /// Why no more is written.
    cut: Option<io::Error>,
}

impl RequestsLog {
    /// Creates the file.
    ///
    /// # Errors
    /// [`Error::CouldNotRun`] with the path.
    pub fn create(path: &Path, targets: &[String], sequence: Option<Arc<Sequence>>, tags: Tags) -> Result<Self> {
        let name = path.display().to_string();
        let file = File::create(path).map_err(|error| {
            Error::CouldNotRun(format!("cannot write {name}: {error}; name another file with --requests-log"))
        })?;
        let description = json!({
            "targets": targets,
            "block_slots": sequence.as_ref().map(|sequence| sequence.block_slots()),
        });
        Ok(RequestsLog {
            file,
            name,
            buffer: Vec::new(),
            description,
            sequence,
            tags,
            tags_written: 0,
            written_bytes: 0,
            written_requests: 0,
            cut: None,
        })
    }

    /// Writes the header. `start_unix_us` is the start of the recorded window.
    ///
    /// # Errors
    /// A sentence with the path and the system's reason.
    pub fn begin(&mut self, start_unix_us: u64, clock: &str) -> std::result::Result<(), String> {
        self.buffer.extend_from_slice(MAGIC);
        self.description["start_unix_us"] = json!(start_unix_us);
        self.description["receive_clock"] = json!(clock);
        self.describe();
        self.flush();
        self.state()
    }

    /// A block that says what the numbers of targets and tags in the rows stand for.
    fn describe(&mut self) {
        let tags = self.tags.names();
        self.tags_written = tags.len();
        self.description["tags"] = json!(tags);
        let text = self.description.to_string();
        self.block(DESCRIPTION, text.len());
        self.buffer.extend_from_slice(text.as_bytes());
    }

    fn block(&mut self, kind: u32, bytes: usize) {
        self.buffer.extend_from_slice(&kind.to_le_bytes());
        self.buffer.extend_from_slice(&(bytes as u32).to_le_bytes());
    }

    /// Writes a block of requests. Where that fails the log ends before it, which [`RequestsLog::finish`] tells.
    pub fn write(&mut self, requests: &[Request]) {
        if self.cut.is_some() {
            return;
        }
        if self.tags.count() > self.tags_written {
            self.describe();
        }
        self.block(REQUESTS, requests.len() * ROW_BYTES);
        for request in requests {
            let predecessor = self.sequence.as_ref().zip(request.slot.checked_sub(1));
            let predecessor = predecessor.map_or(NOBODY, |(sequence, before)| sequence.target(before) as u8);
            let Request { slot, intended_ns, wait_ns, service_ns, read_ns, lag_ns, .. } = request;
            for number in [slot, intended_ns, wait_ns, service_ns, read_ns, lag_ns] {
                self.buffer.extend_from_slice(&number.to_le_bytes());
            }
            self.buffer.extend_from_slice(&request.written.to_le_bytes());
            self.buffer.extend_from_slice(&request.read.to_le_bytes());
            self.buffer.extend_from_slice(&request.status.to_le_bytes());
            let bytes = [request.target, predecessor, request.tag, request.fate as u8, u8::from(request.unstamped), 0];
            self.buffer.extend_from_slice(&bytes);
        }
        if self.flush() {
            self.written_requests += requests.len() as u64;
        }
    }

    /// Ends the file.
    ///
    /// # Errors
    /// A sentence with the path, how much it holds and the system's reason, where it is not whole.
    pub fn finish(mut self) -> std::result::Result<(), String> {
        if self.tags.count() > self.tags_written {
            self.describe();
        }
        self.flush();
        self.state()
    }

    fn state(&self) -> std::result::Result<(), String> {
        self.cut.as_ref().map_or(Ok(()), |error| {
            Err(format!(
                "cannot write the log of requests {}: {error}; it is cut after {} requests; free some space or name \
                 another file with --requests-log",
                self.name, self.written_requests
            ))
        })
    }

    /// Writes what is in the buffer, or nothing of it.
    fn flush(&mut self) -> bool {
        if self.cut.is_none() {
            match self.file.write_all(&self.buffer) {
                Ok(()) => self.written_bytes += self.buffer.len() as u64,
                Err(error) => {
                    // What is no file has no length.
                    let _ = self.file.set_len(self.written_bytes);
                    self.cut = Some(error);
                }
            }
        }
        self.buffer.clear();
        self.cut.is_none()
    }
}
