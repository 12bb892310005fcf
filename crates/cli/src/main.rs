//! The `lath` command: look into Parquet files, find rows, convert, check.

mod args;
mod background;
mod catalog;
mod check;
mod commands;
mod date_time_format;
mod destination;
mod explain;
mod failure;
mod generate;
mod input_rows;
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

use std::process::ExitCode;

use clap::Parser;

use args::Cli;

fn main() -> ExitCode {
    interrupt::install();
    let result = commands::run(Cli::parse().command);
    interrupt::end_if_interrupted();
    match result {
        Ok(outcome) => ExitCode::from(outcome.exit_code()),
        Err(failure) => {
            failure.report();
            ExitCode::from(failure.exit_code())
        }
    }
}
