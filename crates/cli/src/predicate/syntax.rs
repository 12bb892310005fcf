//! What an expression says, before it is known which columns a file has.

use super::number::Number;

/// A condition in SQL's three-valued logic.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Condition {
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Not(Box<Condition>),
    Compare {
        left: Operand,
        op: Comparison,
        right: Operand,
    },
    Like {
        operand: Operand,
        pattern: String,
        ignore_case: bool,
    },
    IsNull(Operand),
    /// `IS TRUE`, `IS FALSE` and `IS UNKNOWN`.
    Is(Box<Condition>, Option<bool>),
    /// An operand that is itself true, false or null.
    Truth(Operand),
}

/// A comparison of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// The comparison that says the same with its sides exchanged.
    pub(super) fn exchanged(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same => same,
        }
    }
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Operand {
    Column(ColumnName),
    Literal(Literal),
}

/// A column as it was written: the names from the top-level column down to a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ColumnName {
    pub(super) parts: Vec<Name>,
}

/// One name. Without quotes, letters may differ in case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) quoted: bool,
}

/// A value that is written out.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Null,
    Boolean(bool),
    Number(Number),
    String(String),
    Bytes(Vec<u8>),
    /// Days since 1970-01-01.
    Date(i32),
    /// Nanoseconds since midnight.
    Time(i64),
    /// Nanoseconds since 1970-01-01T00:00:00Z.
    Timestamp(i128),
    Uuid([u8; 16]),
}

impl Literal {
    /// The literal in words, for messages.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Null => "NULL".to_owned(),
            Self::Boolean(true) => "TRUE".to_owned(),
            Self::Boolean(false) => "FALSE".to_owned(),
            Self::Number(number) => format!("the number {number}"),
            Self::String(text) => format!("the string '{text}'"),
            Self::Bytes(_) => "an X'…' byte string".to_owned(),
            Self::Date(_) => "a DATE".to_owned(),
            Self::Time(_) => "a TIME".to_owned(),
            Self::Timestamp(_) => "a TIMESTAMP".to_owned(),
            Self::Uuid(_) => "a UUID".to_owned(),
        }
    }
}
