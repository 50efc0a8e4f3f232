//! Percentile tables for HdrHistogram's plotters, in milliseconds: response times, and service times with them. Where
//! responses came in other status classes than 2xx, each class has a pair of tables of its own, and so has each operation
//! that the script names. A device or a pipe has no files next to it: it gets the table of all response times alone.

use super::Outcome;
use super::spectrum::table;
use crate::error::{Error, Result};
use crate::record::{CLASSES, Distribution};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What follows the name of a table of response times in that of the service times that belong to it.
pub const SERVICE: &str = ".service";

/// Makes sure, before the run, that the files can be written. Tables by class and operation of an earlier run go.
///
/// # Errors
/// [`Error::CouldNotRun`] with the path.
pub fn create(path: &Path) -> Result<()> {
    if !has_siblings(path) {
        return fs::OpenOptions::new().write(true).open(path).map(drop).map_err(|error| refused(path, &error));
    }
    for class in 0..CLASSES {
        for kind in ["", SERVICE] {
            let _ = fs::remove_file(sibling(path, &format!("{kind}.{class}xx")));
        }
    }
    for stale in of_operations(path) {
        let _ = fs::remove_file(stale);
    }
    write_both(path, "", "", "")
}

/// The tables of operations next to a path, of whatever run.
fn of_operations(path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let starts = ["", SERVICE].map(|kind| sibling(path, &format!("{kind}:")));
    let is_one = |file: &PathBuf| {
        let name = file.file_name().map_or(&[][..], OsStr::as_encoded_bytes);
        starts.iter().filter_map(|start| start.file_name()).any(|start| name.starts_with(start.as_encoded_bytes()))
    };
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.map(|file| file.path()).filter(is_one).collect()
}

/// Writes all tables.
///
/// # Errors
/// [`Error::CouldNotRun`] with the path.
pub fn write(path: &Path, outcome: &Outcome, tags: &[String]) -> Result<()> {
    let end = outcome.collected.total.counts.unstamped_sentence();
    let end = end.map_or(String::new(), |sentence| format!("#[{sentence}]\n"));
    let table = |times: &Distribution| table(times) + &end;
    if !has_siblings(path) {
        return write_one(path, &table(&outcome.response));
    }
    write_both(path, "", &table(&outcome.response), &table(&outcome.service))?;
    let classes = outcome.classes().map(|(class, response, service)| (format!(".{class}xx"), response, service));
    let operations = outcome.operations().map(|(tag, response, service)| {
        let name = tags.get(tag - 1).map_or(String::new(), |name| name.replace('/', "%2F"));
        (format!(":{name}"), response, service)
    });
    let mut parts = classes.filter(|_| outcome.has_classes()).chain(operations);
    parts.try_for_each(|(part, response, service)| write_both(path, &part, &table(&response), &table(&service)))
}

/// Whether other tables may lie next to a path: it is a file's, or nothing is there yet.
pub fn has_siblings(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |metadata| metadata.is_file())
}

/// The path with something after its name.
pub fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

fn write_both(path: &Path, part: &str, response: &str, service: &str) -> Result<()> {
    for (kind, text) in [("", response), (SERVICE, service)] {
        write_one(&sibling(path, &format!("{kind}{part}")), text)?;
    }
    Ok(())
}

fn write_one(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| refused(path, &error))
}

fn refused(path: &Path, error: &io::Error) -> Error {
    let name = path.display();
    Error::CouldNotRun(format!(
        "cannot write the percentile table {name}: {error}; free some space or name another file with --hgrm"
    ))
}
