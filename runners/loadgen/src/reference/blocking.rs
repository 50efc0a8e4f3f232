//! One connection: sleep until the intended start, write, read, note the time.

use super::{Load, Recorded, feed};
use crate::clock::{monotonic_ns, sleep_until};
use crate::http::Parser;
use std::io::{self, Read, Write};

pub(super) fn run(mut load: Load) -> io::Result<Recorded> {
    let mut recorded = Recorded::new();
    let mut parser = Parser::new(false);
    let mut buffer = vec![0; 64 * 1024];
    for number in 0.. {
        let intended_ns = load.intended_ns(number);
        // Like every generator here, it sends no more once the window is over, however late it is.
        if intended_ns.max(monotonic_ns()) >= load.window.end_ns {
            break;
        }
        sleep_until(intended_ns)?;
        parser.expect_response(false);
        recorded.sending(&load.window, intended_ns);
        let sent_ns = monotonic_ns();
        load.streams[0].write_all(&load.request)?;
        loop {
            let count = load.streams[0].read(&mut buffer)?;
            if feed(&mut parser, &buffer[..count])? {
                break;
            }
        }
        recorded.received(&load.window, intended_ns, sent_ns, monotonic_ns());
    }
    Ok(recorded)
}
