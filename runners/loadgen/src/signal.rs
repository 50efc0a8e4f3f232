//! SIGINT and SIGTERM end a run early but in order: every report is still written, marked interrupted.

use crate::error::{Error, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set once a signal came.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Catches the signals. A second one ends the process at once.
    ///
    /// # Errors
    /// [`Error::CouldNotRun`] when the system refuses a handler.
    pub fn install() -> Result<Self> {
        let interrupt = Interrupt::default();
        for signal in [SIGINT, SIGTERM] {
            // Order matters: the second signal finds the flag set, the first sets it.
            signal_hook::flag::register_conditional_shutdown(signal, 130, interrupt.0.clone())
                .and_then(|_| signal_hook::flag::register(signal, interrupt.0.clone()))
                .map_err(|error| Error::CouldNotRun(format!("cannot catch signal {signal}: {error}")))?;
        }
        Ok(interrupt)
    }

    /// Whether a signal came.
    pub fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
