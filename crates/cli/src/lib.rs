//! The `lath` command as a function, for programs that are it: the binary `lath`, and `python -m lath`; and the rules for keys of footers,
//! which other writers share.

mod args;
mod check;
mod commands;
mod console;
mod destination;
mod encryption_key;
mod explain;
mod failure;
mod generate;
mod input;
mod interrupt;
mod metadata;
mod output;
mod random;
mod source;
mod split_plan;
mod summary;
mod target;
mod type_name;
mod write;

use std::ffi::OsString;
use std::io::{self, Write};

use clap::Parser;
use lath_parquet::Runtime;

use args::Cli;
pub use write::adapt_footer_key;

/// Whether the commands that need SQL are built in.
pub const HAS_SQL: bool = cfg!(feature = "sql");

/// Runs a command, and returns the exit code for the process. `arguments` are the process's; the first is its name, which help texts
/// show.
///
/// Results go to standard output, messages to standard error. This is for a process that does nothing else, to be called once and on
/// its first thread: SIGINT, SIGTERM and SIGHUP are blocked in this thread and all that it starts, and end the process when they come.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    // Before the first thread is started.
    Runtime::global().make_room_for_files();
    interrupt::install();
    let exit_code = match Cli::try_parse_from(arguments) {
        Ok(cli) => {
            let result = commands::run(cli.command);
            interrupt::end_if_interrupted();
            match result {
                Ok(outcome) => outcome.exit_code(),
                Err(failure) => {
                    failure.report();
                    failure.exit_code()
                }
            }
        }
        Err(message) => {
            // If the message cannot be written, only the exit code remains.
            let _ = message.print();
            u8::try_from(message.exit_code()).unwrap_or(2)
        }
    };
    // A program that is not Rust's does not flush it when it ends.
    let _ = io::stdout().flush();
    exit_code
}
