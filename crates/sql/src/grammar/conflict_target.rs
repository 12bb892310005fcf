//! `ON CONFLICT (lower(name))`: expressions in the target of a conflict, where the parser only knows names of columns.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::by_name::is_word;
use crate::dialect::EXPRESSION_PREFIX;

/// Writes each expression in a target as one quoted name with its text, behind a prefix that no name has.
pub(super) fn with_expressions(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut rest = tokens.into_iter().peekable();
    let mut written: Vec<TokenWithSpan> = Vec::new();
    while let Some(token) = rest.next() {
        let begins = token.token == Token::LParen && is_behind_conflict(&written);
        written.push(token);
        if !begins {
            continue;
        }
        let (mut part, mut depth) = (Vec::new(), 0_usize);
        while let Some(next) = rest.peek() {
            match (&next.token, depth) {
                (Token::RParen, 0) | (Token::EOF, _) => break,
                (Token::Comma, 0) => {
                    written.extend(as_name(std::mem::take(&mut part)));
                    written.extend(rest.next());
                    continue;
                }
                (Token::LParen, _) => depth += 1,
                (Token::RParen, _) => depth -= 1,
                _ => {}
            }
            part.extend(rest.next());
        }
        written.extend(as_name(part));
    }
    written
}

/// Whether the last words are `ON CONFLICT`.
fn is_behind_conflict(written: &[TokenWithSpan]) -> bool {
    let mut words = written.iter().rev().filter(|token| !matches!(token.token, Token::Whitespace(_)));
    words.next().is_some_and(|word| is_word(word, "CONFLICT")) && words.next().is_some_and(|word| is_word(word, "ON"))
}

/// A name stays; an expression becomes one.
fn as_name(part: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let code = || part.iter().filter(|token| !matches!(token.token, Token::Whitespace(_)));
    let Some(first) = code().next() else { return part };
    if code().count() == 1 && matches!(first.token, Token::Word(_)) {
        return part;
    }
    let text: String = part.iter().map(|token| token.token.to_string()).collect();
    let name = Token::make_word(&format!("{EXPRESSION_PREFIX}{}", text.trim()), Some('"'));
    vec![TokenWithSpan { token: name, span: first.span }]
}
