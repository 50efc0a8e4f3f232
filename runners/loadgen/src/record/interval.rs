//! What one worker saw of one target in one second.

use super::Histogram;
use crate::clock::NS_PER_S;

/// Longest time that is resolved, in nanoseconds: one hour, as in wrk2. Longer ones count as this.
const MAX_NS: u64 = 3_600_000_000_000;
/// Significant digits of every recorded time.
pub const DIGITS: u8 = 3;

/// An empty histogram for times in nanoseconds.
pub fn new_histogram() -> Histogram {
    Histogram::new_with_bounds(1, MAX_NS, DIGITS).expect("constant bounds are valid")
}

/// An empty histogram of two digits for what is no latency: an eighth of the memory.
fn coarse_histogram() -> Histogram {
    Histogram::new_with_bounds(1, MAX_NS, 2).expect("constant bounds are valid")
}

/// Tenths in a second.
pub const TENTHS: usize = 10;
/// Nanoseconds of a tenth of a second.
const TENTH_NS: u64 = NS_PER_S / TENTHS as u64;

/// A histogram of half the memory, for what there are many of; it counts up to 2^32 of a value.
pub type CompactHistogram = hdrhistogram::Histogram<u32>;

/// An empty compact histogram for times in nanoseconds.
pub fn new_compact_histogram() -> CompactHistogram {
    CompactHistogram::new_with_bounds(1, MAX_NS, DIGITS).expect("constant bounds are valid")
}

/// Failures by kind.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Errors {
    /// Connections that could not be made, or not within the time-out.
    pub connect: u64,
    /// Requests whose connection was reset or closed before the response was complete.
    pub read: u64,
    /// Requests that could not be written.
    pub write: u64,
    /// Requests without a response within the time-out; they are given up.
    pub timeout: u64,
    /// Responses that are no HTTP, and bytes after a response's end.
    pub parse: u64,
    /// Responses with a status of 400 or more.
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
    /// From the intended start to the end of the response.
    pub response: Histogram,
    /// From the actual send to the end of the response.
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

    #[inline]
    fn record(&mut self, response_ns: u64, service_ns: u64) {
        self.response.saturating_record(response_ns);
        self.service.saturating_record(service_ns);
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
    /// Responses that came whole.
    pub completed: u64,
    /// Of these, sent when the recorded window was over: they had waited for their connection.
    pub completed_late: u64,
    /// Of these, came when the slice of their target was over, in a closed loop by slices.
    pub completed_after_slice: u64,
    /// Requests that ended in an error instead of a response.
    pub failed: u64,
    /// Requests without a response at the end of the run.
    pub censored: u64,
    /// Censored requests that were never sent.
    pub unsent: u64,
    /// Requests of the warm-up.
    pub warmup_sent: u64,
    /// Responses to requests of the warm-up.
    pub warmup_completed: u64,
    /// Requests of the warm-up that its end found waiting; they are never sent.
    pub warmup_unsent: u64,
    /// Requests held back so that they leave with the next.
    pub held: u64,
    /// Responses left unread for a while on purpose, because the kernel stamps their arrival.
    pub deferred_reads: u64,
    /// Responses without the kernel's stamp although the kernel's clock was asked for.
    pub unstamped: u64,
    /// Connections that were made at some time.
    pub connects: u64,
    /// Connections made after the first of each.
    pub reconnects: u64,
    /// Connections that the server closed while no request was under way.
    pub closed_idle: u64,
    /// Bytes received.
    pub bytes_read: u64,
    /// Bytes sent.
    pub bytes_written: u64,
    /// Errors by kind.
    pub errors: Errors,
}

impl Counts {
    /// Says how many times are not by the kernel's clock although that was asked for; `None` where all are.
    pub fn unstamped_sentence(&self) -> Option<String> {
        let (unstamped, completed) = (self.unstamped, self.completed);
        (unstamped > 0).then(|| {
            format!(
                "{unstamped} of {completed} responses had no stamp of the kernel; their times end when they were read"
            )
        })
    }

    fn add(&mut self, other: &Counts) {
        self.sent += other.sent;
        self.completed += other.completed;
        self.completed_late += other.completed_late;
        self.completed_after_slice += other.completed_after_slice;
        self.failed += other.failed;
        self.censored += other.censored;
        self.unsent += other.unsent;
        self.warmup_sent += other.warmup_sent;
        self.warmup_completed += other.warmup_completed;
        self.warmup_unsent += other.warmup_unsent;
        self.held += other.held;
        self.deferred_reads += other.deferred_reads;
        self.unstamped += other.unstamped;
        self.connects += other.connects;
        self.reconnects += other.reconnects;
        self.closed_idle += other.closed_idle;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        self.errors.add(&other.errors);
    }
}

/// A response that came whole, for its interval.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    /// HTTP status.
    pub status: u16,
    /// Index of the operation's tag; 0 is none.
    pub tag: u8,
    /// When it came, in nanoseconds from the start of the interval's second.
    pub offset_ns: u64,
    /// Response time, in nanoseconds.
    pub response_ns: u64,
    /// Service time, in nanoseconds.
    pub service_ns: u64,
    /// Service time by the other clock, in nanoseconds, if that was read.
    pub other_service_ns: Option<u64>,
}

/// Counts and times of one target in one second of one worker, or of all workers once added up.
#[derive(Debug)]
pub struct Interval {
    /// Seconds since the start of the recorded window.
    pub index: u32,
    /// What is only counted.
    pub counts: Counts,
    /// Responses by status code.
    pub status: Box<[u64; 1000]>,
    /// Times by status class; made when the first response of a class comes.
    pub by_class: [Option<Box<Pair>>; CLASSES],
    /// Times by tag of the operation, from tag 1 on; made when the first response of a tag comes.
    pub by_tag: Vec<Option<Box<Pair>>>,
    /// Times of the same responses by the clock that the others are not by.
    pub other_clock: Option<Box<Pair>>,
    /// How late requests left, against a generator that never sleeps.
    pub lag: Histogram,
    /// The most of it by the tenth of this second in which they left, in nanoseconds.
    pub most_lag_ns: [u64; TENTHS],
    /// Response times by the tenth of this second in which the response came; what came after its end is in the last.
    pub tenths: [CompactHistogram; TENTHS],
    /// How long requests without a response had waited when they failed or the run ended, from their intended start and,
    /// where sent, from the send.
    pub waiting: Option<Box<Pair>>,
    /// How long requests that were due waited for a connection, those that were never sent at least so long; in
    /// nanoseconds.
    pub connection_wait: Histogram,
    /// How long it took to connect anew, in nanoseconds.
    pub reconnect: Option<Box<Histogram>>,
}

impl Interval {
    /// Nothing seen yet.
    pub fn new(index: u32) -> Self {
        Interval {
            index,
            counts: Counts::default(),
            status: Box::new([0; 1000]),
            by_class: Default::default(),
            by_tag: Vec::new(),
            other_clock: None,
            lag: new_histogram(),
            most_lag_ns: [0; TENTHS],
            tenths: std::array::from_fn(|_| new_compact_histogram()),
            waiting: None,
            connection_wait: coarse_histogram(),
            reconnect: None,
        }
    }

    fn pairs_mut(&mut self) -> impl Iterator<Item = &mut Box<Pair>> {
        let tags = self.by_tag.iter_mut().flatten();
        self.by_class.iter_mut().flatten().chain(tags).chain(&mut self.other_clock).chain(&mut self.waiting)
    }

    /// Makes it as new but keeps its memory, so that a long run allocates nothing.
    pub fn reset(&mut self, index: u32) {
        self.index = index;
        self.counts = Counts::default();
        self.status.fill(0);
        self.pairs_mut().for_each(|pair| pair.clear());
        self.connection_wait.reset();
        self.reconnect.iter_mut().for_each(|times| times.reset());
        self.lag.reset();
        self.most_lag_ns = [0; TENTHS];
        self.tenths.iter_mut().for_each(CompactHistogram::reset);
    }

    /// Counts a complete response, without its times.
    #[inline]
    pub fn count_response(&mut self, status: u16) {
        self.counts.completed += 1;
        self.status[usize::from(status) % 1000] += 1;
        self.counts.errors.status += u64::from(status >= 400);
    }

    /// Records the times of a complete response.
    #[inline]
    pub fn record_times(&mut self, measured: &Measured) {
        let Measured { status, tag, offset_ns, response_ns, service_ns, other_service_ns } = *measured;
        self.tenths[tenth_of(offset_ns)].saturating_record(response_ns);
        some(&mut self.by_class[usize::from(status / 100) % CLASSES]).record(response_ns, service_ns);
        if tag > 0 {
            let index = usize::from(tag) - 1;
            if self.by_tag.len() <= index {
                self.by_tag.resize_with(index + 1, || None);
            }
            some(&mut self.by_tag[index]).record(response_ns, service_ns);
        }
        if let Some(other_ns) = other_service_ns {
            some(&mut self.other_clock).record(response_ns - service_ns + other_ns, other_ns);
        }
    }

    /// Records how late requests left that were sent so long after the second began.
    #[inline]
    pub fn record_lag(&mut self, count: u64, lag_ns: u64, offset_ns: u64) {
        self.lag.saturating_record_n(lag_ns, count);
        let most = &mut self.most_lag_ns[tenth_of(offset_ns)];
        *most = lag_ns.max(*most);
    }

    /// Records requests without a response, of which each had waited at least so long; from the send on where it was
    /// sent.
    pub fn record_waiting(&mut self, count: u64, response_ns: u64, service_ns: Option<u64>) {
        let waiting = some(&mut self.waiting);
        waiting.response.saturating_record_n(response_ns, count);
        if let Some(service_ns) = service_ns {
            waiting.service.saturating_record_n(service_ns, count);
        }
    }

    /// Records how long requests waited for a connection after they were due.
    #[inline]
    pub fn record_connection_wait(&mut self, count: u64, waited_ns: u64) {
        self.connection_wait.saturating_record_n(waited_ns, count);
    }

    /// Counts a connection that was made anew, and how long that took.
    pub fn record_reconnect(&mut self, took_ns: u64) {
        self.counts.reconnects += 1;
        self.reconnect.get_or_insert_with(|| Box::new(coarse_histogram())).saturating_record(took_ns);
    }

    /// Adds another interval's counts and times.
    pub fn add(&mut self, other: &Interval) {
        self.counts.add(&other.counts);
        for (sum, count) in self.status.iter_mut().zip(other.status.iter()) {
            *sum += count;
        }
        self.by_tag.resize_with(self.by_tag.len().max(other.by_tag.len()), || None);
        let tags = self.by_tag.iter_mut().zip(&other.by_tag);
        let classes = self.by_class.iter_mut().zip(&other.by_class);
        let singles = [(&mut self.other_clock, &other.other_clock), (&mut self.waiting, &other.waiting)];
        for (sum, pair) in classes.chain(tags).chain(singles) {
            if let Some(pair) = pair.as_deref().filter(|pair| !pair.response.is_empty()) {
                some(sum).add(pair);
            }
        }
        add(&mut self.lag, &other.lag);
        add(&mut self.connection_wait, &other.connection_wait);
        if let Some(times) = other.reconnect.as_deref().filter(|times| !times.is_empty()) {
            add(self.reconnect.get_or_insert_with(|| Box::new(coarse_histogram())), times);
        }
        for (most, own) in self.most_lag_ns.iter_mut().zip(other.most_lag_ns) {
            *most = own.max(*most);
        }
        for (sum, tenth) in self.tenths.iter_mut().zip(&other.tenths).filter(|(_, tenth)| !tenth.is_empty()) {
            sum.add(tenth).expect("all histograms have the same bounds");
        }
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

/// The tenth of a second that holds an offset from its start; what came after its end is in the last.
#[inline]
fn tenth_of(offset_ns: u64) -> usize {
    (offset_ns / TENTH_NS).min(TENTHS as u64 - 1) as usize
}

/// The pair, made if there is none yet.
#[inline]
fn some(pair: &mut Option<Box<Pair>>) -> &mut Pair {
    pair.get_or_insert_with(Box::default)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn came(interval: &mut Interval, offset_ns: u64) {
        let (response_ns, service_ns) = (50_000, 40_000);
        interval.record_times(&Measured {
            status: 200,
            tag: 0,
            offset_ns,
            response_ns,
            service_ns,
            other_service_ns: None,
        });
    }

    #[test]
    fn tenths_of_several_workers_add_up_and_late_responses_are_in_the_last() {
        let (mut sum, mut other) = (Interval::new(0), Interval::new(0));
        came(&mut sum, 0);
        came(&mut other, TENTH_NS - 1);
        came(&mut other, 20 * TENTH_NS);
        sum.add(&other);
        assert_eq!(sum.tenths.each_ref().map(CompactHistogram::len), [2, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(sum.tenths[0].max(), sum.all_classes().response.max(), "a tenth has the digits of a second");
        sum.reset(1);
        assert!(sum.tenths.iter().all(CompactHistogram::is_empty));
    }
}
