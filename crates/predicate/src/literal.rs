use crate::error::{Error, Result};
use crate::syntax::{self, Operand, SpecialFloat};
use crate::value::{Number, moment};

/// A value to compare a column with. It has no type, and is compared exactly with the values of the column's type.
///
/// Rust's numbers, booleans, strings and bytes convert to literals, and `None` to NULL. `parse` reads a number of any size and precision
/// from text.
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
pub struct Literal(pub(crate) syntax::Literal);

impl Literal {
    /// NULL, to which no value is equal.
    pub const NULL: Self = Self(syntax::Literal::Null);

    /// A day of the proleptic Gregorian calendar.
    ///
    /// # Errors
    /// [`Error::Literal`] if there is no such day.
    pub fn date(year: i32, month: u8, day: u8) -> Result<Self> {
        let sign = if year < 0 { "-" } else { "" };
        let text = format!("{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs());
        let days = moment::parse_date(&text).ok_or_else(|| Error::literal(format!("there is no day {text}")))?;
        Ok(Self(syntax::Literal::Date(days)))
    }

    /// A time of day.
    ///
    /// # Errors
    /// [`Error::Literal`] for 24 hours or more.
    pub fn time(nanos_since_midnight: u64) -> Result<Self> {
        let nanos = i64::try_from(nanos_since_midnight).ok().filter(|&nanos| moment::is_time(nanos));
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
        if let Some(special) = SpecialFloat::from_f64(value) {
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
