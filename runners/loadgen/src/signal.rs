//! SIGINT, SIGTERM and SIGHUP end a run early but in order: every report is still written, marked interrupted.
//!
//! The first signal asks the workers to end; one whose script does not return is left behind after a while. The second
//! leaves it behind at once. The third ends the process without reports. Before the load, and once the reports are
//! written, the first does.

use crate::error::{Error, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Exit code of a run that was ended by a signal.
pub const EXIT_INTERRUPTED: u8 = 130;
/// The signal that ends the process, counted from the first.
const LAST_SIGNAL: u32 = 3;

/// How many signals there were.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    count: Arc<AtomicU32>,
    /// There is a load to report.
    has_load: Arc<AtomicBool>,
}

impl Interrupt {
    /// Catches the signals in a thread of its own, and calls `on_signal` after each, or `at_end` after the one that
    /// ends the process. A SIGHUP that whoever started the process ignores (`nohup`) stays ignored.
    ///
    /// # Errors
    /// [`Error::CouldNotRun`] when the system refuses a handler or the thread.
    pub fn install(on_signal: impl Fn() + Send + 'static, at_end: fn()) -> Result<Self> {
        let refused = |error| Error::CouldNotRun(format!("cannot catch signals: {error}"));
        let caught = [SIGINT, SIGTERM].into_iter().chain((!is_ignored(SIGHUP)).then_some(SIGHUP));
        let mut signals = Signals::new(caught).map_err(refused)?;
        let interrupt = Interrupt::default();
        let own = interrupt.clone();
        let catching = move || {
            for _ in signals.forever() {
                let count = own.count.fetch_add(1, Ordering::Relaxed) + 1;
                if count >= LAST_SIGNAL || !own.has_load.load(Ordering::Relaxed) {
                    at_end();
                    // At once: a script that does not return may hold what an orderly exit would wait for.
                    signal_hook::low_level::exit(i32::from(EXIT_INTERRUPTED));
                }
                on_signal();
            }
        };
        std::thread::Builder::new().name("signals".into()).spawn(catching).map_err(refused)?;
        Ok(interrupt)
    }

    /// Whether there was a signal.
    pub fn is_set(&self) -> bool {
        self.count() > 0
    }

    /// How many signals there were.
    pub fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    /// Until here a signal ends the process: a script that does not return from its body or init() has measured
    /// nothing.
    pub fn load_begins(&self) {
        self.has_load.store(true, Ordering::Relaxed);
    }

    /// Every report is written: the next signal ends the process.
    pub fn reports_are_written(&self) {
        self.has_load.store(false, Ordering::Relaxed);
    }
}

fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: asks for the action without setting one; the pointer is to a sigaction that outlives the call, and all
    // zeroes are a valid one.
    let action = unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}
