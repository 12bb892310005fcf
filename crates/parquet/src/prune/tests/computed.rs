//! Filters that are computed from values scanned for keys without a match.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::DataType;
use bytes::Bytes;

use super::super::bloom::ComputedFilter;
use super::super::column::PreparedColumn;
use super::super::{PruneReport, Pruning, key_leaf, prune};
use super::columns::{array, types, value};
use super::{bound, check};
use crate::filters::FilterMemory;
use crate::{ParquetFile, ScanReport};
use lath_kernels::compare::Comparison;
use lath_predicate::{Test, ValueTest};
use lath_writer::{BloomFilter, ColumnOptions, ParquetWriter, WriteOptions};

const ROW_GROUPS: usize = 3;

/// Columns in three row groups, without filters or with ones that are too small to rule anything out.
fn written(columns: Vec<(&str, ArrayRef)>, has_filter: bool) -> ParquetFile {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut column = ColumnOptions::new().dictionary(false);
    if has_filter {
        column = column.bloom_filter(BloomFilter::Bytes(32));
    }
    let options = WriteOptions::default().row_group_rows(batch.num_rows() / ROW_GROUPS).all_columns(column);
    let mut bytes = Vec::new();
    let mut writer = ParquetWriter::new(&mut bytes, &batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    ParquetFile::from_bytes(Bytes::from(bytes)).unwrap()
}

fn filters_alone(memory: &Arc<FilterMemory>) -> Pruning {
    Pruning { bloom: true, filter_memory: Some(Arc::clone(memory)), ..Pruning::none() }
}

/// Computes filters of the only column; returns whether its values can be hashed.
fn compute(file: &ParquetFile, memory: &Arc<FilterMemory>, text: &str) -> bool {
    let predicate = bound(file, text);
    let Some(kind) = PreparedColumn::new(file, &predicate.columns[0]).keys else { return false };
    (0..ROW_GROUPS).all(|row_group| {
        let start = || ComputedFilter::after_empty_scan(file, 0, kind, row_group, memory);
        assert!(start().is_none(), "the first time");
        let mut filter = start().expect("the second time");
        let mut batches = file.scan().row_groups([row_group]).batch_size(17).build().unwrap();
        let all = batches.all(|batch| filter.add(batch.unwrap().column(0)).unwrap());
        if all {
            filter.finish();
        }
        all
    })
}

#[test]
fn values_of_every_type_are_in_their_computed_filters() {
    use DataType as D;
    // Types whose stored bytes differ from the array's, and types that cannot be keys.
    let without = |data_type: &DataType| {
        matches!(
            data_type,
            D::Boolean
                | D::Int8
                | D::Int16
                | D::UInt8
                | D::UInt16
                | D::Float16
                | D::Dictionary(..)
                | D::Decimal128(..)
                | D::Decimal256(..)
        )
    };
    for data_type in types() {
        // Every third step of 180, in no order, and nulls.
        let steps: Vec<Option<i64>> = (0..66).map(|row| (row % 11 > 0).then_some(row * 17 % 60 * 3)).collect();
        for has_filter in [false, true] {
            let file = written(vec![("c", array(&data_type, &steps))], has_filter);
            let memory = Arc::new(FilterMemory::new(u64::MAX));
            assert_eq!(compute(&file, &memory, "c IS NULL"), !without(&data_type), "{data_type}");
            let predicate = bound(&file, "c IS NULL");
            let every = array(&data_type, &(0..180).map(Some).collect::<Vec<_>>());
            let mut ruled_out = 0;
            for step in 0..180 {
                let test = ValueTest::Compare(Comparison::Equal, value(&every, step).unwrap());
                let predicate = predicate.with_test(Test::Values { column: 0, test });
                check(&file, &predicate, &(&data_type, step));
                let mut report = PruneReport::default();
                prune(&file, &predicate, &[0, 1, 2], &filters_alone(&memory), &mut report).unwrap();
                ruled_out += report.bloom.row_groups;
            }
            if !without(&data_type) {
                // About a third of the 540 absent keys lie where the values of another row group are.
                assert!(ruled_out > 400, "{ruled_out} of {data_type}, {has_filter}");
            }
        }
    }
}

fn key(row: usize) -> String {
    format!("key {:x}", (row as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

fn keys(has_filter: bool) -> ParquetFile {
    let text = StringArray::from_iter_values((0..3000).map(key));
    let number = Int64Array::from_iter_values((0..3000).map(|row| row * 7919 % 3000));
    written(vec![("key", Arc::new(text)), ("n", Arc::new(number))], has_filter)
}

fn find(file: &ParquetFile, condition: &str, pruning: &Pruning, threads: usize) -> (usize, ScanReport) {
    let scan = file.scan().filter(condition).unwrap().pruning(pruning.clone()).threads(threads);
    let mut batches = scan.build().unwrap();
    let rows = batches.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
    (rows, batches.report())
}

#[test]
fn a_row_group_that_was_scanned_twice_without_a_match_is_ruled_out() {
    let equal = |row: usize| format!("key = '{}'", key(row));
    for (has_filter, threads) in [(false, 1), (false, 2), (true, 1), (true, 2)] {
        for condition in [equal(9999), format!("n >= 0 AND key IN ('{}', '{}')", key(7777), key(8888))] {
            let file = keys(has_filter);
            let memory = Arc::new(FilterMemory::new(u64::MAX));
            let pruning = filters_alone(&memory);
            for rows_tested in [3000, 3000, 0, 0] {
                let (rows, report) = find(&file, &condition, &pruning, threads);
                assert_eq!((rows, report.rows_tested), (0, rows_tested), "{condition}, {has_filter}");
                assert_eq!(report.pruned.bloom.rows, 3000 - rows_tested);
            }
            assert_eq!(memory.used(), 3 * 1024 + if has_filter { 3 * 32 } else { 0 });
            // All keys are still found, by themselves and in lists.
            let mut tested = 0;
            for row in (0..3000).step_by(37) {
                let (rows, report) = find(&file, &equal(row), &pruning, threads);
                assert_eq!(rows, 1);
                tested += report.rows_tested;
                let list = format!("key IN ('{}', '{}', '{}')", key(row), key(row / 2), key(row + 5000));
                assert_eq!(find(&file, &list, &pruning, threads).0, if row == 0 { 1 } else { 2 });
            }
            assert!(tested < 100_000, "{tested} of 246,000 rows");
        }
    }
}

#[test]
fn a_second_filter_is_computed_if_the_first_has_too_many_false_positives() {
    let file = keys(false);
    let memory = Arc::new(FilterMemory::new(u64::MAX));
    let pruning = filters_alone(&memory);
    let tested = |keys: std::ops::Range<usize>| -> u64 {
        keys.map(|row| find(&file, &format!("key = '{}'", key(row)), &pruning, 1).1.rows_tested).sum()
    };
    tested(5000..5002);
    assert_eq!(memory.used(), 3 * 1024);
    let with_one = tested(6000..6300);
    assert!((1000..60_000).contains(&with_one), "{with_one} of 900,000 rows");
    assert_eq!(memory.used(), 6 * 1024);
    let with_two = tested(7000..7300);
    assert!(with_two <= 4000, "{with_two}");
}

#[test]
fn no_filter_is_computed_where_that_is_off_or_memory_is_short() {
    let no_filters = |pruning: &mut Pruning| pruning.computed_filters = false;
    let no_bloom = |pruning: &mut Pruning| pruning.bloom = false;
    let no_memory = |pruning: &mut Pruning| pruning.filter_memory = None;
    let no_room = |pruning: &mut Pruning| pruning.filter_memory = Some(Arc::new(FilterMemory::new(1000)));
    let changes: [fn(&mut Pruning); 4] = [no_filters, no_bloom, no_memory, no_room];
    for change in changes {
        let file = keys(false);
        let mut pruning = filters_alone(&Arc::new(FilterMemory::new(u64::MAX)));
        change(&mut pruning);
        for _ in 0..6 {
            let (rows, report) = find(&file, "key = 'absent'", &pruning, 2);
            assert_eq!((rows, report.rows_tested), (0, 3000));
        }
    }
    // Other tests compute none, nor do scans that did not test all rows.
    let file = keys(false);
    let memory = Arc::new(FilterMemory::new(u64::MAX));
    let pruning = filters_alone(&memory);
    for condition in ["key > 'z'", "key = 'absent' OR n = -1", "n >= 5000 AND key = 'absent'", "key LIKE 'absent%'"] {
        (0..6).for_each(|_| assert_eq!(find(&file, condition, &pruning, 1).0, 0));
        let is_by_number = condition.starts_with("n >=");
        assert!(memory.used() == 0 || is_by_number, "{condition}");
    }
    assert!(key_leaf(&file, &bound(&file, "key = 'a' AND n = 5")).is_none());
}
