//! The words and signs that an expression is made of.

use super::Result;

/// A token and where it starts, in characters counted from 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spanned<'a> {
    pub(super) token: Token<'a>,
    pub(super) at: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'a> {
    /// A name or keyword without quotes.
    Word(&'a str),
    /// A name in double quotes or backticks.
    Quoted(String),
    /// Digits with at most one point and an optional exponent.
    Number(&'a str),
    /// A string in single quotes.
    Text(String),
    /// What stands between the quotes of `X'…'`.
    Hex(&'a str),
    /// An operator or a bracket.
    Sign(&'static str),
}

/// The longest first, where one starts with another.
const SIGNS: [&str; 23] = [
    "<=>", "<=", ">=", "<>", "!=", "::", "||", "==", "->", "=", "<", ">", "(", ")", "[", "]", ",", ".", "-", "+", "*",
    "/", "%",
];

/// Cuts `text` into tokens. Spaces and comments between them are passed over.
pub(super) fn tokens(text: &str) -> Result<Vec<Spanned<'_>>> {
    let mut found = Vec::new();
    let (mut rest, mut at) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let len = if first.is_whitespace() {
            first.len_utf8()
        } else if let Some(len) = comment_len(rest) {
            len
        } else {
            let (token, len) = token(rest, first).map_err(|message| format!("{message} (column {at})"))?;
            found.push(Spanned { token, at });
            len
        };
        at += rest[..len].chars().count();
        rest = &rest[len..];
    }
    Ok(found)
}

fn comment_len(rest: &str) -> Option<usize> {
    if rest.starts_with("--") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    rest.strip_prefix("/*").map(|inner| inner.find("*/").map_or(rest.len(), |end| end + 4))
}

fn token(rest: &str, first: char) -> Result<(Token<'_>, usize)> {
    let is_number =
        first.is_ascii_digit() || (first == '.' && rest[1..].starts_with(|next: char| next.is_ascii_digit()));
    if is_number {
        let len = number_len(rest.as_bytes());
        if let Some(next) = rest[len..].chars().next().filter(|&next| is_within_word(next)) {
            return Err(format!("{}{next} is neither a number nor a name", &rest[..len]));
        }
        return Ok((Token::Number(&rest[..len]), len));
    }
    match first {
        '\'' => quoted(rest, '\'').map(|(text, len)| (Token::Text(text), len)),
        '"' | '`' => quoted(rest, first).map(|(text, len)| (Token::Quoted(text), len)),
        'x' | 'X' if rest[1..].starts_with('\'') => {
            let end = rest[2..].find('\'').ok_or("a string has no closing quote '")?;
            Ok((Token::Hex(&rest[2..2 + end]), end + 3))
        }
        _ if first.is_alphabetic() || first == '_' => {
            let len = rest.find(|c| !is_within_word(c)).unwrap_or(rest.len());
            Ok((Token::Word(&rest[..len]), len))
        }
        _ => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            Some(sign) => Ok((Token::Sign(sign), sign.len())),
            None => Err(format!("the character {first:?} has no meaning here")),
        },
    }
}

fn is_within_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '@' | '#')
}

/// Length of the number at the start of `bytes`.
fn number_len(bytes: &[u8]) -> usize {
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut len = digits(0);
    if bytes.get(len) == Some(&b'.') {
        len += 1 + digits(len + 1);
    }
    if matches!(bytes.get(len), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(len + 1), Some(b'+' | b'-')));
        let exponent = if bytes.len() > len + sign { digits(len + 1 + sign) } else { 0 };
        if exponent > 0 {
            len += 1 + sign + exponent;
        }
    }
    len
}

/// The text between quotes, in which a doubled quote is one, and the length of all.
fn quoted(rest: &str, quote: char) -> Result<(String, usize)> {
    let mut text = String::new();
    let mut from = 1;
    loop {
        let end = from + rest[from..].find(quote).ok_or_else(|| format!("a string has no closing quote {quote}"))?;
        text.push_str(&rest[from..end]);
        from = end + 1;
        if !rest[from..].starts_with(quote) {
            return Ok((text, from));
        }
        text.push(quote);
        from += 1;
    }
}

impl Token<'_> {
    /// The token in messages.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Word(word) | Self::Number(word) => format!("{word:?}"),
            Self::Quoted(name) => format!("the name {name:?}"),
            Self::Text(text) => format!("the string '{text}'"),
            Self::Hex(hex) => format!("X'{hex}'"),
            Self::Sign(sign) => format!("{sign:?}"),
        }
    }
}
