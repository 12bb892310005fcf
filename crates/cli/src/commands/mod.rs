//! One module per command.

mod bucket_backup;
mod catalog;
mod check;
#[cfg(feature = "cluster")]
mod cluster;
#[cfg(feature = "sql")]
mod column_path;
mod convert;
#[cfg(feature = "sql")]
mod engine;
mod generate;
mod keyed_table;
mod kv;
#[cfg(any(feature = "cluster", feature = "serve"))]
mod listen;
mod merge;
mod meta;
#[cfg(feature = "sql")]
mod order_terms;
mod rewrite;
mod rows;
mod schema;
mod search;
#[cfg(feature = "serve")]
mod serve;
mod split;
#[cfg(feature = "sql")]
mod sql;
mod uploads;
#[cfg(feature = "cluster")]
mod worker;

use std::io::Write;

use clap::CommandFactory;

use crate::args::{Cli, Command};
use crate::failure::{Failure, Outcome, Result};
use crate::target::Target;

/// Runs a command.
pub(crate) fn run(command: Command) -> Result<Outcome> {
    match command {
        Command::Schema(args) => schema::run(&args),
        Command::Meta(args) => meta::run(&args),
        Command::Count(args) => search::count::run(&args),
        Command::Head(args) => rows::head(&args),
        Command::Tail(args) => rows::tail(&args),
        Command::Sample(args) => rows::sample(&args),
        Command::Cat(args) => rows::cat(&args),
        Command::Check(args) => check::run(&args),
        Command::Find(args) => search::find::run(&args),
        #[cfg(feature = "sql")]
        Command::Describe(args) => search::describe::run(&args),
        #[cfg(feature = "sql")]
        Command::Sql(args) => sql::run(&args),
        Command::Rewrite(args) => rewrite::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Split(args) => split::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Gen { what } => generate::run(&what),
        Command::Kv { what } => kv::run(&what),
        Command::Table { what } => keyed_table::run(&what),
        Command::Catalog { what } => catalog::run(&what),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::run(&args),
        Command::Uploads(args) => uploads::run(&args),
        #[cfg(feature = "cluster")]
        Command::Worker(args) => worker::run(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "lath", &mut script);
            print(&String::from_utf8_lossy(&script))
        }
    }
}

/// Writes `text` to standard output.
fn print(text: &str) -> Result<Outcome> {
    let mut target = Target::stdout()?;
    target.write_all(text.as_bytes()).map_err(|error| Failure::writing(target.name(), &error))?;
    target.finish()?;
    Ok(Outcome::Done)
}
