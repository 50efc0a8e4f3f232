//! The log of requests, read as `docs/requests.md` describes it.

use super::Run;

/// A row of the log of requests, as far as the tests look at it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub slot: u64,
    pub intended_ns: u64,
    pub wait_ns: u64,
    pub service_ns: u64,
    pub lag_ns: u64,
    pub status: u16,
    pub target: u8,
    pub predecessor: u8,
    pub tag: u8,
    pub fate: u8,
    pub unstamped: bool,
}

impl Row {
    pub fn response_ns(&self) -> u64 {
        self.wait_ns + self.service_ns
    }

    /// When it left, from the start of the window.
    pub fn sent_ns(&self) -> u64 {
        self.intended_ns + self.wait_ns
    }
}

/// Reads a log of requests as `docs/requests.md` describes it: the last description, and all rows by slot.
pub fn read(path: &std::path::Path) -> (serde_json::Value, Vec<Row>) {
    let bytes = std::fs::read(path).expect("a log");
    assert_eq!(&bytes[..8], b"LGREQS\x02\n");
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let (mut at, mut description, mut rows) = (8, serde_json::Value::Null, Vec::new());
    while at < bytes.len() {
        let (kind, length) = (number(at), number(at + 4) as usize);
        let block = &bytes[at + 8..at + 8 + length];
        match kind {
            1 => description = serde_json::from_slice(block).expect("JSON"),
            2 => rows.extend(block.chunks_exact(64).map(row)),
            other => panic!("a block of kind {other}"),
        }
        at += 8 + length;
    }
    rows.sort_by_key(|row| row.slot);
    (description, rows)
}

fn row(bytes: &[u8]) -> Row {
    let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    Row {
        slot: long(0),
        intended_ns: long(8),
        wait_ns: long(16),
        service_ns: long(24),
        lag_ns: long(40),
        status: u16::from_le_bytes([bytes[56], bytes[57]]),
        target: bytes[58],
        predecessor: bytes[59],
        tag: bytes[60],
        fate: bytes[61],
        unstamped: bytes[62] != 0,
    }
}

/// Percentiles of the JSON report, and the percent of each.
pub const PERCENTILES: [(&str, usize); 5] = [("p50", 50), ("p75", 75), ("p90", 90), ("p99", 99), ("max", 100)];

/// The value that so many per cent of all did not exceed.
pub fn percentile(values: impl IntoIterator<Item = f64>, percent: usize) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    sorted[(sorted.len() * percent).div_ceil(100) - 1]
}

/// The report's percentiles are those of the log, in which all requests have their response, to the three digits of a
/// histogram.
pub fn assert_percentiles(run: &Run, rows: &[Row]) {
    let responses_us: Vec<f64> = rows.iter().map(|row| row.response_ns() as f64 / 1e3).collect();
    let services_us: Vec<f64> = rows.iter().map(|row| row.service_ns as f64 / 1e3).collect();
    for (name, percent) in PERCENTILES {
        for (kind, logged_us) in [("response", &responses_us), ("service", &services_us)] {
            let logged_us = percentile(logged_us.iter().copied(), percent);
            let reported_us = run.number(&format!("/latency_us/{kind}/{name}"));
            assert!(
                (reported_us / logged_us - 1.0).abs() <= 0.002,
                "{kind} {name}: {logged_us} us reported as {reported_us} us"
            );
        }
    }
}
