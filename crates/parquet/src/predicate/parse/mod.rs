//! From SQL text to a [`Condition`].
//!
//! A recursive descent: OR, AND, NOT, comparisons, operands. Chains of AND and OR and the items of lists are loops; what can
//! nest is counted, so that no text exhausts the stack.

mod operand;
#[cfg(test)]
mod tests;
mod token;

use lath_kernels::compare::Comparison;

use self::token::{Spanned, Token, tokens};
use super::syntax::{Condition, Literal, Operand};

/// Why an expression is not understood.
pub(super) type Result<T, E = String> = std::result::Result<T, E>;

/// Parentheses, NOT and conditions on conditions nest at most so deep.
const DEEPEST: usize = 100;

/// Words that are part of conditions. A column of such a name needs quotes.
const RESERVED: [&str; 14] =
    ["AND", "OR", "NOT", "IN", "IS", "LIKE", "ILIKE", "BETWEEN", "NULL", "TRUE", "FALSE", "ESCAPE", "SELECT", "CASE"];

/// Reads what SQL allows after WHERE.
pub(super) fn parse(text: &str) -> Result<Condition> {
    let unreadable = |message| format!("cannot read the expression: {message}");
    let mut parser = Parser { tokens: tokens(text).map_err(unreadable)?, next: 0, depth: 0 };
    let condition = parser.expression()?.into_condition();
    match parser.tokens.get(parser.next) {
        None => Ok(condition),
        Some(rest) => Err(format!(
            "cannot read the expression from {} on (column {}); join conditions with AND or OR",
            rest.token.describe(),
            rest.at
        )),
    }
}

/// The pattern of LIKE with `\` as its escape character, which the standard leaves to `ESCAPE` alone.
pub(super) fn escape_pattern(pattern: &str, escape: Option<char>) -> Result<String> {
    let mut escaped = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if Some(c) == escape {
            let literal = chars.next().ok_or("the pattern of LIKE ends with its escape character")?;
            if matches!(literal, '%' | '_' | '\\') {
                escaped.push('\\');
            }
            escaped.push(literal);
        } else {
            if c == '\\' {
                escaped.push('\\');
            }
            escaped.push(c);
        }
    }
    Ok(escaped)
}

/// What has been read: parentheses may hold either.
enum Parsed {
    Condition(Condition),
    Operand(Operand),
}

impl Parsed {
    fn into_condition(self) -> Condition {
        match self {
            Self::Condition(condition) => condition,
            Self::Operand(operand) => Condition::Truth(operand),
        }
    }

    fn into_operand(self) -> Result<Operand> {
        match self {
            Self::Operand(operand) => Ok(operand),
            Self::Condition(condition) => {
                let text: String = condition.to_string().chars().take(60).collect();
                Err(format!("the condition {text} is not supported here; write a column or a literal"))
            }
        }
    }
}

struct Parser<'a> {
    tokens: Vec<Spanned<'a>>,
    next: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn expression(&mut self) -> Result<Parsed> {
        self.chain("OR", |parser| parser.chain("AND", Self::negation, Condition::And), Condition::Or)
    }

    /// What `part` reads, once or more times with `word` between.
    fn chain(
        &mut self,
        word: &str,
        part: impl Fn(&mut Self) -> Result<Parsed>,
        join: impl Fn(Vec<Condition>) -> Condition,
    ) -> Result<Parsed> {
        let first = part(self)?;
        if !self.is_word(word) {
            return Ok(first);
        }
        let mut links = vec![first.into_condition()];
        while self.take_word(word) {
            links.push(part(self)?.into_condition());
        }
        Ok(Parsed::Condition(join(links)))
    }

    fn negation(&mut self) -> Result<Parsed> {
        if !self.take_word("NOT") {
            return self.predicate();
        }
        let inner = self.nested(Self::negation)?.into_condition();
        Ok(Parsed::Condition(Condition::Not(Box::new(inner))))
    }

    /// Reads something that may hold the like of itself.
    fn nested<T>(&mut self, read: impl Fn(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEEPEST {
            return Err(format!("the expression nests more than {DEEPEST} levels deep"));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// An operand and what is said of it.
    fn predicate(&mut self) -> Result<Parsed> {
        let mut parsed = self.operand()?;
        for _ in 0..DEEPEST {
            parsed = match self.condition_on(parsed)? {
                (condition, true) => condition,
                (parsed, false) => return Ok(parsed),
            };
        }
        Err(format!("the expression nests more than {DEEPEST} levels deep"))
    }

    /// What follows an operand or a condition and makes a condition of it; `false` if nothing does.
    fn condition_on(&mut self, left: Parsed) -> Result<(Parsed, bool)> {
        let condition = if let Some(op) = self.take_comparison() {
            self.compare(left.into_operand()?, op)?
        } else if self.take_word("IS") {
            let not = self.take_word("NOT");
            negated(not, self.is(left)?)
        } else {
            let not = self.is_word("NOT") && self.is_word_after("BETWEEN", "IN", "LIKE", "ILIKE");
            self.next += usize::from(not);
            if self.take_word("BETWEEN") {
                let low = self.operand()?.into_operand()?;
                self.expect_word("AND")?;
                let high = self.operand()?.into_operand()?;
                negated(not, between(left.into_operand()?, low, high))
            } else if self.take_word("IN") {
                negated(not, self.in_list(left.into_operand()?)?)
            } else if self.take_word("LIKE") {
                negated(not, self.like(left.into_operand()?, false)?)
            } else if self.take_word("ILIKE") {
                negated(not, self.like(left.into_operand()?, true)?)
            } else {
                return self.nothing_or_operator(left);
            }
        };
        Ok((Parsed::Condition(condition), true))
    }

    fn nothing_or_operator(&self, left: Parsed) -> Result<(Parsed, bool)> {
        match self.peek() {
            Some(Token::Sign(sign @ ("+" | "-" | "*" | "/" | "%" | "||" | "->" | "<=>"))) => {
                Err(format!("the operator {sign} is not supported; compare columns with literals or columns"))
            }
            _ => Ok((left, false)),
        }
    }

    fn compare(&mut self, left: Operand, op: Comparison) -> Result<Condition> {
        let any = ["ANY", "SOME", "ALL"].into_iter().find(|word| self.is_word(word));
        if let Some(word) =
            any.filter(|_| self.tokens.get(self.next + 1).is_some_and(|next| next.token == Token::Sign("(")))
        {
            if op != Comparison::Equal || word == "ALL" {
                return Err(format!("{op} {word} is not supported; there is = ANY (list)"));
            }
            self.next += 2;
            let list = self.operand()?.into_operand()?;
            self.expect_sign(")")?;
            return match left {
                Operand::Literal(element) => Ok(Condition::Contains { operand: list, element }),
                other => Err(format!("= ANY needs a literal on its left, not {other}")),
            };
        }
        Ok(Condition::Compare { left, op, right: self.operand()?.into_operand()? })
    }

    /// What follows IS, or IS NOT.
    fn is(&mut self, left: Parsed) -> Result<Condition> {
        if self.take_word("NULL") {
            // The null of a condition is its third truth value.
            return Ok(match left {
                Parsed::Operand(operand) => Condition::IsNull(operand),
                Parsed::Condition(condition) => Condition::Is(Box::new(condition), None),
            });
        }
        if self.take_word("DISTINCT") {
            self.expect_word("FROM")?;
            let right = self.operand()?.into_operand()?;
            return Ok(negated(true, Condition::Same(left.into_operand()?, right)));
        }
        let truths = [("TRUE", Some(true)), ("FALSE", Some(false)), ("UNKNOWN", None)];
        for (word, truth) in truths {
            if self.take_word(word) {
                return Ok(Condition::Is(Box::new(left.into_condition()), truth));
            }
        }
        Err(self.unexpected("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM after IS"))
    }

    /// A list of literals stays one; a list with columns in it is as many comparisons.
    fn in_list(&mut self, value: Operand) -> Result<Condition> {
        let items = self.items()?;
        let is_literal = |operand: &Operand| matches!(operand, Operand::Literal(_));
        if is_literal(&value) || !items.iter().all(is_literal) {
            let equal = |right| Condition::Compare { left: value.clone(), op: Comparison::Equal, right };
            return Ok(Condition::Or(items.into_iter().map(equal).collect()));
        }
        let literal = |operand| if let Operand::Literal(literal) = operand { Some(literal) } else { None };
        Ok(Condition::In { operand: value, list: items.into_iter().filter_map(literal).collect() })
    }

    /// Operands in parentheses, with commas between.
    fn items(&mut self) -> Result<Vec<Operand>> {
        self.expect_sign("(")?;
        if self.is_word("SELECT") {
            return Err("subqueries are not supported; write a list of literals".to_owned());
        }
        let mut items = Vec::new();
        if self.take_sign(")") {
            return Ok(items);
        }
        loop {
            items.push(self.operand()?.into_operand()?);
            if self.take_sign(")") {
                return Ok(items);
            }
            self.expect_sign(",")?;
        }
    }

    fn like(&mut self, operand: Operand, ignore_case: bool) -> Result<Condition> {
        let pattern = match self.operand()?.into_operand()? {
            Operand::Literal(Literal::String(pattern)) => pattern,
            other => return Err(format!("LIKE needs a pattern in quotes, not {other}")),
        };
        let mut escape = None;
        if self.take_word("ESCAPE") {
            let text = match self.take() {
                Some(Token::Text(text)) => text,
                _ => String::new(),
            };
            let mut chars = text.chars();
            escape = chars.next().filter(|_| chars.next().is_none());
            if escape.is_none() {
                return Err("ESCAPE needs one character in quotes".to_owned());
            }
        }
        Ok(Condition::Like { operand, pattern: escape_pattern(&pattern, escape)?, ignore_case })
    }

    fn take_comparison(&mut self) -> Option<Comparison> {
        let op = match self.peek()? {
            Token::Sign("=" | "==") => Comparison::Equal,
            Token::Sign("<>" | "!=") => Comparison::NotEqual,
            Token::Sign("<") => Comparison::Less,
            Token::Sign("<=") => Comparison::LessOrEqual,
            Token::Sign(">") => Comparison::Greater,
            Token::Sign(">=") => Comparison::GreaterOrEqual,
            _ => return None,
        };
        self.next += 1;
        Some(op)
    }

    fn peek(&self) -> Option<&Token<'a>> {
        self.tokens.get(self.next).map(|spanned| &spanned.token)
    }

    fn take(&mut self) -> Option<Token<'a>> {
        let token = self.peek().cloned();
        self.next += usize::from(token.is_some());
        token
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(found)) if found.eq_ignore_ascii_case(word))
    }

    /// Whether the token after the next one is one of four words.
    fn is_word_after(&self, a: &str, b: &str, c: &str, d: &str) -> bool {
        let after = self.tokens.get(self.next + 1).map(|spanned| &spanned.token);
        matches!(after, Some(Token::Word(found)) if [a, b, c, d].iter().any(|word| found.eq_ignore_ascii_case(word)))
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is_next = self.is_word(word);
        self.next += usize::from(is_next);
        is_next
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        self.next += usize::from(is_next);
        is_next
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.take_word(word) { Ok(()) } else { Err(self.unexpected(word)) }
    }

    fn expect_sign(&mut self, sign: &str) -> Result<()> {
        if self.take_sign(sign) { Ok(()) } else { Err(self.unexpected(sign)) }
    }

    /// The next token is not what it should be.
    fn unexpected(&self, expected: &str) -> String {
        match self.tokens.get(self.next) {
            None => format!("cannot read the expression: {expected} should follow, but the expression ends"),
            Some(found) => format!(
                "cannot read the expression: {expected} should stand where there is {} (column {})",
                found.token.describe(),
                found.at
            ),
        }
    }
}

fn negated(not: bool, condition: Condition) -> Condition {
    if not { Condition::Not(Box::new(condition)) } else { condition }
}

fn between(value: Operand, low: Operand, high: Operand) -> Condition {
    match (value, low, high) {
        (operand, Operand::Literal(low), Operand::Literal(high)) if !matches!(operand, Operand::Literal(_)) => {
            Condition::Between { operand, low, high }
        }
        (value, low, high) => Condition::And(vec![
            Condition::Compare { left: value.clone(), op: Comparison::GreaterOrEqual, right: low },
            Condition::Compare { left: value, op: Comparison::LessOrEqual, right: high },
        ]),
    }
}
