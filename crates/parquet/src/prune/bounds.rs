//! Decodes minimum and maximum bytes to [`Bound`]s, in the order that the specification defines for a column.
//!
//! Statistics are trusted as far as the specification allows:
//! - A bound may be truncated, or inexact in another way: it need not occur among the values.
//! - A missing bound means no limit. So does a NaN bound of a float, except in IEEE 754 total order, where it means that
//!   there are no numbers. −0 and +0 are equal to predicates, so that either bounds both.
//! - Floats without a NaN count may be NaN, which predicates order above all numbers.
//! - The deprecated `min` and `max`, and statistics of files without column orders, are in signed order with
//!   all writers: they are used only for INT32 and INT64 of signed types, FLOAT and DOUBLE (byte arrays were compared as
//!   signed bytes).
//! - INT96, INTERVAL, and unknown column orders have no bounds.
//! - If the minimum is above the maximum, neither bound is used: old writers ordered unsigned integers as signed ones. Nor is
//!   it used if the counts of nulls and NaNs leave no values.
//! - Integers, and decimals in byte arrays, that are read into fewer bytes than they are stored in wrap around if they do not
//!   fit. A bound that is missing or does not fit does not rule that out: then neither bound is used.
//!
//! <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift> (`Statistics`, `ColumnOrder`)

use std::ops::RangeInclusive;

use arrow_array::types::{ArrowPrimitiveType, Float16Type};
use arrow_buffer::i256;
use arrow_schema::DataType;
use lath_format::schema::ColumnDescriptor;
use lath_format::schema::{PhysicalType, SortOrder, TypeOrder};
use lath_format::{ColumnOrder, Statistics};
use lath_predicate::ExactType;

use super::bound::{Bound, Interval};
use super::domain::Domain;
use crate::decode::int_from_big_endian;

/// Decodes the bounds of one column.
#[derive(Debug, Clone)]
pub(crate) struct BoundReader {
    kind: Kind,
    /// IEEE 754 total order.
    is_total_order: bool,
    /// Whether the order is signed, as in the deprecated fields.
    is_signed_order: bool,
    /// The file has no column orders.
    lacks_column_order: bool,
}

/// Stored form of bounds, and their conversion.
#[derive(Debug, Clone)]
enum Kind {
    Boolean,
    /// INT32 or INT64, multiplied by `factor` in Arrow.
    Integer {
        is_unsigned: bool,
        factor: i128,
        range: Option<RangeInclusive<i128>>,
    },
    Float,
    /// Two bytes.
    Float16,
    Bytes,
    /// Big-endian two's complement, of `len` bytes if given.
    Decimal {
        len: Option<usize>,
        range: Option<RangeInclusive<i128>>,
    },
    /// Big-endian two's complement for the Arrow type `Decimal256`.
    WideDecimal {
        len: Option<usize>,
    },
}

impl BoundReader {
    /// A reader for a column of the file that is read as `data_type`; `None` if its statistics cannot be used.
    pub(crate) fn new(column: &ColumnDescriptor, data_type: &DataType, order: ColumnOrder) -> Option<Self> {
        let data_type = value_type(data_type);
        let sort_order =
            TypeOrder::sort_order_for_type(column.logical_type_ref(), column.converted_type(), column.physical_type());
        let is_unsigned = data_type.is_unsigned_integer();
        let expected = if is_unsigned { SortOrder::UNSIGNED } else { SortOrder::SIGNED };
        let len = usize::try_from(column.type_length()).ok();
        let kind = match (column.physical_type(), data_type) {
            (PhysicalType::BOOLEAN, DataType::Boolean) => Kind::Boolean,
            (PhysicalType::FLOAT, DataType::Float32) | (PhysicalType::DOUBLE, DataType::Float64) => Kind::Float,
            (PhysicalType::INT32 | PhysicalType::INT64, _) if sort_order == expected => {
                let is_days = column.physical_type() == PhysicalType::INT32 && *data_type == DataType::Date64;
                Kind::Integer {
                    is_unsigned,
                    factor: if is_days { 86_400_000 } else { 1 },
                    range: narrow_range(data_type, column.physical_type())?,
                }
            }
            (PhysicalType::FIXED_LEN_BYTE_ARRAY, DataType::Float16) if sort_order == SortOrder::SIGNED => Kind::Float16,
            (PhysicalType::FIXED_LEN_BYTE_ARRAY | PhysicalType::BYTE_ARRAY, _) if sort_order == SortOrder::SIGNED => {
                let len = len.filter(|_| column.physical_type() == PhysicalType::FIXED_LEN_BYTE_ARRAY);
                let fits = |bytes: usize| len.is_some_and(|len| len <= bytes);
                let exact = ExactType::decimal(data_type)?;
                match exact.range() {
                    Some(range) => Kind::Decimal { len, range: (!fits(exact.width)).then_some(range) },
                    None => Kind::WideDecimal { len },
                }
            }
            (PhysicalType::FIXED_LEN_BYTE_ARRAY | PhysicalType::BYTE_ARRAY, _)
                if sort_order == SortOrder::UNSIGNED && is_bytes(data_type) =>
            {
                Kind::Bytes
            }
            _ => return None,
        };
        let is_float = matches!(kind, Kind::Float | Kind::Float16);
        let is_signed_order = matches!(kind, Kind::Float | Kind::Integer { is_unsigned: false, .. });
        let is_total_order = match order {
            ColumnOrder::TypeDefined | ColumnOrder::Undefined => false,
            ColumnOrder::Ieee754Total if is_float => true,
            _ => return None,
        };
        Some(Self { kind, is_total_order, is_signed_order, lacks_column_order: order == ColumnOrder::Undefined })
    }

    pub(crate) fn is_float(&self) -> bool {
        matches!(self.kind, Kind::Float | Kind::Float16)
    }

    /// The bounds of a column chunk.
    pub(crate) fn chunk_bounds<'a>(&self, column: &ColumnDescriptor, statistics: &Statistics<'a>) -> DecodedBounds<'a> {
        let is_deprecated = self.lacks_column_order || statistics.is_deprecated;
        if is_deprecated && (!self.is_signed_order || self.is_total_order) {
            return DecodedBounds::UNKNOWN;
        }
        let read = |value: Option<&'a [u8]>| value.map(|value| self.plain(column, value));
        self.combine(read(statistics.min), read(statistics.max))
    }

    /// The bounds of a page, given minimum and maximum of the column index.
    pub(super) fn page_bounds<'a>(&self, column: &ColumnDescriptor, min: &'a [u8], max: &'a [u8]) -> DecodedBounds<'a> {
        if self.lacks_column_order && !self.is_signed_order {
            return DecodedBounds::UNKNOWN;
        }
        self.combine(Some(self.plain(column, min)), Some(self.plain(column, max)))
    }

    fn plain<'a>(&self, column: &ColumnDescriptor, bytes: &'a [u8]) -> Option<Bound<'a>> {
        match column.physical_type() {
            PhysicalType::BOOLEAN => match bytes {
                [byte] => self.boolean(*byte != 0),
                _ => None,
            },
            PhysicalType::INT32 => self.integer32(i32::from_le_bytes(bytes.try_into().ok()?)),
            PhysicalType::INT64 => self.integer64(i64::from_le_bytes(bytes.try_into().ok()?)),
            PhysicalType::INT96 => None,
            PhysicalType::FLOAT => self.float(f32::from_le_bytes(bytes.try_into().ok()?).into()),
            PhysicalType::DOUBLE => self.float(f64::from_le_bytes(bytes.try_into().ok()?)),
            PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY => self.bytes(bytes),
        }
    }

    fn boolean(&self, value: bool) -> Option<Bound<'static>> {
        matches!(self.kind, Kind::Boolean).then_some(Bound::Boolean(value))
    }

    fn integer32(&self, value: i32) -> Option<Bound<'static>> {
        self.integer(value.into(), value.cast_unsigned().into())
    }

    fn integer64(&self, value: i64) -> Option<Bound<'static>> {
        self.integer(value.into(), value.cast_unsigned().into())
    }

    fn integer(&self, signed: i128, unsigned: i128) -> Option<Bound<'static>> {
        let Kind::Integer { is_unsigned, factor, range } = &self.kind else { return None };
        let value = if *is_unsigned { unsigned } else { signed };
        let fits = range.as_ref().is_none_or(|range| range.contains(&value));
        fits.then(|| Bound::Int(value * factor))
    }

    fn float(&self, value: f64) -> Option<Bound<'static>> {
        matches!(self.kind, Kind::Float).then_some(Bound::Float(value))
    }

    fn bytes<'a>(&self, bytes: &'a [u8]) -> Option<Bound<'a>> {
        match &self.kind {
            Kind::Bytes => Some(Bound::Bytes(bytes)),
            Kind::Float16 => {
                let value = <Float16Type as ArrowPrimitiveType>::Native::from_le_bytes(bytes.try_into().ok()?);
                Some(Bound::Float(value.into()))
            }
            Kind::Decimal { len, range } => {
                let value = big_endian(bytes, *len)?.to_i128()?;
                range.as_ref().is_none_or(|range| range.contains(&value)).then_some(Bound::Int(value))
            }
            Kind::WideDecimal { len } => big_endian(bytes, *len).map(Bound::Wide),
            Kind::Boolean | Kind::Integer { .. } | Kind::Float => None,
        }
    }

    /// Combines two bounds, each of which is missing (`None`), unreadable (`Some(None)`) or present.
    fn combine<'a>(&self, min: Option<Option<Bound<'a>>>, max: Option<Option<Bound<'a>>>) -> DecodedBounds<'a> {
        let is_nan =
            |bound: &Option<Option<Bound<'_>>>| matches!(bound, Some(Some(Bound::Float(value))) if value.is_nan());
        if self.is_total_order && is_nan(&min) && is_nan(&max) {
            return DecodedBounds { values: None };
        }
        let is_unreadable = matches!(min, Some(None)) || matches!(max, Some(None));
        let is_open = self.can_wrap() && (min.is_none() || max.is_none());
        if is_unreadable || is_open {
            return DecodedBounds::UNKNOWN;
        }
        let lower = if is_nan(&min) { None } else { min.flatten() };
        let upper = if is_nan(&max) { None } else { max.flatten() };
        let interval = Interval { lower, upper };
        if interval.is_contradictory() {
            return DecodedBounds::UNKNOWN;
        }
        DecodedBounds { values: Some(interval) }
    }

    /// Whether values that do not fit the Arrow type wrap around.
    fn can_wrap(&self) -> bool {
        match &self.kind {
            Kind::Integer { range, .. } | Kind::Decimal { range, .. } => range.is_some(),
            Kind::WideDecimal { len } => len.is_none(),
            Kind::Boolean | Kind::Float | Kind::Float16 | Kind::Bytes => false,
        }
    }
}

/// The interval of the values other than NaNs and nulls; `None` if there are no others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DecodedBounds<'a> {
    pub(super) values: Option<Interval<'a>>,
}

impl<'a> DecodedBounds<'a> {
    pub(crate) const UNKNOWN: Self = Self { values: Some(Interval { lower: None, upper: None }) };

    fn has_bound(&self) -> bool {
        self.values.is_some_and(|interval| interval.lower.is_some() || interval.upper.is_some())
    }

    /// The domain of `value_count` values, including nulls. Contradictory counts give [`Domain::ANY`], and so do bounds if the
    /// counts leave no value.
    pub(crate) fn domain(
        self,
        is_float: bool,
        value_count: u64,
        null_count: Option<u64>,
        nan_count: Option<u64>,
    ) -> Domain<'a> {
        let nan_count = if is_float { nan_count } else { Some(0) };
        let (nulls, nans) = (null_count.unwrap_or(0), nan_count.unwrap_or(0));
        match nulls.checked_add(nans).map(|others| others.cmp(&value_count)) {
            None | Some(std::cmp::Ordering::Greater) => return Domain::ANY,
            Some(std::cmp::Ordering::Equal) if self.has_bound() && value_count > 0 => return Domain::ANY,
            // Only nulls and NaNs.
            Some(std::cmp::Ordering::Equal) => return Domain { values: None, nans: nans > 0, nulls: nulls > 0 },
            Some(std::cmp::Ordering::Less) => {}
        }
        // NaN bounds mean that there are NaNs, whatever their count.
        let nans = nan_count != Some(0) || self.values.is_none();
        Domain { values: self.values, nans, nulls: null_count != Some(0) }
    }
}

/// The type of the values, which for a dictionary is its value type.
pub(super) fn value_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

fn is_bytes(data_type: &DataType) -> bool {
    data_type.is_string() || data_type.is_binary() || matches!(data_type, DataType::FixedSizeBinary(_))
}

/// The range of the type, if an integer is read into fewer bytes than it is stored in; `None` for other types.
fn narrow_range(data_type: &DataType, stored: PhysicalType) -> Option<Option<RangeInclusive<i128>>> {
    let exact = ExactType::new(data_type)?;
    let range = exact.range()?;
    let stored_width = if stored == PhysicalType::INT32 { 4 } else { 8 };
    Some((exact.width < stored_width).then_some(range))
}

/// A big-endian two's complement integer of `len` bytes, or of 1 to 32 bytes.
fn big_endian(bytes: &[u8], len: Option<usize>) -> Option<i256> {
    if !(1..=32).contains(&bytes.len()) || len.is_some_and(|len| len != bytes.len()) {
        return None;
    }
    Some(i256::from_le_bytes(int_from_big_endian(bytes)))
}
