//! The options of sequences in any order, which the parser takes in one order only.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// Puts the options of `CREATE SEQUENCE` and of `AS IDENTITY (…)` into the parser's order.
pub(super) fn in_order(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut ordered: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.into_iter().peekable();
    let mut before = [Keyword::NoKeyword; 2];
    while let Some(token) = rest.next() {
        let is_open = token.token == Token::LParen;
        let (starts_sequence, starts_identity) = (
            keyword(&token) == Keyword::SEQUENCE
                && (before[1] == Keyword::CREATE || (before[0] == Keyword::CREATE && before[1] != Keyword::NoKeyword)),
            is_open && before[1] == Keyword::IDENTITY && before[0] == Keyword::AS,
        );
        if !matches!(token.token, Token::Whitespace(_)) {
            before = [before[1], keyword(&token)];
        }
        ordered.push(token);
        if !starts_sequence && !starts_identity {
            continue;
        }
        let ends = |token: &Token| *token == Token::SemiColon || (starts_identity && *token == Token::RParen);
        let mut options = Vec::new();
        while let Some(token) = rest.next_if(|token| !ends(&token.token)) {
            options.push(token);
        }
        ordered.extend(sorted(options));
    }
    ordered
}

fn sorted(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut groups: Vec<(u8, Vec<TokenWithSpan>)> = vec![(0, Vec::new())];
    let mut after_no = false;
    for token in tokens {
        let rank = rank(keyword(&token));
        match (rank, groups.last_mut()) {
            (Some(rank), Some(group)) if after_no => {
                group.0 = rank;
                group.1.push(token);
            }
            (Some(rank), _) => groups.push((rank, vec![token])),
            (None, _) if keyword(&token) == Keyword::NO => groups.push((0, vec![token])),
            (None, Some(group)) => group.1.push(token),
            (None, None) => {}
        }
        let is_white = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
        let last = groups.last().and_then(|group| group.1.iter().rev().find(|token| !is_white(token)));
        after_no = last.is_some_and(|token| keyword(token) == Keyword::NO);
    }
    groups.sort_by_key(|(rank, _)| *rank);
    groups.into_iter().flat_map(|(_, tokens)| tokens).collect()
}

/// The place of an option in the parser's order.
fn rank(keyword: Keyword) -> Option<u8> {
    match keyword {
        Keyword::INCREMENT => Some(1),
        Keyword::MINVALUE => Some(2),
        Keyword::MAXVALUE => Some(3),
        Keyword::START => Some(4),
        Keyword::CACHE => Some(5),
        Keyword::CYCLE => Some(6),
        Keyword::OWNED => Some(7),
        _ => None,
    }
}

fn keyword(token: &TokenWithSpan) -> Keyword {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}
