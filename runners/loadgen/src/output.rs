//! Standard output and standard error, for every program of this crate.

use crate::error::{Error, Result};
use std::fmt::Display;
use std::io::{ErrorKind, Write};

/// Writes to standard output. A reader that has gone away (`| head`) has what it wanted; that is no error.
///
/// # Errors
/// [`Error::CouldNotRun`] that names the text (`name`) when it cannot be written, for example to a full disk.
pub fn print(name: &str, text: impl AsRef<[u8]>) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_ref()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Error::CouldNotRun(format!(
            "cannot write {name} to standard output: {error}; free some space or direct it elsewhere"
        ))),
        _ => Ok(()),
    }
}

/// Writes a line to standard error. Where that fails nobody can be informed.
pub fn complain(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
