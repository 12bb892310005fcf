//! The conformance files: lookups of present and absent values.

use std::path::PathBuf;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Schema};
use lath_kernels::compare::Comparison;
use lath_predicate::{BoundPredicate, Test, Value, ValueSet, ValueTest, test_values};
use lath_testkit::{Seeded, parquet_test_data};

use super::super::{PruneReport, prune};
use super::columns::{elements, value};
use super::{bound, check, prunings};
use crate::ParquetFile;

fn files(folder: &str) -> Vec<PathBuf> {
    let Some(data) = parquet_test_data() else { return Vec::new() };
    let entries = std::fs::read_dir(data.join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "parquet")).collect();
    files.sort();
    files
}

/// All columns for predicates: the root columns, and fields of structs.
fn names(schema: &Schema) -> Vec<String> {
    fn below(path: String, data_type: &DataType, names: &mut Vec<String>) {
        match data_type {
            DataType::Struct(fields) => {
                for field in fields {
                    below(format!("{path}.\"{}\"", field.name().replace('"', "\"\"")), field.data_type(), names);
                }
            }
            _ => names.push(path),
        }
    }
    let mut names = Vec::new();
    for field in schema.fields() {
        below(format!("\"{}\"", field.name().replace('"', "\"\"")), field.data_type(), &mut names);
    }
    names
}

/// A value that is probably not there.
fn absent(value: &Value) -> Option<Value> {
    match value {
        Value::Int(value) => Some(Value::Int(value + 1)),
        Value::Float(value) => Some(Value::Float(value * 1.5 + 0.25)),
        Value::Bytes(bytes) => {
            let mut bytes = bytes.to_vec();
            *bytes.last_mut()? ^= 1;
            Some(Value::Bytes(bytes.into()))
        }
        Value::Boolean(_) | Value::Wide(_) => None,
    }
}

fn tests(values: &[Value], is_list: bool) -> Vec<ValueTest> {
    let mut tests = vec![ValueTest::IsNull];
    for one in values {
        if is_list {
            tests.push(ValueTest::Contains(one.clone()));
            continue;
        }
        for op in [Comparison::Equal, Comparison::Less] {
            tests.push(ValueTest::Compare(op, one.clone()));
        }
    }
    if let ([first, .., last], false) = (values, is_list) {
        tests.push(ValueTest::Between(first.clone().min(last.clone()), first.clone().max(last.clone())));
        tests.push(ValueTest::In(ValueSet::new(values.to_vec())));
    }
    tests
}

/// Some rows of the column of a predicate, if all of them can be read.
fn operand(file: &ParquetFile, predicate: &BoundPredicate) -> Option<ArrayRef> {
    let column = predicate.columns.first()?;
    let batches = file.scan().select([column.names.join(".")]).batch_size(1000).build().ok()?;
    let batches = batches.collect::<Result<Vec<_>, _>>().ok()?;
    column.operand(batches.first()?).ok()
}

#[test]
fn what_is_there_is_found_in_every_conformance_file() {
    let mut random = Seeded::new("what_is_there_is_found_in_every_conformance_file");
    let mut all = PruneReport::default();
    for path in files("data") {
        // Some are encrypted or unsupported; other tests check these.
        let Ok(file) = ParquetFile::open(&path) else { continue };
        if file.row_count() > 1_000 {
            continue;
        }
        for name in names(file.schema()) {
            let predicate = bound(&file, &format!("{name} IS NULL"));
            let Some(operand) = operand(&file, &predicate) else { continue };
            if predicate.columns.iter().any(|column| column.leaf.is_none()) {
                continue;
            }
            let elements = elements(&operand);
            let rows = (0..elements.len().min(2)).map(|_| random.usize(..elements.len()));
            let mut values: Vec<Value> = rows.filter_map(|row| value(&elements, row)).collect();
            values.extend(values.first().and_then(absent));
            let is_list = matches!(operand.data_type(), DataType::List(_));
            for test in tests(&values, is_list) {
                if test_values(&test, &operand).is_ok() {
                    let predicate = predicate.with_test(Test::Values { column: 0, test: test.clone() });
                    all += check(&file, &predicate, &(path.display(), &name, test));
                }
            }
        }
    }
    if parquet_test_data().is_some() {
        assert!(all.statistics.row_groups > 0 && all.page_index.rows > 0, "{all:?}");
    }
}

#[test]
fn files_that_are_malformed_are_pruned_without_panic() {
    for path in files("bad_data") {
        let Ok(file) = ParquetFile::open(&path) else { continue };
        let row_groups: Vec<usize> = (0..file.row_group_row_counts().len()).collect();
        for name in names(file.schema()) {
            let predicate = bound(&file, &format!("{name} IS NULL"));
            for test in tests(&[Value::Int(5), Value::Int(7)], false) {
                let predicate = predicate.with_test(Test::Values { column: 0, test });
                for (_, pruning) in prunings() {
                    let _ = prune(&file, &predicate, &row_groups, &pruning, &mut PruneReport::default());
                }
            }
        }
    }
}
