//! Columns, literals, casts and the functions that there are.

use super::super::moment;
use super::super::number::Number;
use super::super::sql_type::SqlType;
use super::super::syntax::{ColumnName, Condition, Literal, Name, Operand, Special, Step};
use super::token::Token;
use super::{Parsed, Parser, RESERVED, Result};

impl Parser<'_> {
    /// One side of a comparison, or what stands in parentheses.
    pub(super) fn operand(&mut self) -> Result<Parsed> {
        self.nested(Self::cast_operand)
    }

    fn cast_operand(&mut self) -> Result<Parsed> {
        let mut parsed = self.primary()?;
        let mut casts = 0;
        while self.take_sign("::") {
            casts += 1;
            if casts > super::DEEPEST {
                return Err("too many casts follow each other".to_owned());
            }
            let to = self.sql_type()?;
            parsed = Parsed::Operand(Operand::Cast { operand: Box::new(parsed.into_operand()?), to, or_null: false });
        }
        Ok(parsed)
    }

    fn primary(&mut self) -> Result<Parsed> {
        if self.take_sign("(") {
            let inner = self.expression()?;
            self.expect_sign(")")?;
            return Ok(inner);
        }
        for sign in ["-", "+"] {
            if self.take_sign(sign) {
                return match self.take() {
                    Some(Token::Number(text)) => {
                        let number = number(text)?;
                        let number = if sign == "-" { number.negated() } else { number };
                        Ok(literal(Literal::Number(number)))
                    }
                    _ => Err(format!("{sign} can stand only before a number")),
                };
            }
        }
        let Some(token) = self.peek().cloned() else { return Err(self.unexpected("a column or a literal")) };
        match token {
            Token::Number(text) => {
                self.next += 1;
                Ok(literal(Literal::Number(number(text)?)))
            }
            Token::Text(text) => {
                self.next += 1;
                Ok(literal(Literal::String(text)))
            }
            Token::Hex(hex) => {
                self.next += 1;
                let bytes = moment::parse_hex(hex)
                    .ok_or_else(|| format!("X'{hex}' needs pairs of hexadecimal digits between its quotes"))?;
                Ok(literal(Literal::Bytes(bytes)))
            }
            Token::Quoted(text) => {
                self.next += 1;
                self.column(Name { text, quoted: true })
            }
            Token::Word(word) => self.word(word),
            Token::Sign("*") => Err("* is not supported here; write a column or a literal".to_owned()),
            Token::Sign(_) => Err(self.unexpected("a column or a literal")),
        }
    }

    /// What starts with a word: a literal, a cast, a function or a column.
    fn word(&mut self, word: &str) -> Result<Parsed> {
        let upper = word.to_ascii_uppercase();
        let constant = match upper.as_str() {
            "NULL" => Some(Literal::Null),
            "TRUE" => Some(Literal::Boolean(true)),
            "FALSE" => Some(Literal::Boolean(false)),
            _ => None,
        };
        if let Some(constant) = constant {
            self.next += 1;
            return Ok(literal(constant));
        }
        if RESERVED.contains(&upper.as_str()) {
            return Err(match upper.as_str() {
                "SELECT" | "CASE" => format!("{upper} is not supported"),
                _ => self.unexpected("a column or a literal"),
            });
        }
        match self.tokens.get(self.next + 1).map(|spanned| &spanned.token) {
            Some(Token::Sign("(")) => self.function(word, &upper),
            Some(Token::Text(_)) => self.typed_literal(word),
            // Types of several words.
            Some(Token::Word(second)) if upper == "DOUBLE" && second.eq_ignore_ascii_case("PRECISION") => {
                self.typed_literal(word)
            }
            Some(Token::Word(second))
                if matches!(upper.as_str(), "TIMESTAMP" | "TIME")
                    && ["WITH", "WITHOUT"].iter().any(|with| second.eq_ignore_ascii_case(with)) =>
            {
                self.typed_literal(word)
            }
            _ => {
                self.next += 1;
                self.column(Name { text: word.to_owned(), quoted: false })
            }
        }
    }

    fn function(&mut self, word: &str, upper: &str) -> Result<Parsed> {
        match upper {
            "CAST" | "TRY_CAST" => {
                self.next += 2;
                let operand = Box::new(self.operand()?.into_operand()?);
                self.expect_word("AS")?;
                let to = self.sql_type()?;
                self.expect_sign(")")?;
                Ok(Parsed::Operand(Operand::Cast { operand, to, or_null: upper == "TRY_CAST" }))
            }
            "LIST_CONTAINS" | "ARRAY_CONTAINS" | "LIST_HAS" | "ARRAY_HAS" => {
                self.next += 1;
                let Ok([operand, element]) = <[Operand; 2]>::try_from(self.items()?) else {
                    return Err(format!("{word} takes a list and an element"));
                };
                match element {
                    Operand::Literal(element) => Ok(Parsed::Condition(Condition::Contains { operand, element })),
                    other => Err(format!("{word} needs a literal as its element, not {other}")),
                }
            }
            // `TIMESTAMP(3) '…'` and the like.
            _ if super::super::sql_type::is_type_name(upper) && self.has_text_after_parentheses() => {
                self.typed_literal(word)
            }
            _ => Err(format!("functions such as {word} are not supported")),
        }
    }

    fn has_text_after_parentheses(&self) -> bool {
        let close = self.tokens[self.next..].iter().position(|spanned| spanned.token == Token::Sign(")"));
        let after = close.and_then(|close| self.tokens.get(self.next + close + 1));
        matches!(after.map(|spanned| &spanned.token), Some(Token::Text(_)))
    }

    /// A type and a string.
    fn typed_literal(&mut self, word: &str) -> Result<Parsed> {
        let named = self.sql_type();
        let Some(Token::Text(text)) = self.take() else {
            return Err(format!("{word} needs a string in single quotes after it"));
        };
        let to = named.map_err(|_| {
            format!("{word} '{text}' is not supported; there are DATE, TIME, TIMESTAMP, UUID, DOUBLE and X'…'")
        })?;
        Ok(match to {
            SqlType::Date => literal(Literal::Date(
                moment::parse_date(&text)
                    .ok_or_else(|| format!("DATE '{text}' is not a date; write for example DATE '2025-01-31'"))?,
            )),
            SqlType::Time => literal(Literal::Time(
                moment::parse_time(&text)
                    .ok_or_else(|| format!("TIME '{text}' is not a time; write for example TIME '08:30:00.25'"))?,
            )),
            SqlType::Timestamp { .. } => {
                literal(Literal::Timestamp(moment::parse_timestamp(&text).ok_or_else(|| {
                    format!("TIMESTAMP '{text}' is not a timestamp; write for example TIMESTAMP '2025-01-31 08:30:00'")
                })?))
            }
            SqlType::Uuid => literal(Literal::Uuid(moment::parse_uuid(&text).ok_or_else(|| {
                format!("UUID '{text}' is not a UUID; write 32 hexadecimal digits in groups of 8-4-4-4-12")
            })?)),
            SqlType::Text => literal(Literal::String(text)),
            to => match Special::parse(&text).filter(|_| matches!(to, SqlType::Float { .. })) {
                Some(special) => literal(Literal::Float(special)),
                None => Parsed::Operand(Operand::Cast {
                    operand: Box::new(Operand::Literal(Literal::String(text))),
                    to,
                    or_null: false,
                }),
            },
        })
    }

    /// What follows the name of a column: fields and keys.
    fn column(&mut self, name: Name) -> Result<Parsed> {
        let mut column = ColumnName { name, steps: Vec::new() };
        loop {
            if self.take_sign(".") {
                column.steps.push(Step::Field(match self.take() {
                    Some(Token::Word(word)) => Name { text: word.to_owned(), quoted: false },
                    Some(Token::Quoted(text)) => Name { text, quoted: true },
                    _ => return Err(format!("the name of a field should follow {column}.")),
                }));
            } else if self.take_sign("[") {
                let key = self.operand()?.into_operand()?;
                self.expect_sign("]")?;
                match key {
                    Operand::Literal(key) => column.steps.push(Step::Key(key)),
                    other => return Err(format!("{column}[{other}] is not supported; write {column}['key']")),
                }
            } else {
                return Ok(Parsed::Operand(Operand::Column(column)));
            }
        }
    }

    /// The name of a type with its arguments.
    pub(super) fn sql_type(&mut self) -> Result<SqlType> {
        let Some(Token::Word(word)) = self.take() else { return Err("a type should follow AS or ::".to_owned()) };
        let mut arguments = Vec::new();
        if self.take_sign("(") {
            loop {
                match self.take() {
                    Some(Token::Number(text)) => {
                        arguments.push(text.parse().map_err(|_| format!("{word}({text}) is no type"))?);
                    }
                    _ => return Err(format!("{word}(…) needs numbers in its parentheses")),
                }
                if self.take_sign(")") {
                    break;
                }
                self.expect_sign(",")?;
            }
        }
        if word.eq_ignore_ascii_case("DOUBLE") {
            self.take_word("PRECISION");
        }
        let mut zoned = None;
        if matches!(word.to_ascii_uppercase().as_str(), "TIMESTAMP" | "TIME") {
            for (with, is_zoned) in [("WITH", true), ("WITHOUT", false)] {
                if self.take_word(with) {
                    self.expect_word("TIME")?;
                    self.expect_word("ZONE")?;
                    zoned = Some(is_zoned);
                }
            }
        }
        SqlType::named(word, &arguments, zoned)
    }
}

fn number(text: &str) -> Result<Number> {
    Number::parse(text).ok_or_else(|| format!("{text} is not a number that can be read"))
}

fn literal(literal: Literal) -> Parsed {
    Parsed::Operand(Operand::Literal(literal))
}
