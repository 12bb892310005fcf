//! Values of partition columns, which the log has as text.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{BinaryViewBuilder, StringViewBuilder};
use arrow_array::types::{Date32Type, Decimal128Type, Float32Type, Float64Type};
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray, new_null_array};
use arrow_schema::{DataType, TimeUnit};
use lath_parquet::{ColumnBounds, DatasetFile, Error, PartitionColumn, Result};
use lath_predicate::value_at;

use super::schema::PartitionField;
use super::texts::{days, micros, unscaled};

/// The values of the partition columns, each once.
#[derive(Debug)]
pub(super) struct PartitionValues {
    columns: Vec<Column>,
    has_bounds: bool,
}

#[derive(Debug)]
struct Column {
    field: PartitionField,
    rows: HashMap<Arc<str>, u32>,
    null: Option<u32>,
    /// By row.
    texts: Vec<Option<Arc<str>>>,
    /// By row, if they are needed.
    bounds: Vec<ColumnBounds>,
}

impl PartitionValues {
    /// The columns without values. `has_bounds` says whether [`bounds`](Self::bounds) will be needed.
    pub(super) fn new(fields: Vec<PartitionField>, has_bounds: bool) -> Self {
        let column = |field| Column { field, rows: HashMap::new(), null: None, texts: Vec::new(), bounds: Vec::new() };
        Self { columns: fields.into_iter().map(column).collect(), has_bounds }
    }

    /// For each column, the row of the value whose text is `value` of the column's physical name.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a text that is not a value of its column's type, if bounds are needed; else
    /// [`finish`](Self::finish) returns it.
    pub(super) fn rows<'v>(&mut self, value: &dyn Fn(&str) -> Option<&'v str>) -> Result<Box<[u32]>> {
        self.columns.iter_mut().map(|column| column.row(value(&column.field.physical_name), self.has_bounds)).collect()
    }

    /// The bounds of a column in a file whose values have these rows; `None` if it is not a partition column.
    pub(super) fn bounds(&self, path: &[String], rows: &[u32]) -> Option<ColumnBounds> {
        let [name] = path else { return None };
        let at = self.columns.iter().position(|column| column.field.field.name() == name)?;
        self.columns[at].bounds.get(*rows.get(at)? as usize).cloned()
    }

    /// The columns with their values.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a text that is not a value of its column's type.
    pub(super) fn finish(self) -> Result<Vec<PartitionColumn>> {
        let column = |column: Column| {
            let texts: Vec<Option<&str>> = column.texts.iter().map(Option::as_deref).collect();
            Ok(PartitionColumn::new(Arc::clone(&column.field.field), column.field.values(&texts)?))
        };
        self.columns.into_iter().map(column).collect()
    }
}

impl Column {
    fn row(&mut self, text: Option<&str>, has_bounds: bool) -> Result<u32> {
        // By the protocol, an empty text is null.
        let text = text.filter(|text| !text.is_empty());
        let known = match text {
            Some(text) => self.rows.get(text).copied(),
            None => self.null,
        };
        if let Some(row) = known {
            return Ok(row);
        }
        let row = u32::try_from(self.texts.len()).ok().filter(|row| *row != DatasetFile::NO_CONSTANT);
        let row = row.ok_or_else(|| Error::invalid("more partitions than a table can have"))?;
        if has_bounds {
            let value = self.field.values(&[text])?;
            self.bounds.push(ColumnBounds::constant(value_at(&value, 0)));
        }
        let text: Option<Arc<str>> = text.map(Arc::from);
        match &text {
            Some(text) => drop(self.rows.insert(Arc::clone(text), row)),
            None => self.null = Some(row),
        }
        self.texts.push(text);
        Ok(row)
    }
}

impl PartitionField {
    /// The values of texts.
    fn values(&self, texts: &[Option<&str>]) -> Result<ArrayRef> {
        let data_type = self.field.data_type();
        parse(data_type, texts).ok_or_else(|| {
            Error::corrupt(format!("a value of the partition column {:?} is not a {data_type}", self.field.name()))
        })
    }
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
