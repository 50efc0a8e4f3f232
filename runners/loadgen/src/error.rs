//! One error type for the program. Every error is a whole sentence that names the thing, the cause and the remedy.

use std::fmt;

/// Why a run could not be done. Each kind has its own exit code (see [`Error::exit_code`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// A flag, the URL or a number is wrong.
    Usage(String),
    /// The Lua script cannot be loaded or failed while it ran.
    Script(ScriptError),
    /// The run cannot be done: nobody listens, a file cannot be written, the system refuses a resource.
    CouldNotRun(String),
}

/// A Lua error with the place where it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// The script as given on the command line.
    pub script: String,
    /// Line in the script, from 1; `None` when Lua does not say.
    pub line: Option<u32>,
    /// Lua's own message.
    pub message: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "script {}, line {}: {}", self.script, line, self.message),
            None => write!(f, "script {}: {}", self.script, self.message),
        }
    }
}

impl Error {
    /// The process exit code: 1 for wrong usage (scripts too), 2 when the run could not be done.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Usage(_) | Error::Script(_) => 1,
            Error::CouldNotRun(_) => 2,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Usage(text) | Error::CouldNotRun(text) => f.write_str(text),
            Error::Script(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

/// Result with this program's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;
