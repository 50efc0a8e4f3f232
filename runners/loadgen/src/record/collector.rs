//! Adds up what the workers hand over, second by second, beside the run and never in its way.

use super::{Counts, Distribution, Histogram, Interval, Pair};
use crate::report::hlog::HlogWriter;
use crate::report::slices::SlicesWriter;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Percentiles of one second, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Times {
    /// Answers.
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
        let at = |quantile: f64| histogram.value_at_quantile(quantile).min(histogram.max()) as f64 / 1000.0;
        Times {
            count: histogram.len(),
            p50_us: at(0.5),
            p90_us: at(0.9),
            p99_us: at(0.99),
            p99_9_us: at(0.999),
            max_us: histogram.max() as f64 / 1000.0,
        }
    }
}

/// One second of the whole run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Seconds since the start of the recorded window.
    pub index: u32,
    /// What was counted.
    pub counts: Counts,
    /// Response times of the answers that came in this second.
    pub response: Times,
    /// Service times of the same.
    pub service: Times,
}

/// Used intervals, for the workers to fill again. Boxed, since they go from thread to thread.
#[allow(clippy::vec_box)]
#[derive(Debug, Clone, Default)]
pub struct Pool(Arc<Mutex<Vec<Box<Interval>>>>);

impl Pool {
    /// An empty interval.
    pub fn take(&self, index: u32) -> Box<Interval> {
        let used = self.0.lock().ok().and_then(|mut pool| pool.pop());
        match used {
            Some(mut interval) => {
                interval.index = index;
                interval
            }
            None => Box::new(Interval::new(index)),
        }
    }

    /// Empties an interval and keeps it. The emptying is the collector's work, so that no worker spends time on it.
    fn give(&self, mut interval: Box<Interval>) {
        interval.reset(0);
        if let Ok(mut pool) = self.0.lock() {
            pool.push(interval);
        }
    }
}

/// Everything recorded in a run.
#[derive(Debug)]
pub struct Collected {
    /// The sum of all intervals.
    pub total: Interval,
    /// The run second by second.
    pub seconds: Vec<Summary>,
    /// Answers a second of each worker in each full second: wrk's `Req/Sec`.
    pub thread_rates: Vec<f64>,
    /// Why the HdrHistogram log or the slices are not whole, if they are not.
    pub log_error: Option<String>,
}

impl Collected {
    /// Response times of all requests of the window.
    pub fn response(&self) -> Distribution {
        Distribution::new(self.total.all_classes().response, &self.total.waiting.response)
    }

    /// Service times of all requests that were sent in the window.
    pub fn service(&self) -> Distribution {
        Distribution::new(self.total.all_classes().service, &self.total.waiting.service)
    }

    /// Times by status class, for example `2` for 2xx.
    pub fn classes(&self) -> impl Iterator<Item = (usize, &Pair)> {
        self.total.by_class.iter().enumerate().filter_map(|(class, pair)| Some((class, pair.as_deref()?)))
    }
}

/// Takes intervals from all workers.
pub struct Collector {
    workers: usize,
    /// Seconds that not all workers have handed over yet.
    open: BTreeMap<u32, (Box<Interval>, usize)>,
    collected: Collected,
    log: Option<HlogWriter>,
    slices: Option<SlicesWriter>,
    pool: Pool,
    /// Added to by each closed second; told to whoever watches.
    on_second: Box<dyn FnMut(&Summary) + Send>,
}

impl Collector {
    /// A collector for so many workers; `on_second` is called with each second that is complete.
    pub fn new(
        workers: usize,
        pool: Pool,
        log: Option<HlogWriter>,
        slices: Option<SlicesWriter>,
        on_second: Box<dyn FnMut(&Summary) + Send>,
    ) -> Self {
        let collected =
            Collected { total: Interval::new(0), seconds: Vec::new(), thread_rates: Vec::new(), log_error: None };
        Collector { workers, open: BTreeMap::new(), collected, log, slices, pool, on_second }
    }

    /// Takes one second of one worker; `whole` says that it lasted a full second.
    pub fn take(&mut self, interval: Box<Interval>, whole: bool) {
        if whole {
            self.collected.thread_rates.push(interval.counts.completed as f64);
        }
        let index = interval.index;
        let workers_done = match self.open.get_mut(&index) {
            Some((sum, workers)) => {
                sum.add(&interval);
                *workers += 1;
                let done = *workers;
                self.pool.give(interval);
                done
            }
            None => {
                self.open.insert(index, (interval, 1));
                1
            }
        };
        if workers_done == self.workers {
            self.close(index, 1.0);
        }
    }

    fn close(&mut self, index: u32, duration_s: f64) {
        let Some((interval, _)) = self.open.remove(&index) else { return };
        let sum = interval.all_classes();
        let summary = Summary {
            index,
            counts: interval.counts,
            response: Times::of(&sum.response),
            service: Times::of(&sum.service),
        };
        self.collected.total.add(&interval);
        if let Some(log) = &mut self.log
            && let Err(error) = log.write(f64::from(index), duration_s, &sum, &interval)
        {
            self.collected.log_error.get_or_insert(error);
        }
        if let Some(slices) = &mut self.slices
            && let Err(error) = slices.write(index, duration_s, &interval.slices)
        {
            self.collected.log_error.get_or_insert(error);
        }
        self.pool.give(interval);
        (self.on_second)(&summary);
        self.collected.seconds.push(summary);
    }

    /// All workers have ended, `elapsed_s` after the start of the window.
    pub fn finish(mut self, elapsed_s: f64) -> Collected {
        while let Some(index) = self.open.keys().next().copied() {
            self.close(index, (elapsed_s - f64::from(index)).clamp(0.0, 1.0));
        }
        self.collected
    }
}
