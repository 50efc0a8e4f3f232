//! `truepace`: see `truepace --help`.

use std::process::ExitCode;
use truepace::{cli, output, run};

fn main() -> ExitCode {
    match cli::parse(std::env::args().collect()).and_then(|config| run::run(&config)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            output::complain(format_args!("truepace: {error}"));
            ExitCode::from(error.exit_code())
        }
    }
}
