//! Bloom filters: every value of a column chunk has to be found in its filter.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray, downcast_primitive_array};
use arrow_buffer::ToByteSlice;
use arrow_schema::DataType;
use bytes::Bytes;
use lath_format::ColumnChunk;
use lath_format::schema::ColumnDescriptor;
use lath_format::schema::PhysicalType;
use lath_kernels::bloom;
use lath_kernels::xxhash::xxh64;
use lath_parquet::{Error, ParquetFile};

use crate::metadata::statistic::{Statistic, is_decimal};

/// The file that Bloom filters are read from.
#[derive(Debug)]
pub(crate) struct FilterSource(ParquetFile);

impl FilterSource {
    pub(crate) fn of(file: &ParquetFile) -> Self {
        Self(file.clone())
    }

    /// The Bloom filter of a column chunk, if it has one.
    pub(super) fn filter(&self, chunk: ColumnChunk<'_>) -> Result<Option<Bytes>, Error> {
        self.0.bloom_filter(chunk.row_group(), chunk.leaf())
    }
}

/// A Bloom filter, and the values of the data that it lacks.
#[derive(Debug)]
pub(super) struct FilterCheck {
    filter: Bytes,
    absent: u64,
    first: Option<String>,
}

impl FilterCheck {
    pub(super) fn new(filter: Bytes) -> Self {
        Self { filter, absent: 0, first: None }
    }

    /// Looks up every value of `values`. Skips types without Bloom filters, and types that are not read as they are stored.
    pub(super) fn look_up(&mut self, values: &dyn Array, column: &ColumnDescriptor) {
        each_value(values, column, |bytes| {
            if !bloom::check(&self.filter, xxh64(bytes)).unwrap_or(false) {
                self.absent += 1;
                self.first.get_or_insert_with(|| {
                    Statistic::decode(bytes, column).map_or_else(|| format!("{bytes:02x?}"), |value| value.text())
                });
            }
        });
    }

    /// The problem, if there is one.
    pub(super) fn finding(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let values = if self.absent == 1 { "value" } else { "values" };
        Some(format!("{} {values} of the data not in the Bloom filter, the first of them {first}", self.absent))
    }
}

/// Visits the values in PLAIN encoding, without lengths.
fn each_value(values: &dyn Array, column: &ColumnDescriptor, mut visit: impl FnMut(&[u8])) {
    fn all<'a>(values: impl Iterator<Item = Option<&'a [u8]>>, visit: impl FnMut(&'a [u8])) {
        values.flatten().for_each(visit);
    }
    fn primitive<T: ArrowPrimitiveType>(
        array: &PrimitiveArray<T>,
        column: &ColumnDescriptor,
        mut visit: impl FnMut(&[u8]),
    ) {
        let data_type = array.data_type();
        let length = usize::try_from(column.type_length()).unwrap_or(0);
        for value in array.iter().flatten() {
            let bytes = value.to_byte_slice();
            match column.physical_type() {
                PhysicalType::INT32 if bytes.len() < 4 => {
                    let is_negative = data_type.is_signed_integer() && bytes[bytes.len() - 1] >= 0x80;
                    let mut wide = [if is_negative { 0xff } else { 0 }; 4];
                    wide[..bytes.len()].copy_from_slice(bytes);
                    visit(&wide);
                }
                PhysicalType::INT32 | PhysicalType::FLOAT if bytes.len() >= 4 => visit(&bytes[..4]),
                PhysicalType::INT64 | PhysicalType::DOUBLE if bytes.len() >= 8 => visit(&bytes[..8]),
                PhysicalType::FIXED_LEN_BYTE_ARRAY if is_decimal(column) && length <= bytes.len() => {
                    let mut big_endian = [0; 32];
                    for (to, from) in big_endian[..length].iter_mut().rev().zip(bytes) {
                        *to = *from;
                    }
                    visit(&big_endian[..length]);
                }
                PhysicalType::FIXED_LEN_BYTE_ARRAY if bytes.len() == length => visit(bytes),
                _ => {}
            }
        }
    }
    // INT96 is read as a timestamp, INTERVAL as one of Arrow's.
    if column.physical_type() == PhysicalType::INT96 || matches!(values.data_type(), DataType::Interval(_)) {
        return;
    }
    downcast_primitive_array!(
        values => primitive(values, column, visit),
        DataType::Utf8 => values.as_string::<i32>().iter().flatten().for_each(|text| visit(text.as_bytes())),
        DataType::LargeUtf8 => values.as_string::<i64>().iter().flatten().for_each(|text| visit(text.as_bytes())),
        DataType::Utf8View => values.as_string_view().iter().flatten().for_each(|text| visit(text.as_bytes())),
        DataType::Binary => all(values.as_binary::<i32>().iter(), visit),
        DataType::LargeBinary => all(values.as_binary::<i64>().iter(), visit),
        DataType::BinaryView => all(values.as_binary_view().iter(), visit),
        DataType::FixedSizeBinary(_) => all(values.as_fixed_size_binary().iter(), visit),
        _ => {}
    );
}
