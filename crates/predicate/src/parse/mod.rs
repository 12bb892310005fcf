//! Parses SQL text to a [`Condition`].
//!
//! The `sqlparser` crate tokenizes and parses the text in a dialect of conditions; the result is translated. Length and depth are limited before
//! and after, so that no text exhausts the stack, and so that every parsed condition, written as text, can be parsed again.

mod bounds;
mod condition;
mod dialect;
mod numbers;
mod operand;
mod position;
mod size;
mod stack;
#[cfg(test)]
mod tests;

use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use self::bounds::MAX_DEPTH;
use self::dialect::ConditionDialect;
use self::position::{at, reword};
use crate::error::Error;
use crate::syntax::Condition;

/// Parses a condition in the syntax of SQL's WHERE.
pub(crate) fn parse(text: &str) -> Result<Condition, Error> {
    let tokens = Tokenizer::new(&ConditionDialect, text).tokenize_with_location();
    let tokens = tokens.map_err(|error| unreadable(reword(&error.to_string())))?;
    numbers::check(text, &tokens).map_err(unreadable)?;
    let stack_bytes = bounds::check(&tokens)?;
    stack::with_bytes(stack_bytes, || parse_tokens(tokens))?
}

fn parse_tokens(tokens: Vec<TokenWithSpan>) -> Result<Condition, Error> {
    let mut parser = Parser::new(&ConditionDialect).with_recursion_limit(MAX_DEPTH).with_tokens_with_locations(tokens);
    let expr = parser.parse_expr().map_err(|error| match error {
        ParserError::RecursionLimitExceeded => bounds::too_deep(),
        ParserError::ParserError(message) | ParserError::TokenizerError(message) => unreadable(reword(&message)),
    })?;
    let rest = parser.peek_token_ref();
    if rest.token != Token::EOF {
        let (token, at) = (rest.token.to_string(), at(rest.span.start));
        let what = format!("cannot read the expression from {token:?} on{at}; join conditions with AND or OR");
        return Err(Error::Syntax { what });
    }
    let condition = condition::condition(&expr).map_err(Error::syntax)?;
    size::check(&condition)?;
    Ok(condition)
}

fn unreadable(message: String) -> Error {
    Error::Syntax { what: format!("cannot read the expression: {message}") }
}
