//! The parser under libFuzzer: how to run it is in `fuzz/README.md`.

#![no_main]

// Its corpus is for the tests that start from it.
#[allow(dead_code)]
#[path = "../tests/it/support/responses.rs"]
mod responses;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((first, rest)) = bytes.split_first() {
        responses::check(rest, usize::from(*first));
    }
});
