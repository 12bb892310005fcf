//! Predicates written in Rust.

use std::ops::{BitAnd, BitOr, Not};

use lath_kernels::compare::Comparison;

use crate::error::{Error, Result};
use crate::number::Number;
use crate::parse::escape_pattern;
use crate::predicate::Predicate;
use crate::syntax::{self, ColumnName, Condition, Name, Operand, Special, Step};

/// The column of this name, to be tested. Dots lead to the fields of structs; letters have to be those of the schema.
///
/// ```
/// use lath_predicate::column;
///
/// let expensive = column("price").ge("19.99".parse::<lath_predicate::Literal>()?);
/// let near = column("shop.city").is_in(["Oslo", "Bergen"]);
/// assert_eq!((expensive & near).to_string(), r#""price" >= 19.99 AND "shop"."city" IN ('Oslo', 'Bergen')"#);
/// # Ok::<(), lath_predicate::Error>(())
/// ```
pub fn column(path: &str) -> Column {
    let mut names = path.split('.').map(exact_name);
    let name = names.next().unwrap_or_else(|| exact_name(path));
    Column { name: ColumnName { name, steps: names.map(Step::Field).collect() } }
}

fn exact_name(name: &str) -> Name {
    Name { text: name.to_owned(), quoted: true }
}

/// A column, or what is within it. Its methods make predicates of it.
///
/// All but [`Column::is_null`] and [`Column::is_not_null`] are null for rows where the column is null.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a column is no predicate before something is said of it"]
pub struct Column {
    name: ColumnName,
}

impl Column {
    /// The field of a struct, whatever its name has in it.
    pub fn field(mut self, name: &str) -> Self {
        self.name.steps.push(Step::Field(exact_name(name)));
        self
    }

    /// The value that a map has for a key.
    pub fn at(mut self, key: impl Into<Literal>) -> Self {
        self.name.steps.push(Step::Key(key.into().0));
        self
    }

    fn compare(self, op: Comparison, right: impl Into<Operand>) -> Predicate {
        Condition::Compare { left: self.into(), op, right: right.into() }.into()
    }

    /// `=`
    pub fn eq(self, value: impl Into<Literal>) -> Predicate {
        self.compare(Comparison::Equal, value.into())
    }

    /// `<>`
    pub fn not_eq(self, value: impl Into<Literal>) -> Predicate {
        self.compare(Comparison::NotEqual, value.into())
    }

    /// `<`
    pub fn lt(self, value: impl Into<Literal>) -> Predicate {
        self.compare(Comparison::Less, value.into())
    }

    /// `<=`
    pub fn le(self, value: impl Into<Literal>) -> Predicate {
        self.compare(Comparison::LessOrEqual, value.into())
    }

    /// `>`
    pub fn gt(self, value: impl Into<Literal>) -> Predicate {
        self.compare(Comparison::Greater, value.into())
    }

    /// `>=`
    pub fn ge(self, value: impl Into<Literal>) -> Predicate {
        self.compare(Comparison::GreaterOrEqual, value.into())
    }

    /// `=` with the value that another column has in the same row.
    pub fn eq_column(self, other: Self) -> Predicate {
        self.compare(Comparison::Equal, other)
    }

    /// `<` with the value that another column has in the same row.
    pub fn lt_column(self, other: Self) -> Predicate {
        self.compare(Comparison::Less, other)
    }

    /// `<=` with the value that another column has in the same row.
    pub fn le_column(self, other: Self) -> Predicate {
        self.compare(Comparison::LessOrEqual, other)
    }

    /// `BETWEEN`, which includes both ends.
    pub fn between(self, low: impl Into<Literal>, high: impl Into<Literal>) -> Predicate {
        Condition::Between { operand: self.into(), low: low.into().0, high: high.into().0 }.into()
    }

    /// `IN`, with a list of any length.
    pub fn is_in<V: Into<Literal>>(self, values: impl IntoIterator<Item = V>) -> Predicate {
        let list = values.into_iter().map(|value| value.into().0).collect();
        Condition::In { operand: self.into(), list }.into()
    }

    /// `IS NULL`
    pub fn is_null(self) -> Predicate {
        Condition::IsNull(self.into()).into()
    }

    /// `IS NOT NULL`
    pub fn is_not_null(self) -> Predicate {
        self.is_null().not()
    }

    /// `IS DISTINCT FROM`: `<>`, for which null is a value like others.
    pub fn is_distinct_from(self, value: impl Into<Literal>) -> Predicate {
        Predicate::from(Condition::Same(self.into(), value.into().into())).not()
    }

    /// `LIKE`: `%` stands for any characters, `_` for one.
    pub fn like(self, pattern: &str) -> Predicate {
        self.matches(pattern, false)
    }

    /// `ILIKE`: as [`Column::like`], whatever the case of letters.
    pub fn ilike(self, pattern: &str) -> Predicate {
        self.matches(pattern, true)
    }

    fn matches(self, pattern: &str, ignore_case: bool) -> Predicate {
        // Without an escape character every pattern is one.
        let pattern = escape_pattern(pattern, None).unwrap_or_default();
        Condition::Like { operand: self.into(), pattern, ignore_case }.into()
    }

    /// `LIKE` for what starts with `prefix`, whose characters all stand for themselves.
    pub fn starts_with(self, prefix: &str) -> Predicate {
        let mut pattern = String::with_capacity(prefix.len() + 1);
        for c in prefix.chars() {
            if matches!(c, '%' | '_' | '\\') {
                pattern.push('\\');
            }
            pattern.push(c);
        }
        pattern.push('%');
        Condition::Like { operand: self.into(), pattern, ignore_case: false }.into()
    }

    /// `list_contains`: whether a list has an element. Elements that are null are passed over.
    pub fn contains(self, element: impl Into<Literal>) -> Predicate {
        Condition::Contains { operand: self.into(), element: element.into().0 }.into()
    }

    /// Whether a column of booleans is true.
    pub fn is_true(self) -> Predicate {
        Condition::Is(Box::new(Condition::Truth(self.into())), Some(true)).into()
    }
}

impl From<Column> for Operand {
    fn from(column: Column) -> Self {
        Self::Column(column.name)
    }
}

impl Predicate {
    /// Both hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let mut conditions = Vec::new();
        for condition in [self.condition, other.condition] {
            match condition {
                Condition::And(inner) => conditions.extend(inner),
                single => conditions.push(single),
            }
        }
        Condition::And(conditions).into()
    }

    /// One of them holds, or both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let mut conditions = Vec::new();
        for condition in [self.condition, other.condition] {
            match condition {
                Condition::Or(inner) => conditions.extend(inner),
                single => conditions.push(single),
            }
        }
        Condition::Or(conditions).into()
    }
}

impl From<Condition> for Predicate {
    fn from(condition: Condition) -> Self {
        Self { condition }
    }
}

/// True where it was false, and false where it was true; null stays null.
impl Not for Predicate {
    type Output = Self;

    fn not(self) -> Self {
        match self.condition {
            Condition::Not(inner) => *inner,
            other => Condition::Not(Box::new(other)),
        }
        .into()
    }
}

impl BitAnd for Predicate {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        self.and(other)
    }
}

impl BitOr for Predicate {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.or(other)
    }
}

/// Reads what SQL allows after WHERE.
impl std::str::FromStr for Predicate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

/// A value to compare a column with. It has no type of its own: it is placed exactly among the values of the column's type.
///
/// Rust's numbers, booleans, strings and bytes become literals by themselves, `None` becomes NULL, and the text of a number is
/// read by `parse`, whatever its size and precision.
///
/// ```
/// use lath_predicate::{Literal, column};
///
/// let since = column("opened").ge(Literal::date(2025, 1, 31)?);
/// let exact = column("sum").eq("123456789012345678901234567890.0001".parse::<Literal>()?);
/// assert_eq!((since | exact).to_string(), r#""opened" >= DATE '2025-01-31' OR "sum" = 123456789012345678901234567890.0001"#);
/// # Ok::<(), lath_predicate::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Literal(syntax::Literal);

impl Literal {
    /// NULL, which no value is equal to.
    pub const NULL: Self = Self(syntax::Literal::Null);

    /// A day of the proleptic Gregorian calendar.
    ///
    /// # Errors
    /// [`Error::Literal`] if there is no such day.
    pub fn date(year: i32, month: u8, day: u8) -> Result<Self> {
        let sign = if year < 0 { "-" } else { "" };
        let text = format!("{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs());
        let days = crate::moment::parse_date(&text).ok_or_else(|| Error::literal(format!("there is no day {text}")))?;
        Ok(Self(syntax::Literal::Date(days)))
    }

    /// A time of day.
    ///
    /// # Errors
    /// [`Error::Literal`] if it is as many nanoseconds as a day has, or more.
    pub fn time(nanos_since_midnight: u64) -> Result<Self> {
        let nanos = i64::try_from(nanos_since_midnight).ok().filter(|&nanos| crate::moment::is_time(nanos));
        let nanos = nanos.ok_or_else(|| Error::literal("a time of day has less than 24 hours"))?;
        Ok(Self(syntax::Literal::Time(nanos)))
    }

    /// A point in time, in nanoseconds since 1970-01-01T00:00:00Z.
    pub fn timestamp_nanos(nanos: i64) -> Self {
        Self(syntax::Literal::Timestamp(nanos.into()))
    }

    /// A point in time, in microseconds since 1970-01-01T00:00:00Z.
    pub fn timestamp_micros(micros: i64) -> Self {
        Self(syntax::Literal::Timestamp(i128::from(micros) * 1000))
    }

    /// A UUID.
    pub fn uuid(bytes: [u8; 16]) -> Self {
        Self(syntax::Literal::Uuid(bytes))
    }
}

impl From<Literal> for Operand {
    fn from(literal: Literal) -> Self {
        Self::Literal(literal.0)
    }
}

/// The text of a number: digits with at most one point and an exponent, after an optional sign.
impl std::str::FromStr for Literal {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = Number::parse(text.strip_prefix('+').unwrap_or(text));
        let number = number.ok_or_else(|| Error::literal(format!("{text:?} is not a number")))?;
        Ok(Self(syntax::Literal::Number(number)))
    }
}

macro_rules! from_integers {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Literal {
            fn from(value: $integer) -> Self {
                let number = Number::parse(&value.to_string());
                Self(number.map_or(syntax::Literal::Null, syntax::Literal::Number))
            }
        }
    )*};
}
from_integers!(i8, i16, i32, i64, i128, u8, u16, u32, u64, u128, usize, isize);

impl From<f64> for Literal {
    fn from(value: f64) -> Self {
        if let Some(special) = Special::of(value) {
            return Self(syntax::Literal::Float(special));
        }
        let number = Number::parse(&format!("{value:?}"));
        Self(number.map_or(syntax::Literal::Null, syntax::Literal::Number))
    }
}

impl From<f32> for Literal {
    fn from(value: f32) -> Self {
        Self::from(f64::from(value))
    }
}

impl From<bool> for Literal {
    fn from(value: bool) -> Self {
        Self(syntax::Literal::Boolean(value))
    }
}

impl From<&str> for Literal {
    fn from(value: &str) -> Self {
        Self(syntax::Literal::String(value.to_owned()))
    }
}

impl From<String> for Literal {
    fn from(value: String) -> Self {
        Self(syntax::Literal::String(value))
    }
}

impl From<&[u8]> for Literal {
    fn from(value: &[u8]) -> Self {
        Self(syntax::Literal::Bytes(value.to_vec()))
    }
}

impl From<Vec<u8>> for Literal {
    fn from(value: Vec<u8>) -> Self {
        Self(syntax::Literal::Bytes(value))
    }
}

impl<const N: usize> From<[u8; N]> for Literal {
    fn from(value: [u8; N]) -> Self {
        Self(syntax::Literal::Bytes(value.to_vec()))
    }
}

impl<const N: usize> From<&[u8; N]> for Literal {
    fn from(value: &[u8; N]) -> Self {
        Self(syntax::Literal::Bytes(value.to_vec()))
    }
}

impl<T: Into<Self>> From<Option<T>> for Literal {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::NULL, Into::into)
    }
}
