//! Single values, and their bytes in bounds.

use super::PrimitiveType;
use crate::error::{Error, Result};

const VALUE: &str = "value";

/// A single value: a default, a bound, a value of a partition. Its type is a column's or a transform's.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Literal {
    /// A `boolean`.
    Boolean(bool),
    /// An `int`, or the days of a `date`.
    Int(i32),
    /// A `long`, the microseconds of `time`, `timestamp` and `timestamptz`, and the nanoseconds of `timestamp_ns` and `timestamptz_ns`.
    Long(i64),
    /// A `float`.
    Float(f32),
    /// A `double`.
    Double(f64),
    /// A `decimal`, without the point.
    Decimal(i128),
    /// A `string`.
    String(String),
    /// A `uuid`.
    Uuid([u8; 16]),
    /// A `fixed`.
    Fixed(Vec<u8>),
    /// A `binary`.
    Binary(Vec<u8>),
}

impl Literal {
    /// Reads the binary form of bounds. A value of a narrower type that the column had before is widened.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the length is wrong, [`Error::Unsupported`] for types whose bounds are not single values.
    pub fn from_bytes(primitive: &PrimitiveType, bytes: &[u8]) -> Result<Self> {
        use PrimitiveType as P;
        let error = || Error::corrupt(VALUE, format!("{} bytes are not of type {primitive}", bytes.len()));
        let four = || bytes.try_into().map_err(|_| error());
        let eight = || bytes.try_into().map_err(|_| error());
        let value = match primitive {
            P::Boolean => match bytes {
                [byte] => Self::Boolean(*byte != 0),
                _ => return Err(error()),
            },
            P::Int | P::Date => Self::Int(i32::from_le_bytes(four()?)),
            P::Long if bytes.len() == 4 => Self::Long(i32::from_le_bytes(four()?).into()),
            // A column of dates that was widened.
            P::Timestamp | P::TimestampNs if bytes.len() == 4 => {
                let days = i64::from(i32::from_le_bytes(four()?));
                let day = if *primitive == P::Timestamp { 86_400_000_000 } else { 86_400_000_000_000 };
                Self::Long(days.checked_mul(day).ok_or_else(error)?)
            }
            P::Long | P::Time | P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs => {
                Self::Long(i64::from_le_bytes(eight()?))
            }
            P::Float => Self::Float(f32::from_le_bytes(four()?)),
            P::Double if bytes.len() == 4 => Self::Double(f32::from_le_bytes(four()?).into()),
            P::Double => Self::Double(f64::from_le_bytes(eight()?)),
            P::Decimal { .. } => Self::Decimal(decimal_from_bytes(bytes).ok_or_else(error)?),
            P::String => Self::String(std::str::from_utf8(bytes).map_err(|_| error())?.to_owned()),
            P::Uuid => Self::Uuid(bytes.try_into().map_err(|_| error())?),
            P::Fixed(length) if bytes.len() == *length as usize => Self::Fixed(bytes.to_owned()),
            P::Fixed(_) => return Err(error()),
            P::Binary => Self::Binary(bytes.to_owned()),
            P::Unknown | P::Geometry(_) | P::Geography(_) => {
                return Err(Error::unsupported(format!("a value of type {primitive}")));
            }
        };
        Ok(value)
    }

    /// The binary form of bounds.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Boolean(value) => vec![u8::from(*value)],
            Self::Int(value) => value.to_le_bytes().to_vec(),
            Self::Long(value) => value.to_le_bytes().to_vec(),
            Self::Float(value) => value.to_le_bytes().to_vec(),
            Self::Double(value) => value.to_le_bytes().to_vec(),
            Self::Decimal(value) => decimal_to_bytes(*value),
            Self::String(value) => value.clone().into_bytes(),
            Self::Uuid(value) => value.to_vec(),
            Self::Fixed(value) | Self::Binary(value) => value.clone(),
        }
    }
}

/// The shortest big-endian form of an integer in two's complement.
pub(crate) fn decimal_to_bytes(value: i128) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let sign = if value < 0 { 0xff } else { 0 };
    let is_redundant = |at: usize| bytes[at] == sign && (bytes[at + 1] ^ sign) & 0x80 == 0;
    let start = (0..15).take_while(|&at| is_redundant(at)).count();
    bytes[start..].to_vec()
}

/// The integer with this big-endian form in two's complement, of any length up to 16 significant bytes.
pub(crate) fn decimal_from_bytes(bytes: &[u8]) -> Option<i128> {
    let sign = if *bytes.first()? & 0x80 != 0 { 0xff } else { 0 };
    let (head, tail) = bytes.split_at(bytes.len().saturating_sub(16));
    let mut value = [sign; 16];
    value[16 - tail.len()..].copy_from_slice(tail);
    let value = i128::from_be_bytes(value);
    let is_extension = head.iter().all(|byte| *byte == sign) && (value < 0) == (sign == 0xff);
    is_extension.then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_their_shortest_form() {
        // The lengths are Java's `BigInteger.toByteArray`.
        for (value, bytes) in [
            (0, &[0][..]),
            (127, &[0x7f]),
            (128, &[0, 0x80]),
            (-128, &[0x80]),
            (-129, &[0xff, 0x7f]),
            (-1, &[0xff]),
            (1420, &[0x05, 0x8c]),
        ] {
            assert_eq!(decimal_to_bytes(value), bytes, "{value}");
            assert_eq!(decimal_from_bytes(bytes), Some(value));
        }
        for value in [i128::MIN, i128::MAX, 10_i128.pow(37), -(10_i128.pow(37))] {
            assert_eq!(decimal_from_bytes(&decimal_to_bytes(value)), Some(value));
        }
        assert_eq!(decimal_from_bytes(&[]), None);
        assert_eq!(decimal_from_bytes(&[1; 17]), None);
        assert_eq!(decimal_from_bytes(&[0; 20]), Some(0));
    }

    #[test]
    fn bounds_of_columns_that_were_widened_are_widened() {
        let int = 7_i32.to_le_bytes();
        assert_eq!(Literal::from_bytes(&PrimitiveType::Long, &int), Ok(Literal::Long(7)));
        assert_eq!(Literal::from_bytes(&PrimitiveType::Double, &1.5_f32.to_le_bytes()), Ok(Literal::Double(1.5)));
        assert_eq!(Literal::from_bytes(&PrimitiveType::Timestamp, &int), Ok(Literal::Long(7 * 86_400_000_000)));
        assert!(Literal::from_bytes(&PrimitiveType::Int, &[0; 8]).is_err());
    }
}
