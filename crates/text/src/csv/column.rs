//! Converts the text of a column to values.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, PrimitiveBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTimestampType, Date32Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
    Float64Type, Int64Type, TimestampMicrosecondType, TimestampNanosecondType, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, StringArray};
use arrow_cast::parse::parse_decimal;
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, TimeUnit};

use super::datetime::{iso_date, iso_timestamp};
use super::fields::Nulls;
use super::inference::{InferredType, boolean};
use super::number::{self, Number};
use crate::date_time_format::DateTimeFormat;
use crate::date_time_format::UTC_LABEL;
use crate::error::{Error, Result};
use crate::options::{convert, readable};

/// A column and how its text is converted.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) field: FieldRef,
    reading: Reading,
    point: u8,
}

#[derive(Debug)]
enum Reading {
    /// An inferred type: values have to pass the same tests as in inference.
    Inferred(InferredType),
    /// A given type: values are parsed by Arrow.
    Given { readable: FieldRef, formats: Vec<DateTimeFormat> },
}

impl Column {
    /// A column of an inferred type.
    pub(super) fn inferred(field: FieldRef, inferred: InferredType, point: u8) -> Self {
        Self { field, reading: Reading::Inferred(inferred), point }
    }

    /// A column of the given type of `field`.
    pub(super) fn given(field: FieldRef, formats: &[DateTimeFormat], point: u8) -> Result<Self> {
        let readable = as_read(&field);
        if !can_cast_types(&DataType::Utf8, readable.data_type()) {
            let what = format!("column {}: CSV cannot hold type {}", field.name(), field.data_type());
            return Err(Error::Options { what, as_text: Some(field.name().clone()) });
        }
        Ok(Self { field, reading: Reading::Given { readable, formats: formats.to_vec() }, point })
    }

    /// Whether every text is a value.
    pub(super) fn is_text(&self) -> bool {
        match &self.reading {
            Reading::Inferred(inferred) => *inferred == InferredType::Text,
            Reading::Given { readable, .. } => *readable.data_type() == DataType::Utf8,
        }
    }

    /// Converts `texts`.
    ///
    /// # Errors
    /// The first row whose text is not a value.
    pub(super) fn decode(&self, texts: &StringArray, nulls: &Nulls) -> std::result::Result<ArrayRef, usize> {
        let blank = |row: usize| texts.is_null(row) || nulls.contain(texts.value(row).as_bytes());
        match &self.reading {
            Reading::Inferred(inferred) => self.decode_inferred(inferred, texts, blank),
            Reading::Given { readable, formats } => {
                let decoded = self.decode_given(readable, formats, texts);
                // Arrow's kernels do not report the row.
                decoded.map_err(|_| {
                    let is_misfit = |&row: &usize| self.decode_given(readable, formats, &texts.slice(row, 1)).is_err();
                    (0..texts.len()).find(is_misfit).unwrap_or_default()
                })
            }
        }
    }

    fn decode_inferred(
        &self,
        inferred: &InferredType,
        texts: &StringArray,
        blank: impl Fn(usize) -> bool,
    ) -> std::result::Result<ArrayRef, usize> {
        let values = Values { texts, blank };
        let integer = |text: &str| match number::classify(text, b'.')? {
            Number::Integer { value } => Some(value),
            Number::Float { .. } => None,
        };
        match inferred {
            InferredType::Text => Ok(Arc::new(texts.clone())),
            InferredType::Boolean => values.booleans(),
            InferredType::Int64 => values.primitive::<Int64Type>(|text| integer(text)?.try_into().ok()),
            InferredType::UInt64 => values.primitive::<UInt64Type>(|text| integer(text)?.try_into().ok()),
            InferredType::Float64 => values.primitive::<Float64Type>(|text| self.float(text)),
            InferredType::Date => values.primitive::<Date32Type>(iso_date),
            InferredType::Timestamp { unit: TimeUnit::Nanosecond, has_offset } => values
                .timestamps::<TimestampNanosecondType>(*has_offset, |text| {
                    count(text, TimeUnit::Nanosecond, *has_offset)
                }),
            InferredType::Timestamp { has_offset, .. } => values
                .timestamps::<TimestampMicrosecondType>(*has_offset, |text| {
                    count(text, TimeUnit::Microsecond, *has_offset)
                }),
            InferredType::Formatted(format) => match format.data_type() {
                DataType::Date32 => values.primitive::<Date32Type>(|text| format.days(text)),
                DataType::Timestamp(_, zone) => {
                    values.timestamps::<TimestampMicrosecondType>(zone.is_some(), |text| format.microseconds(text))
                }
                _ => Err(0),
            },
        }
    }

    fn float(&self, text: &str) -> Option<f64> {
        match number::classify(text, self.point)? {
            Number::Integer { value } => Some(value as f64).filter(|&float| float as i128 == value),
            Number::Float { .. } => number::parse(text, self.point),
        }
    }

    fn decode_given(
        &self,
        readable: &FieldRef,
        formats: &[DateTimeFormat],
        texts: &StringArray,
    ) -> std::result::Result<ArrayRef, ArrowError> {
        let data_type = readable.data_type();
        let wants_point = self.point != b'.' && (data_type.is_floating() || data_type.is_decimal());
        let wants_iso = !formats.is_empty() && data_type.is_temporal();
        let respelled = if wants_point {
            texts
                .iter()
                .map(|text| text.map(|text| with_point(text, self.point)).transpose())
                .collect::<std::result::Result<_, _>>()?
        } else if wants_iso {
            let iso =
                |text: &str| formats.iter().find_map(|format| format.to_iso(text)).unwrap_or_else(|| text.to_owned());
            texts.iter().map(|text| text.map(iso)).collect()
        } else {
            texts.clone()
        };
        let read = match data_type {
            DataType::Utf8 => Arc::new(respelled),
            &DataType::Decimal32(precision, scale) => decimals::<Decimal32Type>(&respelled, precision, scale)?,
            &DataType::Decimal64(precision, scale) => decimals::<Decimal64Type>(&respelled, precision, scale)?,
            &DataType::Decimal128(precision, scale) => decimals::<Decimal128Type>(&respelled, precision, scale)?,
            &DataType::Decimal256(precision, scale) => decimals::<Decimal256Type>(&respelled, precision, scale)?,
            other => {
                let strict = CastOptions { safe: false, ..CastOptions::default() };
                cast_with_options(&respelled, other, &strict)?
            }
        };
        convert(&read, &self.field)
    }

    /// A description of valid values, for messages.
    pub(super) fn description(&self) -> String {
        match &self.reading {
            Reading::Inferred(inferred) => match inferred {
                InferredType::Text => "text".to_owned(),
                InferredType::Boolean => "true or false".to_owned(),
                InferredType::Int64 | InferredType::UInt64 => format!("a whole number ({})", self.field.data_type()),
                InferredType::Float64 => "a number, or has more digits than a Float64 can hold".to_owned(),
                InferredType::Date => "a date such as 2025-01-31".to_owned(),
                InferredType::Timestamp { has_offset: true, .. } => "a timestamp with an offset from UTC".to_owned(),
                InferredType::Timestamp { .. } => "a timestamp such as 2025-01-31 08:30:00".to_owned(),
                InferredType::Formatted(format) => format!("in the format {format}"),
            },
            Reading::Given { .. } => format!("a value of type {}", self.field.data_type()),
        }
    }
}

/// The type that a column is parsed as; bytes are text in CSV.
fn as_read(field: &FieldRef) -> FieldRef {
    let plain = readable(field, Arc::clone);
    match plain.data_type() {
        data_type
            if data_type.is_binary() || data_type.is_string() || matches!(data_type, DataType::FixedSizeBinary(_)) =>
        {
            Arc::new(Field::new(plain.name(), DataType::Utf8, true))
        }
        _ => plain,
    }
}

fn count(text: &str, unit: TimeUnit, has_offset: bool) -> Option<i64> {
    iso_timestamp(text).filter(|timestamp| timestamp.has_offset == has_offset)?.count(unit)
}

fn with_point(text: &str, point: u8) -> std::result::Result<String, ArrowError> {
    if text.contains('.') {
        return Err(ArrowError::ParseError(format!("{text} contains a point, which is not the decimal separator")));
    }
    Ok(text.replacen(char::from(point), ".", 1))
}

/// Parses decimals. Digits beyond the scale are an error, unless they are zeros.
fn decimals<T: DecimalType>(
    texts: &StringArray,
    precision: u8,
    scale: i8,
) -> std::result::Result<ArrayRef, ArrowError> {
    let decimal = |text: &str| {
        let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
        let is_dropped = fraction.bytes().skip(usize::try_from(scale).unwrap_or_default()).any(|digit| digit != b'0');
        if is_dropped && !fraction.contains(['e', 'E']) {
            return Err(ArrowError::ParseError(format!("{text} has more than {scale} digits after the point")));
        }
        parse_decimal::<T>(text, precision, scale)
    };
    let values = texts.iter().map(|text| text.map(decimal).transpose());
    let values = values.collect::<std::result::Result<PrimitiveArray<T>, _>>()?;
    Ok(Arc::new(values.with_precision_and_scale(precision, scale)?))
}

/// Texts, some of which are null.
struct Values<'a, B> {
    texts: &'a StringArray,
    blank: B,
}

impl<B: Fn(usize) -> bool> Values<'_, B> {
    fn booleans(&self) -> std::result::Result<ArrayRef, usize> {
        let mut values = BooleanBuilder::with_capacity(self.texts.len());
        for row in 0..self.texts.len() {
            match (self.blank)(row) {
                true => values.append_null(),
                false => values.append_value(boolean(self.texts.value(row)).ok_or(row)?),
            }
        }
        Ok(Arc::new(values.finish()))
    }

    fn primitive<T: ArrowPrimitiveType>(
        &self,
        parse: impl Fn(&str) -> Option<T::Native>,
    ) -> std::result::Result<ArrayRef, usize> {
        let mut values = PrimitiveBuilder::<T>::with_capacity(self.texts.len());
        for row in 0..self.texts.len() {
            match (self.blank)(row) {
                true => values.append_null(),
                false => values.append_value(parse(self.texts.value(row)).ok_or(row)?),
            }
        }
        Ok(Arc::new(values.finish()))
    }

    fn timestamps<T: ArrowTimestampType>(
        &self,
        has_offset: bool,
        parse: impl Fn(&str) -> Option<i64>,
    ) -> std::result::Result<ArrayRef, usize> {
        let values = self.primitive::<T>(parse)?;
        let zone = has_offset.then(|| UTC_LABEL.into());
        Ok(Arc::new(values.as_primitive::<T>().clone().with_timezone_opt::<Arc<str>>(zone)))
    }
}
