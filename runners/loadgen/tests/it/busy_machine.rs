//! With a busy process on each core a run ends when its load does.

use crate::support::{Server, run_within};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// So many busy threads on each core: the more, the less is left to idle priority.
const THREADS_A_CORE: usize = 4;

/// Keeps every core busy until it is dropped.
struct Busy(Arc<AtomicBool>);

impl Busy {
    fn every_core() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        for _ in 0..THREADS_A_CORE * std::thread::available_parallelism().map_or(2, usize::from) {
            let over = over.clone();
            std::thread::spawn(move || while !over.load(Ordering::Relaxed) {});
        }
        Busy(over)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn what_is_left_to_the_collector_is_not_left_to_idle_priority() {
    let server = Server::ok();
    let _busy = Busy::every_core();
    let begun = Instant::now();
    let run =
        run_within(&format!("-t2 -c16 -R 2000 -d 2s --drain 500ms {}", server.url("/")), Duration::from_secs(120));
    let took = begun.elapsed();
    run.assert_nothing_vanished();
    // At idle priority its end took more than ten seconds.
    assert!(took < Duration::from_secs(10), "a load of two seconds took {took:?}");
}
