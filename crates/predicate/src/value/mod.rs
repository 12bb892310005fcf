//! Values, patterns and types, in the order of predicates.

mod common_type;
pub(crate) mod exact_type;
pub(crate) mod moment;
mod number;
mod pattern;
mod set;
pub(crate) mod sql_type;
mod type_name;

use std::cmp::Ordering;

use arrow_buffer::i256;
use bytes::Bytes;

pub(crate) use self::common_type::common_type;
pub(crate) use self::exact_type::with_exact_type;
pub use self::exact_type::{ExactType, ExactUnit};
pub use self::moment::Timestamp;
pub(crate) use self::moment::{NANOS_PER_DAY, nanos_per, parse_date};
pub(crate) use self::number::{Floor, Number, compare_with_float};
pub use self::pattern::Pattern;
pub(crate) use self::pattern::with_backslash_escapes;
pub use self::set::ValueSet;
pub(crate) use self::sql_type::SqlType;
pub(crate) use self::type_name::{data_type_name, example, is_uuid, list_element, type_name, value_type};

/// A value of a column, in the order of predicates. Values of different variants are ordered by variant, but predicates never compare them.
#[derive(Debug, Clone)]
pub enum Value {
    /// False is below true.
    Boolean(bool),
    /// Integers, decimals of up to 38 digits (unscaled), and dates, times, timestamps and durations in the column's unit.
    Int(i128),
    /// Decimals of the Arrow type `Decimal256`, unscaled.
    Wide(i256),
    /// Floats of any width. There is one zero, and one NaN, which is above all numbers.
    Float(f64),
    /// Strings, byte strings and UUIDs, ordered by unsigned bytes.
    Bytes(Bytes),
}

impl Value {
    fn kind(&self) -> u8 {
        match self {
            Self::Boolean(_) => 0,
            Self::Int(_) => 1,
            Self::Wide(_) => 2,
            Self::Float(_) => 3,
            Self::Bytes(_) => 4,
        }
    }
}

/// The order of floats: one zero, and one NaN above all numbers.
pub fn compare_floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Boolean(left), Self::Boolean(right)) => left.cmp(right),
            (Self::Int(left), Self::Int(right)) => left.cmp(right),
            (Self::Wide(left), Self::Wide(right)) => left.cmp(right),
            (Self::Float(left), Self::Float(right)) => compare_floats(*left, *right),
            (Self::Bytes(left), Self::Bytes(right)) => left.cmp(right),
            _ => self.kind().cmp(&other.kind()),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Value {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_have_one_zero_and_one_nan_above_all() {
        let ascending = [f64::NEG_INFINITY, -1.0, -0.0, f64::MIN_POSITIVE, 1.0, f64::INFINITY, f64::NAN];
        for (i, &left) in ascending.iter().enumerate() {
            for (j, &right) in ascending.iter().enumerate() {
                assert_eq!(Value::Float(left).cmp(&Value::Float(right)), i.cmp(&j), "{left} and {right}");
            }
        }
        assert_eq!(Value::Float(-0.0), Value::Float(0.0));
        assert_eq!(Value::Float(-f64::NAN), Value::Float(f64::NAN));
    }

    #[test]
    fn bytes_are_unsigned_and_a_prefix_comes_first() {
        let bytes = |bytes: &'static [u8]| Value::Bytes(Bytes::from_static(bytes));
        assert!(bytes(b"\x7f") < bytes(b"\x80"));
        assert!(bytes(b"") < bytes(b"\0"));
        assert!(bytes(b"ab") < bytes(b"ab\0"));
    }
}
