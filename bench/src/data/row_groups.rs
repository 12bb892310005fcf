//! A data set of a million row groups to prune: 40 files of 25,000 with 8 rows each, uncompressed, written by Lath; no
//! page index.
//!
//! | column | type | values |
//! | --- | --- | --- |
//! | id | INT64 | 0, 1, 2, … over all files |
//! | key | BYTE_ARRAY, 16 bytes | random, like the keys of the needles; a Bloom filter of 512 bytes in each row group |

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Int64Array, RecordBatch};
use lath_writer::{BloomFilter, ColumnOptions, ParquetWriter, StatisticsLevel, WriteOptions};

use super::needles::key;
use super::{folder, read_back};

pub const FILES: u64 = 40;
pub const FILE_ROW_GROUPS: u64 = 25_000;
const ROW_GROUP_ROWS: u64 = 8;
const FILE_ROWS: u64 = FILE_ROW_GROUPS * ROW_GROUP_ROWS;

/// The number of rows of all files.
pub const ROWS: u64 = FILES * FILE_ROWS;

pub fn path() -> PathBuf {
    folder().join("row-groups")
}

fn batch(file: u64) -> RecordBatch {
    let ids = || file * FILE_ROWS..(file + 1) * FILE_ROWS;
    let columns: [(&str, ArrayRef); 2] = [
        ("id", Arc::new(Int64Array::from_iter_values(ids().map(|id| id as i64)))),
        ("key", Arc::new(BinaryArray::from_iter_values(ids().map(key)))),
    ];
    RecordBatch::try_from_iter(columns).expect("columns are of one length")
}

fn write(path: &Path, batch: &RecordBatch) {
    let options = WriteOptions::default()
        .row_group_rows(ROW_GROUP_ROWS as usize)
        .dictionary(false)
        .all_columns(ColumnOptions::new().statistics(StatisticsLevel::Chunk).offset_index(false))
        .column("key", ColumnOptions::new().bloom_filter(BloomFilter::Bytes(512)));
    let mut writer = ParquetWriter::create(path, &batch.schema(), options).expect("data folder is writable");
    writer.write(batch).expect("batch is writable");
    writer.finish().expect("file can be finished");
    read_back(path);
}

/// Writes the files that are missing.
pub fn make() {
    let folder = path();
    fs::create_dir_all(&folder).expect("data folder can be made");
    for file in 0..FILES {
        let path = folder.join(format!("{file:02}.parquet"));
        if !path.exists() {
            if file == 0 {
                eprintln!("writing {}", folder.display());
            }
            write(&path, &batch(file));
        }
    }
}
