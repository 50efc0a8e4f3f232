//! The limit on open files, of which every connection is one.

use crate::error::{Error, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files besides connections and threads: reports, standard streams, those of the script.
const OTHER_FILES: u64 = 64;
/// Open files of a worker thread besides its connections: what waits for sockets and timers.
const FILES_PER_THREAD: u64 = 4;

/// Raises the soft limit on open files to what so many connections and threads need.
///
/// # Errors
/// [`Error::CouldNotRun`] when the hard limit is too low, before anything is opened.
pub fn allow_files_for(connections: usize, threads: usize) -> Result<()> {
    let needed = connections as u64 + threads as u64 * FILES_PER_THREAD + OTHER_FILES;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|soft| soft >= needed) {
        return Ok(());
    }
    let refused = |why: String| {
        Err(Error::CouldNotRun(format!(
            "{connections} connections need {needed} open files, and {why}; raise the limit (ulimit -Hn, or nofile in \
             limits.conf), or give fewer with -c"
        )))
    };
    match maximum {
        Some(hard) if hard < needed => refused(format!("the hard limit is {hard}")),
        _ => setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum })
            .or_else(|error| refused(format!("the soft limit cannot be raised: {error}"))),
    }
}
