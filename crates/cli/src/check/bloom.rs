//! Bloom filters: every value of a column chunk has to be found in its filter.

use std::io;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray, downcast_primitive_array};
use arrow_buffer::ToByteSlice;
use arrow_schema::DataType;
use bytes::Bytes;
use lath_parquet::{ByteRanges, ParquetFile};
use parquet::basic::Type as PhysicalType;
use parquet::bloom_filter::Sbbf;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::ColumnDescriptor;

use crate::statistic::{Statistic, is_decimal};

/// A file's bytes, as the `parquet` crate reads Bloom filters from them.
#[derive(Debug)]
pub(crate) struct FileBytes(Arc<dyn ByteRanges>);

impl FileBytes {
    pub(crate) fn of(file: &ParquetFile) -> Self {
        Self(Arc::clone(file.source()))
    }

    /// The filter of a column chunk; `None` if it has none.
    pub(super) fn filter(&self, chunk: &ColumnChunkMetaData) -> Result<Option<Sbbf>, ParquetError> {
        let Some(offset) = chunk.bloom_filter_offset() else { return Ok(None) };
        let end = i64::from(chunk.bloom_filter_length().unwrap_or(0)).checked_add(offset);
        // The reader makes room for as many bytes as the metadata says.
        if offset < 0 || end.is_none_or(|end| end < offset || u64::try_from(end).is_ok_and(|end| end > self.len())) {
            return Err(ParquetError::General("it does not lie within the file".to_owned()));
        }
        match Sbbf::read_from_column_chunk(chunk, self)? {
            // No value can be looked up in it, and looking one up panics.
            Some(filter) if filter.num_blocks() == 0 => {
                Err(ParquetError::General("it has no block of 32 bytes".to_owned()))
            }
            filter => Ok(filter),
        }
    }
}

impl Length for FileBytes {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for FileBytes {
    type T = io::Cursor<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let len = usize::try_from(self.len().saturating_sub(start)).unwrap_or(usize::MAX);
        self.get_bytes(start, len).map(io::Cursor::new)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let mut bytes = self.0.read(start..start.saturating_add(length as u64))?;
        bytes.truncate(length);
        Ok(bytes)
    }
}

/// A filter, and what of the data is not in it.
#[derive(Debug)]
pub(super) struct Probe {
    filter: Sbbf,
    absent: u64,
    first: Option<String>,
}

impl Probe {
    pub(super) fn new(filter: Sbbf) -> Self {
        Self { filter, absent: 0, first: None }
    }

    /// VersionCheck up every value of `values`. Types that no filter is defined for, or that are not read as they are stored, are
    /// passed over.
    pub(super) fn look_up(&mut self, values: &dyn Array, column: &ColumnDescriptor) {
        each_value(values, column, |bytes| {
            if !self.filter.check(bytes) {
                self.absent += 1;
                self.first.get_or_insert_with(|| {
                    Statistic::decode(bytes, column).map_or_else(|| format!("{bytes:02x?}"), |value| value.text())
                });
            }
        });
    }

    /// What is wrong.
    pub(super) fn finding(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let values = if self.absent == 1 { "value" } else { "values" };
        Some(format!("{} {values} of the data not in the Bloom filter, the first of them {first}", self.absent))
    }
}

/// Hands over the values as PLAIN encodes them, lengths left out.
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
