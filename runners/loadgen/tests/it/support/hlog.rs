//! Reads the histogram log, by HdrHistogram's own crate.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use std::path::Path;

/// A line of the log.
pub struct Line {
    pub tag: String,
    /// Tenths of a second from the start of the window.
    pub tenth: usize,
    pub duration_s: f64,
    /// As the line says, not as its histogram does.
    pub max_ms: f64,
    pub times_ns: Histogram<u64>,
}

/// All lines.
pub fn read(path: &Path) -> Vec<Line> {
    let text = std::fs::read(path).expect("a histogram log");
    let lines = IntervalLogIterator::new(&text).filter_map(|entry| match entry.expect("a valid line") {
        LogEntry::Interval(interval) => Some(Line {
            tag: interval.tag().expect("a tag").as_str().to_owned(),
            tenth: (interval.start_timestamp().as_secs_f64() * 10.0).round() as usize,
            duration_s: interval.duration().as_secs_f64(),
            max_ms: interval.max(),
            times_ns: Deserializer::new()
                .deserialize(&mut decode_base64(interval.encoded_histogram()).as_slice())
                .expect("a valid histogram"),
        }),
        _ => None,
    });
    lines.collect()
}

/// The lines of completed requests' response times.
pub fn responses(path: &Path) -> Vec<Line> {
    read(path).into_iter().filter(|line| line.tag == "response").collect()
}

fn decode_base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0u32, 0);
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        bits = bits << 6 | ALPHABET.iter().position(|known| *known == letter).expect("base64") as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}
