//! `PIVOT t ON year USING sum(amount)`, `UNPIVOT t ON a, b` and `SUMMARIZE t`, written as functions of queries, which `reshape` plans.

use std::ops::Range;

use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::edits::{Edits, mark};
use super::foreign::{follows_definition, starts_query};
use crate::dialect::{PIVOT, PIVOT_GROUPS, SUMMARY, UNPIVOT, error_at};

/// Rewrites the forms of a text, the last one first, so that inner forms come before outer ones.
pub(super) fn rewritten(mut tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>, ParserError> {
    loop {
        let mut edits = Edits::new(tokens);
        let form = |at: &usize| {
            let is_form = ["pivot", "unpivot", "summarize"].iter().any(|word| edits.is_word(*at, word));
            is_form && (starts_query(&edits, *at) || follows_definition(&edits, *at))
        };
        let Some(at) = (0..edits.len()).rev().find(form) else { break standard_forms(edits) };
        match edits.word(at).as_deref() {
            Some("pivot") => pivot(&mut edits, at)?,
            Some("unpivot") => unpivot(&mut edits, at)?,
            _ => summary(&mut edits, at),
        }
        tokens = edits.finish();
    }
}

/// The place behind a form, where the clauses of the query around it begin.
fn end(edits: &Edits, at: usize) -> usize {
    let words = ["order", "limit", "offset", "union", "except", "intersect", "qualify"];
    edits.end(at, |at| words.iter().any(|word| edits.is_word(at, word)))
}

/// The place of a word in a range, outside of inner brackets, or the end of the range.
fn place(edits: &Edits, range: Range<usize>, word: &str) -> usize {
    edits.end(range.start, |at| at >= range.end || edits.is_word(at, word)).min(range.end)
}

/// The tokens of a call whose arguments are queries.
struct Call {
    tokens: Vec<Piece>,
}

enum Piece {
    Text(&'static str),
    Tokens(Vec<TokenWithSpan>),
}

impl Call {
    /// Adds a query of these items, or of `text` if there are none.
    fn query(&mut self, items: Vec<TokenWithSpan>, text: &'static str) {
        let items = if items.is_empty() { Piece::Text(text) } else { Piece::Tokens(items) };
        self.tokens.extend([Piece::Text(", (SELECT "), items, Piece::Text(")")]);
    }

    /// Writes the call in the place of a form. Its first argument is the source.
    fn write(self, edits: &mut Edits, form: Range<usize>, name: &str, source: Range<usize>) {
        let span = edits.span(form.start);
        let is_query = ["select", "from", "with", "values"].iter().any(|word| edits.is_word(source.start, word));
        let source = edits.copy(source);
        edits.remove(form.clone());
        edits.insert(form.end, "SELECT * FROM ");
        edits.insert_tokens(form.end, vec![TokenWithSpan { token: mark(name), span }]);
        edits.insert(form.end, if is_query { " ((" } else { " ((SELECT * FROM " });
        edits.insert_tokens(form.end, source);
        edits.insert(form.end, ")");
        for piece in self.tokens {
            match piece {
                Piece::Text(text) => edits.insert(form.end, text),
                Piece::Tokens(tokens) => edits.insert_tokens(form.end, tokens),
            }
        }
        edits.insert(form.end, ") ");
    }
}

/// `PIVOT source ON column [IN (values)], … [USING aggregates] [GROUP BY columns]`.
fn pivot(edits: &mut Edits, at: usize) -> Result<(), ParserError> {
    let end = end(edits, at + 1);
    let on = place(edits, at + 1..end, "on");
    let group = place(edits, at + 1..end, "group");
    let using = place(edits, at + 1..group, "using");
    if on >= using || on == at + 1 {
        return Err(error_at("PIVOT is written as PIVOT t ON column USING sum(value)", edits.span(at).start));
    }
    let mut call = Call { tokens: Vec::new() };
    call.query(edits.copy((using + 1).min(group)..group), "count(*)");
    call.query(edits.copy((group + 2).min(end)..end), "*");
    for item in items(edits, on + 1..using) {
        let values = place(edits, item.clone(), "in");
        let is_list = values < item.end
            && *edits.token(values + 1) == Token::LParen
            && edits.closing(values + 1) == Some(item.end - 1);
        if !is_list {
            call.query(edits.copy(item), "*");
            call.query(Vec::new(), "*");
            continue;
        }
        call.query(edits.copy(item.start..values), "*");
        let list = values + 2..item.end - 1;
        match ["select", "from", "with"].iter().any(|word| edits.is_word(list.start, word)) {
            true => call.tokens.extend([Piece::Text(", ("), Piece::Tokens(edits.copy(list)), Piece::Text(")")]),
            false => call.query(edits.copy(list), "*"),
        }
    }
    call.write(edits, at..end, PIVOT, at + 1..on);
    Ok(())
}

/// `UNPIVOT source ON columns [INTO NAME name VALUE value]`.
fn unpivot(edits: &mut Edits, at: usize) -> Result<(), ParserError> {
    let end = end(edits, at + 1);
    let on = place(edits, at + 1..end, "on");
    let into = place(edits, at + 1..end, "into");
    if on >= into || on == at + 1 {
        return Err(error_at(
            "UNPIVOT is written as UNPIVOT t ON a, b INTO NAME name VALUE value",
            edits.span(at).start,
        ));
    }
    let mut call = Call { tokens: Vec::new() };
    call.query(edits.copy(on + 1..into), "*");
    let mut names = Vec::new();
    if into < end {
        let is_named = edits.is_word(into + 1, "name") && edits.is_word(into + 3, "value") && into + 5 == end;
        if !is_named {
            let message = "UNPIVOT has one column of names and one of values: INTO NAME name VALUE value";
            return Err(error_at(message, edits.span(into).start));
        }
        names.extend([edits.copy(into + 2..into + 3), edits.copy(into + 4..into + 5)]);
    }
    let mut names = names.into_iter();
    for text in ["name", "value"] {
        call.query(names.next().unwrap_or_default(), text);
    }
    call.write(edits, at..end, UNPIVOT, at + 1..on);
    Ok(())
}

/// `SUMMARIZE t` and `SUMMARIZE SELECT …`.
fn summary(edits: &mut Edits, at: usize) {
    let end = edits.end(at + 1, |_| false);
    Call { tokens: Vec::new() }.write(edits, at..end, SUMMARY, at + 1..end);
}

/// The ranges between commas.
fn items(edits: &Edits, range: Range<usize>) -> Vec<Range<usize>> {
    let mut items = Vec::new();
    let mut start = range.start;
    while start < range.end {
        let end = edits.end(start, |at| at >= range.end || *edits.token(at) == Token::Comma).min(range.end);
        items.push(start..end);
        start = end + 1;
    }
    items
}

/// Moves `GROUP BY columns` of `t PIVOT (sum(v) FOR c IN (1, 2) GROUP BY columns)` to the front, as a function.
fn standard_forms(mut edits: Edits) -> Result<Vec<TokenWithSpan>, ParserError> {
    for at in 0..edits.len() {
        if !edits.is_word(at, "pivot") || *edits.token(at + 1) != Token::LParen {
            continue;
        }
        let Some(close) = edits.closing(at + 1) else { continue };
        let group = place(&edits, at + 2..close, "group");
        if group < close && edits.is_word(group + 1, "by") {
            let columns = edits.copy(group + 2..close);
            let span = edits.span(group);
            edits.insert_tokens(at + 2, vec![TokenWithSpan { token: mark(PIVOT_GROUPS), span }]);
            edits.insert(at + 2, "(");
            edits.insert_tokens(at + 2, columns);
            edits.insert(at + 2, "), ");
            edits.remove(group..close);
        }
    }
    Ok(edits.finish())
}
