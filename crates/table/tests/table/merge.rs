//! Rejected merges, and the columns that a source needs.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use lath_table::{Error, MergeWhen, Predicate, Table, TableOptions, WhenMatched, WhenNotMatched};

fn batch(names: [&str; 3], rows: &[[i64; 3]]) -> RecordBatch {
    let column = |at: usize| Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row[at]))) as ArrayRef;
    RecordBatch::try_from_iter(names.into_iter().enumerate().map(|(at, name)| (name, column(at)))).unwrap()
}

fn table(folder: &std::path::Path) -> Table {
    let rows = batch(["item", "count", "price"], &[[1, 10, 100], [2, 20, 200], [3, 30, 300]]);
    let table = Table::create(folder, &rows.schema(), &["item"], TableOptions::new().background(false)).unwrap();
    table.upsert(&rows).unwrap();
    table.flush().unwrap();
    table
}

fn rows(table: &Table) -> Vec<[i64; 3]> {
    let batches = table.range::<i64>(..).unwrap().build().unwrap().map(Result::unwrap);
    let row =
        |batch: &RecordBatch, row| [0, 1, 2].map(|column| batch.column(column).as_primitive::<Int64Type>().value(row));
    batches.flat_map(|batch| (0..batch.num_rows()).map(|at| row(&batch, at)).collect::<Vec<_>>()).collect()
}

#[test]
fn a_source_needs_only_the_columns_that_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path());
    // `change` is not a column of the table: only the condition uses it.
    let source = batch(["change", "price", "item"], &[[1, 111, 1], [0, 222, 2], [1, 999, 9], [1, 112, 1]]);
    let when = MergeWhen::new()
        .matched(WhenMatched::Update(vec!["price".to_owned()]))
        .not_matched(WhenNotMatched::Ignore)
        .if_source(Predicate::parse("change = 1").unwrap());
    let merged = table.merge(&source, &when).unwrap();
    assert_eq!((merged.inserted, merged.updated, merged.deleted), (0, 1, 0));
    assert_eq!(rows(&table), [[1, 10, 112], [2, 20, 200], [3, 30, 300]]);

    let when = MergeWhen::new()
        .matched(WhenMatched::Delete)
        .not_matched(WhenNotMatched::Ignore)
        .if_table(Predicate::parse("count >= 20").unwrap());
    let merged = table.merge(&source, &when).unwrap();
    assert_eq!((merged.inserted, merged.updated, merged.deleted), (0, 0, 1));
    assert_eq!(rows(&table), [[1, 10, 112], [3, 30, 300]]);
}

#[test]
fn a_merge_that_is_refused_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path());
    let version = table.snapshot().unwrap().version();
    let source = batch(["item", "count", "price"], &[[1, 0, 0], [9, 0, 0]]);
    let of_key = MergeWhen::new().matched(WhenMatched::Update(vec!["item".to_owned()]));
    let error = table.merge(&source, &of_key).unwrap_err();
    assert!(error.to_string().contains("part of the key"), "{error}");
    let of_none = MergeWhen::new().matched(WhenMatched::Update(vec!["weight".to_owned()]));
    assert!(matches!(table.merge(&source, &of_none), Err(Error::Batch { .. })));
    let lacking = source.project(&[0, 1]).unwrap();
    let error = table.merge(&lacking, &MergeWhen::new()).unwrap_err();
    assert!(error.to_string().contains("\"price\""), "{error}");
    let condition = Predicate::parse("weight = 1").unwrap();
    assert!(table.merge(&source, &MergeWhen::new().if_source(condition.clone())).is_err());
    assert!(table.merge(&source, &MergeWhen::new().if_table(condition)).is_err());
    let nothing = MergeWhen::new().matched(WhenMatched::Keep).not_matched(WhenNotMatched::Ignore);
    let merged = table.merge(&source, &nothing).unwrap();
    assert_eq!((merged.inserted, merged.updated, merged.deleted), (0, 0, 0));
    assert_eq!(table.snapshot().unwrap().version(), version);
    assert_eq!(rows(&table), [[1, 10, 100], [2, 20, 200], [3, 30, 300]]);
}
