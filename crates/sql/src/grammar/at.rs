//! `FROM t AT (TIMESTAMP => now() - INTERVAL '1 day')`, which the parser does not know.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::by_name::is_word;
use crate::dialect::AT_PREFIX;

/// The ways to choose a state of a table.
const STATES: [&str; 3] = ["VERSION", "TIMESTAMP", "SNAPSHOT"];

/// Writes `t AT (VERSION => 3)` as `t("at version" => 3)`. A name in a text has no space unless it is in quotes.
pub(super) fn with_states(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let code: Vec<usize> = (0..tokens.len()).filter(|&at| !matches!(tokens[at].token, Token::Whitespace(_))).collect();
    let mut tokens: Vec<Option<TokenWithSpan>> = tokens.into_iter().map(Some).collect();
    for place in code.windows(5) {
        let token = |at: usize| tokens[place[at]].as_ref().map(|token| &token.token);
        let is_name = matches!(token(0), Some(Token::Word(_) | Token::SingleQuotedString(_)));
        let is_at = tokens[place[1]].as_ref().is_some_and(|token| is_word(token, "AT"));
        let state = STATES.iter().find(|state| tokens[place[3]].as_ref().is_some_and(|token| is_word(token, state)));
        if let (true, true, Some(Token::LParen), Some(state), Some(Token::RArrow)) =
            (is_name, is_at, token(2), state, token(4))
        {
            let value = format!("{AT_PREFIX}{}", state.to_ascii_lowercase());
            if let Some(TokenWithSpan { token: Token::Word(word), .. }) = &mut tokens[place[3]] {
                *word = Word { value, quote_style: Some('"'), ..word.clone() };
            }
            tokens[place[1]] = None;
        }
    }
    tokens.into_iter().flatten().collect()
}
