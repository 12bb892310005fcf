//! The `lath` command: look into Parquet files, find rows, convert, check.

mod args;
mod background;
mod check;
mod commands;
mod date_time_format;
mod destination;
mod explain;
mod failure;
mod generate;
mod inputs;
mod interrupt;
mod output;
mod page_index;
mod parquet_type;
mod progress;
mod quantity;
mod random;
mod scan;
mod source;
mod split_plan;
mod statistic;
mod summary;
mod table;
mod target;
mod terminal;
mod type_name;
mod watch;
mod write;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;

use args::Cli;
use failure::Failure;

fn main() -> ExitCode {
    interrupt::install();
    let result = commands::run(Cli::parse().command);
    interrupt::end_if_interrupted();
    match result {
        Ok(outcome) => ExitCode::from(outcome.exit_code()),
        Err(failure) => {
            if !matches!(failure, Failure::ClosedPipe | Failure::Interrupted) {
                let colour = io::stderr().is_terminal() && terminal::wants_colour();
                let (start, end) = if colour { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
                // Where standard error is closed too, the exit code has to say it alone.
                let _ = writeln!(io::stderr(), "{start}error:{end} {failure}");
            }
            ExitCode::from(failure.exit_code())
        }
    }
}
