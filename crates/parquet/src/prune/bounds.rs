//! From the bytes of smallest and largest values to [`Bound`]s, in the order that the specification gives a column.
//!
//! Statistics are believed as far as the specification lets them be:
//! - A bound may be shortened, or inexact in another way: it is a bound, never a value that occurs.
//! - A bound that is missing says nothing. For a float, neither does NaN, except in IEEE 754 total order, where it says that
//!   there are no numbers. −0 and +0 are one value to predicates, so that either bounds both.
//! - Floats of which no count of NaNs is known may be NaN, which predicates have above all numbers.
//! - The deprecated `min` and `max`, and statistics of files that do not say their column orders, are in signed order by
//!   whoever wrote them: they are read for INT32 and INT64 of signed types, FLOAT and DOUBLE, and for nothing else (byte
//!   arrays were compared as signed bytes).
//! - INT96, INTERVAL, and column orders that are not known give no bounds.
//! - Integers, and decimals in byte arrays, that are read into fewer bytes than they are stored in wrap around if they do not
//!   fit, which a bound that is missing or does not fit leaves open: then neither bound is used.
//!
//! <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift> (`Statistics`, `ColumnOrder`)

use std::ops::RangeInclusive;

use arrow_array::types::{ArrowPrimitiveType, Float16Type};
use arrow_buffer::i256;
use arrow_schema::DataType;
use lath_format::schema::ColumnDescriptor;
use lath_format::schema::{PhysicalType, SortOrder, TypeOrder};
use lath_format::{ColumnOrder, Statistics};

use super::bound::{Bound, Interval};
use super::domain::Domain;

/// Reads the bounds of one column.
#[derive(Debug, Clone)]
pub(crate) struct BoundReader {
    kind: Kind,
    is_total: bool,
    /// The order is that of the deprecated fields too.
    is_signed: bool,
    /// The fields that are not deprecated are in no known order.
    is_unsaid: bool,
}

#[derive(Debug, Clone)]
enum Kind {
    Boolean,
    /// Of INT32 or INT64, times `factor` in Arrow.
    Integer {
        is_unsigned: bool,
        factor: i128,
        range: Option<RangeInclusive<i128>>,
    },
    Float,
    /// In two bytes.
    Half,
    Bytes,
    /// Big-endian two's complement, of `len` bytes or of any number.
    Decimal {
        len: Option<usize>,
        range: Option<RangeInclusive<i128>>,
    },
    /// The same, of the Arrow type `Decimal256`.
    WideDecimal {
        len: Option<usize>,
    },
}

impl BoundReader {
    /// For a column of the file that is read as `data_type`; `None` if its statistics say nothing of values.
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
            (PhysicalType::FIXED_LEN_BYTE_ARRAY, DataType::Float16) if sort_order == SortOrder::SIGNED => Kind::Half,
            (PhysicalType::FIXED_LEN_BYTE_ARRAY | PhysicalType::BYTE_ARRAY, _) if sort_order == SortOrder::SIGNED => {
                let len = len.filter(|_| column.physical_type() == PhysicalType::FIXED_LEN_BYTE_ARRAY);
                let fits = |bytes: usize| len.is_some_and(|len| len <= bytes);
                match data_type {
                    DataType::Decimal32(..) => Kind::Decimal { len, range: (!fits(4)).then(range::<i32>) },
                    DataType::Decimal64(..) => Kind::Decimal { len, range: (!fits(8)).then(range::<i64>) },
                    DataType::Decimal128(..) => {
                        Kind::Decimal { len, range: (!fits(16)).then_some(i128::MIN..=i128::MAX) }
                    }
                    DataType::Decimal256(..) => Kind::WideDecimal { len },
                    _ => return None,
                }
            }
            (PhysicalType::FIXED_LEN_BYTE_ARRAY | PhysicalType::BYTE_ARRAY, _)
                if sort_order == SortOrder::UNSIGNED && is_bytes(data_type) =>
            {
                Kind::Bytes
            }
            _ => return None,
        };
        let is_float = matches!(kind, Kind::Float | Kind::Half);
        let is_signed = matches!(kind, Kind::Float | Kind::Integer { is_unsigned: false, .. });
        let is_total = match order {
            ColumnOrder::TypeDefined | ColumnOrder::Undefined => false,
            ColumnOrder::Ieee754Total if is_float => true,
            _ => return None,
        };
        Some(Self { kind, is_total, is_signed, is_unsaid: order == ColumnOrder::Undefined })
    }

    pub(crate) fn is_float(&self) -> bool {
        matches!(self.kind, Kind::Float | Kind::Half)
    }

    /// What the values of a chunk can be, nulls left out.
    pub(crate) fn of_statistics<'a>(&self, column: &ColumnDescriptor, statistics: &Statistics<'a>) -> Read<'a> {
        let is_legacy = self.is_unsaid || statistics.is_deprecated;
        if is_legacy && (!self.is_signed || self.is_total) {
            return Read::UNKNOWN;
        }
        let read = |value: Option<&'a [u8]>| value.map(|value| self.plain(column, value));
        self.settle(read(statistics.min), read(statistics.max))
    }

    /// What the values of a page can be, whose smallest and largest value are given as a column index has them.
    pub(super) fn of_page<'a>(&self, column: &ColumnDescriptor, min: &'a [u8], max: &'a [u8]) -> Read<'a> {
        if self.is_unsaid && !self.is_signed {
            return Read::UNKNOWN;
        }
        self.settle(Some(self.plain(column, min)), Some(self.plain(column, max)))
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
            Kind::Half => {
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

    /// Puts two bounds together, each missing (`None`), unreadable (`Some(None)`) or there.
    fn settle<'a>(&self, min: Option<Option<Bound<'a>>>, max: Option<Option<Bound<'a>>>) -> Read<'a> {
        let is_nan =
            |bound: &Option<Option<Bound<'_>>>| matches!(bound, Some(Some(Bound::Float(value))) if value.is_nan());
        if self.is_total && is_nan(&min) && is_nan(&max) {
            return Read { values: None };
        }
        let is_unreadable = matches!(min, Some(None)) || matches!(max, Some(None));
        let is_open = self.can_wrap() && (min.is_none() || max.is_none());
        if is_unreadable || is_open {
            return Read::UNKNOWN;
        }
        let lower = if is_nan(&min) { None } else { min.flatten() };
        let upper = if is_nan(&max) { None } else { max.flatten() };
        Read { values: Some(Interval { lower, upper }) }
    }

    /// Whether values that do not fit the Arrow type become others.
    fn can_wrap(&self) -> bool {
        match &self.kind {
            Kind::Integer { range, .. } | Kind::Decimal { range, .. } => range.is_some(),
            Kind::WideDecimal { len } => len.is_none(),
            Kind::Boolean | Kind::Float | Kind::Half | Kind::Bytes => false,
        }
    }
}

/// Where values lie, NaNs and nulls left out; `None` if there are none but those.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Read<'a> {
    pub(super) values: Option<Interval<'a>>,
}

impl<'a> Read<'a> {
    pub(crate) const UNKNOWN: Self = Self { values: Some(Interval { lower: None, upper: None }) };

    /// The domain of `value_count` values, nulls counted, by what else is known of them. Counts that cannot be give
    /// [`Domain::ANY`].
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
            // There is nothing but nulls and NaNs.
            Some(std::cmp::Ordering::Equal) => return Domain { values: None, nans: nans > 0, nulls: nulls > 0 },
            Some(std::cmp::Ordering::Less) => {}
        }
        // Bounds that are NaN say that there are some, whatever their count.
        let nans = nan_count != Some(0) || self.values.is_none();
        Domain { values: self.values, nans, nulls: null_count != Some(0) }
    }
}

/// The type of the values, if they come out in a dictionary.
pub(super) fn value_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

fn is_bytes(data_type: &DataType) -> bool {
    data_type.is_string() || data_type.is_binary() || matches!(data_type, DataType::FixedSizeBinary(_))
}

/// What an integer has to lie within, if it is read into fewer bytes than it is stored in; `None` for types that are no
/// integers.
fn narrow_range(data_type: &DataType, stored: PhysicalType) -> Option<Option<RangeInclusive<i128>>> {
    Some(match data_type {
        DataType::Int8 => Some(range::<i8>()),
        DataType::Int16 => Some(range::<i16>()),
        DataType::UInt8 => Some(range::<u8>()),
        DataType::UInt16 => Some(range::<u16>()),
        DataType::Int32 | DataType::Date32 | DataType::Time32(_) | DataType::Decimal32(..) | DataType::UInt32 => {
            let is_unsigned = *data_type == DataType::UInt32;
            (stored == PhysicalType::INT64).then(|| if is_unsigned { range::<u32>() } else { range::<i32>() })
        }
        DataType::Int64
        | DataType::UInt64
        | DataType::Date64
        | DataType::Time64(_)
        | DataType::Timestamp(..)
        | DataType::Duration(_)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..) => None,
        _ => return None,
    })
}

trait Bounded: Into<i128> {
    const MIN: Self;
    const MAX: Self;
}

macro_rules! bounded {
    ($($integer:ty)*) => {$(
        impl Bounded for $integer {
            const MIN: Self = <$integer>::MIN;
            const MAX: Self = <$integer>::MAX;
        }
    )*};
}
bounded!(i8 i16 i32 i64 u8 u16 u32);

fn range<T: Bounded>() -> RangeInclusive<i128> {
    T::MIN.into()..=T::MAX.into()
}

/// A big-endian two's complement integer of `len` bytes, or of any number from 1 to 32.
fn big_endian(bytes: &[u8], len: Option<usize>) -> Option<i256> {
    let &first = bytes.first()?;
    if bytes.len() > 32 || len.is_some_and(|len| len != bytes.len()) {
        return None;
    }
    let mut wide = [if first & 0x80 != 0 { 0xFF } else { 0 }; 32];
    wide[32 - bytes.len()..].copy_from_slice(bytes);
    Some(i256::from_be_bytes(wide))
}
