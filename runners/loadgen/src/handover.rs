//! From the workers to the collector: a queue with room for all that can be under way, so that no worker ever waits.
//!
//! The collector works in the background as long as that is enough. It is raised to normal priority when half of the
//! room is taken and when the load is over, since then its work is what everybody waits for.

use crate::record::Collector;
use crate::usage::Background;
use crate::worker::Delivery;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// How much waits for the collector, and its priority.
#[derive(Debug)]
struct Backlog {
    waiting: AtomicUsize,
    half: usize,
    background: Background,
}

/// A worker's end of the queue.
#[derive(Clone)]
pub struct Outbox {
    to: SyncSender<Delivery>,
    backlog: Arc<Backlog>,
}

/// The collector's end of the queue.
pub struct Inbox {
    from: Receiver<Delivery>,
    backlog: Arc<Backlog>,
}

/// Raises the collector to normal priority.
pub struct Urgency(Arc<Backlog>);

/// A queue with room for so many deliveries.
pub fn queue(room: usize) -> (Outbox, Inbox, Urgency) {
    let (to, from) = sync_channel(room);
    let backlog = Backlog { waiting: AtomicUsize::new(0), half: room / 2, background: Background::default() };
    let backlog = Arc::new(backlog);
    (Outbox { to, backlog: backlog.clone() }, Inbox { from, backlog: backlog.clone() }, Urgency(backlog))
}

impl Outbox {
    /// Hands over.
    pub fn deliver(&self, delivery: Delivery) {
        // Counted first: a collector that is quicker would take away what was never added.
        if self.backlog.waiting.fetch_add(1, Ordering::Relaxed) >= self.backlog.half {
            self.backlog.background.raise();
        }
        // The collector lives as long as any worker; without it nobody wants results.
        let _ = self.to.send(delivery);
    }
}

impl Urgency {
    /// The load is over: the rest of the collector's work is waited for.
    pub fn raise(&self) {
        self.0.background.raise();
    }
}

impl Inbox {
    /// Collects until all workers have ended, in the background of the calling thread.
    pub fn collect(self, mut collector: Collector) -> Collector {
        self.backlog.background.enter();
        for delivery in self.from {
            match delivery {
                Delivery::Second { intervals, last, whole } => collector.take(intervals, last, whole),
                Delivery::Requests(requests) => collector.take_requests(requests),
                Delivery::End => break,
            }
            self.backlog.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        collector
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn what_is_handed_over_is_counted_before_the_collector_can_have_it() {
        let (outbox, inbox, _) = queue(1);
        outbox.deliver(Delivery::End);
        let second = outbox.clone();
        // It finds no room, so the collector does not have it.
        let waits = std::thread::spawn(move || second.deliver(Delivery::End));
        let begun = Instant::now();
        let waiting = || outbox.backlog.waiting.load(Ordering::Relaxed);
        while waiting() < 2 && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(waiting(), 2);
        drop(inbox);
        waits.join().unwrap();
    }
}
