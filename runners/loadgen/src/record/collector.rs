//! Adds up what the workers hand over, second by second, during the run and never in its way.

use super::distribution::{rank, value_at_rank};
use super::{Chunks, Comparison, Counts, Distribution, Failures, Histogram, Interval, Pair, Request, TENTHS};
use crate::report::hlog::HlogWriter;
use crate::report::requests_log::RequestsLog;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Percentiles of one second, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Times {
    /// Responses.
    pub count: u64,
    /// 50th percentile.
    pub p50_us: f64,
    /// 90th percentile.
    pub p90_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p99_9_us: f64,
    /// Maximum.
    pub max_us: f64,
}

impl Times {
    fn of(histogram: &Histogram) -> Self {
        let at = |percent: f64| value_at_rank(histogram, rank(percent, histogram.len())) as f64 / 1000.0;
        Times {
            count: histogram.len(),
            p50_us: at(50.0),
            p90_us: at(90.0),
            p99_us: at(99.0),
            p99_9_us: at(99.9),
            max_us: histogram.max() as f64 / 1000.0,
        }
    }
}

/// One second of a target, or of all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Seconds since the start of the recorded window.
    pub index: u32,
    /// Its length in seconds: 1, but for the last, and where a worker could not hand a second over.
    pub duration_s: f64,
    /// What was counted.
    pub counts: Counts,
    /// Response times of the responses that came in this second.
    pub response: Times,
    /// Service times of the same.
    pub service: Times,
    /// How late a request left at most, by tenths of this second, in nanoseconds.
    pub most_lag_ns: [u64; TENTHS],
}

/// Intervals of one worker and second, one for each target. Boxed, since they go from thread to thread.
#[allow(clippy::vec_box)]
pub type Intervals = Vec<Box<Interval>>;

/// Empty intervals. There are so many and no more: who finds none goes on with those it has.
#[derive(Debug, Clone)]
pub struct Pool {
    targets: usize,
    empty: Arc<Mutex<(Vec<Intervals>, usize)>>,
}

impl Pool {
    /// Room for `most` seconds of workers, with an interval for each target.
    pub fn new(targets: usize, most: usize) -> Self {
        Pool { targets, empty: Arc::new(Mutex::new((Vec::new(), most))) }
    }

    /// Empty intervals of a second; `None` when all are under way.
    pub fn take(&self, index: u32) -> Option<Intervals> {
        let mut pool = self.empty.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(mut used) = pool.0.pop() {
            used.iter_mut().for_each(|interval| interval.index = index);
            return Some(used);
        }
        pool.1 = pool.1.checked_sub(1)?;
        Some((0..self.targets).map(|_| Box::new(Interval::new(index))).collect())
    }

    /// Empties intervals and keeps them. The emptying is the collector's work, so that no worker spends time on it.
    fn give(&self, mut intervals: Intervals) {
        intervals.iter_mut().for_each(|interval| interval.reset(0));
        self.empty.lock().unwrap_or_else(std::sync::PoisonError::into_inner).0.push(intervals);
    }
}

/// Everything recorded of one target, or of all together.
#[derive(Debug)]
pub struct Collected {
    /// The sum of all intervals.
    pub total: Interval,
    /// The run second by second.
    pub seconds: Vec<Summary>,
    /// Responses per second of each worker in each full second: wrk's `Req/Sec`.
    pub thread_rates: Vec<f64>,
}

impl Collected {
    fn new() -> Self {
        Collected { total: Interval::new(0), seconds: Vec::new(), thread_rates: Vec::new() }
    }

    /// Response times of all requests of the window.
    pub fn response(&self) -> Distribution {
        Distribution::new(self.total.all_classes().response, self.waiting(|pair| &pair.response))
    }

    /// Service times of all requests that were sent in the window.
    pub fn service(&self) -> Distribution {
        Distribution::new(self.total.all_classes().service, self.waiting(|pair| &pair.service))
    }

    /// Response and service times of the same responses by the other clock, if that was read.
    pub fn other_clock(&self) -> Option<&Pair> {
        self.total.other_clock.as_deref()
    }

    fn waiting(&self, of: impl Fn(&Pair) -> &Histogram) -> Option<&Histogram> {
        self.total.waiting.as_deref().map(of)
    }

    /// Times by status class, for example `2` for 2xx.
    pub fn classes(&self) -> impl Iterator<Item = (usize, &Pair)> {
        self.total.by_class.iter().enumerate().filter_map(|(class, pair)| Some((class, pair.as_deref()?)))
    }

    /// Times by tag of the operation, from 1 on.
    pub fn tags(&self) -> impl Iterator<Item = (usize, &Pair)> {
        self.total.by_tag.iter().enumerate().filter_map(|(index, pair)| Some((index + 1, pair.as_deref()?)))
    }
}

/// A run as collected.
#[derive(Debug)]
pub struct Collection {
    /// All targets together.
    pub whole: Collected,
    /// Each target, where there are several.
    pub targets: Vec<Collected>,
    /// Targets compared, where there are several.
    pub comparison: Option<Comparison>,
    /// What failed, by target.
    pub failures: Vec<Failures>,
    /// Requests that are not in the log of requests, because writing it was too slow.
    pub requests_dropped: u64,
    /// Of each log that is not whole: which it is, and why.
    pub log_errors: Vec<String>,
}

/// What is written while the run goes on.
#[derive(Default)]
pub struct Logs {
    /// The histogram log.
    pub hlog: Option<HlogWriter>,
    /// Every request.
    pub requests: Option<RequestsLog>,
}

/// Takes intervals and requests from all workers.
pub struct Collector {
    workers: usize,
    /// Seconds that not all workers have handed over yet; a worker may hand over several as one.
    open: BTreeMap<u32, (Intervals, usize)>,
    collection: Collection,
    logs: Logs,
    pool: Pool,
    chunks: Chunks,
    /// Called with each closed second.
    on_second: Box<dyn FnMut(&Summary) + Send>,
}

impl Collector {
    /// A collector for so many workers and targets; `on_second` is called with each second that is complete.
    pub fn new(
        workers: usize,
        targets: usize,
        pool: Pool,
        chunks: Chunks,
        logs: Logs,
        comparison: Option<Comparison>,
        on_second: Box<dyn FnMut(&Summary) + Send>,
    ) -> Self {
        let several = if targets > 1 { targets } else { 0 };
        let collection = Collection {
            whole: Collected::new(),
            targets: (0..several).map(|_| Collected::new()).collect(),
            comparison,
            failures: vec![Failures::default(); targets],
            requests_dropped: 0,
            log_errors: Vec::new(),
        };
        Collector { workers, open: BTreeMap::new(), collection, logs, pool, chunks, on_second }
    }

    /// Takes the intervals of one worker from their second up to `last`; `whole` says that it lasted as many full
    /// seconds.
    pub fn take(&mut self, intervals: Intervals, last: u32, whole: bool) {
        let first = intervals.first().map_or(0, |interval| interval.index);
        if whole {
            let seconds = f64::from(last - first + 1);
            let rate = |interval: &Interval| interval.counts.completed as f64 / seconds;
            self.collection.whole.thread_rates.push(intervals.iter().map(|interval| rate(interval)).sum());
            for (target, interval) in self.collection.targets.iter_mut().zip(&intervals) {
                target.thread_rates.push(rate(interval));
            }
        }
        match self.open.get_mut(&first) {
            Some((sums, workers)) if sums.is_empty() => {
                *sums = intervals;
                *workers += 1;
            }
            Some((sums, workers)) => {
                sums.iter_mut().zip(&intervals).for_each(|(sum, interval)| sum.add(interval));
                *workers += 1;
                self.pool.give(intervals);
            }
            None => drop(self.open.insert(first, (intervals, 1))),
        }
        // What was not parted from the first second has nothing of its own to add.
        for second in first + 1..=last {
            self.open.entry(second).or_insert((Vec::new(), 0)).1 += 1;
        }
        // The last second is closed at the end, when its length is known.
        while whole
            && let Some((&second, (_, done))) = self.open.first_key_value()
            && *done >= self.workers
        {
            let lasted = self.unparted(second);
            self.close(second, f64::from(lasted), lasted);
        }
    }

    /// How many seconds from this one on were handed over as one.
    fn unparted(&self, second: u32) -> u32 {
        let rest = self.open.range(second + 1..).zip(second + 1..);
        let empty =
            rest.take_while(|((at, (sums, done)), next)| *at == next && sums.is_empty() && *done >= self.workers);
        1 + empty.count() as u32
    }

    /// Takes requests of one worker.
    pub fn take_requests(&mut self, requests: Vec<Request>) {
        if let Some(log) = &mut self.logs.requests {
            log.write(&requests);
        }
        if let Some(comparison) = &mut self.collection.comparison {
            requests.iter().for_each(|request| comparison.take(request));
        }
        self.chunks.give(requests);
    }

    fn close(&mut self, index: u32, duration_s: f64, seconds: u32) {
        let mut intervals = Vec::new();
        for second in index..index + seconds {
            if let Some((sums, _)) = self.open.remove(&second).filter(|(sums, _)| !sums.is_empty()) {
                intervals = sums;
            }
        }
        let Some(last) = intervals.len().checked_sub(1) else { return };
        for (target, interval) in self.collection.targets.iter_mut().zip(&intervals) {
            target.close(interval, duration_s);
        }
        let single = last == 0;
        for (target, interval) in intervals.iter().enumerate() {
            if let Some(log) = &mut self.logs.hlog {
                log.write(target, index, duration_s, interval);
            }
        }
        let mut sum = intervals.swap_remove(0);
        if !single {
            intervals.iter().for_each(|interval| sum.add(interval));
        }
        let summary = self.collection.whole.close(&sum, duration_s);
        intervals.insert(0, sum);
        self.pool.give(intervals);
        (self.on_second)(&summary);
    }

    /// Takes what failed of one worker, by target.
    pub fn take_failures(&mut self, failures: &[Failures]) {
        self.collection.failures.iter_mut().zip(failures).for_each(|(sum, own)| sum.add(own));
    }

    /// All workers have ended, `elapsed_s` after the start of the window.
    pub fn finish(mut self, elapsed_s: f64, requests_dropped: u64) -> Collection {
        while let Some(index) = self.open.keys().next().copied() {
            let seconds = self.unparted(index);
            let duration_s = (elapsed_s - f64::from(index)).clamp(0.0, f64::from(seconds));
            self.close(index, duration_s, seconds);
        }
        let finished = [
            self.logs.requests.map_or(Ok(()), RequestsLog::finish),
            self.logs.hlog.map_or(Ok(()), |log| log.finish(&self.collection.whole.total.counts)),
        ];
        self.collection.log_errors = finished.into_iter().filter_map(Result::err).collect();
        self.collection.requests_dropped = requests_dropped;
        self.collection
    }
}

impl Collected {
    /// Adds a second that is complete.
    fn close(&mut self, interval: &Interval, duration_s: f64) -> Summary {
        let sum = interval.all_classes();
        let summary = Summary {
            index: interval.index,
            duration_s,
            counts: interval.counts,
            response: Times::of(&sum.response),
            service: Times::of(&sum.service),
            most_lag_ns: interval.most_lag_ns,
        };
        self.total.add(interval);
        self.seconds.push(summary);
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(pool: &Pool, index: u32, completed: u64) -> Intervals {
        let mut intervals = pool.take(index).expect("room");
        intervals[0].counts.completed = completed;
        intervals
    }

    fn collector(pool: &Pool, workers: usize) -> Collector {
        Collector::new(workers, 1, pool.clone(), Chunks::new(0), Logs::default(), None, Box::new(|_| {}))
    }

    #[test]
    fn a_worker_that_could_not_part_its_seconds_loses_nothing() {
        let pool = Pool::new(1, 8);
        let mut collector = collector(&pool, 2);
        collector.take(second(&pool, 0, 10), 2, true);
        collector.take(second(&pool, 0, 1), 0, true);
        collector.take(second(&pool, 1, 2), 1, true);
        collector.take(second(&pool, 2, 3), 2, true);
        collector.take(second(&pool, 3, 4), 3, false);
        collector.take(second(&pool, 3, 5), 3, false);
        let whole = collector.finish(3.5, 0).whole;
        assert_eq!(whole.total.counts.completed, 25);
        assert_eq!(whole.seconds.iter().map(|summary| summary.counts.completed).collect::<Vec<_>>(), [11, 2, 3, 9]);
        assert_eq!(whole.seconds.iter().map(|summary| summary.index).collect::<Vec<_>>(), [0, 1, 2, 3]);
    }

    #[test]
    fn seconds_that_nobody_parted_are_one() {
        let pool = Pool::new(1, 2);
        let mut collector = collector(&pool, 1);
        collector.take(second(&pool, 0, 30), 2, true);
        collector.take(second(&pool, 3, 5), 3, false);
        let whole = collector.finish(3.25, 0).whole;
        let seconds: Vec<_> =
            whole.seconds.iter().map(|summary| (summary.index, summary.duration_s, summary.counts.completed)).collect();
        assert_eq!(seconds, [(0, 3.0, 30), (3, 0.25, 5)]);
        assert_eq!(whole.thread_rates, [10.0]);
    }

    #[test]
    fn there_are_so_many_intervals_and_no_more() {
        let pool = Pool::new(2, 2);
        let (first, other) = (pool.take(0).expect("room"), pool.take(0).expect("room"));
        assert!(pool.take(1).is_none());
        assert_eq!((first.len(), other.len()), (2, 2));
        pool.give(first);
        assert!(pool.take(1).is_some_and(|again| again.iter().all(|interval| interval.index == 1)));
    }
}
