//! Unites schemas of files: columns are matched by name, types widened without loss.

use std::cmp::max;
use std::sync::Arc;

use arrow_schema::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit,
};
use lath_predicate::ExactType;

use super::lists::{list_element, with_element};
use crate::schema::{PARQUET_TYPE_KEY, without_stored_type};

/// The columns of the schemas added so far.
#[derive(Debug, Default)]
pub(in crate::dataset) struct Union {
    schema: Option<SchemaRef>,
}

impl Union {
    /// Adds the columns of a file. The error describes the conflict.
    pub(in crate::dataset) fn add(&mut self, schema: &SchemaRef) -> Result<(), String> {
        let fields = schema.fields();
        for (at, field) in fields.iter().enumerate() {
            if fields[..at].iter().any(|earlier| earlier.name() == field.name()) {
                return Err(format!(
                    "there are two columns {:?}, so that columns cannot be joined by name",
                    field.name()
                ));
            }
        }
        self.schema = Some(match self.schema.take() {
            None => Arc::clone(schema),
            Some(known) if known.fields() == fields => known,
            Some(known) => {
                let fields = unite_fields(known.fields(), fields)?;
                Arc::new(Schema::new_with_metadata(fields, known.metadata().clone()))
            }
        });
        Ok(())
    }

    pub(in crate::dataset) fn finish(self) -> SchemaRef {
        self.schema.unwrap_or_else(|| Arc::new(Schema::empty()))
    }
}

/// The fields of both, first the fields of `known`. Fields that one of them lacks are nullable.
fn unite_fields(known: &Fields, added: &Fields) -> Result<Fields, String> {
    for fields in [known, added] {
        let repeats = |at: &usize| fields[..*at].iter().any(|earlier| earlier.name() == fields[*at].name());
        if let Some(at) = (0..fields.len()).find(repeats) {
            return Err(format!(
                "there are two fields {:?}, so that fields cannot be joined by name",
                fields[at].name()
            ));
        }
    }
    let mut fields: Vec<FieldRef> = Vec::with_capacity(max(known.len(), added.len()));
    for field in known {
        fields.push(match added.find(field.name()) {
            Some((_, other)) => unite_field(field, other)?,
            None => Arc::new(Field::clone(field).with_nullable(true)),
        });
    }
    let new = added.iter().filter(|field| known.find(field.name()).is_none());
    fields.extend(new.map(|field| Arc::new(Field::clone(field).with_nullable(true))));
    Ok(fields.into())
}

fn unite_field(known: &FieldRef, added: &FieldRef) -> Result<FieldRef, String> {
    if known == added {
        return Ok(Arc::clone(known));
    }
    if known.metadata().get(PARQUET_TYPE_KEY) != added.metadata().get(PARQUET_TYPE_KEY) {
        return unite_field(&without_stored_type(known), &without_stored_type(added));
    }
    let is_nullable = known.is_nullable() || added.is_nullable();
    if known.data_type() == added.data_type() && known.metadata() == added.metadata() {
        return Ok(Arc::new(Field::clone(known).with_nullable(is_nullable)));
    }
    let data_type = widen(known.data_type(), added.data_type())?.ok_or_else(|| {
        let (here, there) = (added.data_type(), known.data_type());
        format!("column {:?} is {here} here and {there} in earlier files, and no type holds both", known.name())
    })?;
    // An extension type applies to one storage type, and is kept only if both have it.
    let metadata = if known.metadata() == added.metadata() { known.metadata().clone() } else { Default::default() };
    Ok(Arc::new(Field::new(known.name(), data_type, is_nullable).with_metadata(metadata)))
}

/// The narrowest type that holds all values of both; `None` if there is none. An error comes from a field within.
fn widen(left: &DataType, right: &DataType) -> Result<Option<DataType>, String> {
    use DataType::{Dictionary, FixedSizeList, LargeList, List, Map, Null, Struct};
    Ok(match (left, right) {
        (left, right) if left == right => Some(left.clone()),
        (Null, other) | (other, Null) => Some(other.clone()),
        (Dictionary(keys, left), Dictionary(others, right)) => widen(left, right)?.map(|value| {
            if keys == others && is_dictionary_value(&value) {
                Dictionary(keys.clone(), Box::new(value))
            } else {
                value
            }
        }),
        (Dictionary(_, value), other) | (other, Dictionary(_, value)) => widen(value, other)?,
        (Struct(left), Struct(right)) => Some(Struct(unite_fields(left, right)?)),
        (Map(left, is_sorted), Map(right, other_is_sorted)) => {
            Some(Map(unite_field(left, right)?, *is_sorted && *other_is_sorted))
        }
        (left, right) => match (list_element(left), list_element(right)) {
            (Some(element), Some(other)) => {
                let element = unite_field(element, other)?;
                let is_large = |list: &DataType| matches!(list, LargeList(_) | DataType::LargeListView(_));
                Some(match (left, right) {
                    (FixedSizeList(_, len), FixedSizeList(_, other)) if len == other => FixedSizeList(element, *len),
                    (List(_), List(_)) | (LargeList(_), LargeList(_)) => with_element(left, element),
                    _ if is_large(left) || is_large(right) => LargeList(element),
                    _ => List(element),
                })
            }
            (None, None) => widen_leaf(left, right).or_else(|| widen_leaf(right, left)),
            _ => None,
        },
    })
}

fn is_dictionary_value(data_type: &DataType) -> bool {
    !data_type.is_nested() && !matches!(data_type, DataType::Utf8View | DataType::BinaryView)
}

/// As [`widen`], for types without nested types, which are tried in both orders.
fn widen_leaf(left: &DataType, right: &DataType) -> Option<DataType> {
    use DataType::{
        Binary, BinaryView, Date32, Date64, Duration, FixedSizeBinary, Float16, Float32, Float64, LargeBinary,
        LargeUtf8, Time32, Time64, Timestamp, Utf8, Utf8View,
    };
    if let (Some(left), Some(right)) = (Integer::of(left), Integer::of(right)) {
        return left.widen(right);
    }
    if let (Some(integer), Some(decimal)) = (Integer::of(left), ExactType::decimal(right)) {
        return widen_decimals((integer.digits(), 0), decimal.precision_and_scale()?);
    }
    if let (Some(one), Some(other)) = (ExactType::decimal(left), ExactType::decimal(right)) {
        let wide = widen_decimals(one.precision_and_scale()?, other.precision_and_scale()?)?;
        // The wider of the two is kept if it can hold both.
        let kept = if one.width >= other.width { one } else { other };
        let (precision, scale) = ExactType::decimal(&wide)?.precision_and_scale()?;
        return Some(if precision <= kept.max_precision() { kept.to_decimal(precision, scale) } else { wide });
    }
    if let (Some(integer), Float16 | Float32 | Float64) = (Integer::of(left), right) {
        // An integer is exact within the bits of the mantissa.
        return match (integer.value_bits(), right) {
            (..=11, Float16) => Some(Float16),
            (..=24, Float16 | Float32) => Some(Float32),
            (..=53, _) => Some(Float64),
            _ => None,
        };
    }
    match (left, right) {
        (Float16, Float32) => Some(Float32),
        (Float16 | Float32, Float64) => Some(Float64),
        (Timestamp(unit, zone), Timestamp(other, other_zone)) => {
            let zone = match (zone, other_zone) {
                (None, None) => None,
                (Some(zone), Some(other)) if zone == other => Some(Arc::clone(zone)),
                (Some(_), Some(_)) => Some("UTC".into()),
                _ => return None,
            };
            Some(Timestamp(finer(*unit, *other), zone))
        }
        (Date32, Date64) => Some(Date64),
        (Date32, Timestamp(unit, None)) => Some(Timestamp(*unit, None)),
        (Date64, Timestamp(unit, None)) => Some(Timestamp(finer(*unit, TimeUnit::Millisecond), None)),
        (Time32(unit), Time32(other)) => Some(Time32(finer(*unit, *other))),
        (Time32(_), Time64(unit)) => Some(Time64(*unit)),
        (Time64(unit), Time64(other)) => Some(Time64(finer(*unit, *other))),
        (Duration(unit), Duration(other)) => Some(Duration(finer(*unit, *other))),
        (Utf8 | LargeUtf8, Utf8View) => Some(Utf8View),
        (Utf8, LargeUtf8) => Some(LargeUtf8),
        (Binary | LargeBinary | Utf8 | LargeUtf8 | Utf8View | FixedSizeBinary(_), BinaryView)
        | (Utf8View, Binary | LargeBinary)
        | (FixedSizeBinary(_), FixedSizeBinary(_)) => Some(BinaryView),
        (Utf8 | FixedSizeBinary(_), Binary) => Some(Binary),
        (Binary | Utf8 | LargeUtf8 | FixedSizeBinary(_), LargeBinary) | (LargeUtf8, Binary) => Some(LargeBinary),
        _ => None,
    }
}

/// The width of an integer type.
#[derive(Clone, Copy)]
struct Integer {
    bits: u8,
    is_signed: bool,
}

impl Integer {
    fn of(data_type: &DataType) -> Option<Self> {
        let (bits, is_signed) = match data_type {
            DataType::Int8 => (8, true),
            DataType::Int16 => (16, true),
            DataType::Int32 => (32, true),
            DataType::Int64 => (64, true),
            DataType::UInt8 => (8, false),
            DataType::UInt16 => (16, false),
            DataType::UInt32 => (32, false),
            DataType::UInt64 => (64, false),
            _ => return None,
        };
        Some(Self { bits, is_signed })
    }

    /// Bits of the magnitude of the values.
    fn value_bits(self) -> u8 {
        self.bits - u8::from(self.is_signed)
    }

    /// Decimal digits that hold every value.
    fn digits(self) -> u8 {
        match self.bits {
            8 => 3,
            16 => 5,
            32 => 10,
            _ => 19 + u8::from(!self.is_signed),
        }
    }

    fn widen(self, other: Self) -> Option<DataType> {
        let is_signed = self.is_signed || other.is_signed;
        let value_bits = max(self.value_bits(), other.value_bits());
        Some(match (is_signed, value_bits) {
            (false, ..=8) => DataType::UInt8,
            (false, ..=16) => DataType::UInt16,
            (false, ..=32) => DataType::UInt32,
            (false, _) => DataType::UInt64,
            (true, ..=7) => DataType::Int8,
            (true, ..=15) => DataType::Int16,
            (true, ..=31) => DataType::Int32,
            (true, ..=63) => DataType::Int64,
            (true, _) => DataType::Decimal128(20, 0),
        })
    }
}

/// The decimal with as many digits before and after the point as either.
fn widen_decimals((precision, scale): (u8, i8), (other_precision, other_scale): (u8, i8)) -> Option<DataType> {
    let whole = |precision: u8, scale: i8| i16::from(precision) - i16::from(scale);
    let common_scale = max(scale, other_scale);
    let digits = max(whole(precision, scale), whole(other_precision, other_scale)) + i16::from(common_scale);
    let digits = u8::try_from(digits.max(1)).ok()?;
    if digits <= DECIMAL128_MAX_PRECISION {
        Some(DataType::Decimal128(digits, common_scale))
    } else {
        (digits <= DECIMAL256_MAX_PRECISION).then_some(DataType::Decimal256(digits, common_scale))
    }
}

fn finer(unit: TimeUnit, other: TimeUnit) -> TimeUnit {
    let rank = |unit: &TimeUnit| match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    };
    if rank(&unit) >= rank(&other) { unit } else { other }
}
