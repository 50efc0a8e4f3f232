//! All connections in one plain loop: wait, read what is ready, send what is due.

use super::DRAIN_NS;
use super::{Load, Recorded, feed};
use crate::clock::{NS_PER_S, monotonic_ns};
use crate::http::Parser;
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::time::Timespec;
use std::collections::VecDeque;
use std::io::{self, Read, Write};

/// A connection's request under way, and those that wait for it.
struct Slot {
    parser: Parser,
    /// Intended and actual start.
    under_way: Option<(u64, u64)>,
    waiting: VecDeque<u64>,
}

pub(super) fn run(mut load: Load) -> io::Result<Recorded> {
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (index, stream) in load.streams.iter().enumerate() {
        stream.set_nonblocking(true)?;
        epoll::add(&poll, stream, epoll::EventData::new_u64(index as u64), epoll::EventFlags::IN)?;
    }
    let mut slots: Vec<Slot> = load
        .streams
        .iter()
        .map(|_| Slot { parser: Parser::new(false), under_way: None, waiting: VecDeque::new() })
        .collect();
    let mut recorded = Recorded::new();
    let mut events: Vec<epoll::Event> = Vec::with_capacity(slots.len().clamp(1, 256));
    let mut buffer = vec![0; 64 * 1024];
    let mut number = 0;
    loop {
        let now = monotonic_ns();
        while load.intended_ns(number) <= now && now < load.window.end_ns {
            let index = (number % slots.len() as u64) as usize;
            slots[index].waiting.push_back(load.intended_ns(number));
            number += 1;
            send_next(&mut load, &mut slots, index, &mut recorded)?;
        }
        let until = if now < load.window.end_ns {
            load.intended_ns(number).min(load.window.end_ns)
        } else {
            load.window.end_ns + DRAIN_NS
        };
        if now >= load.window.end_ns + DRAIN_NS
            || (now >= load.window.end_ns && slots.iter().all(|slot| slot.under_way.is_none()))
        {
            return Ok(recorded);
        }
        let left = until.saturating_sub(monotonic_ns());
        let timeout = Timespec { tv_sec: (left / NS_PER_S) as i64, tv_nsec: (left % NS_PER_S) as _ };
        events.clear();
        match epoll::wait(&poll, spare_capacity(&mut events), Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            let data = event.data;
            let index = data.u64() as usize;
            let count = load.streams[index].read(&mut buffer)?;
            let slot = &mut slots[index];
            if feed(&mut slot.parser, &buffer[..count])? {
                if let Some((intended_ns, sent_ns)) = slot.under_way.take() {
                    recorded.received(&load.window, intended_ns, sent_ns, monotonic_ns());
                }
                send_next(&mut load, &mut slots, index, &mut recorded)?;
            }
        }
    }
}

fn send_next(load: &mut Load, slots: &mut [Slot], index: usize, recorded: &mut Recorded) -> io::Result<()> {
    let slot = &mut slots[index];
    if slot.under_way.is_some() || monotonic_ns() >= load.window.end_ns {
        return Ok(());
    }
    let Some(intended_ns) = slot.waiting.pop_front() else { return Ok(()) };
    recorded.sending(&load.window, intended_ns);
    slot.parser.expect_response(false);
    let sent_ns = monotonic_ns();
    slot.under_way = Some((intended_ns, sent_ns));
    // A request of a hundred bytes fits an idle connection's socket buffer whole.
    load.streams[index].write_all(&load.request)
}
