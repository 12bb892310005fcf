//! Edits of the tokens of a text, for forms that the parser does not know.

use std::collections::{BTreeMap, BTreeSet};

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Span, Token, TokenWithSpan, Tokenizer, Word};

use super::by_name::is_word;
use crate::dialect::LathDialect;

/// The tokens of a text without whitespace, and the edits to make. Positions count these tokens.
pub(super) struct Edits {
    tokens: Vec<TokenWithSpan>,
    code: Vec<usize>,
    before: BTreeMap<usize, Vec<TokenWithSpan>>,
    removed: BTreeSet<usize>,
}

impl Edits {
    pub(super) fn new(tokens: Vec<TokenWithSpan>) -> Self {
        let is_code = |at: &usize| !matches!(tokens[*at].token, Token::Whitespace(_));
        let code = (0..tokens.len()).filter(is_code).collect();
        Self { tokens, code, before: BTreeMap::new(), removed: BTreeSet::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.code.len()
    }

    pub(super) fn token(&self, at: usize) -> &Token {
        self.code.get(at).map_or(&Token::EOF, |&at| &self.tokens[at].token)
    }

    pub(super) fn span(&self, at: usize) -> Span {
        self.code.get(at).map_or_else(Span::empty, |&at| self.tokens[at].span)
    }

    /// Whether the token is a word without quotes.
    pub(super) fn is_word(&self, at: usize, text: &str) -> bool {
        self.code.get(at).is_some_and(|&at| is_word(&self.tokens[at], text))
    }

    /// The word at a position, in lower case, if it has no quotes.
    pub(super) fn word(&self, at: usize) -> Option<String> {
        match self.token(at) {
            Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_lowercase()),
            _ => None,
        }
    }

    /// Copies tokens.
    pub(super) fn copy(&self, range: std::ops::Range<usize>) -> Vec<TokenWithSpan> {
        range.filter_map(|at| self.code.get(at).map(|&at| self.tokens[at].clone())).collect()
    }

    pub(super) fn remove(&mut self, range: std::ops::Range<usize>) {
        self.removed.extend(range.filter_map(|at| self.code.get(at).copied()));
    }

    /// Inserts the tokens of a text before a position.
    pub(super) fn insert(&mut self, at: usize, text: &str) {
        let span = self.span(at.min(self.len().saturating_sub(1)));
        self.insert_tokens(at, text_tokens(text, span));
    }

    pub(super) fn insert_tokens(&mut self, at: usize, inserted: Vec<TokenWithSpan>) {
        let place = self.code.get(at).copied().unwrap_or(self.tokens.len());
        self.before.entry(place).or_default().extend(inserted);
    }

    pub(super) fn replace(&mut self, at: usize, token: Token) {
        let span = self.span(at);
        self.remove(at..at + 1);
        self.insert_tokens(at, vec![TokenWithSpan { token, span }]);
    }

    /// The position of the bracket that closes the one at `open`.
    pub(super) fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0;
        (open..self.len()).find(|&at| {
            depth += nesting(self.token(at));
            depth == 0
        })
    }

    /// The first position from `start` outside of inner brackets where `is_end` holds, or where the enclosing bracket or the statement ends.
    pub(super) fn end(&self, start: usize, is_end: impl Fn(usize) -> bool) -> usize {
        let mut depth = 0;
        for at in start..self.len() {
            let change = nesting(self.token(at));
            if depth == 0 && (change < 0 || *self.token(at) == Token::SemiColon || is_end(at)) {
                return at;
            }
            depth += change;
        }
        self.len()
    }

    pub(super) fn finish(mut self) -> Vec<TokenWithSpan> {
        let mut edited = Vec::with_capacity(self.tokens.len());
        for (at, token) in self.tokens.into_iter().enumerate() {
            edited.extend(self.before.remove(&at).into_iter().flatten());
            if !self.removed.contains(&at) {
                edited.push(token);
            }
        }
        edited.extend(self.before.into_values().flatten());
        edited
    }
}

/// The change of the depth of brackets.
fn nesting(token: &Token) -> i32 {
    match token {
        Token::LParen | Token::LBracket | Token::LBrace => 1,
        Token::RParen | Token::RBracket | Token::RBrace => -1,
        _ => 0,
    }
}

/// The tokens of a text, all at one place.
pub(super) fn text_tokens(text: &str, span: Span) -> Vec<TokenWithSpan> {
    let tokens = Tokenizer::new(&LathDialect, text).tokenize().unwrap_or_default();
    tokens.into_iter().map(|token| TokenWithSpan { token, span }).collect()
}

/// A name in quotes, which stands for a form.
pub(super) fn mark(text: &str) -> Token {
    Token::Word(Word { value: text.to_owned(), quote_style: Some('"'), keyword: Keyword::NoKeyword })
}
