//! Hashes of a value for probing filters: hashes of its PLAIN bytes.
//!
//! A value can be looked up only if it has one sequence of bytes:
//! - BOOLEAN and INT96 columns have no usable filter; values of INTERVAL cannot be compared.
//! - Decimals in BYTE_ARRAY may be written with more bytes than they need; in FIXED_LEN_BYTE_ARRAY there is one way.
//! - The float 0 equals −0 and +0, so that both are looked up; NaN has many bit patterns and always passes.
//! - A literal that the physical type cannot hold is not looked up and always passes.

use arrow_array::Array;
use arrow_array::types::{ArrowPrimitiveType, Float16Type};
use arrow_buffer::{ArrowNativeType, ScalarBuffer};
use arrow_schema::DataType;
use lath_format::schema::ColumnDescriptor;
use lath_format::schema::PhysicalType;
use lath_kernels::compare::Comparison;
use lath_kernels::{ByteStrings, xxhash};
use lath_predicate::{ExactType, Value, ValueTest, byte_strings};

use super::super::bounds::value_type;

/// Milliseconds of a day, the factor of `Date64`.
const MILLISECONDS_OF_A_DAY: i128 = 86_400_000;

/// Stored form of a column's values that can be looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyKind {
    /// Four bytes: the integer divided by this factor.
    Int32(i128),
    Int64,
    Float,
    Double,
    Float16,
    Bytes,
    /// Big-endian two's complement with this many bytes.
    BigEndian(usize),
    /// Byte strings of this length.
    Fixed(usize),
}

impl KeyKind {
    /// The form for a column that is read as `data_type`; `None` if its values cannot be looked up.
    pub(crate) fn new(column: &ColumnDescriptor, data_type: &DataType) -> Option<Self> {
        use DataType as D;
        let data_type = value_type(data_type);
        let len = usize::try_from(column.type_length()).ok();
        Some(match (column.physical_type(), data_type) {
            (PhysicalType::INT32, D::Date64) => Self::Int32(MILLISECONDS_OF_A_DAY),
            (PhysicalType::INT32, _) if is_integer(data_type) => Self::Int32(1),
            (PhysicalType::INT64, _) if is_integer(data_type) => Self::Int64,
            (PhysicalType::FLOAT, D::Float32) => Self::Float,
            (PhysicalType::DOUBLE, D::Float64) => Self::Double,
            (PhysicalType::BYTE_ARRAY, _) if data_type.is_string() || data_type.is_binary() => Self::Bytes,
            (PhysicalType::FIXED_LEN_BYTE_ARRAY, D::Float16) if len == Some(2) => Self::Float16,
            (PhysicalType::FIXED_LEN_BYTE_ARRAY, D::FixedSizeBinary(_)) => Self::Fixed(len?),
            (PhysicalType::FIXED_LEN_BYTE_ARRAY, _) if ExactType::decimal(data_type)?.width >= len? => {
                Self::BigEndian(len?)
            }
            _ => return None,
        })
    }

    /// A number that identifies the form outside the process.
    pub(crate) fn code(self) -> u64 {
        match self {
            Self::Int32(1) => 1,
            Self::Int32(_) => 2,
            Self::Int64 => 3,
            Self::Float => 4,
            Self::Double => 5,
            Self::Float16 => 6,
            Self::Bytes => 7,
            Self::BigEndian(len) => 8 | (len as u64) << 8,
            Self::Fixed(len) => 9 | (len as u64) << 8,
        }
    }

    /// The form with this number.
    pub(crate) fn from_code(code: u64) -> Option<Self> {
        let len = usize::try_from(code >> 8).ok()?;
        Some(match (code & 0xFF, len) {
            (1, 0) => Self::Int32(1),
            (2, 0) => Self::Int32(MILLISECONDS_OF_A_DAY),
            (3, 0) => Self::Int64,
            (4, 0) => Self::Float,
            (5, 0) => Self::Double,
            (6, 0) => Self::Float16,
            (7, 0) => Self::Bytes,
            (8, len) => Self::BigEndian(len),
            (9, len) => Self::Fixed(len),
            _ => return None,
        })
    }

    /// Writes the bytes of a value; `None` if it can be stored in several ways or not at all.
    fn write(self, value: &Value, out: &mut Vec<u8>) -> Option<()> {
        match (self, value) {
            (Self::Int32(factor), Value::Int(value)) if value % factor == 0 => {
                let value = value / factor;
                let bytes =
                    i32::try_from(value).map(i32::to_le_bytes).or_else(|_| u32::try_from(value).map(u32::to_le_bytes));
                out.extend_from_slice(&bytes.ok()?);
            }
            (Self::Int64, Value::Int(value)) => {
                let value = *value;
                let bytes =
                    i64::try_from(value).map(i64::to_le_bytes).or_else(|_| u64::try_from(value).map(u64::to_le_bytes));
                out.extend_from_slice(&bytes.ok()?);
            }
            (Self::Float, Value::Float(value)) => {
                let narrow = *value as f32;
                (f64::from(narrow) == *value).then(|| out.extend_from_slice(&narrow.to_le_bytes()))?;
            }
            (Self::Double, Value::Float(value)) => {
                (!value.is_nan()).then(|| out.extend_from_slice(&value.to_le_bytes()))?;
            }
            (Self::Float16, Value::Float(value)) => {
                let narrow = <Float16Type as ArrowPrimitiveType>::Native::from_f64(*value);
                (f64::from(narrow) == *value).then(|| out.extend_from_slice(&narrow.to_le_bytes()))?;
            }
            (Self::Bytes, Value::Bytes(bytes)) => out.extend_from_slice(bytes),
            (Self::Fixed(len), Value::Bytes(bytes)) if bytes.len() == len => out.extend_from_slice(bytes),
            (Self::BigEndian(len), Value::Int(value)) => write_low_bytes(&value.to_be_bytes(), len, out)?,
            (Self::BigEndian(len), Value::Wide(value)) => write_low_bytes(&value.to_be_bytes(), len, out)?,
            _ => return None,
        }
        Some(())
    }
}

/// The hashes of all slots of an array, for a column of `kind`; hashes of null slots are meaningless. `None` if the stored bytes
/// differ from the array's.
pub(crate) fn array_hashes(kind: KeyKind, array: &dyn Array) -> Option<Vec<u64>> {
    let mut hashes = vec![0; array.len()];
    match (kind, array.data_type().primitive_width()) {
        (KeyKind::Bytes | KeyKind::Fixed(_), _) => {
            let mut buffers = Vec::new();
            let strings = byte_strings(array, &mut buffers)?;
            let is_stored_alike = match (kind, strings) {
                (KeyKind::Fixed(len), ByteStrings::Fixed { width, .. }) => width == len,
                (KeyKind::Fixed(_), _) | (_, ByteStrings::Fixed { .. }) => false,
                _ => true,
            };
            if !is_stored_alike {
                return None;
            }
            xxhash::hash_strings(strings, 0, &mut hashes).ok()?;
        }
        (KeyKind::Int32(1) | KeyKind::Float, Some(4)) => {
            xxhash::hash_u32s(&primitive_bits(array)?, &mut hashes).ok()?;
        }
        (KeyKind::Int64 | KeyKind::Double, Some(8)) => xxhash::hash_u64s(&primitive_bits(array)?, &mut hashes).ok()?,
        _ => return None,
    }
    Some(hashes)
}

/// The values of a primitive array as integers of the same width.
fn primitive_bits<T: ArrowNativeType>(array: &dyn Array) -> Option<ScalarBuffer<T>> {
    let data = array.to_data();
    Some(ScalarBuffer::new(data.buffers().first()?.clone(), data.offset(), data.len()))
}

/// Writes the low `len` bytes of a big-endian number, if the bytes before only extend its sign. A number with fewer bytes is extended.
fn write_low_bytes(bytes: &[u8], len: usize, out: &mut Vec<u8>) -> Option<()> {
    let sign = if *bytes.first()? & 0x80 != 0 { 0xFF } else { 0 };
    let Some(cut) = bytes.len().checked_sub(len) else {
        out.resize(out.len() + len - bytes.len(), sign);
        out.extend_from_slice(bytes);
        return Some(());
    };
    let (before, kept) = bytes.split_at(cut);
    let keeps_sign = kept.first().is_some_and(|first| first & 0x80 == sign & 0x80);
    (before.iter().all(|byte| *byte == sign) && keeps_sign).then(|| out.extend_from_slice(kept))
}

/// The keys that a test looks up, numbered in the order of its IN list.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    pub(super) hashes: Vec<u64>,
    /// For each hash, the number of its key. A key has no hash, one, or two, either of which is enough.
    pub(super) key_numbers: Vec<u32>,
    /// Number of keys.
    pub(super) count: usize,
}

/// The hash for second filters, whose bits are independent of the first filter's: SplitMix64's finalizer, a bijection in which
/// every bit depends on all bits (Steele, Lea, Flood, OOPSLA 2014).
pub(crate) fn second_hash(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}

impl Keys {
    /// The hash, if there is a single key with a single hash.
    pub(crate) fn single_hash(&self) -> Option<u64> {
        if let ([hash], 1) = (self.hashes.as_slice(), self.count) { Some(*hash) } else { None }
    }

    /// The hashes of all keys.
    pub(crate) fn into_hashes(self) -> Vec<u64> {
        self.hashes
    }

    /// The values for which `test` is true; `None` if none of them can be looked up.
    pub(crate) fn new(kind: KeyKind, test: &ValueTest) -> Option<Self> {
        match test {
            ValueTest::Compare(Comparison::Equal, value) | ValueTest::Contains(value) => {
                Self::from_values(kind, std::slice::from_ref(value))
            }
            ValueTest::In(set) => Self::from_values(kind, set.values()),
            ValueTest::Like(pattern) => Self::from_values(kind, &[Value::Bytes(pattern.exact()?.clone())]),
            _ => None,
        }
    }

    fn from_values(kind: KeyKind, values: &[Value]) -> Option<Self> {
        let mut keys = Self {
            hashes: Vec::with_capacity(values.len()),
            key_numbers: Vec::with_capacity(values.len()),
            count: values.len(),
        };
        let (mut bytes, mut ends) = (Vec::new(), vec![0u64]);
        for (number, value) in values.iter().enumerate() {
            let number = u32::try_from(number).ok()?;
            let is_zero = matches!(value, Value::Float(value) if *value == 0.0);
            let signed = [Value::Float(0.0), Value::Float(-0.0)];
            for value in if is_zero { &signed[..] } else { std::slice::from_ref(value) } {
                let start = bytes.len();
                if kind.write(value, &mut bytes).is_none() {
                    bytes.truncate(start);
                    continue;
                }
                ends.push(bytes.len() as u64);
                keys.key_numbers.push(number);
            }
        }
        keys.hashes.resize(keys.key_numbers.len(), 0);
        keys.hash(&bytes, &ends)?;
        (!keys.hashes.is_empty()).then_some(keys)
    }

    /// Fills in the hashes of byte strings that end at `ends`.
    fn hash(&mut self, bytes: &[u8], ends: &[u64]) -> Option<()> {
        let lens = || ends.windows(2).map(|pair| pair[1] - pair[0]);
        let width = lens().next().unwrap_or(0) as usize;
        if width > 0 && lens().all(|len| len as usize == width) {
            xxhash::hash_strings(ByteStrings::Fixed { data: bytes, width }, 0, &mut self.hashes).ok()?;
            return Some(());
        }
        for (hash, pair) in self.hashes.iter_mut().zip(ends.windows(2)) {
            *hash = xxhash::xxh64(&bytes[pair[0] as usize..pair[1] as usize]);
        }
        Some(())
    }
}

/// Whether values are integers of at most 16 bytes.
fn is_integer(data_type: &DataType) -> bool {
    ExactType::new(data_type).is_some_and(|exact| exact.width <= 16)
}
