//! A server that does nothing, or nothing for a while: one plain loop over all connections, which responds to each request
//! with the same two bytes after so much work. What a difference of a few microseconds looks like can be planted with it.

use crate::clock::monotonic_ns;
use crate::target::Target;
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const END_OF_HEAD: &[u8] = b"\r\n\r\n";
/// The listening socket's number among the events.
const LISTENER: u64 = u64::MAX;

/// Serves at the URL's host and port (without a port at a free one) until the process is ended; prints the address first. Requests
/// have no bodies.
pub(super) fn run(target: &Target, work_ns: u64) -> io::Result<()> {
    let listener = TcpListener::bind((target.host.as_str(), target.port.unwrap_or(0)))?;
    let mut stdout = io::stdout();
    writeln!(stdout, "http://{}/", listener.local_addr()?).and_then(|()| stdout.flush())?;
    listener.set_nonblocking(true)?;
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&poll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
    let mut connections: BTreeMap<u64, (TcpStream, Vec<u8>)> = BTreeMap::new();
    let (mut next, mut events, mut buffer) = (0, Vec::with_capacity(256), vec![0; 16 * 1024]);
    loop {
        events.clear();
        match epoll::wait(&poll, spare_capacity(&mut events), None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            let data = event.data;
            let number = data.u64();
            if number == LISTENER {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    epoll::add(&poll, &stream, epoll::EventData::new_u64(next), epoll::EventFlags::IN)?;
                    connections.insert(next, (stream, Vec::new()));
                    next += 1;
                }
            } else if let Some((stream, text)) = connections.get_mut(&number)
                && !serve(stream, text, &mut buffer, work_ns)
            {
                connections.remove(&number);
            }
        }
    }
}

/// Responds to the requests received. False: the connection is over.
fn serve(stream: &mut TcpStream, text: &mut Vec<u8>, buffer: &mut [u8], work_ns: u64) -> bool {
    let count = match stream.read(buffer) {
        Ok(0) => return false,
        Ok(count) => count,
        Err(error) => return matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
    };
    text.extend_from_slice(&buffer[..count]);
    while let Some(end) = memchr::memmem::find(text, END_OF_HEAD) {
        text.drain(..end + END_OF_HEAD.len());
        let until_ns = monotonic_ns() + work_ns;
        while work_ns > 0 && monotonic_ns() < until_ns {
            std::hint::spin_loop();
        }
        if stream.write_all(RESPONSE).is_err() {
            return false;
        }
    }
    true
}
