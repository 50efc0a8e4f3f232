//! `truepace-reference`: see `truepace-reference --help`.

use clap::Parser;
use std::process::ExitCode;
use truepace::output;
use truepace::reference::{Args, run};

fn main() -> ExitCode {
    let args = Args::try_parse().unwrap_or_else(|error| {
        let _ = error.print();
        std::process::exit(i32::from(error.use_stderr()));
    });
    match run(&args).and_then(|report| output::print("the report", format!("{report}\n"))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(format_args!("truepace-reference: {error}"));
            ExitCode::from(error.exit_code())
        }
    }
}
