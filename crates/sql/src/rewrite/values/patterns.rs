//! Rewrites `LIKE … ESCAPE` and `SIMILAR TO`.
//!
//! DataFusion 55 supports only `\` as escape character, and treats the pattern of `SIMILAR TO` as a regular expression that may match any
//! part of the text. Here literal patterns are translated to DataFusion's.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Value, ValueWithSpan};
use datafusion::sql::sqlparser::parser::ParserError;

use crate::dialect::{error_at, error_in};

pub(crate) fn rewrite(expr: &mut Expr) -> Result<(), ParserError> {
    match expr {
        Expr::Like { pattern, escape_char, .. } | Expr::ILike { pattern, escape_char, .. } => {
            let Some(escape) = escape_char.take() else { return Ok(()) };
            let Some(text) = text_mut(pattern) else {
                return Err(error_in("ESCAPE needs a literal pattern; use \\ as the escape character here", pattern));
            };
            *text = with_backslashes(text, escape_character(&escape)?).ok_or_else(|| ends_with_escape(&escape))?;
        }
        Expr::SimilarTo { negated, expr: value, pattern, escape_char } => {
            let escape = match &escape_char {
                Some(escape) => escape_character(escape)?,
                None => Some('\\'),
            };
            let Some(text) = text_mut(pattern) else {
                return Err(error_in(
                    "SIMILAR TO needs a literal pattern; use ~ with a regular expression instead",
                    pattern,
                ));
            };
            let Some(regex) = similar_to_regex(text, escape) else {
                return Err(error_in("the pattern ends with its escape character", pattern));
            };
            *text = regex;
            let op = if *negated { BinaryOperator::PGRegexNotMatch } else { BinaryOperator::PGRegexMatch };
            let value = Box::new(Expr::Nested(value.clone()));
            *expr = Expr::Nested(Box::new(Expr::BinaryOp { left: value, op, right: pattern.clone() }));
        }
        _ => {}
    }
    Ok(())
}

fn text_mut(expr: &mut Expr) -> Option<&mut String> {
    match expr {
        Expr::Nested(inner) => text_mut(inner),
        Expr::Value(ValueWithSpan {
            value: Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text),
            ..
        }) => Some(text),
        _ => None,
    }
}

/// The escape character; `None` if it is empty.
fn escape_character(escape: &ValueWithSpan) -> Result<Option<char>, ParserError> {
    let text = match &escape.value {
        Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => text.as_str(),
        _ => return Err(error_at("ESCAPE needs a character in quotes", escape.span.start)),
    };
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (escape, None) => Ok(escape),
        _ => Err(error_at("ESCAPE takes a single character", escape.span.start)),
    }
}

fn ends_with_escape(escape: &ValueWithSpan) -> ParserError {
    error_at("the pattern ends with its escape character", escape.span.start)
}

/// Translates the pattern to `\` as escape character; `None` if it ends with its escape character.
fn with_backslashes(pattern: &str, escape: Option<char>) -> Option<String> {
    let mut text = String::with_capacity(pattern.len());
    let mut rest = pattern.chars();
    while let Some(character) = rest.next() {
        let is_escape = Some(character) == escape;
        let character = if is_escape { rest.next()? } else { character };
        if character == '\\' || (is_escape && matches!(character, '%' | '_')) {
            text.push('\\');
        }
        text.push(character);
    }
    Some(text)
}

/// Translates a pattern of `SIMILAR TO` to a regular expression for the whole text.
fn similar_to_regex(pattern: &str, escape: Option<char>) -> Option<String> {
    let mut regex = String::from("^(?s:");
    let mut rest = pattern.chars();
    let mut in_brackets = false;
    while let Some(character) = rest.next() {
        if Some(character) == escape {
            let escaped = rest.next()?;
            if !escaped.is_alphanumeric() && escaped.is_ascii() {
                regex.push('\\');
            }
            regex.push(escaped);
            continue;
        }
        match character {
            _ if in_brackets => {
                in_brackets = character != ']';
                if character == '\\' || character == '[' {
                    regex.push('\\');
                }
                regex.push(character);
            }
            '[' => {
                in_brackets = true;
                regex.push('[');
            }
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            '.' | '^' | '$' | '\\' => {
                regex.push('\\');
                regex.push(character);
            }
            other => regex.push(other),
        }
    }
    regex.push_str(")$");
    Some(regex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_characters_become_backslashes() {
        let rewritten = |pattern, escape| with_backslashes(pattern, escape);
        assert_eq!(rewritten("10!%_!!\\", Some('!')).as_deref(), Some(r"10\%_!\\"));
        assert_eq!(rewritten(r"a\%", None).as_deref(), Some(r"a\\%"));
        assert_eq!(rewritten(r"a\\\%", Some('\\')).as_deref(), Some(r"a\\\%"));
        assert_eq!(rewritten("!x", Some('!')).as_deref(), Some("x"));
        assert_eq!(rewritten("a!", Some('!')), None);
    }

    #[test]
    fn similar_patterns_match_whole_texts() {
        assert_eq!(similar_to_regex("(a|b)%c_.", Some('\\')).as_deref(), Some(r"^(?s:(a|b).*c.\.)$"));
        assert_eq!(similar_to_regex(r"50\%[0-9]+", Some('\\')).as_deref(), Some(r"^(?s:50\%[0-9]+)$"));
    }
}
