//! Percentile tables for HdrHistogram's plotters, in milliseconds: response times, and service times beside them. Where
//! answers came in other status classes than 2xx, each class has a pair of tables of its own.

use super::Outcome;
use super::spectrum::table;
use crate::error::{Error, Result};
use crate::record::CLASSES;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Makes sure, before the run, that the files can be written. Tables by class of an earlier run go.
///
/// # Errors
/// [`Error::CouldNotRun`] with the path.
pub fn create(path: &Path) -> Result<()> {
    for class in 0..CLASSES {
        for kind in ["", ".service"] {
            let _ = std::fs::remove_file(beside(path, &format!("{kind}.{class}xx")));
        }
    }
    write_both(path, "", "", "")
}

/// Writes all tables.
///
/// # Errors
/// [`Error::CouldNotRun`] with the path.
pub fn write(path: &Path, outcome: &Outcome) -> Result<()> {
    write_both(path, "", &table(&outcome.response), &table(&outcome.service))?;
    if !outcome.has_classes() {
        return Ok(());
    }
    let mut classes = outcome.classes();
    classes.try_for_each(|(class, response, service)| {
        write_both(path, &format!(".{class}xx"), &table(&response), &table(&service))
    })
}

/// The path with something after its name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

fn write_both(path: &Path, class: &str, response: &str, service: &str) -> Result<()> {
    for (kind, text) in [("", response), (".service", service)] {
        let path = beside(path, &format!("{kind}{class}"));
        std::fs::write(&path, text).map_err(|error| {
            let name = path.display();
            Error::CouldNotRun(format!("cannot write {name}: {error}; name another file with --hgrm"))
        })?;
    }
    Ok(())
}
