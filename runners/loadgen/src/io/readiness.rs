//! The engine's view of sockets on top of a system that tells which sockets are ready.

use super::{Arrived, Event, Io, ReceiveClock};
use crate::target::Peer;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketType, connect, recv, send, socket, sockopt,
};
use std::io;
use std::os::fd::OwnedFd;

/// One read takes at most this much; larger responses take several.
const READ_BUFFER_BYTES: usize = 64 * 1024;

/// Waits for sockets. Level-triggered: a socket that is still ready is reported again.
pub(super) trait Poller {
    /// Starts to watch a socket for readability, or for both.
    fn add(&mut self, socket: &OwnedFd, token: u64, writable_too: bool) -> io::Result<()>;
    /// Changes what is watched.
    fn modify(&mut self, socket: &OwnedFd, token: u64, writable_too: bool) -> io::Result<()>;
    /// Stops to watch.
    fn remove(&mut self, socket: &OwnedFd);
    /// Waits until the monotonic clock shows `until_ns`; returns the number of ready sockets.
    fn wait(&mut self, until_ns: u64) -> io::Result<usize>;
    /// Token, readable, writable of ready socket `index`.
    fn ready(&self, index: usize) -> (u64, bool, bool);
    /// The name of the system interface.
    fn name(&self) -> &'static str;
}

#[derive(Default)]
struct Slot {
    socket: Option<OwnedFd>,
    /// Counts the sockets of this slot, so that an event of a closed one is not taken for its successor's.
    generation: u32,
    connecting: bool,
    /// What the peer did not take at once.
    unsent: Vec<u8>,
}

/// [`Io`] over a [`Poller`].
pub(super) struct Readiness<P> {
    poller: P,
    slots: Vec<Slot>,
    buffer: Vec<u8>,
    clock: ReceiveClock,
    /// The kernel stamps what comes in.
    stamps: bool,
    #[cfg(target_os = "linux")]
    wall: super::stamped::WallClock,
}

impl<P: Poller> Readiness<P> {
    pub(super) fn new(poller: P, clock: ReceiveClock, connections: usize) -> Self {
        let stamps = cfg!(target_os = "linux");
        let clock = if stamps { clock } else { ReceiveClock::User };
        let mut slots = Vec::new();
        slots.resize_with(connections, Slot::default);
        Readiness {
            poller,
            slots,
            buffer: vec![0; READ_BUFFER_BYTES],
            clock,
            stamps,
            #[cfg(target_os = "linux")]
            wall: super::stamped::WallClock::default(),
        }
    }
}

/// Reads what is there, and when it came on the wall clock if the kernel stamped it.
#[cfg(target_os = "linux")]
#[inline]
fn read(fd: &OwnedFd, buffer: &mut [u8], stamps: bool) -> io::Result<(usize, Option<u64>)> {
    if stamps { super::stamped::receive(fd, buffer) } else { Ok((recv(fd, buffer, RecvFlags::empty())?.0, None)) }
}

#[cfg(not(target_os = "linux"))]
#[inline]
fn read(fd: &OwnedFd, buffer: &mut [u8], _: bool) -> io::Result<(usize, Option<u64>)> {
    Ok((recv(fd, buffer, RecvFlags::empty())?.0, None))
}

fn token_of(connection: usize, generation: u32) -> u64 {
    u64::from(generation) << 32 | connection as u64
}

/// Opens a socket that never blocks and never waits to fill a packet.
pub(super) fn open_socket(peer: &Peer) -> io::Result<OwnedFd> {
    let family = match peer {
        Peer::Inet(address) if address.is_ipv6() => AddressFamily::INET6,
        Peer::Inet(_) => AddressFamily::INET,
        Peer::Unix(_) => AddressFamily::UNIX,
    };
    let fd = socket(family, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&fd, true)?;
    if family != AddressFamily::UNIX {
        sockopt::set_tcp_nodelay(&fd, true)?;
    }
    Ok(fd)
}

/// Starts to connect a socket; it is writable when that has ended.
pub(super) fn begin_connect(fd: &OwnedFd, peer: &Peer) -> io::Result<()> {
    let begun = match peer {
        Peer::Inet(address) => connect(fd, address),
        Peer::Unix(path) => connect(fd, &SocketAddrUnix::new(path.as_path())?),
    };
    match begun {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(any(target_os = "linux", target_os = "freebsd"))]
const NO_SIGPIPE: SendFlags = SendFlags::NOSIGNAL;
/// Rust's runtime ignores SIGPIPE, so the flag is only a second fence.
#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
const NO_SIGPIPE: SendFlags = SendFlags::empty();

impl<P: Poller> Io for Readiness<P> {
    fn connect(&mut self, connection: usize, peer: &Peer) -> io::Result<()> {
        self.close(connection);
        let fd = open_socket(peer)?;
        // the kernel stamps packets, and there are none on a Unix socket
        #[cfg(target_os = "linux")]
        if self.stamps && (matches!(peer, Peer::Unix(_)) || !super::stamped::stamp(&fd)) {
            (self.stamps, self.clock) = (false, ReceiveClock::User);
        }
        begin_connect(&fd, peer)?;
        let slot = &mut self.slots[connection];
        slot.generation = slot.generation.wrapping_add(1);
        slot.connecting = true;
        self.poller.add(&fd, token_of(connection, slot.generation), true)?;
        slot.socket = Some(fd);
        Ok(())
    }

    #[inline]
    fn send(&mut self, connection: usize, bytes: &[u8]) -> io::Result<()> {
        let slot = &mut self.slots[connection];
        let Some(fd) = &slot.socket else { return Err(io::ErrorKind::NotConnected.into()) };
        if !slot.unsent.is_empty() {
            slot.unsent.extend_from_slice(bytes);
            return Ok(());
        }
        let written = match send(fd, bytes, NO_SIGPIPE) {
            Ok(written) => written,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(error) => return Err(error.into()),
        };
        if written < bytes.len() {
            slot.unsent.extend_from_slice(&bytes[written..]);
            self.poller.modify(fd, token_of(connection, slot.generation), true)?;
        }
        Ok(())
    }

    fn close(&mut self, connection: usize) {
        let slot = &mut self.slots[connection];
        if let Some(fd) = slot.socket.take() {
            self.poller.remove(&fd);
        }
        slot.unsent.clear();
        slot.connecting = false;
    }

    fn wait(&mut self, until_ns: u64) -> io::Result<usize> {
        self.poller.wait(until_ns)
    }

    #[inline]
    fn event(&mut self, index: usize) -> Option<(usize, Event<'_>)> {
        let (token, readable, writable) = self.poller.ready(index);
        let connection = (token & 0xFFFF_FFFF) as usize;
        let slot = self.slots.get_mut(connection)?;
        let fd = slot.socket.as_ref().filter(|_| token >> 32 == u64::from(slot.generation))?;
        if slot.connecting {
            let outcome =
                sockopt::socket_error(fd).map_err(io::Error::from).and_then(|state| state.map_err(io::Error::from));
            let outcome = outcome.and_then(|()| self.poller.modify(fd, token, false));
            slot.connecting = false;
            return Some((connection, outcome.map_or_else(Event::ConnectFailed, |()| Event::Connected)));
        }
        if writable && !slot.unsent.is_empty() {
            match send(fd, &slot.unsent, NO_SIGPIPE) {
                Ok(written) => drop(slot.unsent.drain(..written)),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Some((connection, Event::WriteFailed(error.into()))),
            }
            if slot.unsent.is_empty()
                && let Err(error) = self.poller.modify(fd, token, false)
            {
                return Some((connection, Event::WriteFailed(error)));
            }
        }
        if !readable {
            return None;
        }
        match read(fd, &mut self.buffer, self.stamps) {
            Ok((0, _)) => Some((connection, Event::Closed)),
            Ok((count, stamp)) => {
                #[cfg(target_os = "linux")]
                let kernel_ns = stamp.and_then(|wall_ns| self.wall.on_monotonic_clock(wall_ns));
                #[cfg(not(target_os = "linux"))]
                let kernel_ns = stamp;
                Some((connection, Event::Data { bytes: &self.buffer[..count], arrived: Arrived { kernel_ns } }))
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => None,
            Err(error) => Some((connection, Event::ReadFailed(error))),
        }
    }

    fn name(&self) -> &'static str {
        self.poller.name()
    }

    fn receive_clock(&self) -> ReceiveClock {
        self.clock
    }
}
