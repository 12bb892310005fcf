//! Minima, maxima and counts of NaNs of pages and chunks, in the order of the column's type.
//!
//! <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift> (`Statistics`, `ColumnOrder`)

use std::cmp::Ordering;

use bytemuck::cast_slice;
use lath_format::schema::ColumnDescriptor;
use lath_format::schema::{ConvertedType, LogicalType, PhysicalType, SortOrder, TypeOrder};
use lath_kernels::ByteStrings;
use lath_kernels::statistics;
use lath_parquet::Result;

use super::physical::Values;

/// Order of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Booleans,
    Signed32,
    Unsigned32,
    Signed64,
    Unsigned64,
    Float16,
    Float32,
    Float64,
    /// IEEE 754's total order, for floating point of this many bits.
    Total16,
    Total32,
    Total64,
    /// Bytes, unsigned, shorter first.
    Bytes,
    /// Unsigned bytes of UTF-8.
    Utf8,
    /// Big-endian two's complement.
    BigEndian,
    /// The specification defines no order.
    Undefined,
}

impl Order {
    pub(super) fn new(column: &ColumnDescriptor, total_order: bool) -> Self {
        let logical = column.logical_type_ref();
        let converted = column.converted_type();
        let defined = TypeOrder::sort_order_for_type(logical, converted, column.physical_type());
        let float = |plain, total| if total_order { total } else { plain };
        match (column.physical_type(), defined) {
            (_, SortOrder::UNDEFINED) | (PhysicalType::INT96, _) => Self::Undefined,
            (PhysicalType::BOOLEAN, _) => Self::Booleans,
            (PhysicalType::INT32, SortOrder::UNSIGNED) => Self::Unsigned32,
            (PhysicalType::INT32, _) => Self::Signed32,
            (PhysicalType::INT64, SortOrder::UNSIGNED) => Self::Unsigned64,
            (PhysicalType::INT64, _) => Self::Signed64,
            (PhysicalType::FLOAT, _) => float(Self::Float32, Self::Total32),
            (PhysicalType::DOUBLE, _) => float(Self::Float64, Self::Total64),
            (PhysicalType::FIXED_LEN_BYTE_ARRAY, _) if matches!(logical, Some(LogicalType::Float16)) => {
                float(Self::Float16, Self::Total16)
            }
            (_, SortOrder::SIGNED) => Self::BigEndian,
            _ if matches!(logical, Some(LogicalType::String | LogicalType::Json | LogicalType::Enum))
                || converted == ConvertedType::UTF8 =>
            {
                Self::Utf8
            }
            _ => Self::Bytes,
        }
    }

    pub(super) fn is_total(self) -> bool {
        matches!(self, Self::Total16 | Self::Total32 | Self::Total64)
    }

    /// Whether values are compared as byte strings.
    pub(super) fn is_of_bytes(self) -> bool {
        matches!(self, Self::Bytes | Self::Utf8 | Self::BigEndian)
    }

    pub(super) fn is_float(self) -> bool {
        self.is_total() || matches!(self, Self::Float16 | Self::Float32 | Self::Float64)
    }

    /// Compares two values in PLAIN bytes (byte arrays without length).
    pub(super) fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Booleans | Self::Bytes | Self::Utf8 | Self::Undefined => a.cmp(b),
            Self::Signed32 => i32::from_le_bytes(array(a)).cmp(&i32::from_le_bytes(array(b))),
            Self::Unsigned32 => u32::from_le_bytes(array(a)).cmp(&u32::from_le_bytes(array(b))),
            Self::Signed64 => i64::from_le_bytes(array(a)).cmp(&i64::from_le_bytes(array(b))),
            Self::Unsigned64 => u64::from_le_bytes(array(a)).cmp(&u64::from_le_bytes(array(b))),
            Self::Float16 | Self::Total16 => {
                key16(u16::from_le_bytes(array(a))).cmp(&key16(u16::from_le_bytes(array(b))))
            }
            Self::Float32 | Self::Total32 => {
                key32(u32::from_le_bytes(array(a))).cmp(&key32(u32::from_le_bytes(array(b))))
            }
            Self::Float64 | Self::Total64 => {
                key64(u64::from_le_bytes(array(a))).cmp(&key64(u64::from_le_bytes(array(b))))
            }
            Self::BigEndian => {
                let negative = |v: &[u8]| v.first().is_some_and(|first| first & 0x80 != 0);
                negative(b).cmp(&negative(a)).then_with(|| {
                    // The shorter one is sign-extended.
                    let fill = if negative(a) { 0xFF } else { 0 };
                    let width = a.len().max(b.len());
                    let byte = |v: &[u8], at: usize| (at + v.len()).checked_sub(width).map_or(fill, |at| v[at]);
                    let mut bytes = (0..width).map(|at| byte(a, at).cmp(&byte(b, at)));
                    bytes.find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
                })
            }
        }
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|i| bytes.get(i).copied().unwrap_or(0))
}

// Keys whose order as signed integers is IEEE 754's total order of the floating point numbers.

fn key16(bits: u16) -> i16 {
    let bits = bits.cast_signed();
    bits ^ ((bits >> 15).cast_unsigned() >> 1).cast_signed()
}

fn key32(bits: u32) -> i32 {
    let bits = bits.cast_signed();
    bits ^ ((bits >> 31).cast_unsigned() >> 1).cast_signed()
}

fn key64(bits: u64) -> i64 {
    let bits = bits.cast_signed();
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

/// Minimum and maximum, in PLAIN bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Extremes {
    pub(super) min: Vec<u8>,
    pub(super) max: Vec<u8>,
}

/// Statistics of the values of a page or chunk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ValueStatistics {
    pub(super) extremes: Option<Extremes>,
    /// Whether the bounds are NaNs, because there are only NaNs.
    nan_only: bool,
    pub(super) nans: u64,
}

impl ValueStatistics {
    /// Statistics of `values` in `order`.
    pub(super) fn of(order: Order, values: &Values) -> Result<Self> {
        fn words<T, const N: usize>(range: Option<(T, T)>, bytes: impl Fn(T) -> [u8; N]) -> ValueStatistics {
            let extremes = range.map(|(min, max)| Extremes { min: bytes(min).into(), max: bytes(max).into() });
            ValueStatistics::exact(extremes)
        }
        macro_rules! floats {
            ($range:expr, $bytes:expr, $count:expr) => {{
                let range = $range;
                let extremes = if order.is_total() { range.in_total_order() } else { range.in_type_order() };
                let nans = range.nan_count as u64;
                Self { nan_only: range.nan_count == $count, nans, ..words(extremes, $bytes) }
            }};
        }
        Ok(match (values, order) {
            (_, Order::Undefined) => Self::default(),
            (Values::Booleans(bits), _) => Self::exact(booleans(bits)),
            (Values::Words32(w), Order::Signed32) => words(statistics::min_max_i32(cast_slice(w)), i32::to_le_bytes),
            (Values::Words32(w), Order::Unsigned32) => words(statistics::min_max_u32(w), u32::to_le_bytes),
            (Values::Words32(w), Order::Float32 | Order::Total32) => {
                floats!(statistics::float_range_f32(cast_slice(w)), f32::to_le_bytes, w.len())
            }
            (Values::Words64(w), Order::Signed64) => words(statistics::min_max_i64(cast_slice(w)), i64::to_le_bytes),
            (Values::Words64(w), Order::Unsigned64) => words(statistics::min_max_u64(w), u64::to_le_bytes),
            (Values::Words64(w), Order::Float64 | Order::Total64) => {
                floats!(statistics::float_range_f64(cast_slice(w)), f64::to_le_bytes, w.len())
            }
            (Values::Fixed { bytes, len, .. }, Order::Float16 | Order::Total16) => {
                floats!(statistics::float_range_f16(bytes.as_chunks().0), |bytes| bytes, *len)
            }
            (Values::Fixed { width, bytes, .. }, _) => {
                let positions = match order {
                    Order::BigEndian => statistics::min_max_big_endian(bytes, *width)?,
                    _ => statistics::min_max_strings(ByteStrings::Fixed { data: bytes, width: *width })?,
                };
                Self::exact(positions.map(|(min, max)| {
                    let value = |at: usize| bytes[at * width..(at + 1) * width].to_vec();
                    Extremes { min: value(min), max: value(max) }
                }))
            }
            // Decimals of any length.
            (Values::Strings(strings), Order::BigEndian) => Self::from_bytes(order, strings.iter()),
            (Values::Strings(strings), _) => Self::exact(
                strings
                    .with(statistics::min_max_strings)?
                    .map(|(min, max)| Extremes { min: strings.get(min).to_vec(), max: strings.get(max).to_vec() }),
            ),
            _ => Self::default(),
        })
    }

    /// Statistics of byte strings.
    pub(super) fn from_bytes<'a>(order: Order, mut values: impl Iterator<Item = &'a [u8]>) -> Self {
        let Some(first) = values.next() else { return Self::default() };
        let (mut min, mut max) = (first, first);
        for value in values {
            if order.compare(value, min).is_lt() {
                min = value;
            } else if order.compare(value, max).is_gt() {
                max = value;
            }
        }
        Self::exact(Some(Extremes { min: min.to_vec(), max: max.to_vec() }))
    }

    fn exact(extremes: Option<Extremes>) -> Self {
        Self { extremes, nan_only: false, nans: 0 }
    }

    /// Adds the statistics of further values.
    pub(super) fn merge(&mut self, order: Order, other: &Self) {
        self.nans += other.nans;
        let Some(theirs) = &other.extremes else { return };
        match &mut self.extremes {
            // NaNs count only if there are no other values.
            Some(_) if other.nan_only && !self.nan_only => {}
            Some(own) if other.nan_only == self.nan_only => {
                if order.compare(&theirs.min, &own.min).is_lt() {
                    own.min.clone_from(&theirs.min);
                }
                if order.compare(&theirs.max, &own.max).is_gt() {
                    own.max.clone_from(&theirs.max);
                }
            }
            own => {
                *own = Some(theirs.clone());
                self.nan_only = other.nan_only;
            }
        }
    }
}

fn booleans(bits: &arrow_buffer::BooleanBuffer) -> Option<Extremes> {
    if bits.is_empty() {
        return None;
    }
    let set = bits.count_set_bits();
    Some(Extremes { min: vec![u8::from(set == bits.len())], max: vec![u8::from(set > 0)] })
}

/// Truncates a minimum to at most `len` bytes, and returns whether it is still exact: a prefix is not larger than the value.
pub(super) fn truncate_min(order: Order, mut min: Vec<u8>, len: usize) -> (Vec<u8>, bool) {
    if min.len() <= len || !can_truncate(order) {
        return (min, true);
    }
    let end = if order == Order::Utf8 { floor_char_boundary(&min, len) } else { len };
    if end == 0 {
        return (min, true);
    }
    min.truncate(end);
    (min, false)
}

/// Truncates a maximum to at most `len` bytes and increments its last place; returns whether it is still exact.
pub(super) fn truncate_max(order: Order, max: Vec<u8>, len: usize) -> (Vec<u8>, bool) {
    if max.len() <= len || !can_truncate(order) {
        return (max, true);
    }
    let raised = if order == Order::Utf8 {
        raise_utf8(&max[..floor_char_boundary(&max, len)])
    } else {
        raise_bytes(&max[..len])
    };
    match raised {
        Some(raised) => (raised, false),
        None => (max, true),
    }
}

fn can_truncate(order: Order) -> bool {
    matches!(order, Order::Bytes | Order::Utf8)
}

/// The end of the last character that ends at `len` or before, if the bytes are UTF-8.
fn floor_char_boundary(bytes: &[u8], len: usize) -> usize {
    // A continuation byte has its upper bits 10.
    (0..=len).rev().find(|&end| bytes.get(end).is_none_or(|byte| byte & 0xC0 != 0x80)).unwrap_or(0)
}

fn raise_bytes(prefix: &[u8]) -> Option<Vec<u8>> {
    let end = prefix.iter().rposition(|&byte| byte != 0xFF)? + 1;
    let mut raised = prefix[..end].to_vec();
    if let Some(last) = raised.last_mut() {
        *last += 1;
    }
    Some(raised)
}

fn raise_utf8(prefix: &[u8]) -> Option<Vec<u8>> {
    // Malformed values of a UTF-8 column are incremented as bytes.
    let Ok(text) = std::str::from_utf8(prefix) else { return raise_bytes(prefix) };
    text.char_indices().rev().find_map(|(at, last)| {
        let next = char::from_u32(if last == '\u{D7FF}' { 0xE000 } else { last as u32 + 1 })?;
        // A longer character would make a longer bound.
        (next.len_utf8() == last.len_utf8()).then(|| {
            let mut raised = prefix[..at].to_vec();
            raised.extend_from_slice(next.encode_utf8(&mut [0; 4]).as_bytes());
            raised
        })
    })
}
