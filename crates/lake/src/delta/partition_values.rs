//! Values of partition columns, which the log has as text.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{BinaryViewBuilder, StringViewBuilder};
use arrow_array::types::{Date32Type, Decimal128Type, Float32Type, Float64Type};
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray, new_null_array};
use arrow_schema::{DataType, TimeUnit};
use lath_parquet::{Error, PartitionColumn, Result};

use super::actions::Add;
use super::schema::PartitionField;
use super::texts::{days, micros, unscaled};

/// The values of one partition column, each once.
#[derive(Debug, Default)]
struct Values<'f> {
    texts: Vec<Option<&'f str>>,
    rows: HashMap<Option<&'f str>, u32>,
}

impl<'f> Values<'f> {
    fn row(&mut self, value: Option<&'f str>) -> u32 {
        // By the protocol, an empty text is null.
        let value = value.filter(|value| !value.is_empty());
        *self.rows.entry(value).or_insert_with(|| {
            self.texts.push(value);
            // There are no more values than files, which are fewer than 2³².
            self.texts.len() as u32 - 1
        })
    }
}

/// For each of several files, and within it for each partition column, the row of the column's values.
pub(super) type PartitionRows = Vec<Box<[u32]>>;

/// The partition columns, and for each file the rows of their values.
///
/// # Errors
/// [`Error::Corrupt`] for a text that is not a value of its column's type.
pub(super) fn columns(fields: &[PartitionField], files: &[Add]) -> Result<(Vec<PartitionColumn>, PartitionRows)> {
    let mut values: Vec<Values<'_>> = fields.iter().map(|_| Values::default()).collect();
    let mut rows = Vec::with_capacity(files.len());
    for file in files {
        let text = |field: &PartitionField| file.partition_values.as_ref()?.get(&field.physical_name)?.as_deref();
        rows.push(fields.iter().zip(&mut values).map(|(field, values)| values.row(text(field))).collect());
    }
    let column = |(field, values): (&PartitionField, Values<'_>)| {
        let data_type = field.field.data_type();
        let array = parse(data_type, &values.texts).ok_or_else(|| {
            Error::corrupt(format!("a value of the partition column {:?} is not a {data_type}", field.field.name()))
        })?;
        Ok(PartitionColumn::new(Arc::clone(&field.field), array))
    };
    Ok((fields.iter().zip(values).map(column).collect::<Result<_>>()?, rows))
}

/// The values of texts in a type; `None` if one has no such value.
fn parse(data_type: &DataType, texts: &[Option<&str>]) -> Option<ArrayRef> {
    let texts = || texts.iter().copied();
    Some(match data_type {
        DataType::Utf8View => {
            let mut builder = StringViewBuilder::new();
            texts().for_each(|text| builder.append_option(text));
            Arc::new(builder.finish())
        }
        DataType::BinaryView => {
            let mut builder = BinaryViewBuilder::new();
            texts().for_each(|text| builder.append_option(text));
            Arc::new(builder.finish())
        }
        DataType::Boolean => {
            let value = |text: &str| match text {
                _ if text.eq_ignore_ascii_case("true") => Some(true),
                _ if text.eq_ignore_ascii_case("false") => Some(false),
                _ => None,
            };
            let values = texts().map(|text| text.map(value).map_or(Some(None), |value| value.map(Some)));
            Arc::new(values.collect::<Option<BooleanArray>>()?)
        }
        DataType::Int8 => primitive::<Int8Type>(texts(), |text| text.parse().ok())?,
        DataType::Int16 => primitive::<Int16Type>(texts(), |text| text.parse().ok())?,
        DataType::Int32 => primitive::<Int32Type>(texts(), |text| text.parse().ok())?,
        DataType::Int64 => primitive::<Int64Type>(texts(), |text| text.parse().ok())?,
        DataType::Float32 => primitive::<Float32Type>(texts(), |text| text.parse().ok())?,
        DataType::Float64 => primitive::<Float64Type>(texts(), |text| text.parse().ok())?,
        DataType::Date32 => primitive::<Date32Type>(texts(), days)?,
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let array = typed::<TimestampMicrosecondType>(texts(), micros)?;
            Arc::new(array.with_data_type(data_type.clone()))
        }
        DataType::Decimal128(precision, scale) => {
            let array = typed::<Decimal128Type>(texts(), |text| unscaled(text, *scale))?;
            Arc::new(
                array
                    .with_precision_and_scale(*precision, *scale)
                    .ok()
                    .filter(|array| array.validate_decimal_precision(*precision).is_ok())?,
            )
        }
        _ => {
            let nulls = texts().filter(Option::is_none).count();
            (nulls == texts().count()).then(|| new_null_array(data_type, nulls))?
        }
    })
}

fn typed<'t, T: ArrowPrimitiveType>(
    mut texts: impl Iterator<Item = Option<&'t str>>,
    parse: impl Fn(&str) -> Option<T::Native>,
) -> Option<PrimitiveArray<T>> {
    let values: Option<Vec<Option<T::Native>>> = texts.try_fold(Vec::new(), |mut values, text| {
        values.push(match text {
            Some(text) => Some(parse(text)?),
            None => None,
        });
        Some(values)
    });
    Some(values?.into_iter().collect())
}

fn primitive<'t, T: ArrowPrimitiveType>(
    texts: impl Iterator<Item = Option<&'t str>>,
    parse: impl Fn(&str) -> Option<T::Native>,
) -> Option<ArrayRef> {
    Some(Arc::new(typed::<T>(texts, parse)?))
}

#[cfg(test)]
mod tests {
    use arrow_cast::display::array_value_to_string;

    use super::*;

    fn parsed(data_type: &DataType, text: &str) -> Option<String> {
        let array = parse(data_type, &[None, Some(text)])?;
        assert_eq!(array.data_type(), data_type);
        assert!(array.is_null(0));
        Some(array_value_to_string(&array, 1).unwrap())
    }

    #[test]
    fn texts_are_values_of_their_type_or_an_error() {
        let timestamp = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let plain = DataType::Timestamp(TimeUnit::Microsecond, None);
        let good = [
            (DataType::Int8, "-128", "-128"),
            (DataType::Int64, "9223372036854775807", "9223372036854775807"),
            (DataType::Float64, "NaN", "NaN"),
            (DataType::Float32, "-Infinity", "-inf"),
            (DataType::Float64, "1.0E-5", "0.00001"),
            (DataType::Boolean, "true", "true"),
            (DataType::Boolean, "False", "false"),
            (DataType::Date32, "2024-02-29", "2024-02-29"),
            (DataType::Decimal128(5, 2), "-12.5", "-12.50"),
            (DataType::Decimal128(38, 18), "0E-18", "0.000000000000000000"),
            (DataType::Decimal128(5, 0), "1.2E+3", "1200"),
            (timestamp.clone(), "2024-02-29 12:30:00", "2024-02-29T12:30:00Z"),
            (timestamp.clone(), "2024-02-29T12:30:00.123456Z", "2024-02-29T12:30:00.123456Z"),
            (timestamp.clone(), "0001-01-01 00:00:00.5", "0001-01-01T00:00:00.500Z"),
            (plain, "2024-02-29 12:30:00.25", "2024-02-29T12:30:00.250"),
            (DataType::Utf8View, "ä/ %2F", "ä/ %2F"),
        ];
        for (data_type, text, expected) in good {
            assert_eq!(parsed(&data_type, text).as_deref(), Some(expected), "{text} as {data_type}");
        }
        let bad = [
            (DataType::Int8, "128"),
            (DataType::Int32, "1.0"),
            (DataType::Boolean, "yes"),
            (DataType::Date32, "2024-02-30"),
            (DataType::Decimal128(5, 2), "1000.00"),
            (DataType::Decimal128(5, 2), "0.001"),
            (DataType::Decimal128(5, 2), "."),
            (timestamp, "yesterday"),
        ];
        for (data_type, text) in bad {
            assert_eq!(parsed(&data_type, text), None, "{text} as {data_type}");
        }
    }
}
