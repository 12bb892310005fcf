//! `ALTER TABLE t SET TTL ts + INTERVAL '30 days'`, which the parser does not know.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::by_name::is_word;

/// Writes `SET TTL expression` of `ALTER TABLE` as `SET (TTL = expression)`.
pub(super) fn with_options(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // The words of the statement so far, without white space.
    let mut words = 0;
    let (mut is_alter, mut is_open) = (false, false);
    for token in tokens {
        if matches!(token.token, Token::Whitespace(_)) {
            written.push(token);
            continue;
        }
        let span = token.span;
        let at = |token: Token| TokenWithSpan { token, span };
        if matches!(token.token, Token::SemiColon | Token::EOF) {
            if is_open {
                written.push(at(Token::RParen));
            }
            (words, is_alter, is_open) = (0, false, false);
            written.push(token);
            continue;
        }
        is_alter |= words == 0 && is_word(&token, "ALTER");
        words += 1;
        let previous = written.iter().rev().find(|token| !matches!(token.token, Token::Whitespace(_)));
        // ALTER TABLE t SET TTL
        let is_ttl = is_alter && words > 4 && is_word(&token, "TTL") && previous.is_some_and(|set| is_word(set, "SET"));
        if is_ttl && !is_open {
            written.push(at(Token::LParen));
            written.push(token);
            written.push(at(Token::Eq));
            is_open = true;
        } else {
            written.push(token);
        }
    }
    if is_open && let Some(last) = written.last() {
        written.push(TokenWithSpan { token: Token::RParen, span: last.span });
    }
    written
}
