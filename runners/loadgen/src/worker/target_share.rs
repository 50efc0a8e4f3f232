//! One target's part of a worker's load: where it connects, its script, its share of the schedule, what was recorded.

use super::Source;
use super::connection::Connection;
use crate::error::Error;
use crate::http::{Parser, Response};
use crate::lua::ThreadControl;
use crate::record::Failures;
use crate::schedule::Arrivals;
use std::collections::VecDeque;

/// A target's part of a worker's load as planned.
pub struct TargetSharePlan {
    /// Address and stop of this worker for this target, as scripts see them.
    pub control: ThreadControl,
    /// Where requests come from.
    pub source: Source,
    /// The host to speak TLS with; `None` for plain http.
    pub tls_host: Option<String>,
    /// Each connection's share of the schedule; `None` each in a closed loop and with a shared queue.
    pub connections: Vec<Option<Arrivals>>,
    /// The share of all connections together, where any free one takes the next request (`--queue shared`).
    pub queue: Option<Arrivals>,
}

/// A target's part of a worker's load at work.
pub(super) struct TargetShare {
    pub(super) control: ThreadControl,
    pub(super) source: Source,
    /// The script looks at responses.
    pub(super) capture: bool,
    /// The script delays requests.
    pub(super) delays: bool,
    pub(super) queue: Option<Queue>,
    /// What failed, by cause.
    pub(super) failures: Failures,
}

/// Requests that any free connection of the target takes.
pub(super) struct Queue {
    pub(super) arrivals: Arrivals,
    /// Free connections, the one that is free for longest first; some may be free no more.
    free: VecDeque<u32>,
    /// A request waits for a connection.
    pub(super) overdue: bool,
    /// Only a timer with this number is valid.
    pub(super) timer: u32,
}

impl TargetShare {
    pub(super) fn new(plan: TargetSharePlan, open_loop: bool) -> Self {
        let script = plan.source.script();
        TargetShare {
            capture: script.wants_response(),
            delays: !open_loop && script.wants_delay(),
            queue: plan.queue.map(|arrivals| Queue { arrivals, free: VecDeque::new(), overdue: false, timer: 0 }),
            failures: Failures::default(),
            control: plan.control,
            source: plan.source,
        }
    }

    /// Calls the script's `response()` with the last response of a connection, if the script has one; what that raised.
    #[inline]
    pub(super) fn show_to_script(&self, response: Response, parser: &Parser) -> Option<Error> {
        if !self.capture {
            return None;
        }
        self.source.script().response(response.status, parser.headers(), parser.body()).err()
    }
}

impl Queue {
    /// A connection is free.
    pub(super) fn give(&mut self, index: usize, connection: &mut Connection) {
        if !std::mem::replace(&mut connection.listed, true) {
            self.free.push_back(index as u32);
        }
    }

    /// The connection that is free for longest.
    pub(super) fn take(
        &mut self,
        connections: &mut [Connection],
        is_free: impl Fn(&Connection) -> bool,
    ) -> Option<usize> {
        while let Some(index) = self.free.pop_front() {
            let connection = &mut connections[index as usize];
            connection.listed = false;
            if is_free(connection) {
                return Some(index as usize);
            }
        }
        None
    }

    /// Whether a connection is likely to be free.
    pub(super) fn has_free(&self) -> bool {
        !self.free.is_empty()
    }
}
