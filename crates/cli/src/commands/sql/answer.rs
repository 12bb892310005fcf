//! The answers of statements that are run one after the other.

use std::ops::Range;

use lath_sql::{Answer, BlockingSession, Error};

use crate::commands::engine::{failed, write_rows};
use crate::failure::{Failure, Result};
use crate::output::{Output, RowSink};

/// Checks the syntax of all statements, so that none is run if one of them cannot be parsed.
pub(super) fn check(session: &BlockingSession, text: &str, statements: &[Range<usize>]) -> Result<(), Error> {
    statements.iter().try_for_each(|statement| session.check_syntax(text, statement.clone()))
}

/// Writes answers and counts them.
pub(super) struct Answers<'a> {
    output: Output<'a>,
    written: usize,
    rows: u64,
    /// The file that gets its name when all statements have succeeded.
    unfinished: Option<Box<dyn RowSink>>,
}

impl<'a> Answers<'a> {
    pub(super) fn new(output: Output<'a>) -> Self {
        Self { output, written: 0, rows: 0, unfinished: None }
    }

    /// Writes an answer, if it has columns. `is_undone`: whether its changes are undone if a later statement fails.
    pub(super) fn write(&mut self, answer: Answer, is_undone: bool) -> Result<()> {
        if answer.schema().fields().is_empty() {
            for batch in answer {
                batch.map_err(failed)?;
            }
            return Ok(());
        }
        if self.written > 0 && self.output.path().is_some() {
            return Err(Failure::Usage(
                "several statements return rows, and a file takes the rows of one; run them one by one".to_owned(),
            ));
        }
        self.written += 1;
        let schema = answer.schema().clone();
        // Rows that a change has returned may be nowhere else.
        let is_last_word = answer.writes() && !is_undone;
        let (sink, found) = write_rows(answer, &self.output, &schema, Ok)?;
        self.rows += found;
        match self.output.path().is_some() && !is_last_word {
            true => self.unfinished = Some(sink),
            false => drop(sink.finish()?),
        }
        Ok(())
    }

    /// Gives the file its name.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.unfinished.take().map_or(Ok(()), |sink| sink.finish().map(drop))
    }

    /// Whether there were answers, and no row in any of them.
    pub(super) fn are_empty(&self) -> bool {
        self.written > 0 && self.rows == 0
    }
}
