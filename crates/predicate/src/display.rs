//! Writes predicates as text, which parses to the same predicate.

use std::fmt::{self, Display, Formatter};

use crate::syntax::{ColumnName, Condition, Literal, Name, Operand, SpecialFloat, Step};
use crate::value::moment;

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::And(conditions) => joined(f, conditions, " AND "),
            Self::Or(conditions) => joined(f, conditions, " OR "),
            Self::Not(inner) => match inner.as_ref() {
                Self::Between { operand, low, high } => write!(f, "{operand} NOT BETWEEN {low} AND {high}"),
                Self::In { operand, list } => in_list(f, operand, "NOT IN", list),
                Self::Same(left, right) => write!(f, "{left} IS DISTINCT FROM {right}"),
                Self::Like { operand, pattern, ignore_case } => like(f, operand, "NOT ", pattern, *ignore_case),
                Self::IsNull(operand) => write!(f, "{operand} IS NOT NULL"),
                other => write!(f, "NOT ({other})"),
            },
            Self::Compare { left, op, right } => write!(f, "{left} {op} {right}"),
            Self::Between { operand, low, high } => write!(f, "{operand} BETWEEN {low} AND {high}"),
            Self::In { operand, list } => in_list(f, operand, "IN", list),
            Self::Same(left, right) => write!(f, "{left} IS NOT DISTINCT FROM {right}"),
            Self::Contains { operand, element } => write!(f, "list_contains({operand}, {element})"),
            Self::Like { operand, pattern, ignore_case } => like(f, operand, "", pattern, *ignore_case),
            Self::IsNull(operand) => write!(f, "{operand} IS NULL"),
            Self::Is(inner, truth) => {
                let word = match truth {
                    Some(true) => "TRUE",
                    Some(false) => "FALSE",
                    None => "UNKNOWN",
                };
                write!(f, "({inner}) IS {word}")
            }
            Self::Truth(operand) => write!(f, "{operand}"),
        }
    }
}

fn joined(f: &mut Formatter<'_>, conditions: &[Condition], separator: &str) -> fmt::Result {
    for (index, condition) in conditions.iter().enumerate() {
        if index > 0 {
            f.write_str(separator)?;
        }
        match condition {
            Condition::And(_) | Condition::Or(_) => write!(f, "({condition})")?,
            other => write!(f, "{other}")?,
        }
    }
    Ok(())
}

fn in_list(f: &mut Formatter<'_>, operand: &Operand, word: &str, list: &[Literal]) -> fmt::Result {
    write!(f, "{operand} {word} (")?;
    for (index, literal) in list.iter().enumerate() {
        let separator = if index > 0 { ", " } else { "" };
        write!(f, "{separator}{literal}")?;
    }
    f.write_str(")")
}

fn like(f: &mut Formatter<'_>, operand: &Operand, not: &str, pattern: &str, ignore_case: bool) -> fmt::Result {
    let word = if ignore_case { "ILIKE" } else { "LIKE" };
    write!(f, "{operand} {not}{word} {}", Quotation(pattern, '\''))?;
    if pattern.contains('\\') { f.write_str(" ESCAPE '\\'") } else { Ok(()) }
}

/// Text in quotes; quotes in the text are doubled.
struct Quotation<'a>(&'a str, char);

impl Display for Quotation<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(text, quote) = self;
        write!(f, "{quote}")?;
        for (index, part) in text.split(*quote).enumerate() {
            if index > 0 {
                write!(f, "{quote}{quote}")?;
            }
            f.write_str(part)?;
        }
        write!(f, "{quote}")
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(name) => name.fmt(f),
            Self::Literal(literal) => literal.fmt(f),
            Self::Cast { operand, to, or_null } => {
                let word = if *or_null { "TRY_CAST" } else { "CAST" };
                write!(f, "{word}({operand} AS {to})")
            }
        }
    }
}

impl Display for ColumnName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)?;
        self.steps.iter().try_for_each(|step| match step {
            Step::Field(name) => write!(f, ".{name}"),
            Step::Key(key) => write!(f, "[{key}]"),
        })
    }
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.quoted { Quotation(&self.text, '"').fmt(f) } else { f.write_str(&self.text) }
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Boolean(true) => f.write_str("TRUE"),
            Self::Boolean(false) => f.write_str("FALSE"),
            Self::Number(number) => number.fmt(f),
            Self::String(text) => Quotation(text, '\'').fmt(f),
            Self::Bytes(bytes) => {
                f.write_str("X'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02X}"))?;
                f.write_str("'")
            }
            Self::Date(days) => write!(f, "DATE '{}'", moment::Date((*days).into())),
            Self::Time(nanos) => write!(f, "TIME '{}'", moment::Time(*nanos)),
            Self::Timestamp(nanos) => write!(f, "TIMESTAMP '{}'", moment::Timestamp(*nanos)),
            Self::Uuid(bytes) => {
                f.write_str("UUID '")?;
                for (index, byte) in bytes.iter().enumerate() {
                    let dash = if matches!(index, 4 | 6 | 8 | 10) { "-" } else { "" };
                    write!(f, "{dash}{byte:02x}")?;
                }
                f.write_str("'")
            }
            Self::Float(SpecialFloat::NotANumber) => f.write_str("DOUBLE 'NaN'"),
            Self::Float(SpecialFloat::Infinity) => f.write_str("DOUBLE 'Infinity'"),
            Self::Float(SpecialFloat::NegativeInfinity) => f.write_str("DOUBLE '-Infinity'"),
        }
    }
}
