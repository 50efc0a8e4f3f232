//! HdrHistogram V2 log: one line a second and tag, readable by every HdrHistogram tool.
//!
//! Values are whole microseconds. Tags `response` and `service` hold all completed requests. Written only if there are
//! any: `response_4xx` and the like hold those of another status class than 2xx once more; `censored` holds the response
//! times that requests without an answer had reached when the run ended.

use super::outcome::SUCCESS;
use crate::record::{Histogram, Interval, Pair};
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// Longest time in the log, in microseconds: one hour.
const MAX_US: u64 = 3_600_000_000;

/// Writes the log while the run goes on, so that an interrupted run leaves what it had.
pub struct HlogWriter {
    file: File,
    serializer: V2DeflateSerializer,
    name: String,
    /// The interval in microseconds, used again for each line.
    scratch: Histogram,
}

impl HlogWriter {
    /// Creates the file.
    ///
    /// # Errors
    /// A sentence with the path and the system's reason.
    pub fn create(path: &Path) -> Result<Self, String> {
        let name = path.display().to_string();
        let file = File::create(path).map_err(|error| format!("cannot write the histogram log {name}: {error}"))?;
        let scratch = Histogram::new_with_bounds(1, MAX_US, 3).expect("constant bounds are valid");
        Ok(HlogWriter { file, serializer: V2DeflateSerializer::new(), name, scratch })
    }

    /// Writes the header. `start_unix_us` is the start of the recorded window.
    ///
    /// # Errors
    /// A sentence with the path and the system's reason.
    pub fn begin(&mut self, start_unix_us: u64) -> Result<(), String> {
        let start = UNIX_EPOCH + Duration::from_micros(start_unix_us);
        let mut builder = IntervalLogWriterBuilder::new();
        builder.add_comment("[Histogram log format version 1.3]");
        builder.add_comment("[Written by loadgen; values in microseconds; tags: response, service, censored]");
        builder.with_base_time(start).with_start_time(start);
        builder.begin_log_with(&mut self.file, &mut self.serializer).map_err(|error| refused(&self.name, &error))?;
        let columns = "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";
        self.file.write_all(columns.as_bytes()).map_err(|error| refused(&self.name, &error))
    }

    /// Writes one interval. `offset_s` counts from the start of the window.
    ///
    /// # Errors
    /// A sentence with the path and the system's reason.
    pub fn write(&mut self, offset_s: f64, duration_s: f64, times: &Pair, interval: &Interval) -> Result<(), String> {
        self.line("response", offset_s, duration_s, &times.response)?;
        self.line("service", offset_s, duration_s, &times.service)?;
        for (class, pair) in interval.by_class.iter().enumerate().filter(|(class, _)| *class != SUCCESS) {
            let Some(pair) = pair.as_deref().filter(|pair| !pair.response.is_empty()) else { continue };
            self.line(&format!("response_{class}xx"), offset_s, duration_s, &pair.response)?;
            self.line(&format!("service_{class}xx"), offset_s, duration_s, &pair.service)?;
        }
        if interval.waiting.response.is_empty() {
            return Ok(());
        }
        self.line("censored", offset_s, duration_s, &interval.waiting.response)
    }

    fn line(&mut self, tag: &str, offset_s: f64, duration_s: f64, times_ns: &Histogram) -> Result<(), String> {
        self.scratch.reset();
        for value in times_ns.iter_recorded() {
            let middle_ns = times_ns.median_equivalent(value.value_iterated_to());
            self.scratch.saturating_record_n((middle_ns + 500) / 1000, value.count_at_value());
        }
        // A writer without a header appends to the log that `begin` opened.
        let mut builder = IntervalLogWriterBuilder::new();
        let mut log = builder
            .with_max_value_divisor(1.0)
            .begin_log_with(&mut self.file, &mut self.serializer)
            .map_err(|error| refused(&self.name, &error))?;
        let (offset, duration) = (Duration::from_secs_f64(offset_s), Duration::from_secs_f64(duration_s));
        log.write_histogram(&self.scratch, offset, duration, Tag::new(tag)).map_err(|error| refused(&self.name, &error))
    }
}

fn refused(name: &str, error: &dyn std::fmt::Debug) -> String {
    format!("cannot write the histogram log {name}: {error:?}; free some space or name another file")
}
