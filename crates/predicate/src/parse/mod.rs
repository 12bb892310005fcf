//! From SQL text to a [`Condition`].
//!
//! The text is cut and parsed by the `sqlparser` crate, in a dialect of conditions; what is read is translated. How long
//! and deep an expression may be is bounded before and after, so that no text exhausts the stack, and so that every
//! condition that was read reads again as it prints.

mod bounds;
mod condition;
mod dialect;
mod operand;
#[cfg(test)]
mod tests;

use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use self::bounds::{DEEPEST, MOST_CONDITIONS};
use self::dialect::Conditions;
use crate::error::Error;
use crate::syntax::{Condition, Operand};

/// A result whose error is the reason why an expression is not understood.
pub(super) type Result<T, E = String> = std::result::Result<T, E>;

/// Reads what SQL allows after WHERE.
pub(crate) fn parse(text: &str) -> Result<Condition, Error> {
    let unreadable = |message: String| Error::Syntax { what: format!("cannot read the expression: {message}") };
    let dialect = Conditions;
    let tokens = Tokenizer::new(&dialect, text).tokenize_with_location();
    let tokens = tokens.map_err(|error| unreadable(plain(&error.to_string())))?;
    check_numbers(text, &tokens).map_err(unreadable)?;
    bounds::check(&tokens)?;
    let mut parser = Parser::new(&dialect).with_recursion_limit(DEEPEST).with_tokens_with_locations(tokens);
    let expr = parser.parse_expr().map_err(|error| match error {
        ParserError::RecursionLimitExceeded => too_deep(),
        ParserError::ParserError(message) | ParserError::TokenizerError(message) => unreadable(plain(&message)),
    })?;
    let rest = parser.peek_token_ref();
    if rest.token != Token::EOF {
        let (token, at) = (rest.token.to_string(), at(rest.span.start));
        let what = format!("cannot read the expression from {token:?} on{at}; join conditions with AND or OR");
        return Err(Error::Syntax { what });
    }
    let condition = condition::condition(&expr).map_err(Error::syntax)?;
    check_size(&condition)?;
    Ok(condition)
}

/// Words that the parser takes for two tokens, or numbers of other languages.
fn check_numbers(text: &str, tokens: &[TokenWithSpan]) -> Result<()> {
    let mut lines = text.split('\n').map(str::chars);
    let (mut line, mut rest, mut column) = (1, lines.next(), 1);
    for (index, TokenWithSpan { token, span }) in tokens.iter().enumerate() {
        let is_wrong = match token {
            // `0x1F` is a byte string to the parser, and a number to most.
            Token::HexStringLiteral(_) => {
                while line < span.start.line {
                    (line, rest, column) = (line + 1, lines.next(), 1);
                }
                let skip = (span.start.column - column) as usize;
                let first = rest.as_mut().and_then(|rest| rest.nth(skip));
                column = span.start.column + 1;
                !matches!(first, Some('x' | 'X'))
            }
            Token::Number(_, true) => true,
            Token::Number(..) => {
                matches!(tokens.get(index + 1).map(|next| &next.token), Some(Token::Word(word)) if word.quote_style.is_none())
            }
            _ => false,
        };
        if is_wrong {
            let next = match (token, tokens.get(index + 1).map(|next| &next.token)) {
                (Token::HexStringLiteral(hex), _) => format!("0x{hex}"),
                (Token::Number(_, false), Some(next)) => format!("{token}{next}"),
                _ => token.to_string(),
            };
            return Err(format!("{next} is neither a number nor a name{}", at(span.start)));
        }
    }
    Ok(())
}

/// Where something stands, for the end of a message; nothing where it is not known.
fn at(location: Location) -> String {
    match (location.line, location.column) {
        (0, _) | (_, 0) => String::new(),
        (1, column) => format!(" (column {column})"),
        (line, column) => format!(" (line {line}, column {column})"),
    }
}

/// The parser's message in the words of the others.
fn plain(message: &str) -> String {
    let message = message.trim_start_matches("sql parser error: ");
    let (message, place) = match message.rsplit_once(" at Line: ") {
        Some((message, place)) => (message, place.split_once(", Column: ")),
        None => (message, None),
    };
    let place = place.and_then(|(line, column)| Some(Location::new(line.parse().ok()?, column.parse().ok()?)));
    let message = match message.strip_prefix("Expected: ") {
        Some(expected) => format!("expected {expected}"),
        None => message.to_owned(),
    };
    let message = message.replace(", found: EOF", ", but the expression ends").replace(", found: ", ", found ");
    format!("{message}{}", place.map(at).unwrap_or_default())
}

fn too_deep() -> Error {
    Error::Limit { what: format!("the expression nests more than {DEEPEST} levels deep"), limit: DEEPEST }
}

/// Refuses what would be too deep or too long to read again as it prints.
fn check_size(condition: &Condition) -> Result<(), Error> {
    let size = Size::of(condition);
    if size.joined >= MOST_CONDITIONS {
        return Err(bounds::too_many(None));
    }
    // The levels that the parser counts for the innermost operand.
    if size.depth + 4 > DEEPEST { Err(too_deep()) } else { Ok(()) }
}

/// How large the text of a condition is, in what bounds it.
#[derive(Clone, Copy, Default)]
struct Size {
    joined: usize,
    depth: usize,
}

impl Size {
    fn of(condition: &Condition) -> Self {
        let below = |condition: &Condition, levels| {
            let size = Self::of(condition);
            Self { depth: size.depth + levels, ..size }
        };
        let operands = |operands: &[&Operand]| {
            let depth = operands.iter().map(|operand| casts(operand)).max().unwrap_or(0);
            Self { joined: 0, depth }
        };
        match condition {
            Condition::And(conditions) | Condition::Or(conditions) => {
                let sizes = conditions.iter().map(|condition| below(condition, 1));
                let largest = sizes
                    .fold(Self::default(), |a, b| Self { joined: a.joined.max(b.joined), depth: a.depth.max(b.depth) });
                Self { joined: largest.joined + conditions.len().saturating_sub(1), ..largest }
            }
            Condition::Not(inner) => below(inner, 2),
            Condition::Is(inner, _) => below(inner, 1),
            Condition::Compare { left, right, .. } | Condition::Same(left, right) => operands(&[left, right]),
            Condition::Between { operand, .. }
            | Condition::In { operand, .. }
            | Condition::Contains { operand, .. }
            | Condition::Like { operand, .. }
            | Condition::IsNull(operand)
            | Condition::Truth(operand) => operands(&[operand]),
        }
    }
}

/// How deep casts nest.
fn casts(operand: &Operand) -> usize {
    let (mut depth, mut operand) = (0, operand);
    while let Operand::Cast { operand: inner, .. } = operand {
        (depth, operand) = (depth + 1, inner);
    }
    depth
}

/// The pattern of LIKE with `\` as its escape character, which the standard leaves to `ESCAPE` alone.
pub(crate) fn escape_pattern(pattern: &str, escape: Option<char>) -> Result<String> {
    let mut escaped = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if Some(c) == escape {
            let literal = chars.next().ok_or("the pattern of LIKE ends with its escape character")?;
            if matches!(literal, '%' | '_' | '\\') {
                escaped.push('\\');
            }
            escaped.push(literal);
        } else {
            if c == '\\' {
                escaped.push('\\');
            }
            escaped.push(c);
        }
    }
    Ok(escaped)
}
