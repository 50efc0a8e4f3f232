//! Sockets. One trait in the shape "hand over bytes, get back what happened", so that the engine above knows no
//! system call, and below it a back end may report readiness (epoll, kqueue) or completion (io_uring).

#[cfg(target_os = "linux")]
mod epoll;
mod portable;
#[cfg(target_os = "linux")]
mod provided;
mod readiness;
#[cfg(target_os = "linux")]
mod stamped;
mod tls;
#[cfg(target_os = "linux")]
mod uring;

pub use tls::Tls;

use crate::error::{Error, Result};
use crate::target::Peer;
use std::io;

/// What happened on a connection.
#[derive(Debug)]
pub enum Event<'a> {
    /// The connection is established.
    Connected,
    /// Bytes arrived.
    Data {
        /// All bytes that could be read at once.
        bytes: &'a [u8],
        /// When the last of them arrived.
        arrived: Arrived,
    },
    /// The server closed its side.
    Closed,
    /// The connection could not be made.
    ConnectFailed(io::Error),
    /// Reading failed, for example by a reset.
    ReadFailed(io::Error),
    /// Writing failed after [`Io::send`] had returned.
    WriteFailed(io::Error),
}

/// When bytes arrived.
#[derive(Debug, Clone, Copy, Default)]
pub struct Arrived {
    /// By the kernel's stamp, as a moment of the monotonic clock, if it gave one.
    pub kernel_ns: Option<u64>,
}

/// A set of connections, numbered from 0.
pub trait Io {
    /// Starts to connect; [`Event::Connected`] or [`Event::ConnectFailed`] follows.
    ///
    /// # Errors
    /// When the system has no socket to give, or refuses at once.
    fn connect(&mut self, connection: usize, peer: &Peer) -> io::Result<()>;

    /// Sends all of `bytes`, now or as soon as the peer takes them, after what was sent before.
    ///
    /// # Errors
    /// When the system refuses at once; a later refusal comes as [`Event::WriteFailed`].
    fn send(&mut self, connection: usize, bytes: &[u8]) -> io::Result<()>;

    /// Closes; no event of this connection follows.
    fn close(&mut self, connection: usize);

    /// Waits until something happens or the monotonic clock shows `until_ns`; a moment that is over only looks. Returns
    /// how many events there are.
    ///
    /// # Errors
    /// When the system call fails for a reason other than a signal.
    fn wait(&mut self, until_ns: u64) -> io::Result<usize>;

    /// Event `index` of the last wait; `None` if nothing came of it.
    fn event(&mut self, index: usize) -> Option<(usize, Event<'_>)>;

    /// The name of the system interface, for the report.
    fn name(&self) -> &'static str;

    /// Whose clock says when a response came.
    fn receive_clock(&self) -> ReceiveClock;
}

/// Whose clock says when a response came.
///
/// By either clock, service time begins when the generator reads the clock before the send. On a loopback the kernel
/// stamps a response within the server's own `send()`, so its stamp leaves out the way back to the client and the
/// client's waking; the generator's own reading includes both. The stamp is nearer to what the server does, the reading to
/// what a client sees. Both are recorded for every response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ReceiveClock {
    /// The kernel's stamp on the response as it came in (Linux, not with --io uring); elsewhere as `user`.
    Kernel,
    /// The generator's, once it has read the response: its own waking is measured too, as in wrk and wrk2.
    User,
}

impl ReceiveClock {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ReceiveClock::Kernel => "kernel",
            ReceiveClock::User => "user",
        }
    }

    /// This clock, and the one that it is not.
    pub fn and_other(self) -> (Self, Self) {
        match self {
            ReceiveClock::Kernel => (self, ReceiveClock::User),
            ReceiveClock::User => (self, ReceiveClock::Kernel),
        }
    }
}

/// The interfaces of the system that a run used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interface {
    /// The name of the interface that waited for sockets.
    pub io: &'static str,
    /// Whose clock said when a response came.
    pub receive_clock: ReceiveClock,
    /// How long a request could be held back so that it left with the next, in nanoseconds.
    pub coalesce_ns: u64,
}

/// Which system interface waits for sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Backend {
    /// io_uring in a closed loop where the kernel has it (Linux 6.12), else epoll; elsewhere portable.
    Auto,
    /// Linux io_uring: fewer system calls per request, but the clock of a response is `user`; many containers refuse it.
    Uring,
    /// Linux epoll with nanosecond time-outs.
    Epoll,
    /// The `polling` crate: kqueue on macOS and BSD, epoll with a timer descriptor on Linux.
    Portable,
}

/// Opens a back end for `connections` connections. Where it cannot have the clock asked for, it has [`ReceiveClock::User`].
///
/// `Auto` takes io_uring where that was measured to cost less (runners/docs/0005): in a closed loop, and there only by
/// the user's clock, since it has no stamps.
///
/// # Errors
/// When the one asked for is not there; `Auto` falls back instead.
pub fn open(backend: Backend, closed_loop: bool, clock: ReceiveClock, connections: usize) -> Result<Box<dyn Io>> {
    let refused = |name: &str, error: io::Error| {
        Error::CouldNotRun(format!("this system refuses {name}: {error}; use --io auto to take what it has"))
    };
    match backend {
        Backend::Portable => portable::open(clock, connections).map_err(|error| refused("polling", error)),
        #[cfg(target_os = "linux")]
        Backend::Epoll => epoll::open(clock, connections).map_err(|error| refused("epoll_pwait2", error)),
        #[cfg(target_os = "linux")]
        Backend::Uring => uring::open(connections).map_err(|error| refused("io_uring", error)),
        #[cfg(not(target_os = "linux"))]
        Backend::Epoll | Backend::Uring => Err(Error::Usage("this --io exists on Linux only; leave it out".into())),
        #[cfg(target_os = "linux")]
        Backend::Auto => {
            let order = [Backend::Uring, Backend::Epoll];
            let order = &order[usize::from(!closed_loop || clock == ReceiveClock::Kernel)..];
            let first = order.iter().find_map(|backend| open(*backend, closed_loop, clock, connections).ok());
            first.map_or_else(|| open(Backend::Portable, closed_loop, clock, connections), Ok)
        }
        #[cfg(not(target_os = "linux"))]
        Backend::Auto => open(Backend::Portable, closed_loop, clock, connections),
    }
}
