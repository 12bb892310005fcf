//! Names before items of a select list, `SELECT a: 1`, and patterns of `GLOB`.

use datafusion::sql::sqlparser::tokenizer::Token;

use super::edits::Edits;

/// The regular expression of a pattern with `*`, `?` and classes of characters.
pub(super) fn glob_regex(pattern: &str) -> String {
    let mut regex = "(?s)^".to_owned();
    let mut in_class = false;
    for character in pattern.chars() {
        match character {
            '[' | ']' => {
                in_class = character == '[';
                regex.push(character);
            }
            '!' if regex.ends_with('[') => regex.push('^'),
            '*' if !in_class => regex.push_str(".*"),
            '?' if !in_class => regex.push('.'),
            other if in_class || other.is_alphanumeric() => regex.push(other),
            other => regex.extend(['\\', other]),
        }
    }
    regex.push('$');
    regex
}

/// Whether a word is the name of an item of a select list, before it: `SELECT a: 1`.
pub(super) fn is_alias(edits: &Edits, at: usize) -> bool {
    if *edits.token(at + 1) != Token::Colon {
        return false;
    }
    let mut depth = 0;
    for before in (0..at).rev() {
        match edits.token(before) {
            Token::RParen | Token::RBracket | Token::RBrace => depth += 1,
            Token::LParen | Token::LBracket | Token::LBrace if depth == 0 => return false,
            Token::LParen | Token::LBracket | Token::LBrace => depth -= 1,
            Token::Comma if depth == 0 => {}
            Token::SemiColon => return false,
            Token::Word(_)
                if depth == 0 && ["from", "where", "lambda"].iter().any(|word| edits.is_word(before, word)) =>
            {
                return false;
            }
            Token::Word(_) if depth == 0 && edits.is_word(before, "select") => {
                return before + 1 == at || *edits.token(at - 1) == Token::Comma;
            }
            _ => {}
        }
    }
    false
}

/// Writes `a: value` as `value AS a`.
pub(super) fn alias(edits: &mut Edits, at: usize) {
    let end = edits.end(at + 2, |at| {
        let clauses =
            ["from", "where", "group", "having", "qualify", "window", "order", "limit", "union", "except", "intersect"];
        *edits.token(at) == Token::Comma || clauses.iter().any(|word| edits.is_word(at, word))
    });
    let name = edits.copy(at..at + 1);
    edits.remove(at..at + 2);
    edits.insert(end, " AS ");
    edits.insert_tokens(end, name);
    edits.insert(end, " ");
}
