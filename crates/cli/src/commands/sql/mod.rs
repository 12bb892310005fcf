//! `sql`: runs SQL over files, which are queried by name.

mod answer;
mod mistake;
mod prompt;

use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use lath_sql::{SessionBuilder, split_statements};

use self::answer::{Answers, check};
use self::mistake::failed_in;
#[cfg(feature = "cluster")]
use super::cluster::cluster;
use super::engine::{self, Database};
use crate::args::SqlArgs;
use crate::failure::{Failure, Outcome, Result};
use crate::output::Output;

/// Runs the statements one after the other and writes their rows, or starts a prompt.
pub(super) fn run(args: &SqlArgs) -> Result<Outcome> {
    #[cfg(feature = "cluster")]
    let cluster = cluster(args)?;
    let extend = |builder: SessionBuilder| {
        #[cfg(feature = "cluster")]
        if let Some(cluster) = &cluster {
            return cluster.extend(builder);
        }
        builder
    };
    let session = || {
        let (read_only, wait) = (args.read_only, args.wait);
        let database = args.database.as_deref().map(|folder| Database { folder, read_only, wait });
        let threads = args.engine.threads.map(usize::from);
        engine::session(threads, args.engine.memory, database, args.catalog.as_deref(), extend)
    };
    if args.text.is_none() && args.file.is_none() && io::stdin().is_terminal() {
        if !io::stdout().is_terminal() || args.output.output.is_some() {
            return Err(Failure::Usage(
                "the prompt needs a terminal; give statements as an argument, or - for standard input".to_owned(),
            ));
        }
        return prompt::run(&session()?, args);
    }
    let output = Output::new(&args.output)?;
    let text = text(args)?;
    let name = args.file.as_deref().map(Path::display).map(|name| name.to_string());
    let session = session()?;
    let statements = split_statements(&text).map_err(|error| failed_in(&text, name.as_deref(), error))?;
    if statements.is_empty() {
        return Err(Failure::Usage(
            "there is no statement; write one, such as \"SELECT * FROM 'trips.parquet'\"".to_owned(),
        ));
    }
    let failed = |error| failed_in(&text, name.as_deref(), error);
    check(&session, &text, &statements).map_err(failed)?;
    let mut answers = Answers::new(output);
    for statement in statements {
        let answer = session.run_in(&text, statement, None).map_err(failed)?;
        answers.write(answer, session.session().is_in_transaction())?;
    }
    if session.session().rollback() {
        return Err(Failure::Usage(
            "the transaction was not committed, so its changes are undone; end it with COMMIT".to_owned(),
        ));
    }
    answers.finish()?;
    Ok(if answers.are_empty() { Outcome::Nothing } else { Outcome::Done })
}

/// The text of the statements.
fn text(args: &SqlArgs) -> Result<String> {
    if let Some(path) = &args.file {
        return read(path);
    }
    match args.text.as_deref() {
        Some("-") | None => {
            let mut text = String::new();
            let read = io::stdin().read_to_string(&mut text);
            read.map_err(|error| Failure::Io(format!("standard input: cannot read: {error}")))?;
            Ok(text)
        }
        Some(text) => Ok(text.to_owned()),
    }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| Failure::Io(format!("{}: cannot read: {error}", path.display())))
}
