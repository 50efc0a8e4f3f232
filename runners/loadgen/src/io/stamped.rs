//! Reading with the kernel's own word on when the bytes came.
//!
//! A client that is woken by a response and then reads the clock measures its own waking too: tens of microseconds where
//! that takes an interrupt to another virtual processor. Linux stamps each packet as it comes in and hands the stamp of
//! the last byte over with it (`SO_TIMESTAMPNS`, see `Documentation/networking/timestamping.rst` of the kernel). The
//! same is done, for the same reason, by Lancet (Kogias, Mallon, Bugnion, "Lancet: A self-correcting Latency Measuring
//! Tool", USENIX ATC 2019).

use crate::clock::{NS_PER_S, monotonic_ns, wall_clock_ahead_ns};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, OwnedFd};

/// Room for one control message with a time in it.
// SAFETY: CMSG_SPACE only computes.
const CONTROL_BYTES: usize = unsafe { libc::CMSG_SPACE(size_of::<libc::timespec>() as u32) } as usize;

#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

/// Asks for stamps on a socket; `false` when this system has none for it.
pub(super) fn stamp(socket: &OwnedFd) -> bool {
    let on: libc::c_int = 1;
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointer is to an int that outlives the call, and the length is that int's.
    0 == unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            std::ptr::from_ref(&on).cast(),
            length,
        )
    }
}

/// Reads what is there. Returns the number of bytes, and when the last of them came on the wall clock, in nanoseconds,
/// if the kernel said so.
///
/// # Errors
/// Those of `recvmsg`.
#[inline]
pub(super) fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    let mut control = Control([0; CONTROL_BYTES]);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: all zeroes are a valid msghdr: no name, no parts, no control.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL_BYTES as _;
    // SAFETY: the message points to one part, which is the buffer, and to the control space; all outlive the call.
    let count = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    let filled = (message.msg_controllen as usize).min(CONTROL_BYTES);
    Ok((count, stamp_in(&control.0[..filled])))
}

/// The stamp in the control message that came with some bytes, in nanoseconds on the wall clock.
#[inline]
fn stamp_in(control: &[u8]) -> Option<u64> {
    // SAFETY: CMSG_LEN only computes.
    let (head, whole) =
        unsafe { (libc::CMSG_LEN(0) as usize, libc::CMSG_LEN(size_of::<libc::timespec>() as u32) as usize) };
    if control.len() < whole {
        return None;
    }
    // SAFETY: the slice is long enough for a header and, after it, a timespec; both are read unaligned, and any bytes
    // are a valid value of either.
    let (header, at) = unsafe {
        let start = control.as_ptr();
        (start.cast::<libc::cmsghdr>().read_unaligned(), start.add(head).cast::<libc::timespec>().read_unaligned())
    };
    if (header.cmsg_level, header.cmsg_type) != (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
        return None;
    }
    Some(at.tv_sec as u64 * NS_PER_S + at.tv_nsec as u64)
}

/// How often the two clocks are compared. Both are slewed alike, so only a step of the wall clock parts
/// them, and that spoils the stamps of this long at most.
const RENEW_NS: u64 = NS_PER_S / 100;

/// From the wall clock, with which the kernel stamps, to the monotonic one.
#[derive(Debug, Default)]
pub(super) struct WallClock {
    ahead_ns: i64,
    renew_at_ns: u64,
}

impl WallClock {
    /// The moment of the monotonic clock at which the wall clock showed `wall_ns`.
    #[inline]
    pub(super) fn on_monotonic_clock(&mut self, wall_ns: u64) -> Option<u64> {
        let now = monotonic_ns();
        if now >= self.renew_at_ns {
            self.ahead_ns = wall_clock_ahead_ns();
            self.renew_at_ns = now + RENEW_NS;
        }
        wall_ns.checked_add_signed(-self.ahead_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Write};
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    #[test]
    fn a_stamp_is_the_arrival_and_not_the_read() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = listener.accept().unwrap().0;
        let socket = OwnedFd::from(client);
        assert!(stamp(&socket), "Linux stamps TCP since 2.6");
        let mut buffer = [0; 16];
        let mut clock = WallClock::default();
        // The kernel begins to stamp a moment after the first socket asks for it.
        for _ in 0..1000 {
            server.write_all(b"early").unwrap();
            std::thread::sleep(Duration::from_millis(1));
            if receive(&socket, &mut buffer).unwrap().1.is_some() {
                break;
            }
        }
        for _ in 0..3 {
            let before = monotonic_ns();
            server.write_all(b"response").unwrap();
            let sent = monotonic_ns();
            std::thread::sleep(Duration::from_millis(20));
            let (count, arrived) = receive(&socket, &mut buffer).unwrap();
            let arrived = clock.on_monotonic_clock(arrived.expect("a stamp")).expect("after the start of the machine");
            assert_eq!(&buffer[..count], b"response");
            // On a loopback the bytes come within the write.
            assert!(before <= arrived + 50_000 && arrived <= sent + 50_000, "{before} {arrived} {sent}");
        }
        drop(server);
        assert_eq!(receive(&socket, &mut buffer).unwrap(), (0, None), "the end has no stamp");
    }

    #[test]
    fn nothing_to_read_is_an_error_of_its_own() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.set_nonblocking(true).unwrap();
        let error = receive(&OwnedFd::from(client), &mut [0; 16]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }
}
