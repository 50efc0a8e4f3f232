//! Every Unix that the `polling` crate knows: kqueue on macOS and BSD, epoll with a timer descriptor on old Linux.

use super::readiness::{Poller, Readiness};
use super::{Io, ReceiveClock};
use crate::clock::monotonic_ns;
use polling::{Event, Events, PollMode};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

struct Portable {
    poller: polling::Poller,
    events: Events,
    ready: Vec<Event>,
}

/// # Errors
/// When the system gives no poller or knows no level-triggered mode.
pub(super) fn open(clock: ReceiveClock, connections: usize) -> io::Result<Box<dyn Io>> {
    let poller = polling::Poller::new()?;
    if !poller.supports_level() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let portable = Portable { poller, events: Events::new(), ready: Vec::new() };
    Ok(Box::new(Readiness::new(portable, clock, connections)))
}

fn interest(token: u64, writable_too: bool) -> Event {
    Event::new(token as usize, true, writable_too)
}

impl Poller for Portable {
    fn add(&mut self, socket: &OwnedFd, token: u64, writable_too: bool) -> io::Result<()> {
        // SAFETY: the socket is removed from the poller before it is closed: `Readiness::close` is the only place that
        // drops one, except the drop of the whole, where the poller (declared first) goes first.
        unsafe { self.poller.add_with_mode(socket.as_raw_fd(), interest(token, writable_too), PollMode::Level) }
    }

    fn modify(&mut self, socket: &OwnedFd, token: u64, writable_too: bool) -> io::Result<()> {
        self.poller.modify_with_mode(socket.as_fd(), interest(token, writable_too), PollMode::Level)
    }

    fn remove(&mut self, socket: &OwnedFd) {
        // It fails only for a socket that is not watched, which is what is wanted.
        let _ = self.poller.delete(socket.as_fd());
    }

    fn wait(&mut self, until_ns: u64) -> io::Result<usize> {
        let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
        self.events.clear();
        self.ready.clear();
        match self.poller.wait(&mut self.events, Some(left)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        self.ready.extend(self.events.iter());
        Ok(self.ready.len())
    }

    fn ready(&self, index: usize) -> (u64, bool, bool) {
        let event = &self.ready[index];
        let broken = event.is_err().unwrap_or(false) || event.is_interrupt();
        (event.key as u64, event.readable || broken, event.writable || broken)
    }

    fn name(&self) -> &'static str {
        "polling"
    }
}
