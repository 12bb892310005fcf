//! Transforms of partitions and sort orders.

use std::fmt;

use chrono::{Datelike, NaiveDate, TimeDelta};

use crate::error::{Error, Result};
use crate::schema::{Literal, PrimitiveType, decimal_to_bytes};

/// Makes a value of a partition, or of a sort order, from a column's.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transform {
    /// The value itself.
    Identity,
    /// A hash of the value, modulo this number.
    Bucket(u32),
    /// The value cut to this width.
    Truncate(u32),
    /// Years since 1970.
    Year,
    /// Months since 1970.
    Month,
    /// Days since 1970-01-01.
    Day,
    /// Hours since 1970-01-01.
    Hour,
    /// Always null.
    Void,
    /// A transform of a later version of the specification. It does not help to prune.
    Unknown(String),
}

impl Transform {
    /// Parses the text of a transform. Text that is not known is kept.
    pub fn parse(text: &str) -> Self {
        let argument = |name: &str| {
            let inner = text.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']')?;
            // Longer than an integer of 32 bits is no width.
            inner.trim().parse().ok().filter(|number: &u32| (1..=i32::MAX.cast_unsigned()).contains(number))
        };
        match text {
            "identity" => Self::Identity,
            "year" | "years" => Self::Year,
            "month" | "months" => Self::Month,
            "day" | "days" => Self::Day,
            "hour" | "hours" => Self::Hour,
            "void" => Self::Void,
            _ => argument("bucket")
                .map(Self::Bucket)
                .or_else(|| argument("truncate").map(Self::Truncate))
                .unwrap_or_else(|| Self::Unknown(text.to_owned())),
        }
    }

    /// The type of the values that it makes of a column of type `source`; `None` if it is not known.
    pub fn result_type(&self, source: &PrimitiveType) -> Option<PrimitiveType> {
        match self {
            Self::Identity | Self::Truncate(_) | Self::Void => Some(source.clone()),
            Self::Bucket(_) | Self::Year | Self::Month | Self::Hour => Some(PrimitiveType::Int),
            Self::Day => Some(PrimitiveType::Date),
            Self::Unknown(_) => None,
        }
    }

    /// Makes the value of a partition of a column's value.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the transform is not known, or has no values for the type.
    pub fn apply(&self, source: &PrimitiveType, value: &Literal) -> Result<Option<Literal>> {
        let made = match self {
            Self::Identity => Some(value.clone()),
            Self::Void => return Ok(None),
            Self::Bucket(buckets) => hash(source, value).map(|hash| {
                let positive = (hash & i32::MAX).cast_unsigned();
                Literal::Int((positive % buckets).cast_signed())
            }),
            Self::Truncate(width) => truncate(value, *width),
            Self::Year | Self::Month | Self::Day | Self::Hour => self.truncate_time(source, value).map(Literal::Int),
            Self::Unknown(_) => None,
        };
        made.map(Some).ok_or_else(|| Error::unsupported(format!("the transform {self} of a column of type {source}")))
    }

    fn truncate_time(&self, source: &PrimitiveType, value: &Literal) -> Option<i32> {
        use PrimitiveType as P;
        let hour = match source {
            P::Timestamp | P::Timestamptz => 3_600_000_000,
            _ => 3_600_000_000_000,
        };
        let (days, hours) = match (source, value) {
            (P::Date, Literal::Int(days)) => ((*days).into(), None),
            (P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs, Literal::Long(value)) => {
                (value.div_euclid(hour * 24), Some(value.div_euclid(hour)))
            }
            _ => return None,
        };
        let part = match self {
            Self::Hour => hours?,
            Self::Day => days,
            _ => {
                let date = NaiveDate::default().checked_add_signed(TimeDelta::try_days(days)?)?;
                let years = i64::from(date.year()) - 1970;
                if *self == Self::Year { years } else { years * 12 + i64::from(date.month0()) }
            }
        };
        i32::try_from(part).ok()
    }
}

impl fmt::Display for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Identity => f.write_str("identity"),
            Self::Bucket(buckets) => write!(f, "bucket[{buckets}]"),
            Self::Truncate(width) => write!(f, "truncate[{width}]"),
            Self::Year => f.write_str("year"),
            Self::Month => f.write_str("month"),
            Self::Day => f.write_str("day"),
            Self::Hour => f.write_str("hour"),
            Self::Void => f.write_str("void"),
            Self::Unknown(text) => f.write_str(text),
        }
    }
}

fn truncate(value: &Literal, width: u32) -> Option<Literal> {
    Some(match value {
        Literal::Int(value) => {
            let down = i64::from(*value) - i64::from(*value).rem_euclid(width.into());
            // Java's wraps around.
            Literal::Int(down as i32)
        }
        Literal::Long(value) => Literal::Long(value.wrapping_sub(value.rem_euclid(width.into()))),
        Literal::Decimal(value) => Literal::Decimal(value.checked_sub(value.rem_euclid(width.into()))?),
        Literal::String(text) => Literal::String(text.chars().take(width as usize).collect()),
        Literal::Binary(bytes) => Literal::Binary(bytes[..bytes.len().min(width as usize)].to_vec()),
        _ => return None,
    })
}

/// The hash of a value, as the specification's Appendix B has it.
fn hash(source: &PrimitiveType, value: &Literal) -> Option<i32> {
    use PrimitiveType as P;
    let hash_long = |value: i64| murmur3(&value.to_le_bytes());
    Some(match value {
        Literal::Int(value) => hash_long((*value).into()),
        // Both types of timestamps have the same hash for the same moment.
        Literal::Long(value) if matches!(source, P::TimestampNs | P::TimestamptzNs) => {
            hash_long(value.div_euclid(1000))
        }
        Literal::Long(value) => hash_long(*value),
        Literal::Decimal(value) => murmur3(&decimal_to_bytes(*value)),
        Literal::String(text) => murmur3(text.as_bytes()),
        Literal::Uuid(bytes) => murmur3(bytes),
        Literal::Fixed(bytes) | Literal::Binary(bytes) => murmur3(bytes),
        Literal::Boolean(_) | Literal::Float(_) | Literal::Double(_) => return None,
    })
}

/// MurmurHash3 for x86, 32 bits, with the seed 0.
fn murmur3(bytes: &[u8]) -> i32 {
    let scramble = |block: u32| block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let mut hash = 0_u32;
    let mut blocks = bytes.chunks_exact(4);
    for block in &mut blocks {
        let block = u32::from_le_bytes([block[0], block[1], block[2], block[3]]);
        hash = (hash ^ scramble(block)).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    let tail = blocks.remainder().iter().rev().fold(0_u32, |tail, byte| tail << 8 | u32::from(*byte));
    hash ^= scramble(tail);
    hash ^= bytes.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    (hash ^ hash >> 16).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of the specification, "Appendix B: 32-bit Hash Requirements".
    #[test]
    fn hashes_are_as_the_specification_says() {
        use PrimitiveType as P;
        let uuid = *b"\xf7\x9c\x3e\x09\x67\x7c\x4b\xbd\xa4\x79\x3f\x34\x9c\xb7\x85\xe7";
        for (primitive, value, expected) in [
            (P::Int, Literal::Int(34), 2_017_239_379),
            (P::Long, Literal::Long(34), 2_017_239_379),
            (P::Decimal { precision: 9, scale: 2 }, Literal::Decimal(1420), -500_754_589),
            (P::Date, Literal::Int(17_486), -653_330_422),
            (P::Time, Literal::Long(81_068_000_000), -662_762_989),
            (P::Timestamp, Literal::Long(1_510_871_468_000_000), -2_047_944_441),
            (P::Timestamp, Literal::Long(1_510_871_468_000_001), -1_207_196_810),
            (P::TimestampNs, Literal::Long(1_510_871_468_000_001_001), -1_207_196_810),
            (P::String, Literal::String("iceberg".to_owned()), 1_210_000_089),
            (P::Uuid, Literal::Uuid(uuid), 1_488_055_340),
            (P::Fixed(4), Literal::Fixed(vec![0, 1, 2, 3]), -188_683_207),
            (P::Binary, Literal::Binary(vec![0, 1, 2, 3]), -188_683_207),
        ] {
            assert_eq!(hash(&primitive, &value), Some(expected), "{primitive}");
        }
    }

    #[test]
    fn values_of_partitions_are_as_the_specification_says() {
        use PrimitiveType as P;
        let micros = 1_510_871_468_000_000;
        let before = Literal::Long(-1);
        for (transform, primitive, value, expected) in [
            (Transform::Truncate(10), P::Int, Literal::Int(1), Literal::Int(0)),
            (Transform::Truncate(10), P::Int, Literal::Int(-1), Literal::Int(-10)),
            (Transform::Truncate(10), P::Long, Literal::Long(-11), Literal::Long(-20)),
            (
                Transform::Truncate(50),
                P::Decimal { precision: 9, scale: 2 },
                Literal::Decimal(1065),
                Literal::Decimal(1050),
            ),
            (
                Transform::Truncate(3),
                P::String,
                Literal::String("icéberg".to_owned()),
                Literal::String("icé".to_owned()),
            ),
            (Transform::Truncate(3), P::Binary, Literal::Binary(vec![1, 2, 3, 4]), Literal::Binary(vec![1, 2, 3])),
            (Transform::Year, P::Date, Literal::Int(17_486), Literal::Int(47)),
            (Transform::Month, P::Date, Literal::Int(17_486), Literal::Int(574)),
            (Transform::Day, P::Timestamp, Literal::Long(micros), Literal::Int(17_486)),
            (Transform::Hour, P::Timestamptz, Literal::Long(micros), Literal::Int(419_686)),
            (Transform::Hour, P::TimestampNs, Literal::Long(micros * 1000), Literal::Int(419_686)),
            (Transform::Year, P::Timestamp, before.clone(), Literal::Int(-1)),
            (Transform::Month, P::Timestamp, before.clone(), Literal::Int(-1)),
            (Transform::Day, P::Timestamp, before.clone(), Literal::Int(-1)),
            (Transform::Hour, P::Timestamp, before, Literal::Int(-1)),
            (Transform::Bucket(16), P::Int, Literal::Int(34), Literal::Int(3)),
        ] {
            assert_eq!(transform.apply(&primitive, &value), Ok(Some(expected)), "{transform} of {value:?}");
        }
        assert_eq!(Transform::Void.apply(&P::Int, &Literal::Int(1)), Ok(None));
        assert!(Transform::Year.apply(&P::Int, &Literal::Int(1)).is_err());
        assert!(Transform::Bucket(4).apply(&P::Double, &Literal::Double(1.0)).is_err());
    }

    #[test]
    fn text_of_transforms_is_kept() {
        for text in
            ["identity", "bucket[16]", "truncate[4]", "year", "month", "day", "hour", "void", "zorder", "bucket[0]"]
        {
            assert_eq!(Transform::parse(text).to_string(), text);
        }
        assert_eq!(Transform::parse("bucket[0]"), Transform::Unknown("bucket[0]".to_owned()));
    }
}
