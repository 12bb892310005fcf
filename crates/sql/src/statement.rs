//! Splits a text into statements.

use std::ops::Range;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::dialect::LathDialect;
use crate::error::{Error, Result};
use crate::text::{Lines, Mistake, located};

/// The statement itself, or the one within EXPLAIN.
pub(crate) fn explained(statement: &mut Statement) -> &mut Statement {
    match statement {
        Statement::Explain(explain) => explained(&mut explain.statement),
        other => other,
    }
}

/// Returns the byte ranges of the statements in `text`, without the `;` between them. Parts with only whitespace and comments are left out.
///
/// # Errors
/// [`Error::Mistake`] for quotes or comments that are not closed.
pub fn split_statements(text: &str) -> Result<Vec<Range<usize>>> {
    let tokens = Tokenizer::new(&LathDialect, text).tokenize_with_location().map_err(|error| {
        let (message, place) = located(&error.to_string(), text);
        Error::Mistake(Box::new(Mistake::new(message, place.map(|at| at..text.len()))))
    })?;
    let lines = Lines::new(text);
    let mut statements = Vec::new();
    let mut start = None;
    for token in tokens {
        let at = || lines.offset(token.span.start.line, token.span.start.column);
        match token.token {
            Token::Whitespace(_) => {}
            Token::SemiColon => statements.extend(start.take().map(|start| start..at())),
            _ => start = start.or_else(|| Some(at())),
        }
    }
    statements.extend(start.map(|start| start..start + text[start..].trim_end().len()));
    Ok(statements)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<&str> {
        split_statements(text).unwrap().into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn statements_end_at_semicolons_outside_of_quotes_and_comments() {
        assert_eq!(
            parts("SELECT 1; SELECT ';' AS \"a;b\" -- no; not here\n;;\n"),
            ["SELECT 1", "SELECT ';' AS \"a;b\" -- no; not here\n"]
        );
        assert_eq!(parts("/* a; b */ ; -- c"), [""; 0]);
        assert_eq!(parts("SELECT 'é',\n 'ü' ; SELECT\n2 "), ["SELECT 'é',\n 'ü' ", "SELECT\n2"]);
    }

    #[test]
    fn quotes_without_end_are_mistakes_at_the_quote() {
        let Err(Error::Mistake(mistake)) = split_statements("SELECT\n 'é', 'abc") else { panic!("it has no end") };
        assert_eq!(mistake.place().map(|place| place.start), Some(14));
    }
}
