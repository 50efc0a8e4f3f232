//! Help, the manual page, completions and the README describe the program that is there.

use crate::support::{Scratch, spawn, wait};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};

const README: &str = include_str!("../../README.md");
const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

fn printed(arguments: &[&str]) -> String {
    let output = wait(spawn(arguments));
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Every long flag that a text names.
fn long_flags(text: &str) -> BTreeSet<&str> {
    let end = |rest: &str| rest.find(|letter: char| !letter.is_ascii_alphanumeric() && !"-_".contains(letter));
    let of = |rest| end(rest).map_or(rest, |end| &rest[..end]);
    text.split([' ', '\n', '`', '(', '[']).filter_map(|word| word.strip_prefix("--")).map(of).collect()
}

#[test]
fn help_has_groups_examples_and_exit_codes() {
    let help = printed(&["--help"]);
    let mut rest = help.as_str();
    for heading in
        ["Load:", "Requests:", "Targets:", "Measurement:", "Reports:", "System:", "Examples:", "Output:", "Exit codes:"]
    {
        let line = format!("\n{heading}");
        rest = rest.split_once(&line).unwrap_or_else(|| panic!("'{heading}' is missing or misplaced in {help}")).1;
    }
    let short = printed(&["-h"]);
    assert!(short.contains("\nLoad:\n") && !short.contains("\nExamples:\n"), "{short}");
}

#[test]
fn the_manual_page_is_printed_without_a_url() {
    let page = printed(&["--man"]);
    assert!(page.contains("\n.TH truepace 1 ") && page.contains("\n.SH \"EXIT STATUS\"\n"), "{page}");
}

#[test]
fn completions_know_the_flags_in_every_shell() {
    let help = printed(&["--help"]);
    let flags: BTreeSet<_> =
        help.lines().filter(|line| line.trim_start().starts_with('-')).flat_map(long_flags).collect();
    assert!(flags.contains("receive-clock") && flags.contains("u_latency"), "{flags:?}");
    for shell in SHELLS {
        let text = printed(&["--completions", shell]);
        for flag in &flags {
            assert!(text.contains(flag), "{shell}: {flag} is missing in {text}");
        }
    }
    let output = wait(spawn(&["--completions", "tcsh"]));
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("bash"));
}

#[test]
fn bash_reads_its_completions() {
    let text = printed(&["--completions", "bash"]);
    let script = format!(
        "{text}\nCOMP_WORDS=(truepace --receive) COMP_CWORD=1\n_truepace truepace --receive truepace\necho \"${{COMPREPLY[@]}}\"\n"
    );
    let Ok(mut bash) = Command::new("bash").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        eprintln!("skipped: no bash here");
        return;
    };
    bash.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = bash.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "--receive-clock\n");
}

#[test]
fn a_page_that_cannot_be_written_is_an_error() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        eprintln!("skipped: no /dev/full here");
        return;
    };
    for (arguments, what) in [(&["--man"][..], "the manual page"), (&["--completions", "zsh"], "completions")] {
        let output = Command::new(env!("CARGO_BIN_EXE_truepace"))
            .args(arguments)
            .stdout(full.try_clone().unwrap())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(what) && stderr.contains("space"), "{stderr}");
    }
}

#[test]
fn every_flag_of_the_readme_is_in_the_help() {
    let help = printed(&["--help"]);
    // The last three are cargo's.
    let known: BTreeSet<_> = long_flags(&help).into_iter().chain(["features", "locked", "path"]).collect();
    let named = long_flags(README);
    assert!(named.len() > 10, "{named:?}");
    let unknown: Vec<_> = named.difference(&known).collect();
    assert!(unknown.is_empty(), "README.md names {unknown:?}");
}

#[test]
fn every_command_line_of_the_readme_is_taken() {
    // A script that is absent is found only after the flags were read, and ends the run before anything is sent.
    let scratch = Scratch::new();
    let absent = scratch.0.join("absent.lua");
    let lines: Vec<_> = README.lines().filter_map(|line| line.strip_prefix("    truepace ")).collect();
    assert!(lines.len() >= 5, "{lines:?}");
    for line in lines.iter().filter(|line| line.contains("http://")) {
        let flags = line.split(" #").next().unwrap();
        let mut arguments = vec!["-s", absent.to_str().unwrap()];
        arguments.extend(flags.split_whitespace().map(|word| word.trim_matches('\'')));
        if let Some(place) = arguments.iter().skip(2).position(|word| *word == "-s") {
            arguments[place + 3] = absent.to_str().unwrap();
        }
        let output = wait(spawn(&arguments));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("cannot read the script"), "{line}: {stderr}");
    }
}
