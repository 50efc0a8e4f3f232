//! Linux: `epoll_pwait2`, whose time-outs are nanoseconds (Linux 5.11 and later).

use super::readiness::{Poller, Readiness};
use super::{Io, ReceiveClock};
use crate::clock::{NS_PER_S, monotonic_ns};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::Timespec;
use std::io;
use std::os::fd::OwnedFd;

/// Most events that one wait hands over; the rest comes with the next.
const EVENTS_PER_WAIT: usize = 256;

struct Epoll {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

/// # Errors
/// When the kernel has no `epoll_pwait2` or no descriptors are left.
pub(super) fn open(clock: ReceiveClock, connections: usize) -> io::Result<Box<dyn Io>> {
    let mut poller =
        Epoll { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?, events: Vec::with_capacity(EVENTS_PER_WAIT) };
    // An old kernel says ENOSYS here and not in the middle of a run.
    poller.wait(0)?;
    Ok(Box::new(Readiness::new(poller, clock, connections)))
}

fn flags(writable_too: bool) -> epoll::EventFlags {
    if writable_too { epoll::EventFlags::IN | epoll::EventFlags::OUT } else { epoll::EventFlags::IN }
}

impl Poller for Epoll {
    fn add(&mut self, socket: &OwnedFd, token: u64, writable_too: bool) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, epoll::EventData::new_u64(token), flags(writable_too))?)
    }

    fn modify(&mut self, socket: &OwnedFd, token: u64, writable_too: bool) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, socket, epoll::EventData::new_u64(token), flags(writable_too))?)
    }

    fn remove(&mut self, _: &OwnedFd) {
        // Closing the descriptor, which follows, removes it: it is never duplicated.
    }

    #[inline]
    fn wait(&mut self, until_ns: u64) -> io::Result<usize> {
        let left_ns = until_ns.saturating_sub(monotonic_ns());
        let timeout = Timespec { tv_sec: (left_ns / NS_PER_S) as i64, tv_nsec: (left_ns % NS_PER_S) as _ };
        self.events.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&timeout)) {
            Ok(_) => Ok(self.events.len()),
            Err(Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    #[inline]
    fn ready(&self, index: usize) -> (u64, bool, bool) {
        let event = &self.events[index];
        let flags = event.flags;
        let broken = flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP);
        let data = event.data;
        (data.u64(), broken || flags.contains(epoll::EventFlags::IN), broken || flags.contains(epoll::EventFlags::OUT))
    }

    fn name(&self) -> &'static str {
        "epoll"
    }
}
