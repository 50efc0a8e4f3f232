//! What one worker saw in one second.

use super::{Histogram, Slices};

/// Longest time that is told apart, in nanoseconds: one hour, as in wrk2. Longer ones count as this.
pub const MAX_NS: u64 = 3_600_000_000_000;
/// Significant digits of every recorded time.
pub const DIGITS: u8 = 3;

/// An empty histogram for times in nanoseconds.
pub fn new_histogram() -> Histogram {
    Histogram::new_with_bounds(1, MAX_NS, DIGITS).expect("constant bounds are valid")
}

/// Failures by kind. A request that failed has no answer and so no latency.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Errors {
    /// Connections that could not be made, or not within the time-out.
    pub connect: u64,
    /// Requests whose connection was reset or closed before the answer was complete.
    pub read: u64,
    /// Requests that could not be written.
    pub write: u64,
    /// Requests that took longer than the time-out (they are still measured when their answer comes).
    pub timeout: u64,
    /// Answers that are no HTTP, and bytes after an answer's end.
    pub parse: u64,
    /// Answers with a status of 400 or more.
    pub status: u64,
}

impl Errors {
    /// Adds the counts of another.
    pub fn add(&mut self, other: &Errors) {
        self.connect += other.connect;
        self.read += other.read;
        self.write += other.write;
        self.timeout += other.timeout;
        self.parse += other.parse;
        self.status += other.status;
    }

    /// All errors together.
    pub fn total(&self) -> u64 {
        self.connect + self.read + self.write + self.timeout + self.parse + self.status
    }
}

/// Number of status classes; `2` is 2xx, the unused 0 is included.
pub const CLASSES: usize = 10;

/// Response and service time of the same requests, in nanoseconds.
#[derive(Debug, Clone)]
pub struct Pair {
    /// From the intended start to the end of the answer.
    pub response: Histogram,
    /// From the actual send to the end of the answer.
    pub service: Histogram,
}

impl Pair {
    /// Both empty.
    pub fn new() -> Self {
        Pair { response: new_histogram(), service: new_histogram() }
    }

    /// Adds the counts of another.
    pub fn add(&mut self, other: &Pair) {
        add(&mut self.response, &other.response);
        add(&mut self.service, &other.service);
    }

    fn clear(&mut self) {
        self.response.reset();
        self.service.reset();
    }
}

impl Default for Pair {
    fn default() -> Self {
        Self::new()
    }
}

/// Adds one histogram to another of the same bounds.
pub fn add(sum: &mut Histogram, other: &Histogram) {
    if !other.is_empty() {
        sum.add(other).expect("all histograms have the same bounds");
    }
}

/// Everything that is only counted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Requests sent.
    pub sent: u64,
    /// Answers that came whole.
    pub completed: u64,
    /// Requests that ended in an error instead of an answer.
    pub failed: u64,
    /// Requests without an answer at the end of the run.
    pub censored: u64,
    /// Censored requests that were never sent.
    pub unsent: u64,
    /// Requests of the warm-up.
    pub warmup_sent: u64,
    /// Answers to requests of the warm-up.
    pub warmup_completed: u64,
    /// Requests of the warm-up that its end found waiting; they are never sent.
    pub warmup_unsent: u64,
    /// Requests held back so that they leave with the next.
    pub held: u64,
    /// Connections that stood.
    pub connects: u64,
    /// Connections made after the first of each.
    pub reconnects: u64,
    /// Bytes received.
    pub bytes_read: u64,
    /// Bytes sent.
    pub bytes_written: u64,
    /// Errors by kind.
    pub errors: Errors,
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.sent += other.sent;
        self.completed += other.completed;
        self.failed += other.failed;
        self.censored += other.censored;
        self.unsent += other.unsent;
        self.warmup_sent += other.warmup_sent;
        self.warmup_completed += other.warmup_completed;
        self.warmup_unsent += other.warmup_unsent;
        self.held += other.held;
        self.connects += other.connects;
        self.reconnects += other.reconnects;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        self.errors.add(&other.errors);
    }
}

/// Counts and times of one second of one worker, or of all workers once added up.
#[derive(Debug)]
pub struct Interval {
    /// Seconds since the start of the recorded window.
    pub index: u32,
    /// What is only counted.
    pub counts: Counts,
    /// Answers by status code.
    pub status: Box<[u64; 1000]>,
    /// Times by status class; made when the first answer of a class comes.
    pub by_class: [Option<Box<Pair>>; CLASSES],
    /// Actual minus intended start where the connection was free in time: the generator's own lateness.
    pub lag: Histogram,
    /// Response times by tenths of this second.
    pub slices: Slices,
    /// How long the censored requests had waited, from their intended start and, where sent, from the send.
    pub waiting: Pair,
}

impl Interval {
    /// Nothing seen yet.
    pub fn new(index: u32) -> Self {
        Interval {
            index,
            counts: Counts::default(),
            status: Box::new([0; 1000]),
            by_class: Default::default(),
            lag: new_histogram(),
            slices: Slices::new(),
            waiting: Pair::new(),
        }
    }

    /// Makes it as new but keeps its memory, so that a long run allocates nothing.
    pub fn reset(&mut self, index: u32) {
        self.index = index;
        self.counts = Counts::default();
        self.status.fill(0);
        self.by_class.iter_mut().flatten().for_each(|pair| pair.clear());
        self.lag.reset();
        self.slices.clear();
        self.waiting.clear();
    }

    /// Records a complete answer that came `offset_ns` after the start of this second.
    #[inline]
    pub fn record_answer(&mut self, status: u16, offset_ns: u64, response_ns: u64, service_ns: u64) {
        self.counts.completed += 1;
        self.slices.record(offset_ns, response_ns);
        self.status[usize::from(status) % 1000] += 1;
        if status >= 400 {
            self.counts.errors.status += 1;
        }
        let class = usize::from(status / 100) % CLASSES;
        let pair = self.by_class[class].get_or_insert_with(|| Box::new(Pair::new()));
        pair.response.saturating_record(response_ns);
        pair.service.saturating_record(service_ns);
    }

    /// Records `count` requests that had no answer at the end, of which each had waited at least so long.
    pub fn record_censored(&mut self, count: u64, response_ns: u64, service_ns: Option<u64>) {
        self.counts.censored += count;
        self.waiting.response.saturating_record_n(response_ns, count);
        match service_ns {
            Some(service_ns) => self.waiting.service.saturating_record_n(service_ns, count),
            None => self.counts.unsent += count,
        }
    }

    /// Adds another interval's counts and times.
    pub fn add(&mut self, other: &Interval) {
        self.counts.add(&other.counts);
        for (sum, count) in self.status.iter_mut().zip(other.status.iter()) {
            *sum += count;
        }
        for (sum, pair) in self.by_class.iter_mut().zip(&other.by_class) {
            if let Some(pair) = pair.as_deref().filter(|pair| !pair.response.is_empty()) {
                sum.get_or_insert_with(|| Box::new(Pair::new())).add(pair);
            }
        }
        add(&mut self.lag, &other.lag);
        self.slices.add(&other.slices);
        self.waiting.add(&other.waiting);
    }

    /// Response and service time over all status classes.
    pub fn all_classes(&self) -> Pair {
        let mut sum = Pair::new();
        for pair in self.by_class.iter().flatten() {
            sum.add(pair);
        }
        sum
    }
}
