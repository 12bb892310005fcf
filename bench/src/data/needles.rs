//! A data set for finding a few rows in many files: 1,000 files of 100,000 rows, two row groups each, Snappy; once with
//! a Bloom filter on the key (sized for 1 % false positives), once without.
//!
//! | column | type | values |
//! | --- | --- | --- |
//! | key | BYTE_ARRAY, 16 bytes | random |
//! | id | INT64 | 0, 1, 2, … over all files |
//! | amount | DOUBLE | random |
//! | name | STRING | of 5,000 |

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::{Random, folder, write};

pub const FILES: usize = 1_000;
pub const FILE_ROWS: u64 = 100_000;
const ROW_GROUP_ROWS: usize = 50_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Bloom,
    Bare,
}

impl Kind {
    pub const ALL: [Kind; 2] = [Kind::Bloom, Kind::Bare];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Bloom => "bloom",
            Kind::Bare => "bare",
        }
    }

    pub fn folder(self) -> PathBuf {
        folder().join(format!("needles-{}", self.name()))
    }

    pub fn path(self, file: usize) -> PathBuf {
        self.folder().join(format!("{file:04}.parquet"))
    }
}

/// The key of the row with this `id`: two random numbers seeded by it.
pub fn key(id: u64) -> [u8; 16] {
    let mut random = Random(id.wrapping_mul(2));
    let (first, second) = (random.next(), random.next());
    let mut key = [0; 16];
    key[..8].copy_from_slice(&first.to_le_bytes());
    key[8..].copy_from_slice(&second.to_le_bytes());
    key
}

/// A key as the hexadecimal digits of a literal.
pub fn hex(key: &[u8; 16]) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn batch(file: usize) -> RecordBatch {
    let first = file as u64 * FILE_ROWS;
    let ids = || first..first + FILE_ROWS;
    let mut random = Random(u64::MAX - file as u64);
    let keys = BinaryArray::from_iter_values(ids().map(key));
    let amounts = Float64Array::from_iter_values(ids().map(|_| random.next() as f64 / 1e15));
    let names = StringArray::from_iter_values(ids().map(|_| format!("name {}", random.below(5_000))));
    let columns: [(&str, ArrayRef); 4] = [
        ("key", Arc::new(keys)),
        ("id", Arc::new(Int64Array::from_iter_values(ids().map(|id| id as i64)))),
        ("amount", Arc::new(amounts)),
        ("name", Arc::new(names)),
    ];
    RecordBatch::try_from_iter(columns).expect("columns are of one length")
}

fn properties(kind: Kind) -> WriterProperties {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_column_dictionary_enabled("key".into(), false);
    match kind {
        Kind::Bare => properties,
        Kind::Bloom => properties
            .set_column_bloom_filter_enabled("key".into(), true)
            .set_column_bloom_filter_fpp("key".into(), 0.01)
            .set_column_bloom_filter_max_ndv("key".into(), ROW_GROUP_ROWS as u64),
    }
    .build()
}

/// Writes the files that are missing.
pub fn make() {
    for kind in Kind::ALL {
        if kind.path(FILES - 1).exists() {
            continue;
        }
        eprintln!("writing {}", kind.folder().display());
        for file in (0..FILES).filter(|&file| !kind.path(file).exists()) {
            write(&kind.path(file), properties(kind), std::iter::once(batch(file)));
        }
    }
}
