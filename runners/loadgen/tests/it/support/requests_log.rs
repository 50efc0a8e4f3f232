//! The log of requests, read as `docs/requests.md` describes it.

/// A row of the log of requests, as far as the tests look at it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub slot: u64,
    pub intended_ns: u64,
    pub response_ns: u64,
    pub lag_ns: u64,
    pub status: u16,
    pub target: u8,
    pub predecessor: u8,
    pub tag: u8,
    pub fate: u8,
    pub unstamped: bool,
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
        response_ns: long(16) + long(24),
        lag_ns: long(40),
        status: u16::from_le_bytes([bytes[56], bytes[57]]),
        target: bytes[58],
        predecessor: bytes[59],
        tag: bytes[60],
        fate: bytes[61],
        unstamped: bytes[62] != 0,
    }
}
