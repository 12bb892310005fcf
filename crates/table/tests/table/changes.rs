//! The change feed of a table: changes of commits, of transactions, and of other processes' commits.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use lath_table::{ChangeRetention, Error, Predicate, Table, TableOptions};

fn batch(rows: &[(i64, i64)]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1)));
    RecordBatch::try_from_iter([("value", values), ("id", ids)]).unwrap()
}

fn options() -> TableOptions {
    TableOptions::new().background(false)
}

/// Kind, key and new value of each change since a sequence.
fn changes(table: &Table, since: u64) -> Vec<(String, i64, Option<i64>)> {
    let mut found = Vec::new();
    for batch in table.snapshot().unwrap().changes(since).unwrap() {
        let batch = batch.unwrap();
        let (values, ids) = (batch.column(2).as_primitive::<Int64Type>(), batch.column(3).as_primitive::<Int64Type>());
        for row in 0..batch.num_rows() {
            let value = values.is_valid(row).then(|| values.value(row));
            found.push((batch.column(0).as_string::<i32>().value(row).to_owned(), ids.value(row), value));
        }
    }
    found
}

fn change(kind: &str, id: i64, value: Option<i64>) -> (String, i64, Option<i64>) {
    (kind.to_owned(), id, value)
}

#[test]
fn a_transaction_has_one_change_of_a_row() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::create(folder.path(), &batch(&[]).schema(), &["id"], options()).unwrap();
    table.upsert(&batch(&[(1, 1), (2, 2), (3, 3), (4, 4)])).unwrap();
    table.flush().unwrap();
    assert!(matches!(table.snapshot().unwrap().changes(0), Err(Error::NoChanges { kept_since: None, .. })));
    table.keep_changes(ChangeRetention::new()).unwrap();
    let since = table.snapshot().unwrap().version();
    assert!(matches!(table.snapshot().unwrap().changes(since - 1), Err(Error::NoChanges { kept_since: Some(_), .. })));
    assert!(changes(&table, since).is_empty());

    let mut transaction = table.begin().unwrap();
    transaction.delete([1]).unwrap();
    transaction.upsert(&batch(&[(1, 10), (5, 5), (6, 6), (6, 60)])).unwrap();
    transaction.delete([5, 9]).unwrap();
    transaction.upsert(&batch(&[(2, 20)])).unwrap();
    transaction.delete_where(&Predicate::parse("value = 20 OR value = 3").unwrap()).unwrap();
    transaction.commit().unwrap();
    let expected = [
        change("update", 1, Some(10)),
        change("delete", 2, None),
        change("delete", 3, None),
        change("insert", 6, Some(60)),
    ];
    assert_eq!(changes(&table, since), expected);

    // Neither files nor reopening affect the changes, and a rolled-back transaction makes none.
    drop(table.begin().unwrap().upsert(&batch(&[(7, 7)])));
    table.flush().unwrap();
    table.compact().unwrap();
    drop(table);
    let table = Table::open(folder.path(), options()).unwrap();
    assert_eq!(changes(&table, since), expected);
    let later = table.snapshot().unwrap().version();
    assert!(changes(&table, later).is_empty());
    table.upsert(&batch(&[(4, 40)])).unwrap();
    assert_eq!(changes(&table, later), [change("update", 4, Some(40))]);
    assert!(table.check().unwrap().is_intact());

    let beside = Table::open_read_only(folder.path(), options()).unwrap();
    assert_eq!(changes(&beside, later), [change("update", 4, Some(40))]);
    let newest = table.snapshot().unwrap();
    assert!(matches!(newest.changes(newest.version() + 1), Err(Error::NoChanges { .. })));
    table.drop_changes().unwrap();
    assert!(matches!(table.snapshot().unwrap().changes(later), Err(Error::NoChanges { kept_since: None, .. })));
    // A snapshot keeps its own changes.
    assert_eq!(newest.changes(later).unwrap().map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 1);
}

#[test]
fn old_changes_are_removed_by_commits_and_by_rows() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::create(folder.path(), &batch(&[]).schema(), &["id"], options()).unwrap();
    let sequences = |table: &Table| -> Vec<u64> {
        let snapshot = table.snapshot().unwrap();
        let Err(Error::NoChanges { kept_since: Some(kept), .. }) = snapshot.changes(0) else { panic!() };
        let batches = snapshot.changes(kept).unwrap().map(Result::unwrap);
        batches.flat_map(|batch| batch.column(1).as_primitive::<UInt64Type>().values().to_vec()).collect()
    };
    table.keep_changes(ChangeRetention::new().rows(5)).unwrap();
    let start = table.snapshot().unwrap().version();
    for commit in 0..4 {
        table.upsert(&batch(&[(commit, 0), (commit + 10, 0)])).unwrap();
    }
    assert_eq!(sequences(&table), [start + 3, start + 3, start + 4, start + 4]);
    // Commits are kept whole, and the newest one is always kept.
    table.upsert(&batch(&(0..8).map(|id| (id, 1)).collect::<Vec<_>>())).unwrap();
    assert_eq!(sequences(&table), [start + 5; 8]);
    table.keep_changes(ChangeRetention::new().commits(3)).unwrap();
    for id in 0..4 {
        table.upsert(&batch(&[(id, 2)])).unwrap();
    }
    assert_eq!(sequences(&table), [start + 8, start + 9, start + 10]);

    let clash = RecordBatch::try_from_iter([("_change", batch(&[]).column(0).clone())]).unwrap();
    let clashing = Table::create(folder.path().join("clash"), &clash.schema(), &["_change"], options()).unwrap();
    assert!(matches!(clashing.keep_changes(ChangeRetention::new()), Err(Error::Schema { .. })));
}
