//! The metadata that either reader reads of every chunk: its sizes, offsets, codec, bounds and number of nulls, as one
//! sum.

use lath_format::{ColumnChunk, FileMetaData};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

struct Sum(u64);

impl Sum {
    fn number(&mut self, number: i64) {
        self.0 = self.0.rotate_left(1).wrapping_add(number as u64);
    }

    fn bound(&mut self, bound: Option<&[u8]>) {
        let bound = bound.unwrap_or(b"none");
        self.number(bound.len() as i64 + i64::from(bound.first().copied().unwrap_or(0)));
    }
}

fn add_chunk(chunk: &ColumnChunk<'_>, sum: &mut Sum) {
    sum.number(chunk.num_values() as i64);
    sum.number(chunk.compressed_size() as i64);
    sum.number(chunk.uncompressed_size() as i64);
    sum.number(chunk.data_page_offset() as i64);
    sum.number(chunk.dictionary_page_offset().map_or(-1, |offset| offset as i64));
    sum.number(chunk.codec().id().into());
    if let Some(statistics) = chunk.statistics() {
        sum.bound(statistics.min);
        sum.bound(statistics.max);
        sum.number(statistics.null_count.map_or(-1, |count| count as i64));
    }
}

fn add_crate_chunk(chunk: &ColumnChunkMetaData, sum: &mut Sum) {
    sum.number(chunk.num_values());
    sum.number(chunk.compressed_size());
    sum.number(chunk.uncompressed_size());
    sum.number(chunk.data_page_offset());
    sum.number(chunk.dictionary_page_offset().unwrap_or(-1));
    sum.number(match chunk.compression() {
        parquet::basic::Compression::UNCOMPRESSED => 0,
        parquet::basic::Compression::SNAPPY => 1,
        other => unreachable!("nothing is written with {other}"),
    });
    if let Some(statistics) = chunk.statistics() {
        sum.bound(statistics.min_bytes_opt());
        sum.bound(statistics.max_bytes_opt());
        sum.number(statistics.null_count_opt().map_or(-1, |count| count as i64));
    }
}

/// The sum over the chunks of `columns`.
pub fn by_lath(file: &FileMetaData, columns: impl Iterator<Item = usize> + Clone) -> u64 {
    let mut sum = Sum(0);
    for row_group in 0..file.row_group_count() {
        for column in columns.clone() {
            add_chunk(&file.chunk(row_group, column).expect("a chunk"), &mut sum);
        }
    }
    sum.0
}

pub fn by_crate(file: &ParquetMetaData, columns: impl Iterator<Item = usize> + Clone) -> u64 {
    let mut sum = Sum(0);
    for row_group in file.row_groups() {
        for column in columns.clone() {
            add_crate_chunk(row_group.column(column), &mut sum);
        }
    }
    sum.0
}
