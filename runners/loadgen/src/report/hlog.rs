//! HdrHistogram V2 log, readable by every HdrHistogram tool: a line a tenth of a second for response times, which tells
//! when a tail happened, and a line a second for each other tag.
//!
//! Values are whole nanoseconds, as they were recorded: at a round trip of 25 us a microsecond is 4 %. Interval maxima are
//! in milliseconds, as those tools expect. Tags `response` and `service` hold all completed requests. Written only if
//! there are any: `response_4xx` and the like hold those of another status class than 2xx once more; `response:NAME` those
//! of a named operation once more; `censored` holds the response times that requests without a response had reached when
//! they failed or the run ended. With several targets each tag ends in `@TARGET`.

use super::outcome::SUCCESS;
use crate::record::{Counts, Interval, Pair, TENTHS};
use crate::tags::Tags;
use hdrhistogram::Counter;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// Nanoseconds in the unit of the interval maxima.
const NS_PER_MS: f64 = 1e6;

/// Writes the log while the run goes on, so that an interrupted run leaves what it had.
pub struct HlogWriter {
    file: File,
    serializer: V2DeflateSerializer,
    name: String,
    /// What ends the tags of each target.
    suffixes: Vec<String>,
    tags: Tags,
    /// Lines that are to be written together.
    lines: Vec<u8>,
    /// Bytes of the whole lines in the file.
    written_bytes: u64,
    /// The sentence that says where and why the log ends early.
    cut: Option<String>,
}

impl HlogWriter {
    /// Creates the file.
    ///
    /// # Errors
    /// A sentence with the path and the system's reason.
    pub fn create(path: &Path, targets: &[String], tags: Tags) -> Result<Self, String> {
        let name = path.display().to_string();
        let file = File::create(path).map_err(|error| refused(&name, &error, ""))?;
        let several = targets.len() > 1;
        let suffixes = targets.iter().map(|name| if several { format!("@{name}") } else { String::new() }).collect();
        Ok(HlogWriter {
            file,
            serializer: V2DeflateSerializer::new(),
            name,
            suffixes,
            tags,
            lines: Vec::new(),
            written_bytes: 0,
            cut: None,
        })
    }

    /// Writes the header. `start_unix_us` is the start of the recorded window.
    ///
    /// # Errors
    /// A sentence with the path and the system's reason.
    pub fn begin(&mut self, start_unix_us: u64) -> Result<(), String> {
        let start = UNIX_EPOCH + Duration::from_micros(start_unix_us);
        let mut builder = IntervalLogWriterBuilder::new();
        builder.add_comment("[Histogram log format version 1.3]");
        builder.add_comment("[Written by truepace; values in nanoseconds; tags: response, service, censored]");
        builder.with_base_time(start).with_start_time(start);
        // Writing to memory cannot fail.
        let _ = builder.begin_log_with(&mut self.lines, &mut self.serializer);
        let columns = "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";
        self.lines.extend_from_slice(columns.as_bytes());
        self.flush("");
        self.cut.clone().map_or(Ok(()), Err)
    }

    /// Writes what one target did in the `duration_s` from second `index` of the window on. Tenths that it never reached
    /// are left out. Where that fails the log ends before it, which [`HlogWriter::finish`] tells.
    pub fn write(&mut self, target: usize, index: u32, duration_s: f64, interval: &Interval) {
        if self.cut.is_some() {
            return;
        }
        match self.add_lines(target, index, duration_s, interval) {
            Ok(()) => self.flush(&format!("it is cut after {index} s of the window; ")),
            Err(why) => self.cut = Some(refused(&self.name, &why, "")),
        }
    }

    fn add_lines(&mut self, target: usize, index: u32, duration_s: f64, interval: &Interval) -> Result<(), String> {
        let at = (f64::from(index), duration_s);
        self.line("service", target, at, &interval.all_classes().service)?;
        for (class, pair) in interval.by_class.iter().enumerate().filter(|(class, _)| *class != SUCCESS) {
            let Some(pair) = pair.as_deref().filter(|pair| !pair.response.is_empty()) else { continue };
            self.both(&format!("_{class}xx"), target, at, pair)?;
        }
        let names = if interval.by_tag.is_empty() { Vec::new() } else { self.tags.names() };
        for (pair, name) in interval.by_tag.iter().zip(&names) {
            let Some(pair) = pair.as_deref().filter(|pair| !pair.response.is_empty()) else { continue };
            // A tag of the log ends at a comma, and a line at a blank.
            let name = name.replace([',', ' ', '\r', '\n'], "_");
            self.both(&format!(":{name}"), target, at, pair)?;
        }
        if let Some(waiting) = interval.waiting.as_deref().filter(|pair| !pair.response.is_empty()) {
            self.line("censored", target, at, &waiting.response)?;
        }
        let reached = (duration_s * TENTHS as f64).ceil().max(1.0) as usize;
        for (tenth, times) in interval.tenths.iter().enumerate() {
            if tenth >= reached && times.is_empty() {
                continue;
            }
            let from_s = tenth as f64 / TENTHS as f64;
            let to_s =
                if tenth + 1 == TENTHS { duration_s } else { duration_s.min((tenth + 1) as f64 / TENTHS as f64) };
            self.line("response", target, (at.0 + from_s, to_s.max(from_s) - from_s), times)?;
        }
        Ok(())
    }

    /// Ends the log with what a reader must know of all its lines.
    ///
    /// # Errors
    /// A sentence with the path, how much it holds and the system's reason, where it is not whole.
    pub fn finish(mut self, counts: &Counts) -> Result<(), String> {
        if let Some(sentence) = counts.unstamped_sentence() {
            self.lines.extend_from_slice(format!("#[{sentence}]\n").as_bytes());
            self.flush("its last comment is missing; ");
        }
        self.cut.map_or(Ok(()), Err)
    }

    /// Writes the lines that were added, or nothing of them.
    fn flush(&mut self, lost: &str) {
        if self.cut.is_none() {
            match self.file.write_all(&self.lines) {
                Ok(()) => self.written_bytes += self.lines.len() as u64,
                Err(error) => {
                    // What is no file has no length.
                    let _ = self.file.set_len(self.written_bytes);
                    self.cut = Some(refused(&self.name, &error, lost));
                }
            }
        }
        self.lines.clear();
    }

    fn both(&mut self, of: &str, target: usize, at: (f64, f64), times: &Pair) -> Result<(), String> {
        self.line(&format!("response{of}"), target, at, &times.response)?;
        self.line(&format!("service{of}"), target, at, &times.service)
    }

    fn line<C: Counter>(
        &mut self,
        tag: &str,
        target: usize,
        at: (f64, f64),
        times: &hdrhistogram::Histogram<C>,
    ) -> Result<(), String> {
        // A writer without a header appends to the log that `begin` opened.
        let mut builder = IntervalLogWriterBuilder::new();
        let mut log = builder
            .with_max_value_divisor(NS_PER_MS)
            .begin_log_with(&mut self.lines, &mut self.serializer)
            .map_err(|error| error.to_string())?;
        let (offset, duration) = (Duration::from_secs_f64(at.0), Duration::from_secs_f64(at.1));
        let tag = format!("{tag}{}", self.suffixes[target]);
        let tag = Tag::new(&tag).ok_or_else(|| format!("the tag '{tag}' holds a comma or a blank"))?;
        log.write_histogram(times, offset, duration, Some(tag)).map_err(|error| error.to_string())
    }
}

fn refused(name: &str, error: &dyn std::fmt::Display, lost: &str) -> String {
    format!("cannot write the histogram log {name}: {error}; {lost}free some space or name another file with --hlog")
}
