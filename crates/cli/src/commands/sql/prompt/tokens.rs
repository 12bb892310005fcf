//! Splits SQL into words, quotes and comments, even while it is being typed.

use std::ops::Range;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Blank,
    Comment,
    Word,
    Number,
    /// In single quotes.
    Text,
    /// In double quotes.
    Name,
    /// One other character.
    Symbol,
}

/// A part of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) range: Range<usize>,
    /// Whether its end was found: a quote or a comment may have none yet.
    pub(super) is_closed: bool,
}

/// The parts of `text`, which together are all of it.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(token) = next(text, start) {
        start = token.range.end;
        tokens.push(token);
    }
    tokens
}

fn next(text: &str, start: usize) -> Option<Token> {
    let rest = &text[start..];
    let first = rest.chars().next()?;
    let run = |is_part: fn(char) -> bool| rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    let (kind, len) = match first {
        '\'' => (Kind::Text, quoted_len(rest, '\'')),
        '"' => (Kind::Name, quoted_len(rest, '"')),
        '-' if rest.starts_with("--") => (Kind::Comment, Some(rest.find('\n').unwrap_or(rest.len()))),
        '/' if rest.starts_with("/*") => (Kind::Comment, rest[2..].find("*/").map(|at| at + 4)),
        c if c.is_whitespace() => (Kind::Blank, Some(run(char::is_whitespace))),
        c if c.is_ascii_digit() => (Kind::Number, Some(run(|c| c.is_alphanumeric() || c == '.'))),
        c if c.is_alphabetic() || c == '_' => (Kind::Word, Some(run(|c| c.is_alphanumeric() || c == '_'))),
        c => (Kind::Symbol, Some(c.len_utf8())),
    };
    Some(Token { kind, range: start..start + len.unwrap_or(rest.len()), is_closed: len.is_some() })
}

/// Length of the quoted text that `rest` begins with; a doubled quote is part of it.
fn quoted_len(rest: &str, quote: char) -> Option<usize> {
    let mut at = 1;
    loop {
        at += rest[at..].find(quote)? + 1;
        if !rest[at..].starts_with(quote) {
            return Some(at);
        }
        at += 1;
    }
}

/// Whether `text` ends with the `;` of a statement, or has no statement.
pub(super) fn is_complete(text: &str) -> bool {
    let tokens = tokens(text);
    let is_open = tokens.last().is_some_and(|token| !token.is_closed);
    let last = tokens.iter().rfind(|token| !matches!(token.kind, Kind::Blank | Kind::Comment));
    !is_open && last.is_none_or(|last| &text[last.range.clone()] == ";")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_with_a_semicolon_outside_of_quotes_and_comments() {
        for text in ["", "  \n", "SELECT 1;", "SELECT ';' ; -- done", "SELECT 1; SELECT 2;\n", "-- nothing"] {
            assert!(is_complete(text), "{text}");
        }
        for text in
            ["SELECT 1", "SELECT 1; SELECT 2", "SELECT ';", "SELECT \";\"", "SELECT 1 -- ;", "SELECT /* ; */", "/* ;"]
        {
            assert!(!is_complete(text), "{text}");
        }
    }

    #[test]
    fn the_parts_are_all_of_the_text() {
        let text = "SELECT 'it''s', \"a b\"\n-- é\nFROM t1 WHERE x>=1.5e3/*";
        let tokens = tokens(text);
        let parts: Vec<&str> = tokens.iter().map(|token| &text[token.range.clone()]).collect();
        assert_eq!(parts.concat(), text);
        assert!(parts.contains(&"'it''s'") && parts.contains(&"-- é") && parts.contains(&"1.5e3"), "{parts:?}");
        assert!(!tokens.last().unwrap().is_closed);
    }
}
