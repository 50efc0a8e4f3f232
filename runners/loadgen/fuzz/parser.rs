//! The parser under libFuzzer: how to run it is in `fuzz/README.md`.

#![no_main]

// Its corpus is for the tests that start from it.
#[allow(dead_code)]
#[path = "../tests/it/support/answers.rs"]
mod answers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((first, rest)) = bytes.split_first() {
        answers::check(rest, usize::from(*first));
    }
});
