//! Minimum and maximum of columns, as 64-bit integers in the order of the values.
//!
//! The map from values to integers is monotone but not injective: the integer of a value between two others is between their integers.
//! A file is therefore ruled out only if none of its values can pass.
//!
//! | values | integer |
//! | --- | --- |
//! | booleans | 0 and 1 |
//! | integers, decimals, dates, times, timestamps | clamped to 64 bits, the sign bit flipped |
//! | decimals of up to 76 digits | their upper 64 bits, the sign bit flipped |
//! | floats | their bits in numeric order, with one zero, and NaN above all |
//! | strings and bytes | the first eight bytes, big-endian, padded with zeros |

use lath_predicate::{Comparison, Value, ValueSet, ValueTest};

/// The integers of the smallest and largest value of a column in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Bounds {
    /// Any values.
    pub(crate) const UNKNOWN: Self = Self { min: 0, max: u64::MAX };
    /// No value but null.
    pub(crate) const NO_VALUE: Self = Self { min: u64::MAX, max: 0 };

    /// The bounds of values from `min` to `max`.
    pub(crate) fn new(min: &Value, max: &Value) -> Self {
        Self { min: rank(min), max: rank(max) }
    }
}

/// The integer of a value.
pub(crate) fn rank(value: &Value) -> u64 {
    const SIGN: u64 = 1 << 63;
    match value {
        Value::Boolean(value) => u64::from(*value),
        Value::Int(value) => (*value).clamp(i64::MIN.into(), i64::MAX.into()) as i64 as u64 ^ SIGN,
        Value::Wide(value) => {
            let bytes = value.to_be_bytes();
            bytes.first_chunk().map_or(0, |upper| u64::from_be_bytes(*upper)) ^ SIGN
        }
        Value::Float(value) if value.is_nan() => u64::MAX,
        Value::Float(value) => {
            // There is one zero.
            let bits = (value + 0.0).to_bits();
            if bits & SIGN == 0 { bits | SIGN } else { !bits }
        }
        Value::Bytes(bytes) => {
            let mut first = [0; 8];
            let len = bytes.len().min(8);
            first[..len].copy_from_slice(&bytes[..len]);
            u64::from_be_bytes(first)
        }
    }
}

/// Tests whether a value between bounds can pass.
#[derive(Debug)]
pub(crate) enum BoundsTest {
    /// Passes if a value from the first to the second is within the bounds.
    Overlaps(u64, u64),
    /// Passes if one of these sorted values is within the bounds.
    HasOneOf(Vec<u64>),
}

impl BoundsTest {
    /// `None` for tests that bounds cannot decide.
    pub(crate) fn new(test: &ValueTest) -> Option<Self> {
        Some(match test {
            ValueTest::Compare(comparison, value) => {
                let rank = rank(value);
                match comparison {
                    Comparison::Equal => Self::Overlaps(rank, rank),
                    Comparison::NotEqual => Self::Overlaps(0, u64::MAX),
                    Comparison::Less | Comparison::LessOrEqual => Self::Overlaps(0, rank),
                    Comparison::Greater | Comparison::GreaterOrEqual => Self::Overlaps(rank, u64::MAX),
                }
            }
            ValueTest::Between(low, high) => Self::Overlaps(rank(low), rank(high)),
            ValueTest::In(set) => Self::any(set),
            ValueTest::Truth => Self::Overlaps(1, 1),
            _ => return None,
        })
    }

    fn any(set: &ValueSet) -> Self {
        let mut ranks: Vec<u64> = set.values().iter().map(rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        match ranks.as_slice() {
            [only] => Self::Overlaps(*only, *only),
            _ => Self::HasOneOf(ranks),
        }
    }

    /// Tests up to 64 bounds, given as pairs of little-endian integers; bit `i` of the result is for pair `i`.
    pub(crate) fn test_word(&self, pairs: &[[u8; BOUNDS_LEN]]) -> u64 {
        let bits = |passes: &dyn Fn(Bounds) -> bool| {
            pairs.iter().enumerate().fold(0, |word, (bit, pair)| word | u64::from(passes(from_bytes(pair))) << bit)
        };
        match self {
            // The most frequent test has its own loop.
            Self::Overlaps(low, high) => pairs.iter().enumerate().fold(0, |word, (bit, pair)| {
                let Bounds { min, max } = from_bytes(pair);
                word | u64::from((min <= *high) & (max >= *low) & (min <= max)) << bit
            }),
            Self::HasOneOf(ranks) => bits(&|Bounds { min, max }| {
                ranks.get(ranks.partition_point(|rank| *rank < min)).is_some_and(|rank| *rank <= max)
            }),
        }
    }
}

/// Bytes of encoded bounds.
pub(crate) const BOUNDS_LEN: usize = 16;

pub(crate) fn to_bytes(bounds: Bounds) -> [u8; BOUNDS_LEN] {
    let mut bytes = [0; BOUNDS_LEN];
    bytes[..8].copy_from_slice(&bounds.min.to_le_bytes());
    bytes[8..].copy_from_slice(&bounds.max.to_le_bytes());
    bytes
}

pub(crate) fn from_bytes(bytes: &[u8; BOUNDS_LEN]) -> Bounds {
    let [min, max] = bytes.as_chunks::<8>().0 else { return Bounds::UNKNOWN };
    Bounds { min: u64::from_le_bytes(*min), max: u64::from_le_bytes(*max) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_in_the_order_of_the_values() {
        let floats = [f64::NEG_INFINITY, -1e300, -1.0, -0.0, 0.0, f64::MIN_POSITIVE, 1.0, f64::INFINITY, f64::NAN];
        let ints = [i128::MIN, i64::MIN.into(), -1, 0, 1, i64::MAX.into(), i128::MAX];
        let texts: [&[u8]; 7] =
            [b"", b"\0", b"a", b"a\0", b"abcdefgh", b"abcdefghi", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff"];
        let bytes = |text: &[u8]| Value::Bytes(bytes::Bytes::copy_from_slice(text));
        for values in [
            floats.map(Value::Float).to_vec(),
            ints.map(Value::Int).to_vec(),
            texts.map(bytes).to_vec(),
            vec![Value::Boolean(false), Value::Boolean(true)],
        ] {
            assert!(values.is_sorted());
            assert!(values.iter().map(rank).is_sorted(), "{values:?}");
        }
        assert_eq!(rank(&Value::Float(-0.0)), rank(&Value::Float(0.0)));
        assert_ne!(rank(&Value::Int(0)), rank(&Value::Int(-1)));
    }

    #[test]
    fn bounds_pass_if_a_value_between_them_can() {
        let int = |value: i128| Value::Int(value);
        let pairs = [
            to_bytes(Bounds::new(&int(10), &int(20))),
            to_bytes(Bounds::UNKNOWN),
            to_bytes(Bounds::NO_VALUE),
            to_bytes(Bounds::new(&int(15), &int(15))),
        ];
        let passes = |test: ValueTest| BoundsTest::new(&test).map(|test| test.test_word(&pairs));
        let compare = |comparison, value| passes(ValueTest::Compare(comparison, int(value)));
        assert_eq!(compare(Comparison::Equal, 15), Some(0b1011));
        assert_eq!(compare(Comparison::Equal, 21), Some(0b0010));
        assert_eq!(compare(Comparison::Less, 9), Some(0b0010));
        assert_eq!(compare(Comparison::Greater, 16), Some(0b0011));
        assert_eq!(compare(Comparison::NotEqual, 15), Some(0b1011));
        assert_eq!(passes(ValueTest::Between(int(16), int(30))), Some(0b0011));
        let list = |values: &[i128]| passes(ValueTest::In(ValueSet::new(values.iter().copied().map(int).collect())));
        assert_eq!(list(&[1, 30]), Some(0b0010));
        assert_eq!(list(&[1, 15, 30]), Some(0b1011));
        assert_eq!(passes(ValueTest::IsNull), None);
    }
}
