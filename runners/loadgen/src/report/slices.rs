//! Response times by tenths of a second, one line each, written while the run goes on. The format is in `docs/json.md`.

use crate::error::{Error, Result};
use crate::record::{Counts, SLICES, Slices, middle_ns};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Name and version of the format.
const SCHEMA: &str = "truepace-slices/1";

/// Writes a line a slice.
pub struct SlicesWriter {
    file: File,
    name: String,
    text: String,
}

impl SlicesWriter {
    /// Creates the file.
    ///
    /// # Errors
    /// [`Error::CouldNotRun`] with the path.
    pub fn create(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let file = File::create(path).map_err(|error| {
            Error::CouldNotRun(format!("cannot write {name}: {error}; name another file with --slices"))
        })?;
        Ok(SlicesWriter { file, name, text: String::new() })
    }

    /// Writes the header. `start_unix_us` is the start of the recorded window.
    ///
    /// # Errors
    /// A sentence with the path and the system's reason.
    pub fn begin(&mut self, start_unix_us: u64) -> std::result::Result<(), String> {
        self.text.clear();
        let _ = writeln!(self.text, "#{SCHEMA} start_unix_us={start_unix_us} slices_per_s={SLICES}");
        self.flush()
    }

    /// Writes the slices of one second that lasted `duration_s`; slices that it never reached are left out.
    ///
    /// # Errors
    /// A sentence with the path and the system's reason.
    pub fn write(&mut self, second: u32, duration_s: f64, slices: &Slices) -> std::result::Result<(), String> {
        self.text.clear();
        let reached = (duration_s * SLICES as f64).ceil().max(1.0) as usize;
        for (slice, bins) in slices.counted().enumerate() {
            let mut bins = bins.peekable();
            if slice >= reached && bins.peek().is_none() {
                continue;
            }
            let _ = write!(self.text, "{}", second as usize * SLICES + slice);
            for (bin, count) in bins {
                let _ = write!(self.text, " {:.4}:{count}", middle_ns(bin) / 1000.0);
            }
            self.text.push('\n');
        }
        self.flush()
    }

    /// Ends the file with what a reader must know of all its lines.
    ///
    /// # Errors
    /// A sentence with the path and the system's reason.
    pub fn finish(mut self, counts: &Counts) -> std::result::Result<(), String> {
        self.text = counts.unstamped_sentence().map_or(String::new(), |sentence| format!("#{sentence}\n"));
        self.flush()
    }

    fn flush(&mut self) -> std::result::Result<(), String> {
        self.file.write_all(self.text.as_bytes()).map_err(|error| {
            format!("cannot write the slices {}: {error}; free some space or name another file", self.name)
        })
    }
}
