//! The answers of statements that are run one after the other.

use std::ops::Range;

use lath_sql::{Answer, BlockingSession, Error};

use crate::commands::engine::{failed, write_answer};
use crate::failure::{Failure, Result};
use crate::output::Output;

/// Checks the syntax of all statements, so that none is run if one of them cannot be parsed.
pub(super) fn check(session: &BlockingSession, text: &str, statements: &[Range<usize>]) -> Result<(), Error> {
    statements.iter().try_for_each(|statement| session.check_syntax(text, statement.clone()))
}

/// Writes answers and counts them.
pub(super) struct Answers<'a> {
    output: Output<'a>,
    written: usize,
    rows: u64,
}

impl<'a> Answers<'a> {
    pub(super) fn new(output: Output<'a>) -> Self {
        Self { output, written: 0, rows: 0 }
    }

    /// Writes an answer, if it has columns.
    pub(super) fn write(&mut self, answer: Answer) -> Result<()> {
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
        self.rows += write_answer(answer, &self.output, &schema, Ok)?;
        Ok(())
    }

    /// Whether there were answers, and no row in any of them.
    pub(super) fn are_empty(&self) -> bool {
        self.written > 0 && self.rows == 0
    }
}
