//! Footers of files that the `parquet` crate writes with its defaults, and two rows in each row group.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

/// The number of columns and row groups of a file.
#[derive(Clone, Copy)]
pub struct Shape {
    pub columns: usize,
    pub row_groups: usize,
}

impl Shape {
    pub fn name(self) -> String {
        format!("{} columns × {} row groups", self.columns, self.row_groups)
    }

    pub fn chunks(self) -> usize {
        self.columns * self.row_groups
    }
}

/// The type depends on the column's number: strings of different lengths, 64-bit and 32-bit integers, doubles.
fn column(column: usize, row_group: usize) -> ArrayRef {
    let numbers = [column * 31 + row_group * 1000, column * 31 + row_group * 1000 + 7 + column % 90];
    match column % 4 {
        0 => Arc::new(StringArray::from_iter_values(numbers.map(|number| format!("value {}", number * 7919 % 20_000)))),
        1 => Arc::new(Int64Array::from_iter_values(numbers.map(|number| number as i64))),
        2 => Arc::new(Float64Array::from_iter_values(numbers.map(|number| number as f64 / 8.0))),
        _ => Arc::new(Int32Array::from_iter_values(numbers.map(|number| number as i32))),
    }
}

/// The `FileMetaData` of a file of `shape`.
pub fn footer(shape: Shape) -> Bytes {
    let batch = |row_group| {
        let columns = (0..shape.columns).map(|index| (format!("column_{index}"), column(index, row_group)));
        RecordBatch::try_from_iter(columns).expect("columns are of one length")
    };
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(2)).build();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch(0).schema(), Some(properties)).expect("a writer");
    for row_group in 0..shape.row_groups {
        writer.write(&batch(row_group)).expect("a row group");
    }
    writer.close().expect("a file");
    let (rest, tail) = file.split_last_chunk::<8>().expect("a file has an end");
    let len = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]) as usize;
    Bytes::copy_from_slice(&rest[rest.len() - len..])
}
