//! Functions of elements: `x -> x + 1`, `lambda x: x + 1` and `[x + 1 FOR x IN list IF x > 0]`.
//!
//! `->` is also an operator of JSON. It begins the body of a function only behind a name in the arguments of a function that takes one.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::edits::Edits;
use crate::dialect::LAMBDA;

/// Functions that take functions of elements.
const TAKERS: [&str; 17] = [
    "list_transform",
    "array_transform",
    "list_apply",
    "array_apply",
    "apply",
    "list_filter",
    "array_filter",
    "filter",
    "list_reduce",
    "array_reduce",
    "reduce",
    "list_any_match",
    "array_any_match",
    "any_match",
    "list_first",
    "array_first",
    "columns",
];

/// Marks the arrows between parameters and bodies.
pub(super) fn with_marked_arrows(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut edits = Edits::new(without_comprehensions(tokens));
    let mut takes = Vec::new();
    for at in 0..edits.len() {
        match edits.token(at) {
            Token::LParen | Token::LBracket | Token::LBrace => {
                let name = at.checked_sub(1).and_then(|before| edits.word(before));
                takes.push(name.is_some_and(|name| TAKERS.contains(&name.as_str())));
            }
            Token::RParen | Token::RBracket | Token::RBrace => _ = takes.pop(),
            Token::Arrow if takes.last() == Some(&true) && has_parameters(&edits, at) => {
                edits.replace(at, Token::Placeholder(LAMBDA.to_owned()));
            }
            Token::Word(_) if edits.is_word(at, "lambda") => mark_word(&mut edits, at),
            _ => {}
        }
    }
    edits.finish()
}

/// Whether a name, or names in parentheses, stand alone before an arrow.
fn has_parameters(edits: &Edits, arrow: usize) -> bool {
    let is_start = |at: usize| matches!(edits.token(at), Token::Comma | Token::LParen);
    match arrow.checked_sub(1).map(|before| (before, edits.token(before))) {
        Some((before, Token::Word(_))) => before.checked_sub(1).is_some_and(is_start),
        Some((before, Token::RParen)) => {
            let open = (0..before).rev().find(|&at| !matches!(edits.token(at), Token::Word(_) | Token::Comma));
            open.is_some_and(|open| *edits.token(open) == Token::LParen && open.checked_sub(1).is_some_and(is_start))
        }
        _ => false,
    }
}

/// Writes `lambda x, y: body` as `(x, y) -> body`.
fn mark_word(edits: &mut Edits, at: usize) {
    let names = at + 1..edits.end(at + 1, |at| !matches!(edits.token(at), Token::Word(_) | Token::Comma));
    if names.is_empty() || *edits.token(names.end) != Token::Colon {
        return;
    }
    edits.remove(at..at + 1);
    if names.len() > 1 {
        edits.insert(names.start, "(");
        edits.insert(names.end, ")");
    }
    edits.replace(names.end, Token::Placeholder(LAMBDA.to_owned()));
}

/// Writes `[body FOR x IN list IF condition]` as `list_transform(list_filter(list, x -> condition), x -> body)`.
fn without_comprehensions(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    loop {
        let mut edits = Edits::new(tokens);
        // The innermost come first, because the last opening bracket is tried first.
        let found = (0..edits.len()).rev().find(|&open| {
            *edits.token(open) == Token::LBracket && {
                let body = edits.end(open + 1, |at| edits.is_word(at, "for"));
                edits.is_word(body, "for") && edits.is_word(body + 2, "in")
            }
        });
        let Some((open, close)) = found.and_then(|open| Some((open, edits.closing(open)?))) else {
            return edits.finish();
        };
        let body = open + 1..edits.end(open + 1, |at| edits.is_word(at, "for"));
        let name = body.end + 1..body.end + 2;
        let list = name.end + 1..edits.end(name.end + 1, |at| edits.is_word(at, "if"));
        let condition = if list.end < close { Some(list.end + 1..close) } else { None };
        let (body, name, list) = (edits.copy(body), edits.copy(name), edits.copy(list));
        let condition = condition.map(|condition| edits.copy(condition));
        edits.remove(open..close + 1);
        edits.insert(close, if condition.is_some() { "list_transform(list_filter(" } else { "list_transform(" });
        edits.insert_tokens(close, list);
        for (body, end) in condition.into_iter().map(|condition| (condition, ")")).chain([(body, ")")]) {
            edits.insert(close, ",");
            edits.insert_tokens(close, name.clone());
            edits.insert(close, "->");
            edits.insert_tokens(close, body);
            edits.insert(close, end);
        }
        tokens = edits.finish();
    }
}
