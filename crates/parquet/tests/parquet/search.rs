//! Strings are found at any position among pages that lack them, and rows are the same if pages are searched for
//! strings before anything is decoded.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, BinaryArray, FixedSizeBinaryArray, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use lath_parquet::{ParquetFile, Pruning};
use lath_testkit::Seeded;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterVersion};

const ROWS: usize = 3_000;

/// Six letters, few of which repeat, or nothing: sometimes a string is the end of one value and the start of the next.
fn words(random: &mut fastrand::Rng) -> Vec<Option<String>> {
    let word = |random: &mut fastrand::Rng| (0..6).map(|_| random.choice(['a', 'b', 'c', 'd']).unwrap()).collect();
    (0..ROWS).map(|_| (random.u8(..8) > 0).then(|| word(random))).collect()
}

fn file(random: &mut fastrand::Rng, words: &[Option<String>]) -> ParquetFile {
    let bytes = || words.iter().map(|word| word.as_ref().map(String::as_bytes));
    let columns: [(&str, ArrayRef); 4] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..ROWS as i64))),
        ("text", Arc::new(StringArray::from_iter(words.iter()))),
        ("bytes", Arc::new(BinaryArray::from_iter(bytes()))),
        ("fixed", Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes(), 6).unwrap())),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let of_bytes = [Encoding::PLAIN, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY];
    let mut properties = WriterProperties::builder()
        .set_data_page_row_count_limit([1, 10, 64, 1000][random.usize(..4)])
        .set_write_batch_size([1, 10, 64][random.usize(..3)])
        .set_max_row_group_row_count(Some([500, 1_100, ROWS][random.usize(..3)]))
        .set_writer_version([WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0][random.usize(..2)])
        .set_compression([Compression::SNAPPY, Compression::UNCOMPRESSED][random.usize(..2)])
        // Large enough for some pages and not for others.
        .set_dictionary_page_size_limit([0, 200, 1 << 20][random.usize(..3)])
        .set_dictionary_enabled(random.bool());
    for column in ["text", "bytes"] {
        properties = properties.set_column_encoding(column.into(), of_bytes[random.usize(..3)]);
    }
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    ParquetFile::from_bytes(Bytes::from(bytes)).unwrap()
}

fn literal(column: &str, word: &str) -> String {
    match column {
        "text" => format!("'{word}'"),
        _ => format!("X'{}'", word.bytes().map(|byte| format!("{byte:02x}")).collect::<String>()),
    }
}

/// The ids of the rows that a scan of some rows finds.
fn found(random: &mut fastrand::Rng, file: &ParquetFile, condition: &str, from: u64) -> Vec<i64> {
    let pruning = if random.bool() { Pruning::default() } else { Pruning::none() };
    let scan = file.scan().filter(condition).unwrap().select(["id"]).pruning(pruning).rows(from..);
    let batches = scan.threads(random.usize(1..3)).batch_size([5, 100, 8192][random.usize(..3)]).build().unwrap();
    let ids = batches.map(|batch| batch.unwrap().column(0).as_primitive::<Int64Type>().values().to_vec());
    ids.collect::<Vec<_>>().concat()
}

#[test]
fn strings_are_found_wherever_they_stand() {
    let mut random = Seeded::new("strings_are_found_wherever_they_stand");
    let mut hits = 0;
    for _ in 0..60 {
        let words = words(&mut random);
        let file = file(&mut random, &words);
        for _ in 0..12 {
            let column = ["text", "bytes", "fixed"][random.usize(..3)];
            let word = |random: &mut fastrand::Rng| match random.u8(..4) {
                // A string that is no value, although two consecutive values may contain it across their border.
                0 => "dcbadc".chars().rev().collect(),
                _ => words[random.usize(..ROWS)].clone().unwrap_or_else(|| "absent".into()),
            };
            let (one, other): (String, String) = (word(&mut random), word(&mut random));
            let (a, b) = (literal(column, &one), literal(column, &other));
            type Holds = Box<dyn Fn(&str) -> bool>;
            let (condition, holds): (String, Holds) = match random.u8(..6) {
                0 => (format!("{column} = {a}"), Box::new(move |word| word == one)),
                1 => (format!("{column} IN ({a}, {b})"), Box::new(move |word| word == one || word == other)),
                2 => (format!("{column} = {a} OR {column} = {b}"), Box::new(move |word| word == one || word == other)),
                3 => {
                    (format!("{column} = {a} AND {column} > {b}"), Box::new(move |word| word == one && *word > *other))
                }
                4 => {
                    let list: Vec<String> = (0..random.usize(2..40)).map(|_| word(&mut random)).collect();
                    let literals: Vec<String> = list.iter().map(|word| literal(column, word)).collect();
                    let condition = format!("{column} IN ({})", literals.join(", "));
                    (condition, Box::new(move |word| list.iter().any(|listed| listed == word)))
                }
                _ => {
                    let part = one[1..5].to_owned();
                    (format!("text LIKE '%{part}%'"), Box::new(move |word| word.contains(&part)))
                }
            };
            let from = [0, random.u64(..ROWS as u64)][random.usize(..2)];
            let expected: Vec<i64> = (from as usize..ROWS)
                .filter(|&row| words[row].as_deref().is_some_and(&holds))
                .map(|row| row as i64)
                .collect();
            hits += expected.len();
            assert_eq!(found(&mut random, &file, &condition, from), expected, "{condition} from {from}");
        }
    }
    assert!(hits > 500, "{hits} rows found");
}
