//! `sql`: statements in SQL, over files that are tables by their names.

use std::fs;
use std::io::{self, Read};

use lath_parquet::Runtime;
use lath_sql::{BlockingSession, Error, Session};

use crate::args::SqlArgs;
use crate::failure::{Failure, Outcome, Result};
use crate::output::Output;
use crate::scan::cores;
use crate::table::scan_failure;

/// Runs the statements one after the other, and writes the rows that they answer with.
pub(super) fn run(args: &SqlArgs) -> Result<Outcome> {
    let output = Output::new(&args.output)?;
    let text = text(args)?;
    let runtime = Runtime::builder().threads(args.threads.map_or_else(cores, usize::from)).build();
    let mut builder = Session::builder().runtime(&runtime);
    if let Some(bytes) = args.memory {
        builder = builder.memory_bytes(bytes);
    }
    let session = builder.build().map_err(Error::from).and_then(BlockingSession::new).map_err(failed)?;
    let statements = session.statements(&text).map_err(failed)?;
    if statements.is_empty() {
        return Err(Failure::Usage(
            "there is no statement; write one, such as \"SELECT * FROM 'trips.parquet'\"".to_owned(),
        ));
    }
    let mut found = 0;
    let mut written = 0;
    for statement in &statements {
        let answer = session.run(statement).map_err(failed)?;
        if answer.schema().fields().is_empty() {
            for batch in answer {
                batch.map_err(failed)?;
            }
            continue;
        }
        if written > 0 && output.path().is_some() {
            return Err(Failure::Usage("several statements answer with rows; write one of them to a file".to_owned()));
        }
        written += 1;
        let mut rows = output.open_presorted(answer.schema())?;
        for batch in answer {
            let batch = batch.map_err(failed)?;
            found += batch.num_rows();
            rows.write(&batch)?;
        }
        rows.finish()?;
    }
    Ok(if written > 0 && found == 0 { Outcome::Nothing } else { Outcome::Done })
}

/// The text of the statements.
fn text(args: &SqlArgs) -> Result<String> {
    if let Some(path) = &args.file {
        return fs::read_to_string(path)
            .map_err(|error| Failure::Io(format!("{}: cannot read: {error}", path.display())));
    }
    match args.text.as_deref() {
        Some("-") => {
            let mut text = String::new();
            let read = io::stdin().read_to_string(&mut text);
            read.map_err(|error| Failure::Io(format!("standard input: cannot read: {error}")))?;
            Ok(text)
        }
        text => Ok(text.unwrap_or_default().to_owned()),
    }
}

fn failed(error: Error) -> Failure {
    match error {
        Error::File(error) => scan_failure(*error),
        Error::Statement(what) | Error::Rows(what) => Failure::Usage(what),
        Error::Resources(what) => Failure::Io(what),
        Error::Internal(what) => Failure::Internal(what),
        other => Failure::Internal(other.to_string()),
    }
}
