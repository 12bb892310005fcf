//! The test's own values, independent of the library's types.

use std::cmp::Ordering;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Boolean,
    Int8,
    Int32,
    Int64,
    UInt32,
    UInt64,
    Float32,
    Float64,
    String,
    Binary,
    /// 16 bytes.
    Fixed,
    /// 9 digits, 2 of them after the point.
    SmallDecimal,
    /// 30 digits, 4 of them after the point.
    LargeDecimal,
    Date,
    /// In milliseconds, UTC.
    Timestamp,
}

impl Kind {
    pub(crate) const ALL: [Self; 15] = [
        Self::Boolean,
        Self::Int8,
        Self::Int32,
        Self::Int64,
        Self::UInt32,
        Self::UInt64,
        Self::Float32,
        Self::Float64,
        Self::String,
        Self::Binary,
        Self::Fixed,
        Self::SmallDecimal,
        Self::LargeDecimal,
        Self::Date,
        Self::Timestamp,
    ];

    /// The smallest and the largest integer of an integer type.
    pub(crate) fn range(self) -> Option<(i128, i128)> {
        Some(match self {
            Self::Int8 => (i8::MIN.into(), i8::MAX.into()),
            Self::Int32 => (i32::MIN.into(), i32::MAX.into()),
            Self::Int64 => (i64::MIN.into(), i64::MAX.into()),
            Self::UInt32 => (0, u32::MAX.into()),
            Self::UInt64 => (0, u64::MAX.into()),
            Self::SmallDecimal => (-999_999_999, 999_999_999),
            Self::LargeDecimal => (1 - 10i128.pow(30), 10i128.pow(30) - 1),
            // The years 1600 to 2400, within which every date can be written.
            Self::Date => (-135_140, 157_054),
            Self::Timestamp => (-135_140 * 86_400_000, 157_054 * 86_400_000),
            _ => return None,
        })
    }
}

/// A value, or null.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Boolean(bool),
    Int(i128),
    Float(f64),
    Bytes(Vec<u8>),
}

impl Scalar {
    pub(crate) fn is_null(&self) -> bool {
        *self == Self::Null
    }

    /// SQL's order; `None` if either is null. Zero has one sign, and NaN is one value greater than all numbers.
    pub(crate) fn compare(&self, other: &Self) -> Option<Ordering> {
        Some(match (self, other) {
            (Self::Boolean(left), Self::Boolean(right)) => left.cmp(right),
            (Self::Int(left), Self::Int(right)) => left.cmp(right),
            (Self::Float(left), Self::Float(right)) => match (left.is_nan(), right.is_nan()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => left.partial_cmp(right)?,
            },
            (Self::Bytes(left), Self::Bytes(right)) => left.cmp(right),
            _ => return None,
        })
    }

    /// The SQL literal for a column of `kind`.
    pub(crate) fn sql(&self, kind: Kind) -> String {
        match (self, kind) {
            (Self::Null, _) => "NULL".to_owned(),
            (Self::Boolean(truth), _) => truth.to_string(),
            (Self::Int(value), Kind::SmallDecimal) => decimal(*value, 2),
            (Self::Int(value), Kind::LargeDecimal) => decimal(*value, 4),
            (Self::Int(days), Kind::Date) => format!("DATE '{}'", date(*days)),
            (Self::Int(millis), Kind::Timestamp) => {
                let (days, rest) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
                let (seconds, millis) = (rest / 1000, rest % 1000);
                let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
                format!("TIMESTAMP '{} {hour:02}:{minute:02}:{second:02}.{millis:03}'", date(days))
            }
            (Self::Int(value), _) => value.to_string(),
            (Self::Float(value), _) if value.is_nan() => "'NaN'".to_owned(),
            (Self::Float(value), _) if value.is_infinite() => format!("'{value}'"),
            (Self::Float(value), _) => format!("{value:e}"),
            (Self::Bytes(bytes), Kind::String) => format!("'{}'", String::from_utf8_lossy(bytes).replace('\'', "''")),
            (Self::Bytes(bytes), _) => {
                format!("X'{}'", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
            }
        }
    }
}

fn decimal(value: i128, scale: u32) -> String {
    let unit = 10u128.pow(scale);
    let (whole, part) = (value.unsigned_abs() / unit, value.unsigned_abs() % unit);
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{whole}.{part:0width$}", width = scale as usize)
}

/// The date this many days after 1970-01-01, counted year by year.
fn date(days: i128) -> String {
    let is_leap = |year: i128| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let (mut year, mut left) = (1970, days);
    while left < 0 {
        year -= 1;
        left += if is_leap(year) { 366 } else { 365 };
    }
    loop {
        let len = if is_leap(year) { 366 } else { 365 };
        if left < len {
            break;
        }
        left -= len;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for len in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < len {
            break;
        }
        left -= len;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", left + 1)
}
