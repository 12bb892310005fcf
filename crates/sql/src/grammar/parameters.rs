//! Numbers the parameters `?` of PREPARE: `$1`, `$2` and so on.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::edits::Edits;

pub(super) fn with_numbers(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut edits = Edits::new(tokens);
    let mut start = 0;
    while start < edits.len() {
        let end = (start..edits.len()).find(|&at| *edits.token(at) == Token::SemiColon).unwrap_or(edits.len());
        if edits.is_word(start, "prepare") {
            number(&mut edits, start..end);
        }
        start = end + 1;
    }
    edits.finish()
}

/// Numbers the parameters of a statement, unless some have numbers.
fn number(edits: &mut Edits, statement: std::ops::Range<usize>) {
    let is_parameter = |at: &usize| matches!(edits.token(*at), Token::Placeholder(_) | Token::Question);
    let parameters: Vec<usize> = statement.filter(is_parameter).collect();
    let is_plain = |at: &usize| match edits.token(*at) {
        Token::Placeholder(name) => name == "?",
        _ => true,
    };
    if parameters.iter().all(is_plain) {
        for (number, at) in (1..).zip(parameters) {
            edits.replace(at, Token::Placeholder(format!("${number}")));
        }
    }
}
