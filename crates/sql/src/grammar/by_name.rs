//! `INSERT INTO t BY NAME SELECT …`, which the parser does not know.

use datafusion::sql::sqlparser::ast::{Ident, ObjectName};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The list of columns that stands for `BY NAME` has this name alone. A name in a text would be in quotes.
const BY_NAME: &str = "*";

/// The last column in the list stands for `OVERRIDING SYSTEM VALUE` if it has this name.
const OVERRIDING: &str = "*overriding";

/// The last column in the list stands for `OVERRIDING USER VALUE` if it has this name.
const OVERRIDING_USER: &str = "*overriding user";

/// The values of identity columns that an insertion takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overriding {
    /// `SYSTEM VALUE`: the statement's, instead of numbers of the sequence.
    System,
    /// `USER VALUE`: numbers of the sequence, instead of the statement's.
    User,
}

/// Whether a column of an insertion stands for `BY NAME`.
pub(crate) fn is_by_name(column: &Ident) -> bool {
    column.quote_style.is_none() && column.value == BY_NAME
}

/// Writes `INTO t BY NAME` as `INTO t (*)`, and removes `BY POSITION`.
pub(super) fn with_names(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut parsed: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut place = Place::Elsewhere;
    let mut rest = tokens.into_iter();
    while let Some(token) = rest.next() {
        if matches!(token.token, Token::Whitespace(_)) {
            parsed.push(token);
            continue;
        }
        if place == Place::AfterName && keyword(&token) == Some(Keyword::BY) {
            let next = rest.find(|token| !matches!(token.token, Token::Whitespace(_)));
            match next {
                Some(next) if is_word(&next, "NAME") => parsed.extend(name_list(&next)),
                Some(next) if is_word(&next, "POSITION") => {}
                other => parsed.extend([token].into_iter().chain(other)),
            }
            place = Place::Elsewhere;
            continue;
        }
        if is_word(&token, "OVERRIDING") && place != Place::BeforeName {
            let mut words = Vec::new();
            while words.len() < 2
                && let Some(next) = rest.find(|token| !matches!(token.token, Token::Whitespace(_)))
            {
                words.push(next);
            }
            match words.as_slice() {
                [kind, value] if is_word(kind, "SYSTEM") && is_word(value, "VALUE") => {
                    mark_overriding(&mut parsed, &token, OVERRIDING);
                }
                [kind, value] if is_word(kind, "USER") && is_word(value, "VALUE") => {
                    mark_overriding(&mut parsed, &token, OVERRIDING_USER);
                }
                _ => parsed.extend([token].into_iter().chain(words)),
            }
            place = Place::Elsewhere;
            continue;
        }
        place = place.after(&token);
        parsed.push(token);
    }
    parsed
}

/// Appends the mark of an `OVERRIDING` clause to the list of columns.
fn mark_overriding(parsed: &mut Vec<TokenWithSpan>, at: &TokenWithSpan, mark: &str) {
    let token = |token| TokenWithSpan { token, span: at.span };
    let mark = token(Token::Word(Word { value: mark.to_owned(), quote_style: None, keyword: Keyword::NoKeyword }));
    let last = parsed.iter().rposition(|token| !matches!(token.token, Token::Whitespace(_)));
    match last.filter(|&last| parsed[last].token == Token::RParen) {
        Some(last) => {
            parsed.truncate(last);
            parsed.extend([token(Token::Comma), mark, token(Token::RParen)]);
        }
        None => parsed.extend([token(Token::LParen), mark, token(Token::RParen)]),
    }
}

/// Removes the mark of an `OVERRIDING` clause from the columns of an insertion, and returns what it says.
pub(crate) fn take_overriding(columns: &mut Vec<ObjectName>) -> Option<Overriding> {
    let ident = columns.last()?.0.last()?.as_ident()?;
    let overriding = match ident.value.as_str() {
        OVERRIDING if ident.quote_style.is_none() => Overriding::System,
        OVERRIDING_USER if ident.quote_style.is_none() => Overriding::User,
        _ => return None,
    };
    columns.pop();
    Some(overriding)
}

/// A place in a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Behind `INTO`, or a dot within the name.
    BeforeName,
    AfterName,
    Elsewhere,
}

impl Place {
    fn after(self, token: &TokenWithSpan) -> Self {
        match (self, &token.token) {
            (_, Token::Word(word)) if word.keyword == Keyword::INTO => Self::BeforeName,
            (Self::BeforeName, Token::Word(word)) if word.keyword == Keyword::TABLE => Self::BeforeName,
            (Self::BeforeName, Token::Word(_)) => Self::AfterName,
            (Self::AfterName, Token::Period) => Self::BeforeName,
            _ => Self::Elsewhere,
        }
    }
}

fn keyword(token: &TokenWithSpan) -> Option<Keyword> {
    match &token.token {
        Token::Word(word) => Some(word.keyword),
        _ => None,
    }
}

pub(super) fn is_word(token: &TokenWithSpan, text: &str) -> bool {
    match &token.token {
        Token::Word(word) => word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text),
        _ => false,
    }
}

/// The tokens of `(*)` at the place of another.
fn name_list(at: &TokenWithSpan) -> [TokenWithSpan; 3] {
    let star = Word { value: BY_NAME.to_owned(), quote_style: None, keyword: Keyword::NoKeyword };
    [Token::LParen, Token::Word(star), Token::RParen].map(|token| TokenWithSpan { token, span: at.span })
}
