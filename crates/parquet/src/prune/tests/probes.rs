//! Requests and bytes read by lookups of keys.

use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeBinaryArray, Int64Array, RecordBatch};
use bytes::Bytes;
use lath_predicate::{BoundPredicate, Test, ValueTest};

use super::super::{PruneReport, Pruning, Surviving, prune};
use super::bound;
use crate::ParquetFile;
use crate::filters::FilterMemory;
use lath_source::{CountingSource, Traffic};
use lath_writer::{BloomFilter, ColumnOptions, ParquetWriter, WriteOptions};

const ROWS: usize = 3000;

fn key(row: usize) -> [u8; 16] {
    (row as u128).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835).to_le_bytes()
}

fn hex(row: usize) -> String {
    let digits: String = key(row).iter().map(|byte| format!("{byte:02X}")).collect();
    format!("X'{digits}'")
}

/// Three row groups of keys in random order, with filters of `filter_bytes` each.
fn written(filter_bytes: usize) -> Bytes {
    let keys = FixedSizeBinaryArray::try_from_iter((0..ROWS).map(key)).unwrap();
    let numbers = Int64Array::from_iter_values((0..ROWS as i64).map(|row| row * 7919 % ROWS as i64));
    let columns: [(&str, ArrayRef); 2] = [("key", Arc::new(keys)), ("n", Arc::new(numbers))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let column = ColumnOptions::new().bloom_filter(BloomFilter::Bytes(filter_bytes)).dictionary(false);
    let options = WriteOptions::default().row_group_rows(ROWS / 3).all_columns(column);
    let mut bytes = Vec::new();
    let mut writer = ParquetWriter::new(&mut bytes, &batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    bytes.into()
}

struct ProbedFile {
    file: ParquetFile,
    traffic: Arc<Traffic>,
    pruning: Pruning,
}

impl ProbedFile {
    fn new(bytes: Bytes) -> Self {
        let traffic = Arc::new(Traffic::default());
        let file =
            ParquetFile::from_source(Arc::new(CountingSource::new(Arc::new(bytes), Arc::clone(&traffic)))).unwrap();
        Self { file, traffic, pruning: Pruning { bloom: true, ..Pruning::none() } }
    }

    /// The remaining row groups with their tests, and the requests and bytes that it took.
    fn left(&self, predicate: &BoundPredicate) -> (Vec<(usize, Test)>, u64, u64) {
        let (requests, bytes) = (self.traffic.requests(), self.traffic.bytes());
        let left = prune(&self.file, predicate, &[0, 1, 2], &self.pruning, &mut PruneReport::default()).unwrap();
        let left = left.into_iter().map(|Surviving { row_group, test, .. }| (row_group, (*test).clone())).collect();
        (left, self.traffic.requests() - requests, self.traffic.bytes() - bytes)
    }
}

#[test]
fn a_key_costs_a_block_of_each_filter_and_headers_are_read_once() {
    let probed = ProbedFile::new(written(1 << 15));
    let of = |row: usize| bound(&probed.file, &format!("key = {}", hex(row)));
    let row_groups = |(left, requests, bytes): (Vec<(usize, Test)>, u64, u64)| {
        (left.into_iter().map(|(row_group, _)| row_group).collect::<Vec<_>>(), requests, bytes)
    };
    assert_eq!(row_groups(probed.left(&of(1500))), (vec![1], 6, 3 * (64 + 32)));
    assert_eq!(row_groups(probed.left(&of(2500))), (vec![2], 3, 3 * 32));
    assert_eq!(row_groups(probed.left(&of(ROWS))), (vec![], 3, 3 * 32));
}

#[test]
fn lists_are_narrowed_to_the_keys_that_may_be_there() {
    for filter_bytes in [32, 1 << 12, 1 << 16] {
        let probed = ProbedFile::new(written(filter_bytes));
        let list: Vec<String> = [10, 20, 1500, 9999].map(hex).to_vec();
        let (left, _, _) = probed.left(&bound(&probed.file, &format!("n >= 0 AND key IN ({})", list.join(", "))));
        if filter_bytes == 32 {
            assert_eq!(left.len(), 3, "a filter of one block is full");
            continue;
        }
        let lens: Vec<(usize, usize)> = left
            .iter()
            .map(|(row_group, test)| {
                let Test::All(parts) = test else { unreachable!("{test:?}") };
                let mut parts = parts.iter().filter_map(|part| match part {
                    Test::Values { test: ValueTest::In(set), .. } => Some(set.values().len()),
                    _ => None,
                });
                (*row_group, parts.next().unwrap())
            })
            .collect();
        assert_eq!(lens, [(0, 2), (1, 1)], "{filter_bytes}");
    }
}

#[test]
fn filters_that_are_short_beside_the_blocks_are_read_whole() {
    let probed = ProbedFile::new(written(1 << 12));
    let list: Vec<String> = (0..50).map(hex).collect();
    let (left, requests, bytes) = probed.left(&bound(&probed.file, &format!("key IN ({})", list.join(", "))));
    assert_eq!(left.len(), 1);
    assert_eq!(requests, 3);
    assert!((3 * 4096..3 * 4200).contains(&bytes), "{bytes}");
}

#[test]
fn kept_filters_are_read_once_and_as_far_as_memory_goes() {
    let mut probed = ProbedFile::new(written(1 << 15));
    let memory = Arc::new(FilterMemory::new(2 << 15));
    probed.pruning.filter_memory = Some(Arc::clone(&memory));
    let predicate = bound(&probed.file, &format!("key = {}", hex(2500)));
    let (left, _, bytes) = probed.left(&predicate);
    assert_eq!((left.len(), memory.used()), (1, 2 << 15));
    assert!(bytes > 2 << 15 && bytes < 3 << 15);
    // Two are in memory, of the third a block is read.
    let (left, requests, bytes) = probed.left(&predicate);
    assert_eq!((left.len(), requests, bytes), (1, 1, 32));
    drop(probed);
    assert_eq!(memory.used(), 0);
}

#[test]
fn filters_are_not_asked_where_they_decide_nothing() {
    let probed = ProbedFile::new(written(1 << 15));
    for text in ["key = K OR n > 5", "NOT key = K", "key <> K", "(key = K) IS NULL", "key > K"] {
        let predicate = bound(&probed.file, &text.replace('K', &hex(1500)));
        assert_eq!(probed.left(&predicate).1, 0, "{text}");
    }
    for text in ["key = K OR n = 99999", "(key = K) IS TRUE", "key = K AND n > 5"] {
        let predicate = bound(&probed.file, &text.replace('K', &hex(1500)));
        let (left, requests, _) = probed.left(&predicate);
        assert!(requests > 0, "{text}");
        assert_eq!(left.len(), 1, "{text}");
    }
}
