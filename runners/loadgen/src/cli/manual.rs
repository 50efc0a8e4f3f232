//! What is generated from the flags: the end of `--help`, the manual page, and the completions of shells.

use super::args::Args;
use crate::error::{Error, Result};
use crate::output;
use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

/// Command lines, each with what it does.
const EXAMPLES: [(&str, &str); 8] = [
    ("truepace -t 2 -c 64 -d 30s http://127.0.0.1:8080/", "Find how much the server takes, as with wrk (closed loop)"),
    (
        "truepace -t 2 -c 64 -d 30s -R 2000 -L --summary http://127.0.0.1:8080/",
        "Find how long responses take at 2000 requests/s, as with wrk2 (open loop), and how far the generator was the limit",
    ),
    ("truepace -R 2000 -m PUT -b text -H Content-Type:text/plain http://127.0.0.1:8080/", "Send a body"),
    (
        "truepace -R 2000 -s put.lua --json out.json http://127.0.0.1:8080/ -- 100",
        "Let a script make the requests, with 100 as its argument, and write the results as JSON",
    ),
    (
        "truepace -R 2000 -d 30s --slo p99=10ms,errors=0 http://127.0.0.1:8080/",
        "End with code 3 unless the 99th percentile is at most 10 ms and nothing failed",
    ),
    (
        "truepace -R 4000 -c 1 --target old=http://127.0.0.1:8080/ --target new=http://127.0.0.1:8081/",
        "Compare two servers in one schedule, each request to one or the other",
    ),
    (
        "truepace -R 1000:9000 -d 2m --hlog ramp.hlog http://127.0.0.1:8080/",
        "Raise the rate evenly, and log each second",
    ),
    (
        "truepace -R 9000 --share 2/3 --start-at 1767225600000000000 http://192.0.2.7:8080/",
        "Send the second third of one schedule, from an instant on at which the others begin too",
    ),
];

/// Words of the output, each with its meaning.
const OUTPUT: [(&str, &str); 10] = [
    ("Latency, percentiles", "Response time: from the moment at which the request was to start (-R), or was sent"),
    ("service time", "From the moment at which the request was sent; the difference is waiting for a connection"),
    ("Req/Sec", "Responses per second of one thread; Requests/sec is of all"),
    ("Socket errors", "Requests that ended without a response: no connection, reset or closed, not sent, timed out"),
    ("Non-2xx or 3xx", "Responses with a status of 400 or more; they count as responses"),
    ("scheduled, sent", "Requests that were due within the time of -d, and those of them that left"),
    ("censored", "Requests without a response when the run ended; they count with what they had waited so far"),
    ("bound 99% >= 2s", "More requests had no response than lie beyond that percentile: it is 2s at least"),
    ("lag", "How late requests left because the generator was not in time"),
    (
        "kept up",
        "Whether the figures are those of the server, or of a generator that was too slow, and what to change then",
    ),
];

/// Exit codes, each with its meaning.
const EXIT_CODES: [(u8, &str); 6] = [
    (0, "All that was scheduled was sent and had its response; with --wrk-compat in place of 4 too"),
    (1, "A flag, the URL or the script is wrong, or the script failed during the run (reports are written)"),
    (2, "The run could not be done: nothing listens, a file cannot be written, the system refuses a resource"),
    (3, "An objective of --slo was missed"),
    (4, "Requests failed, were never sent or had no response, or no status was below 400 (reports are written)"),
    (
        130,
        "The run was ended by SIGINT, SIGTERM or SIGHUP (once the load has begun, \
         reports are written; a third signal ends it without them)",
    ),
];

/// Format the examples, the meaning of the output and the exit codes that end `--help`.
pub(super) fn after_help() -> String {
    let examples = EXAMPLES.iter().map(|(line, what)| format!("  {what}:\n    {line}\n"));
    let output = OUTPUT.iter().map(|(word, meaning)| format!("  {word}:\n    {meaning}\n"));
    let codes = EXIT_CODES.iter().map(|(code, meaning)| format!("  {code:>3}  {meaning}\n"));
    format!(
        "Examples:\n{}\nOutput:\n{}\nExit codes:\n{}",
        examples.collect::<String>(),
        output.collect::<String>(),
        codes.collect::<String>()
    )
}

/// Format the manual page.
fn page() -> std::io::Result<Vec<u8>> {
    let man = Man::new(Args::command()).manual("User Commands");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    let mut end = Roff::new();
    end.control("SH", ["EXAMPLES"]);
    for (line, what) in EXAMPLES {
        end.control("TP", []).text([roman(what)]).text([bold(line)]);
    }
    end.control("SH", ["OUTPUT"]);
    for (word, meaning) in OUTPUT {
        end.control("TP", []).text([bold(word)]).text([roman(meaning)]);
    }
    end.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in EXIT_CODES {
        end.control("TP", []).text([bold(code.to_string())]).text([roman(meaning)]);
    }
    end.to_writer(&mut page)?;
    man.render_version_section(&mut page)?;
    Ok(page)
}

/// Print the manual page.
///
/// # Errors
/// [`Error::CouldNotRun`] when standard output cannot be written.
pub(super) fn print_page() -> Result<()> {
    let page = page().map_err(|error| Error::CouldNotRun(format!("cannot make the manual page: {error}")))?;
    output::print("the manual page", page)
}

/// Print the completions of a shell.
///
/// # Errors
/// [`Error::CouldNotRun`] when standard output cannot be written.
pub(super) fn print_completions(shell: Shell) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "truepace", &mut text);
    output::print("the completions", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> String {
        String::from_utf8(page().unwrap()).unwrap()
    }

    #[test]
    fn every_flag_is_in_a_group() {
        let command = Args::command();
        for flag in command.get_arguments() {
            assert_eq!(flag.get_help_heading().is_none(), flag.is_positional(), "{}", flag.get_id());
        }
    }

    #[test]
    fn every_example_is_a_valid_command_line() {
        for (line, what) in EXAMPLES {
            let command = line.split(' ').map(str::to_owned).collect();
            if let Err(error) = crate::cli::parse(command) {
                panic!("{what}: {line}: {error}");
            }
        }
    }

    #[test]
    fn the_manual_page_has_every_flag_example_and_exit_code() {
        // Roff escapes a hyphen that is to stay one.
        let page = text().replace("\\-", "-");
        for flag in Args::command().get_arguments().filter_map(|arg| arg.get_long()) {
            assert!(page.contains(&format!("--{flag}")), "--{flag} is missing in {page}");
        }
        for (line, what) in EXAMPLES {
            assert!(page.contains(line) && page.contains(what), "{line} is missing in {page}");
        }
        for (word, meaning) in OUTPUT {
            assert!(page.contains(word) && page.contains(meaning), "{word} is missing in {page}");
        }
        for (code, meaning) in EXIT_CODES {
            assert!(page.contains(&format!("\\fB{code}\\fR\n{meaning}")), "{code} is missing in {page}");
        }
    }

    #[test]
    fn the_manual_page_has_its_sections_in_order() {
        let page = text();
        let sections: Vec<_> =
            page.lines().filter_map(|line| line.strip_prefix(".SH ")).map(|name| name.trim_matches('"')).collect();
        let groups = ["LOAD", "REQUESTS", "TARGETS", "MEASUREMENT", "REPORTS", "SYSTEM"];
        let expected = [
            &["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"][..],
            &groups,
            &["EXAMPLES", "OUTPUT", "EXIT STATUS", "VERSION"],
        ];
        assert_eq!(sections, expected.concat());
    }
}
