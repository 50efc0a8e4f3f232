//! Open files: a connection is one.

use crate::error::{Error, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files besides the connections: reports, the pollers of the threads, standard streams, the script's own.
const BESIDES: u64 = 64;
/// More than this a thread needs for itself.
const A_THREAD: u64 = 4;

/// Makes room for so many connections: the soft limit goes up to what is needed, as far as the hard one allows.
///
/// # Errors
/// [`Error::CouldNotRun`] when the hard limit is too low, before anything is opened.
pub fn make_room(connections: usize, threads: usize) -> Result<()> {
    let needed = connections as u64 + threads as u64 * A_THREAD + BESIDES;
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
