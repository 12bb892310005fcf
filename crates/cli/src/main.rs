//! The `lath` command: look into Parquet files, find rows, convert, check.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(lath_cli::run(std::env::args_os()))
}
