//! The files that a run writes. All are opened before anything else, so that none is left of an earlier run, and a path
//! that can't be written is named before the load and not after it. Those that are still empty when the process ends
//! without reports are removed, whoever ends it (a script may call `os.exit`).

use super::hlog::HlogWriter;
use super::requests_log::RequestsLog;
use super::{Run, hgrm, json};
use crate::cli::Config;
use crate::error::{Error, Result};
use crate::output;
use crate::record::Logs;
use crate::schedule::Sequence;
use crate::tags::Tags;
use std::fs::{self, File};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Files of a run that has no reports yet.
static UNREPORTED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// What is written when the run is over.
pub struct Files {
    json: Option<(PathBuf, File)>,
}

impl Files {
    /// Opens all files. Those that are written during the run are returned aside.
    ///
    /// # Errors
    /// [`Error::CouldNotRun`] with the path.
    pub fn create(config: &Config, sequence: Option<Arc<Sequence>>, tags: &Tags) -> Result<(Self, Logs)> {
        remove_at_exit(all(config));
        let open = |path: &PathBuf| Ok((path.clone(), json::create(path)?));
        let json = config.json.as_ref().map(open).transpose()?;
        tables(config).iter().try_for_each(|path| hgrm::create(path))?;
        let names: Vec<String> = config.targets.iter().map(|target| target.name.clone()).collect();
        let hlog = config.hlog.as_deref().map(|path| HlogWriter::create(path, &names, tags.clone()));
        let requests =
            config.requests_log.as_deref().map(|path| RequestsLog::create(path, &names, sequence, tags.clone()));
        let logs = Logs { hlog: hlog.transpose().map_err(Error::CouldNotRun)?, requests: requests.transpose()? };
        Ok((Files { json }, logs))
    }

    /// Writes the reports. One that can't be written keeps none of the others from it; the JSON report then goes to
    /// standard output.
    pub fn write(self, config: &Config, run: &Run) -> Vec<Error> {
        let mut errors = Vec::new();
        if let Some((path, file)) = self.json {
            let text = json::text(config, run);
            if let Err(error) = json::write(file, &text) {
                let printed = output::print("the JSON report", text);
                errors.push(refused_json(&path, &error, printed.is_ok()));
                errors.extend(printed.err());
            }
        }
        let outcomes = std::iter::once(&run.whole).chain(&run.targets);
        for (path, outcome) in tables(config).iter().zip(outcomes) {
            errors.extend(hgrm::write(path, outcome, &run.tags).err());
        }
        errors.extend(run.log_errors.iter().cloned().map(Error::CouldNotRun));
        take_unreported();
        errors
    }
}

fn refused_json(path: &Path, error: &std::io::Error, is_printed: bool) -> Error {
    let place = if is_printed { "it is on standard output; " } else { "" };
    Error::CouldNotRun(format!(
        "cannot write the JSON report {}: {error}; {place}free some space or name another file with --json",
        path.display()
    ))
}

/// Starts the logs. `start_unix_us` is the start of the recorded window.
///
/// # Errors
/// [`Error::CouldNotRun`] with the path.
pub fn begin(logs: &mut Logs, config: &Config, start_unix_us: u64) -> Result<()> {
    if let Some(log) = &mut logs.hlog {
        log.begin(start_unix_us).map_err(Error::CouldNotRun)?;
    }
    match &mut logs.requests {
        Some(log) => log.begin(start_unix_us, config.receive_clock.name()).map_err(Error::CouldNotRun),
        None => Ok(()),
    }
}

/// Removes the empty files of a run that has no reports.
pub fn remove_empty() {
    for path in take_unreported() {
        if fs::symlink_metadata(&path).is_ok_and(|file| file.is_file() && file.len() == 0) {
            let _ = fs::remove_file(path);
        }
    }
}

/// From now on the end of the process removes those of the files that are empty.
fn remove_at_exit(files: Vec<PathBuf>) {
    extern "C" fn at_exit() {
        remove_empty();
    }
    *UNREPORTED.lock().unwrap_or_else(PoisonError::into_inner) = files;
    // SAFETY: the function takes nothing, and is there as long as the process. A refusal leaves empty files.
    unsafe { libc::atexit(at_exit) };
}

fn take_unreported() -> Vec<PathBuf> {
    mem::take(&mut *UNREPORTED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Every file that a run makes before its load.
fn all(config: &Config) -> Vec<PathBuf> {
    let single = [&config.json, &config.hlog, &config.requests_log].into_iter().flatten().cloned();
    let pairs = tables(config).into_iter().flat_map(|path| [hgrm::sibling(&path, hgrm::SERVICE), path]);
    single.chain(pairs).collect()
}

/// The percentile tables: of all together, then of each target where there are several and the path is a file's.
fn tables(config: &Config) -> Vec<PathBuf> {
    let Some(path) = &config.hgrm else { return Vec::new() };
    let several = config.has_several() && hgrm::has_siblings(path);
    let targets =
        config.targets.iter().filter(|_| several).map(|target| hgrm::sibling(path, &format!(".{}", target.name)));
    std::iter::once(path.clone()).chain(targets).collect()
}
