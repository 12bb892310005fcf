//! A table to filter: 4,194,304 rows, uncompressed. Two columns control how many rows pass, and how they are clustered.
//!
//! | column | type | values |
//! | --- | --- | --- |
//! | random | INT32 | below a million, each row its own |
//! | runs | INT32 | below a million, the same for 1,000 rows |
//! | id | INT64 | 0, 1, 2, … |
//! | amount | INT64 | random, below 2⁴⁰ |
//! | price | DOUBLE | random |
//! | name | STRING | of 5,000 |
//! | comment | STRING | 10 to 43 letters, random |

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use parquet::basic::Encoding;
use parquet::file::properties::WriterProperties;

use super::{ROW_GROUP_ROWS, Random, folder, write};

const ROWS: u64 = 4 << 20;
const BATCH_ROWS: u64 = 1 << 16;
const RUN_ROWS: u64 = 1_000;

/// Above every value of `random` and `runs`.
pub const BOUND: u32 = 1_000_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encodings {
    /// The writer's default: dictionaries, and PLAIN where they become too large.
    Plain,
    /// DELTA_BINARY_PACKED and DELTA_LENGTH_BYTE_ARRAY, PLAIN doubles.
    Delta,
}

impl Encodings {
    pub const ALL: [Encodings; 2] = [Encodings::Plain, Encodings::Delta];

    pub fn label(self) -> &'static str {
        match self {
            Encodings::Plain => "PLAIN and dictionary",
            Encodings::Delta => "DELTA",
        }
    }
}

pub fn path(encodings: Encodings) -> PathBuf {
    folder().join(match encodings {
        Encodings::Plain => "selective-plain.parquet",
        Encodings::Delta => "selective-delta.parquet",
    })
}

fn batch(first: u64) -> RecordBatch {
    let rows = || first..first + BATCH_ROWS;
    let value = |seed: u64, bound: u64| Random(seed).below(bound);
    let own = |column: u64, row: u64, bound: u64| value(row * 8 + column, bound);
    let small = |column: u64, row: u64| own(column, row, BOUND.into()) as i32;
    let comment = |row: u64| -> String {
        let mut random = Random(row * 8 + 4);
        let len = 10 + random.below(34);
        (0..len).map(|_| char::from(b'a' + random.below(26) as u8)).collect()
    };
    let columns: [(&str, ArrayRef); 7] = [
        ("random", Arc::new(Int32Array::from_iter_values(rows().map(|row| small(0, row))))),
        ("runs", Arc::new(Int32Array::from_iter_values(rows().map(|row| small(1, row / RUN_ROWS))))),
        ("id", Arc::new(Int64Array::from_iter_values(rows().map(|row| row as i64)))),
        ("amount", Arc::new(Int64Array::from_iter_values(rows().map(|row| own(2, row, 1 << 40) as i64)))),
        ("price", Arc::new(Float64Array::from_iter_values(rows().map(|row| own(3, row, 1 << 50) as f64 / 1e6)))),
        ("name", Arc::new(StringArray::from_iter_values(rows().map(|row| format!("name {}", own(5, row, 5_000)))))),
        ("comment", Arc::new(StringArray::from_iter_values(rows().map(comment)))),
    ];
    RecordBatch::try_from_iter(columns).expect("columns are of one length")
}

fn properties(encodings: Encodings) -> WriterProperties {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(ROW_GROUP_ROWS));
    match encodings {
        Encodings::Plain => properties,
        Encodings::Delta => ["random", "runs", "id", "amount"].into_iter().fold(
            properties
                .set_dictionary_enabled(false)
                .set_column_encoding("name".into(), Encoding::DELTA_LENGTH_BYTE_ARRAY)
                .set_column_encoding("comment".into(), Encoding::DELTA_LENGTH_BYTE_ARRAY),
            |properties, column| properties.set_column_encoding(column.into(), Encoding::DELTA_BINARY_PACKED),
        ),
    }
    .build()
}

/// Writes the files that are missing.
pub fn make() {
    for encodings in Encodings::ALL {
        let path = path(encodings);
        if !path.exists() {
            eprintln!("writing {}", path.display());
            write(&path, properties(encodings), (0..ROWS).step_by(BATCH_ROWS as usize).map(batch));
        }
    }
}
