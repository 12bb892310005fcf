//! The positions of a file's parts, and footer fields that the `parquet` crate does not return.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use lath_parquet::ParquetFile;
use lath_testkit::equality::same_values;
use lath_writer::{BloomFilter, Codec, ColumnOptions, WriteOptions};
use parquet::basic::ColumnOrder;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::ReaderProperties;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::{ReadOptionsBuilder, SerializedFileReader};

use crate::reading::collect;
use crate::writing::write;

fn batch(rows: i64) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let names: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|i| format!("name {i}"))));
    RecordBatch::try_from_iter([("id", ids), ("name", names)]).unwrap()
}

fn file_with_filters(memory_budget_bytes: usize) -> Bytes {
    let options = WriteOptions::default()
        .all_columns(ColumnOptions::new().bloom_filter(BloomFilter::DEFAULT).dictionary(false))
        .codec(Codec::Uncompressed)
        .memory_budget_bytes(memory_budget_bytes)
        .row_group_rows(1_000);
    let batch = batch(3_000);
    write(&batch.schema(), std::slice::from_ref(&batch), options).unwrap().0
}

fn filter(chunk: &ColumnChunkMetaData) -> Range<i64> {
    let start = chunk.bloom_filter_offset().unwrap();
    start..start + i64::from(chunk.bloom_filter_length().unwrap())
}

#[test]
fn bloom_filters_of_a_column_lie_next_to_each_other_before_the_page_index() {
    let file = ParquetFile::from_bytes(file_with_filters(1 << 30)).unwrap();
    let metadata = crate::reading::library_metadata(&file);
    assert_eq!(metadata.num_row_groups(), 3);
    let last = metadata.row_group(2).column(1);
    let (start, len) = last.byte_range();
    let mut position = (start + len) as i64;
    for column in 0..2 {
        for row_group in metadata.row_groups() {
            let filter = filter(row_group.column(column));
            assert_eq!(filter.start, position);
            position = filter.end;
        }
    }
    assert_eq!(metadata.row_group(0).column(0).column_index_offset(), Some(position));
}

#[test]
fn bloom_filters_that_take_up_too_much_do_not_wait_for_the_end() {
    // A quarter of the budget is less than the filters of a row group.
    let file = ParquetFile::from_bytes(file_with_filters(8_000)).unwrap();
    let metadata = crate::reading::library_metadata(&file);
    let groups = metadata.row_groups();
    assert!(groups.len() > 2);
    let next_chunk = groups[groups.len() - 1].column(0).byte_range().0 as i64;
    assert!(filter(groups[0].column(0)).end <= next_chunk);
}

#[test]
fn bloom_filters_hold_what_was_written() {
    for budget in [8_000, 1 << 30] {
        let properties = ReaderProperties::builder().set_read_bloom_filter(true).build();
        let options = ReadOptionsBuilder::new().with_reader_properties(properties).build();
        let reader = SerializedFileReader::new_with_options(file_with_filters(budget), options).unwrap();
        let mut start = 0;
        for group in 0..reader.num_row_groups() {
            let rows = reader.metadata().row_group(group).num_rows();
            let reader = reader.get_row_group(group).unwrap();
            for row in start..start + rows {
                assert!(reader.get_column_bloom_filter(0).unwrap().check(&row));
                assert!(reader.get_column_bloom_filter(1).unwrap().check(&*format!("name {row}")));
            }
            let absent = (10_000..20_000_i64).filter(|value| reader.get_column_bloom_filter(0).unwrap().check(value));
            assert!(absent.count() < 300);
            start += rows;
        }
    }
}

/// The values of one field of every `Statistics`, and the fields of every `ColumnOrder`, from a parser of the footer
/// that knows only the Thrift compact protocol.
fn footer_fields(bytes: &Bytes, field: i64) -> (Vec<i64>, Vec<i64>) {
    let len = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap()) as usize;
    let mut thrift = Thrift { bytes: &bytes[bytes.len() - 8 - len..], found: Vec::new(), orders: Vec::new(), field };
    thrift.structure(&mut Vec::new());
    (thrift.found, thrift.orders)
}

struct Thrift<'a> {
    bytes: &'a [u8],
    field: i64,
    found: Vec<i64>,
    orders: Vec<i64>,
}

impl Thrift<'_> {
    fn byte(&mut self) -> u8 {
        let byte = self.bytes[0];
        self.bytes = &self.bytes[1..];
        byte
    }

    fn varint(&mut self) -> u64 {
        let byte = self.byte();
        let rest = if byte >= 0x80 { self.varint() << 7 } else { 0 };
        rest | u64::from(byte & 0x7f)
    }

    fn integer(&mut self) -> i64 {
        let value = self.varint();
        (value >> 1) as i64 ^ -((value & 1) as i64)
    }

    fn structure(&mut self, path: &mut Vec<i64>) {
        let mut id = 0;
        loop {
            let header = self.byte();
            if header == 0 {
                return;
            }
            id = if header >> 4 == 0 { self.integer() } else { id + i64::from(header >> 4) };
            path.push(id);
            // In FileMetaData: row_groups, columns, meta_data, statistics; column_orders.
            if path[..] == [4, 1, 3, 12, self.field] {
                let value = self.integer();
                self.found.push(value);
            } else {
                if path.len() == 2 && path[0] == 7 {
                    self.orders.push(id);
                }
                self.value(header & 15, false, path);
            }
            path.pop();
        }
    }

    fn value(&mut self, wire_type: u8, is_element: bool, path: &mut Vec<i64>) {
        match wire_type {
            1 | 2 if !is_element => {}
            1..=3 => drop(self.byte()),
            4..=6 => drop(self.varint()),
            7 => self.bytes = &self.bytes[8..],
            8 => {
                let len = self.varint() as usize;
                self.bytes = &self.bytes[len..];
            }
            9 | 10 => {
                let header = self.byte();
                let len = if header >> 4 == 15 { self.varint() } else { u64::from(header >> 4) };
                (0..len).for_each(|_| self.value(header & 15, true, path));
            }
            12 => self.structure(path),
            other => unreachable!("no column of type {other}"),
        }
    }
}

#[test]
fn the_footer_says_total_order_and_the_number_of_nans() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, 1.0, -0.0, f64::NAN, -f64::NAN]));
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..5));
    let batch = RecordBatch::try_from_iter([("id", ids), ("x", floats.clone()), ("y", floats)]).unwrap();
    let options = WriteOptions::default().column("x", ColumnOptions::new().total_order(true)).row_group_rows(2);
    let (bytes, _) = write(&batch.schema(), std::slice::from_ref(&batch), options).unwrap();
    let (nan_counts, orders) = footer_fields(&bytes, 9);
    assert_eq!(nan_counts, [1, 1, 1]);
    assert_eq!(orders, [1, 2, 1]);

    // Readers that do not know the order read the rows all the same.
    let file = ParquetFile::from_bytes(bytes).unwrap();
    let library = crate::reading::library_metadata(&file);
    let metadata = library.file_metadata();
    assert_eq!(metadata.column_order(1), ColumnOrder::UNKNOWN);
    assert!(matches!(metadata.column_order(2), ColumnOrder::TYPE_DEFINED_ORDER(_)));
    let read = file.scan().build().and_then(collect).unwrap();
    same_values((&batch.schema(), std::slice::from_ref(&batch)), (&read.0, &read.1)).unwrap();
}
