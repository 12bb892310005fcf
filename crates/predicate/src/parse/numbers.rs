//! Refuses numbers that the parser would misread.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::position::at;

/// Refuses words that start with a digit, which the parser reads as two tokens, and numbers as other languages write them.
pub(super) fn check(text: &str, tokens: &[TokenWithSpan]) -> Result<(), String> {
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
