//! `INSERT INTO t BY NAME SELECT …`, which the parser does not know.

use datafusion::sql::sqlparser::ast::Ident;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The list of columns that stands for `BY NAME` has this name alone. A name in a text would be in quotes.
const BY_NAME: &str = "*";

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
        place = place.after(&token);
        parsed.push(token);
    }
    parsed
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
