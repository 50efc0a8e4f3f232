//! Linux io_uring: what is due is sent, and what is next is waited for, in one system call; responses arrive in buffers
//! without a read each (Linux 6.12 and later, where a wait can end at a moment of the clock).

use super::provided::ProvidedBuffers;
use super::readiness::{begin_connect, open_socket};
use super::{Arrived, Event, Io, ReceiveClock};
use crate::clock::{NS_PER_S, monotonic_ns};
use crate::target::Peer;
use io_uring::types::{Fd, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use rustix::net::{Shutdown, shutdown, sockopt};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

const ENTRIES: u32 = 256;
/// Completions of several waits: many connections can respond at once.
const COMPLETIONS: u32 = 4096;
/// Sends up to this size are expected to be taken by the socket at once.
const SMALL_SEND_BYTES: usize = 16 * 1024;

// Of the kernel's io_uring.h; the crate has the first two for itself only and does not know the third.
const ENTER_GETEVENTS: u32 = 1 << 0;
const ENTER_EXT_ARG: u32 = 1 << 3;
const ENTER_ABS_TIMER: u32 = 1 << 5;

/// `struct io_uring_getevents_arg`: how long a wait may last.
#[repr(C)]
struct WaitArg {
    signal_mask: u64,
    signal_mask_bytes: u32,
    least_wait_us: u32,
    timespec: u64,
}

/// What a completion belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Connect = 0,
    Receive = 1,
    Send = 2,
}

#[derive(Default)]
struct Slot {
    socket: Option<OwnedFd>,
    /// Counts the sockets of this slot, so that a completion of a closed one is not taken for its successor's.
    generation: u32,
    /// The bytes under way; they must stay where they are until the send is complete.
    sending: Option<Vec<u8>>,
    /// What goes next.
    queued: Vec<u8>,
    /// An empty buffer, used again.
    spare: Vec<u8>,
}

struct Uring {
    ring: IoUring,
    buffers: ProvidedBuffers,
    slots: Vec<Slot>,
    completions: Vec<(u64, i32, u32)>,
    /// The buffer that the last event showed.
    shown: Option<u16>,
    /// Sends of closed connections, whose bytes the kernel may still read.
    orphans: HashMap<u64, Vec<u8>>,
    /// Sockets of closed connections that entries may name which the kernel has not got yet. They name it by its number:
    /// the next socket must not get that, or it would be sent, or lose, what belongs to this one.
    retired: Vec<OwnedFd>,
    /// Sends handed over since the last wait: each completes within the call, and is no reason to wake.
    fresh_sends: u32,
}

/// # Errors
/// When the kernel has no io_uring, is too old, or forbids it.
pub(super) fn open(connections: usize) -> io::Result<Box<dyn Io>> {
    let ring =
        IoUring::builder().setup_cqsize(COMPLETIONS).setup_single_issuer().setup_defer_taskrun().build(ENTRIES)?;
    let buffers = ProvidedBuffers::register(&ring)?;
    let mut slots = Vec::new();
    slots.resize_with(connections, Slot::default);
    let mut uring = Uring {
        ring,
        buffers,
        slots,
        completions: Vec::new(),
        shown: None,
        orphans: HashMap::new(),
        retired: Vec::new(),
        fresh_sends: 0,
    };
    // An old kernel refuses a moment as time-out here and not in the middle of a run.
    uring.enter(0, 0)?;
    Ok(Box::new(uring))
}

/// Connection in the low half, then 28 bits of generation, then the operation.
fn token_of(connection: usize, generation: u32, operation: Operation) -> u64 {
    (operation as u64) << 60 | u64::from(generation & 0x0FFF_FFFF) << 32 | connection as u64
}

impl Uring {
    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        loop {
            // SAFETY: whatever an entry points to lives until its completion: receives use the ring's own buffers, sends
            // a slot's `sending` or an orphan, and polls point to nothing. Descriptors are the slots' own or
            // those of retired sockets.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            self.ring.submit()?;
        }
    }

    fn receive(&mut self, connection: usize) -> io::Result<()> {
        let slot = &self.slots[connection];
        let Some(socket) = &slot.socket else { return Ok(()) };
        let token = token_of(connection, slot.generation, Operation::Receive);
        let entry = opcode::RecvMulti::new(Fd(socket.as_raw_fd()), ProvidedBuffers::GROUP).build().user_data(token);
        self.push(&entry)
    }

    /// Hands what is queued to the kernel; the connection sends nothing else meanwhile.
    fn send_queued(&mut self, connection: usize) -> io::Result<()> {
        let slot = &mut self.slots[connection];
        let Some(socket) = &slot.socket else { return Ok(()) };
        let text = std::mem::replace(&mut slot.queued, std::mem::take(&mut slot.spare));
        slot.queued.clear();
        let token = token_of(connection, slot.generation, Operation::Send);
        let entry = opcode::Send::new(Fd(socket.as_raw_fd()), text.as_ptr(), text.len() as u32)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build()
            .user_data(token);
        self.fresh_sends += u32::from(text.len() <= SMALL_SEND_BYTES);
        slot.sending = Some(text);
        self.push(&entry)
    }

    /// Submits, and waits for `want` completions until the monotonic clock shows `until_ns`. The time-out is a moment,
    /// not a length: a length would count from the end of the submission, which takes as long as the sends in it.
    fn enter(&mut self, want: u32, until_ns: u64) -> io::Result<()> {
        let until = Timespec::new().sec(until_ns / NS_PER_S).nsec((until_ns % NS_PER_S) as u32);
        let arg = WaitArg {
            signal_mask: 0,
            signal_mask_bytes: size_of::<libc::sigset_t>() as u32,
            least_wait_us: 0,
            timespec: &raw const until as u64,
        };
        let submit = self.ring.submission().len() as u32;
        let flags = ENTER_GETEVENTS | ENTER_EXT_ARG | ENTER_ABS_TIMER;
        // SAFETY: the argument has the kernel's layout and lives, with what it points to, until the call returns; for
        // what the entries point to see `push`.
        match unsafe { self.ring.submitter().enter(submit, want, flags, Some(&arg)) } {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                Some(libc::ETIME | libc::EINTR | libc::EBUSY) => Ok(()),
                _ => Err(error),
            },
        }
    }

    fn give_back_shown(&mut self) {
        if let Some(buffer) = self.shown.take() {
            self.buffers.give_back(buffer);
        }
    }
}

impl Io for Uring {
    fn connect(&mut self, connection: usize, peer: &Peer) -> io::Result<()> {
        self.close(connection);
        let socket = open_socket(peer)?;
        begin_connect(&socket, peer)?;
        let slot = &mut self.slots[connection];
        slot.generation = slot.generation.wrapping_add(1);
        let token = token_of(connection, slot.generation, Operation::Connect);
        let entry = opcode::PollAdd::new(Fd(socket.as_raw_fd()), libc::POLLOUT as u32).build().user_data(token);
        slot.socket = Some(socket);
        self.push(&entry)
    }

    fn send(&mut self, connection: usize, bytes: &[u8]) -> io::Result<()> {
        let slot = &mut self.slots[connection];
        if slot.socket.is_none() {
            return Err(io::ErrorKind::NotConnected.into());
        }
        slot.queued.extend_from_slice(bytes);
        if slot.sending.is_some() { Ok(()) } else { self.send_queued(connection) }
    }

    fn close(&mut self, connection: usize) {
        let slot = &mut self.slots[connection];
        let Some(socket) = slot.socket.take() else { return };
        if let Some(text) = slot.sending.take() {
            self.orphans.insert(token_of(connection, slot.generation, Operation::Send), text);
        }
        slot.queued.clear();
        // The ring holds the socket as long as an operation does; this ends them all. It fails for a socket that the
        // peer has closed, where nothing is left to end.
        let _ = shutdown(&socket, Shutdown::Both);
        if !self.ring.submission().is_empty() {
            self.retired.push(socket);
        }
    }

    fn wait(&mut self, until_ns: u64) -> io::Result<usize> {
        self.give_back_shown();
        self.completions.clear();
        let fresh = std::mem::take(&mut self.fresh_sends);
        if until_ns <= monotonic_ns() {
            self.enter(0, 0)?;
        } else {
            self.enter(fresh + 1, until_ns)?;
        }
        if self.ring.submission().is_empty() {
            self.retired.clear();
        }
        let taken = self.ring.completion().map(|entry| (entry.user_data(), entry.result(), entry.flags()));
        self.completions.extend(taken);
        Ok(self.completions.len())
    }

    fn event(&mut self, index: usize) -> Option<(usize, Event<'_>)> {
        self.give_back_shown();
        let (token, result, flags) = self.completions[index];
        let connection = (token & 0xFFFF_FFFF) as usize;
        let buffer = cqueue::buffer_select(flags);
        let slot = self.slots.get_mut(connection)?;
        let current = slot.socket.is_some() && (token >> 32 & 0x0FFF_FFFF) as u32 == slot.generation & 0x0FFF_FFFF;
        let failure = (result < 0).then(|| io::Error::from_raw_os_error(-result));
        match token >> 60 {
            operation if operation == Operation::Send as u64 => {
                let text = if current { slot.sending.take() } else { self.orphans.remove(&token) };
                slot.spare = text.unwrap_or_default();
                if !current {
                    return None;
                }
                let more = !slot.queued.is_empty();
                let outcome = failure.map_or(Ok(()), Err);
                let outcome = outcome.and_then(|()| if more { self.send_queued(connection) } else { Ok(()) });
                outcome.err().map(|error| (connection, Event::WriteFailed(error)))
            }
            operation if operation == Operation::Connect as u64 => {
                let socket = slot.socket.as_ref().filter(|_| current)?;
                let state = sockopt::socket_error(socket).map_err(io::Error::from);
                let outcome = state.and_then(|state| state.map_err(io::Error::from));
                let outcome = outcome.and_then(|()| self.receive(connection));
                Some((connection, outcome.map_or_else(Event::ConnectFailed, |()| Event::Connected)))
            }
            _ => {
                self.shown = buffer;
                if !current {
                    return None;
                }
                if let Some(error) = failure {
                    // No buffer was free for a moment; all others are errors of the connection.
                    if error.raw_os_error() != Some(libc::ENOBUFS) {
                        return Some((connection, Event::ReadFailed(error)));
                    }
                    let again = self.receive(connection);
                    return again.err().map(|error| (connection, Event::ReadFailed(error)));
                }
                if result == 0 {
                    return Some((connection, Event::Closed));
                }
                if !cqueue::more(flags)
                    && let Err(error) = self.receive(connection)
                {
                    return Some((connection, Event::ReadFailed(error)));
                }
                Some((
                    connection,
                    Event::Data { bytes: self.buffers.filled(buffer?, result as usize), arrived: Arrived::default() },
                ))
            }
        }
    }

    fn name(&self) -> &'static str {
        "io_uring"
    }

    fn receive_clock(&self) -> ReceiveClock {
        ReceiveClock::User
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        for connection in 0..self.slots.len() {
            self.close(connection);
        }
        // The kernel may read what is under way until the ring is gone, which happens after this; better to lose a few
        // kilobytes at the end of a process.
        std::mem::forget(std::mem::take(&mut self.orphans));
    }
}
