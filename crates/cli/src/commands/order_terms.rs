//! The terms of `--order-by`.

use arrow_schema::Schema;

use super::column_path::ColumnPath;
use crate::failure::{Failure, Result};

/// The terms of an order such as `price desc, "odd name" nulls first`, as SQL. Nulls are last unless said otherwise.
pub(in crate::commands) fn order_terms(order: &str, schema: &Schema) -> Result<Vec<String>> {
    let wrong = |term: &str| {
        Failure::Usage(format!(
            "--order-by {term:?}: write columns, each with ASC or DESC and NULLS FIRST or NULLS LAST"
        ))
    };
    let term = |term: &str| {
        let term = term.trim();
        let mut is_quoted = false;
        let is_end = |c: char| {
            is_quoted ^= c == '"';
            c.is_whitespace() && !is_quoted
        };
        let (path, rest) = term.split_at(term.find(is_end).unwrap_or(term.len()));
        if path.is_empty() || is_quoted {
            return Err(wrong(term));
        }
        let column = ColumnPath::find(path, schema, "--order-by")?;
        let words: Vec<String> = rest.split_whitespace().map(str::to_ascii_lowercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (direction, nulls) = match words.as_slice() {
            [direction @ ("asc" | "desc"), nulls @ ..] => (*direction, nulls),
            nulls => ("asc", nulls),
        };
        let nulls = match nulls {
            [] | ["nulls", "last"] => "LAST",
            ["nulls", "first"] => "FIRST",
            _ => return Err(wrong(term)),
        };
        Ok(format!("{} {direction} NULLS {nulls}", column.expression()))
    };
    split_at_commas(order).into_iter().map(term).collect()
}

/// The parts between commas that are not in double quotes.
fn split_at_commas(text: &str) -> Vec<&str> {
    let mut is_quoted = false;
    text.split(|c| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    })
    .collect()
}
