//! IEEE 754 total order in a footer, which the `parquet` crate does not know: which columns have it, and how many NaNs
//! their chunks hold.
//!
//! <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift> (`ColumnOrder`, `Statistics`)

use parquet::basic::ColumnOrder;
use parquet::file::metadata::ParquetMetaData;

use lath_format::thrift::{ThriftError, ThriftReader, WireType};

/// The number of `IEEE_754_TOTAL_ORDER` in the union `ColumnOrder`.
const TOTAL_ORDER: i16 = 2;

/// Which order the statistics of a column are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatisticsOrder {
    /// That of the column's type.
    ByType,
    /// IEEE 754's total order.
    Total,
    /// The file does not say it.
    Unsaid,
    /// One that is not known.
    Unknown,
}

/// The columns in total order.
#[derive(Debug, Default)]
pub(super) struct TotalOrders {
    /// For each leaf, its place among those in total order.
    places: Vec<Option<usize>>,
    count: usize,
    /// For each row group, the counts of the columns in total order.
    nan_counts: Vec<Option<u64>>,
}

impl TotalOrders {
    /// Looks for them in a plaintext `FileMetaData`, if there is an order that the crate did not know.
    pub(super) fn read(footer: &[u8], metadata: &ParquetMetaData) -> Self {
        let orders = metadata.file_metadata().column_orders();
        if orders.is_none_or(|orders| orders.iter().all(|order| *order != ColumnOrder::UNKNOWN)) {
            return Self::default();
        }
        // What is malformed here was not for the crate, and says nothing.
        let mut total = Self::default();
        if total.read_orders(footer).is_err() || total.read_nan_counts(footer, metadata.num_row_groups()).is_err() {
            return Self::default();
        }
        total
    }

    pub(super) fn order(&self, metadata: &ParquetMetaData, leaf: usize) -> StatisticsOrder {
        match metadata.file_metadata().column_order(leaf) {
            ColumnOrder::TYPE_DEFINED_ORDER(_) => StatisticsOrder::ByType,
            ColumnOrder::UNDEFINED => StatisticsOrder::Unsaid,
            ColumnOrder::UNKNOWN if self.place(leaf).is_some() => StatisticsOrder::Total,
            ColumnOrder::UNKNOWN => StatisticsOrder::Unknown,
        }
    }

    pub(super) fn nan_count(&self, row_group: usize, leaf: usize) -> Option<u64> {
        *self.nan_counts.get(row_group * self.count + self.place(leaf)?)?
    }

    fn place(&self, leaf: usize) -> Option<usize> {
        self.places.get(leaf).copied().flatten()
    }

    fn read_orders(&mut self, footer: &[u8]) -> Result<(), ThriftError> {
        ThriftReader::new(footer).each_field(|reader, field| match (field.id, field.wire_type) {
            (7, WireType::List) => reader.each_structure(|reader, _| {
                let mut place = None;
                reader.each_field(|reader, field| {
                    if field.id == TOTAL_ORDER {
                        place = Some(self.count);
                    }
                    reader.skip(field)
                })?;
                self.count += usize::from(place.is_some());
                self.places.push(place);
                Ok(())
            }),
            _ => reader.skip(field),
        })
    }

    fn read_nan_counts(&mut self, footer: &[u8], row_groups: usize) -> Result<(), ThriftError> {
        self.nan_counts = vec![None; row_groups.saturating_mul(self.count)];
        ThriftReader::new(footer).each_field(|reader, field| match (field.id, field.wire_type) {
            // row_groups
            (4, WireType::List) => reader.each_structure(|reader, row_group| {
                reader.each_field(|reader, field| match (field.id, field.wire_type) {
                    // columns
                    (1, WireType::List) => reader.each_structure(|reader, leaf| {
                        let Some(place) = self.place(leaf) else { return reader.skip_element(WireType::Struct) };
                        let count = nan_count(reader)?.and_then(|count| u64::try_from(count).ok());
                        if let Some(slot) = self.nan_counts.get_mut(row_group * self.count + place) {
                            *slot = count;
                        }
                        Ok(())
                    }),
                    _ => reader.skip(field),
                })
            }),
            _ => reader.skip(field),
        })
    }
}

/// The count in the statistics of a `ColumnChunk`.
fn nan_count(reader: &mut ThriftReader<'_>) -> Result<Option<i64>, ThriftError> {
    let mut count = None;
    reader.each_field(|reader, field| match (field.id, field.wire_type) {
        // meta_data
        (3, WireType::Struct) => reader.each_field(|reader, field| match (field.id, field.wire_type) {
            // statistics
            (12, WireType::Struct) => reader.each_field(|reader, field| match (field.id, field.wire_type) {
                (9, WireType::I64) => {
                    count = Some(reader.i64()?);
                    Ok(())
                }
                _ => reader.skip(field),
            }),
            _ => reader.skip(field),
        }),
        _ => reader.skip(field),
    })?;
    Ok(count)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, Int32Array, RecordBatch};

    use super::*;
    use crate::write::ColumnOptions;
    use crate::{ParquetFile, ParquetWriter, WriteOptions};

    fn written(total_order: bool) -> ParquetFile {
        let nan = f64::NAN;
        let columns: [(&str, ArrayRef); 2] = [
            ("n", Arc::new(Int32Array::from_iter_values(0..6))),
            ("x", Arc::new(Float64Array::from(vec![1.0, nan, 2.0, 3.0, nan, nan]))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let options =
            WriteOptions::default().row_group_rows(3).column("x", ColumnOptions::new().total_order(total_order));
        let mut bytes = Vec::new();
        let mut writer = ParquetWriter::new(&mut bytes, &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        ParquetFile::from_bytes(bytes.into()).unwrap()
    }

    #[test]
    fn total_order_and_nan_counts_are_found_where_there_are_any() {
        let file = written(true);
        assert_eq!([0, 1].map(|leaf| file.statistics_order(leaf)), [StatisticsOrder::ByType, StatisticsOrder::Total]);
        assert_eq!([0, 1].map(|row_group| file.nan_count(row_group, 1)), [Some(1), Some(2)]);
        assert_eq!(file.nan_count(0, 0), None);
        assert_eq!(file.nan_count(2, 1), None);
        let file = written(false);
        assert_eq!([0, 1].map(|leaf| file.statistics_order(leaf)), [StatisticsOrder::ByType; 2]);
        assert_eq!(file.nan_count(0, 1), None);
    }
}
