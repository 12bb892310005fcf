//! Limits the size of an expression before it is parsed.
//!
//! The parser recurses into nested expressions, and makes a left-leaning tree with one level for each operator, which is dropped recursively.
//! The limits bound both, so that no text exhausts the stack.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use super::position::at;
use crate::error::Error;

/// Maximum number of conditions that AND and OR join, including conditions around parentheses. Dropping a tree of this many takes up to
/// 415 KiB of stack.
pub(super) const MAX_CONDITIONS: usize = 5000;

/// Maximum number of words and signs of one condition, without the contents of parentheses in it.
const MAX_CONDITION_TOKENS: usize = 1000;

/// Maximum nesting of parentheses, casts, NOT and the like.
pub(super) const MAX_DEPTH: usize = 200;

/// Stack that a parenthesis takes without optimisation: 55 KiB for an IN list; 30 KiB each for the parenthesis, an OR in it, and an AND after
/// that. Optimised code takes a tenth.
const PARENTHESIS_BYTES: usize = 128 << 10;

/// Maximum stack that any other word or sign takes without optimisation: 29 KiB for a sign before a number.
const TOKEN_BYTES: usize = 32 << 10;

/// Maximum stack that [`MAX_DEPTH`] levels, and then [`MAX_CONDITION_TOKENS`] of operators that do not nest, take without optimisation.
const MAX_STACK_BYTES: usize = 16 << 20;

/// The tokens between two parentheses so far.
#[derive(Default)]
struct Level {
    joined: usize,
    len: usize,
    /// Whether the next AND belongs to BETWEEN.
    is_between: bool,
}

/// Refuses expressions that are too long for the parser, and returns the bytes of stack that parsing needs.
pub(super) fn check(tokens: &[TokenWithSpan]) -> Result<usize, Error> {
    let (mut level, mut around) = (Level::default(), Vec::new());
    let (mut joined, mut len) = (0, 0);
    let mut stack_bytes = 0;
    for TokenWithSpan { token, span } in tokens {
        match token {
            Token::Whitespace(_) => {}
            Token::LParen | Token::LBracket => around.push(std::mem::take(&mut level)),
            // A parenthesis without its opening one ends the text.
            Token::RParen | Token::RBracket => {
                joined -= level.joined;
                len -= level.len;
                level = around.pop().unwrap_or_default();
            }
            Token::Comma => {
                joined -= level.joined;
                len -= level.len;
                level = Level::default();
            }
            Token::Word(word) if matches!(word.keyword, Keyword::AND | Keyword::OR) && !level.is_between => {
                level.joined += 1;
                joined += 1;
                len -= std::mem::take(&mut level.len);
            }
            token => {
                if let Token::Word(word) = token {
                    match word.keyword {
                        Keyword::BETWEEN => level.is_between = true,
                        Keyword::AND => level.is_between = false,
                        _ => {}
                    }
                }
                level.len += 1;
                len += 1;
            }
        }
        if joined >= MAX_CONDITIONS {
            return Err(too_many(Some(span.start)));
        }
        if len > MAX_CONDITION_TOKENS {
            let at = at(span.start);
            return Err(Error::Limit {
                what: format!("a condition has more than {MAX_CONDITION_TOKENS} words and signs{at}"),
                limit: MAX_CONDITION_TOKENS,
            });
        }
        stack_bytes = stack_bytes.max(around.len() * PARENTHESIS_BYTES + len * TOKEN_BYTES);
    }
    Ok(stack_bytes.min(MAX_STACK_BYTES))
}

/// The error for too many conditions.
pub(super) fn too_many(location: Option<Location>) -> Error {
    let at = location.map(at).unwrap_or_default();
    Error::Limit {
        what: format!(
            "AND and OR join more than {MAX_CONDITIONS} conditions{at}; write column IN (…) for many values of one column"
        ),
        limit: MAX_CONDITIONS,
    }
}

/// The error for an expression that nests too deep.
pub(super) fn too_deep() -> Error {
    Error::Limit { what: format!("the expression nests more than {MAX_DEPTH} levels deep"), limit: MAX_DEPTH }
}
