//! Fewer trips to the kernel: responses that carry the moment of their arrival need not be read in that moment.
//!
//! A plain loop wakes twice for each request, once to send it and once to read its response. Where the kernel stamps what
//! comes in, reading later changes no figure; so between sends that follow each other closely the worker sleeps through
//! arrivals, and looks at all sockets once in a while. It does so only where nothing depends on a response: the next
//! intended start belongs to a connection that is free, no request waits for its connection, no script looks at
//! responses, and responses are small, so that no sender waits for room.

use super::Worker;
use crate::clock::monotonic_ns;
use crate::io::ReceiveClock;

/// Responses lie unread for at most this long.
const LONGEST_DEFERRAL_NS: u64 = 100_000;
/// More than this in one read is no small response: a receive buffer is at least some times as large.
const SMALL_BYTES: u64 = 16 * 1024;

/// When the worker may leave responses unread.
#[derive(Debug, Default)]
pub(super) struct DeferredReads {
    /// When all sockets were last looked at.
    pub(super) looked_ns: u64,
    /// It may have slept through arrivals since.
    pub(super) slept: bool,
    /// Connections whose next request waits for the response to the last, and queues that wait for a connection.
    overdue: usize,
    large_responses: bool,
}

impl DeferredReads {
    /// So many bytes came in one read.
    #[inline]
    pub(super) fn seen(&mut self, bytes: u64) {
        self.large_responses |= bytes > SMALL_BYTES;
    }

    /// A request waits for a connection.
    pub(super) fn begin_wait(&mut self) {
        self.overdue += 1;
    }

    /// It waits no more.
    pub(super) fn end_wait(&mut self) {
        self.overdue = self.overdue.saturating_sub(1);
    }

    /// Whether responses could lie unread for too long by then.
    #[inline]
    pub(super) fn would_lie_too_long(&self, until_ns: u64) -> bool {
        until_ns > self.looked_ns + LONGEST_DEFERRAL_NS
    }

    /// All sockets were looked at.
    #[inline]
    pub(super) fn looked(&mut self, now: u64) {
        self.looked_ns = now;
        self.slept = false;
    }
}

impl Worker {
    /// Whether responses that come until then, when requests of free connections are due, may lie unread until then.
    #[inline]
    pub(super) fn may_defer_reads(&self, until_ns: u64) -> bool {
        !self.captures
            && !self.deferred_reads.large_responses
            && self.deferred_reads.overdue == 0
            && until_ns <= monotonic_ns() + LONGEST_DEFERRAL_NS
            && self.io.receive_clock() == ReceiveClock::Kernel
    }

    /// A connection's next intended start has come while it is busy.
    pub(super) fn overdue(&mut self, index: usize) {
        if !std::mem::replace(&mut self.connections[index].overdue, true) {
            self.deferred_reads.begin_wait();
        }
    }

    /// A connection is busy no more.
    #[inline]
    pub(super) fn clear_overdue(&mut self, index: usize) {
        if std::mem::take(&mut self.connections[index].overdue) {
            self.deferred_reads.end_wait();
        }
    }
}
