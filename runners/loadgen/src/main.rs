//! `loadgen`: see `loadgen --help`.

use loadgen::{cli, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::parse(std::env::args().collect()).and_then(|config| run::run(&config)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("loadgen: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
