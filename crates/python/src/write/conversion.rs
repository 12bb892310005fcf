//! Conversion of columns before they are written: timestamps to another unit, and types that older readers lack.

use std::sync::Arc;

use arrow_cast::{CastOptions, cast_with_options};
use lath::arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use lath::arrow::schema::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use lath_pyo3::error::{Failure, Kind};

/// The types that a file may not have, and what is written instead.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ConversionRules {
    /// The unit of all timestamps.
    pub(crate) unit: Option<TimeUnit>,
    /// Whether nanoseconds become microseconds, as in version 2.4 of Parquet and before.
    pub(crate) no_nanoseconds: bool,
    /// Whether unsigned integers of 32 bits become signed ones of 64, as in version 1.0.
    pub(crate) no_u32: bool,
    /// Whether digits of timestamps that the unit lacks may be lost.
    pub(crate) truncates: bool,
}

/// The conversion of batches of one schema.
#[derive(Debug)]
pub(crate) struct Conversion {
    /// The types of the file.
    schema: SchemaRef,
    truncates: bool,
}

impl Conversion {
    /// The conversion by `rules`; `None` if all types stay.
    pub(crate) fn new(schema: &SchemaRef, rules: ConversionRules) -> Option<Self> {
        let fields = schema.fields().iter().map(|field| rules.field(field)).collect::<Vec<_>>();
        let converted = Schema::new_with_metadata(fields, schema.metadata().clone());
        (converted != **schema).then(|| Self { schema: converted.into(), truncates: rules.truncates })
    }

    /// The types of the file.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows with the types of the file.
    ///
    /// # Errors
    /// For a value that its new type does not have.
    pub(crate) fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch, Failure> {
        let columns = batch.columns().iter().zip(self.schema.fields());
        let columns = columns.map(|(column, field)| self.convert(column, field)).collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?)
    }

    fn convert(&self, column: &ArrayRef, field: &FieldRef) -> Result<ArrayRef, Failure> {
        let (from, to) = (column.data_type(), field.data_type());
        if from == to {
            return Ok(Arc::clone(column));
        }
        let options = CastOptions { safe: false, ..CastOptions::default() };
        let refused = |error| {
            let what = format!("column {:?}: a value does not fit the type {to}: {error}", field.name());
            Failure::new(Kind::OutOfRange, what)
        };
        let converted = cast_with_options(column, to, &options).map_err(refused)?;
        if !self.truncates {
            let back = cast_with_options(&converted, from, &options).map_err(refused)?;
            if back.to_data() != column.to_data() {
                let what = format!(
                    "column {:?}: converting {from} to {to} would lose digits of a timestamp: give allow_truncated_timestamps=True, or another coerce_timestamps",
                    field.name()
                );
                return Err(Failure::new(Kind::OutOfRange, what));
            }
        }
        Ok(converted)
    }
}

impl ConversionRules {
    fn field(self, field: &FieldRef) -> FieldRef {
        let data_type = self.data_type(field.data_type());
        if data_type == *field.data_type() {
            return Arc::clone(field);
        }
        Arc::new(Field::clone(field).with_data_type(data_type))
    }

    fn data_type(self, data_type: &DataType) -> DataType {
        match data_type {
            DataType::Timestamp(unit, zone) => DataType::Timestamp(self.time_unit(*unit), zone.clone()),
            DataType::UInt32 if self.no_u32 => DataType::Int64,
            DataType::List(element) => DataType::List(self.field(element)),
            DataType::LargeList(element) => DataType::LargeList(self.field(element)),
            DataType::FixedSizeList(element, len) => DataType::FixedSizeList(self.field(element), *len),
            DataType::ListView(element) => DataType::ListView(self.field(element)),
            DataType::LargeListView(element) => DataType::LargeListView(self.field(element)),
            DataType::Map(entries, sorted) => DataType::Map(self.field(entries), *sorted),
            DataType::Struct(fields) => DataType::Struct(fields.iter().map(|field| self.field(field)).collect()),
            DataType::Dictionary(keys, values) => DataType::Dictionary(keys.clone(), Box::new(self.data_type(values))),
            other => other.clone(),
        }
    }

    fn time_unit(self, unit: TimeUnit) -> TimeUnit {
        match (self.unit, unit) {
            (Some(chosen), _) => chosen,
            (None, TimeUnit::Nanosecond) if self.no_nanoseconds => TimeUnit::Microsecond,
            (None, unit) => unit,
        }
    }
}
