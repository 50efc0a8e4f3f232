//! `truepace-reference`: see `truepace-reference --help`.

use clap::Parser;
use std::process::ExitCode;
use truepace::reference::{Args, run};

fn main() -> ExitCode {
    let args = Args::try_parse().unwrap_or_else(|error| {
        let _ = error.print();
        std::process::exit(i32::from(error.use_stderr()));
    });
    match run(&args) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("truepace-reference: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
