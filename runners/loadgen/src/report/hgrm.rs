//! Percentile tables for HdrHistogram's plotters, in milliseconds: response times, and service times beside them.

use super::Outcome;
use super::spectrum::table;
use crate::error::{Error, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Makes sure, before the run, that the files can be written.
///
/// # Errors
/// [`Error::CouldNotRun`] with the path.
pub fn create(path: &Path) -> Result<()> {
    write_both(path, "", "")
}

/// Writes both tables.
///
/// # Errors
/// [`Error::CouldNotRun`] with the path.
pub fn write(path: &Path, outcome: &Outcome) -> Result<()> {
    write_both(path, &table(&outcome.response), &table(&outcome.service))
}

fn write_both(path: &Path, response: &str, service: &str) -> Result<()> {
    let mut beside = OsString::from(path);
    beside.push(".service");
    for (path, text) in [(path.to_path_buf(), response), (PathBuf::from(beside), service)] {
        std::fs::write(&path, text).map_err(|error| {
            let name = path.display();
            Error::CouldNotRun(format!("cannot write {name}: {error}; name another file with --hgrm"))
        })?;
    }
    Ok(())
}
