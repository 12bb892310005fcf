//! Conditions before they are bound to the columns of a schema.

use lath_kernels::compare::Comparison;

use crate::value::{Number, SqlType};

/// A condition in SQL's three-valued logic.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Condition {
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Not(Box<Condition>),
    Compare {
        left: Operand,
        op: Comparison,
        right: Operand,
    },
    /// A column between two literals, both included.
    Between {
        operand: Operand,
        low: Literal,
        high: Literal,
    },
    /// A column that is one of a list. A null in the list neither equals nor differs from any value.
    In {
        operand: Operand,
        list: Vec<Literal>,
    },
    /// `IS NOT DISTINCT FROM`: equal, or both null.
    Same(Operand, Operand),
    /// A list that has an element.
    Contains {
        operand: Operand,
        element: Literal,
    },
    Like {
        operand: Operand,
        /// The escape character is `\`.
        pattern: String,
        ignore_case: bool,
    },
    IsNull(Operand),
    /// `IS TRUE`, `IS FALSE` and `IS UNKNOWN`.
    Is(Box<Condition>, Option<bool>),
    /// An operand that is itself true, false or null.
    Truth(Operand),
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand {
    Column(ColumnName),
    Literal(Literal),
    Cast {
        operand: Box<Operand>,
        to: SqlType,
        /// Whether a value that cannot be cast becomes null (`TRY_CAST`) instead of an error.
        or_null: bool,
    },
}

/// A column as it was written: the steps from the top-level column down to a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ColumnName {
    pub(crate) name: Name,
    pub(crate) steps: Vec<Step>,
}

/// A step from a column to a value within it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// `.name`: a field of a struct.
    Field(Name),
    /// `['key']`: the value of a map at a key.
    Key(Literal),
}

/// One name. A name without quotes is not case-sensitive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) quoted: bool,
}

/// A literal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
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
    Float(SpecialFloat),
}

/// The floats that cannot be written with digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpecialFloat {
    NotANumber,
    Infinity,
    NegativeInfinity,
}

impl SpecialFloat {
    /// Parses the name of NaN or an infinity, which is not case-sensitive.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "nan" => Some(Self::NotANumber),
            "inf" | "infinity" | "+inf" | "+infinity" => Some(Self::Infinity),
            "-inf" | "-infinity" => Some(Self::NegativeInfinity),
            _ => None,
        }
    }

    /// `None` if `value` is finite.
    pub(crate) fn from_f64(value: f64) -> Option<Self> {
        match value {
            _ if value.is_nan() => Some(Self::NotANumber),
            f64::INFINITY => Some(Self::Infinity),
            f64::NEG_INFINITY => Some(Self::NegativeInfinity),
            _ => None,
        }
    }

    pub(crate) fn value(self) -> f64 {
        match self {
            Self::NotANumber => f64::NAN,
            Self::Infinity => f64::INFINITY,
            Self::NegativeInfinity => f64::NEG_INFINITY,
        }
    }
}

impl Literal {
    /// The literal in words, for messages.
    pub(crate) fn describe(&self) -> String {
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
            Self::Float(special) => format!("the float {}", special.value()),
        }
    }
}
