//! Mutations of real responses, a fixed number of them: the HTTP parser holds its properties for each. A longer search
//! that follows coverage is in `fuzz/`.

use crate::support::responses::{self, CORPUS, check};

/// Inputs in a usual run, and with LAB_LONG=1.
const INPUTS: u64 = 15_000;
const INPUTS_LONG: u64 = 4_000_000;

/// Sebastiano Vigna's SplitMix64; the same inputs in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// Pieces that decide how a response is read.
const WORDS: &[&[u8]] = &[
    b"\r\n",
    b"\n",
    b"\r",
    b"\r\n\r\n",
    b"0",
    b"-1",
    b"99999999999999999999",
    b"Content-Length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Connection: close\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"0\r\n\r\n",
    b";",
    b",",
    b" ",
    b"\x00",
    b"\xFF",
];

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    match random.below(7) {
        0 if !bytes.is_empty() => {
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }
        1 if !bytes.is_empty() => {
            let at = random.below(bytes.len());
            bytes[at] = random.next() as u8;
        }
        2 => {
            let end = (at + random.below(8)).min(bytes.len());
            bytes.drain(at..end);
        }
        3 => {
            let word = WORDS[random.below(WORDS.len())];
            bytes.splice(at..at, word.iter().copied());
        }
        4 => {
            let end = (at + random.below(40)).min(bytes.len());
            let copy = bytes[at..end].to_vec();
            let to = random.below(bytes.len() + 1);
            bytes.splice(to..to, copy);
        }
        5 => {
            let other = CORPUS[random.below(CORPUS.len())];
            bytes.truncate(at);
            bytes.extend_from_slice(&other[random.below(other.len())..]);
        }
        _ => bytes.truncate(at),
    }
}

#[test]
fn mutated_responses_of_real_servers_break_nothing() {
    let inputs = if std::env::var("LAB_LONG").as_deref() == Ok("1") { INPUTS_LONG } else { INPUTS };
    let mut random = Random(20_261_121);
    for _ in 0..inputs {
        let mut bytes = CORPUS[random.below(CORPUS.len())].to_vec();
        for _ in 0..=random.below(6) {
            mutate(&mut bytes, &mut random);
        }
        check(&bytes, random.below(bytes.len() + 1));
    }
    println!("{inputs} inputs");
}

#[test]
fn the_corpus_itself_is_read_as_it_stands() {
    for bytes in CORPUS {
        (0..=bytes.len()).for_each(|cut| check(bytes, cut));
    }
    let statuses: Vec<u16> = CORPUS
        .iter()
        .filter_map(|bytes| {
            responses::feed(std::iter::once(*bytes), true).0.ok()?.first().map(|response| response.status)
        })
        .collect();
    assert_eq!(statuses, [200, 201, 404, 200, 200, 200, 202, 200, 200, 204, 304, 503, 302, 200, 200]);
}
