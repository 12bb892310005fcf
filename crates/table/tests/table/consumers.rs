//! Consumers of the change feed: bootstraps, positions, retention, following.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field};
use lath_table::{ChangeRetention, Changes, ConsumerOptions, Database, Error, Table, TableOptions};
use lath_testkit::Seeded;

const SOON: Duration = Duration::from_millis(1);

fn batch(rows: &[(i64, i64)]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1)));
    RecordBatch::try_from_iter([("value", values), ("id", ids)]).unwrap()
}

fn numbered(ids: std::ops::Range<i64>) -> RecordBatch {
    batch(&ids.map(|id| (id, id)).collect::<Vec<_>>())
}

fn options() -> TableOptions {
    TableOptions::new().background(false)
}

fn new_table(folder: &std::path::Path) -> Table {
    Table::create(folder, &batch(&[]).schema(), &["id"], options()).unwrap()
}

/// Kind, sequence, key and value of a change.
type Row = (String, u64, i64, Option<i64>);

fn rows(batch: &RecordBatch) -> Vec<Row> {
    let (kinds, sequences) = (batch.column(0).as_string::<i32>(), batch.column(1).as_primitive::<UInt64Type>());
    let (values, ids) = (batch.column(2).as_primitive::<Int64Type>(), batch.column(3).as_primitive::<Int64Type>());
    let row = |at: usize| {
        let value = values.is_valid(at).then(|| values.value(at));
        (kinds.value(at).to_owned(), sequences.value(at), ids.value(at), value)
    };
    (0..batch.num_rows()).map(row).collect()
}

fn all(changes: &mut Changes) -> Vec<Row> {
    changes.flat_map(|batch| rows(&batch.unwrap())).collect()
}

fn apply(copy: &mut BTreeMap<i64, i64>, changes: &[Row]) {
    for (kind, _, id, value) in changes {
        match kind.as_str() {
            "delete" => _ = copy.remove(id),
            _ => _ = copy.insert(*id, value.unwrap()),
        }
    }
}

#[test]
fn the_rows_of_a_snapshot_come_before_the_changes_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let table = new_table(folder.path());
    table.upsert(&numbered(0..20_000)).unwrap();
    table.flush().unwrap();
    table.keep_changes(ChangeRetention::new()).unwrap();
    table.delete((0..10).collect::<Vec<i64>>()).unwrap();
    table.upsert(&batch(&[(11, -1), (50_000, 5)])).unwrap();
    let first = table.snapshot().unwrap();
    table.keep_snapshot("monday").unwrap();
    table.add_column(&Field::new("note", DataType::Int64, true), None).unwrap();
    table.delete([12]).unwrap();
    table.flush().unwrap();
    table.delete([50_000]).unwrap();
    for first in [first.clone(), table.snapshot_named("monday").unwrap()] {
        let now = table.snapshot().unwrap();
        let mut changes = now.changes_from(&first).unwrap();
        assert_eq!(changes.schema().fields().len(), 5, "rows of the snapshot have the schema of now");
        assert!(changes.resume_at() < first.version());
        let read = changes.next().unwrap().unwrap();
        assert!(changes.resume_at() < first.version(), "in the middle of the rows");
        let mut found = rows(&read);
        found.extend(all(&mut changes));
        assert_eq!(changes.resume_at(), now.version());
        let inserts: Vec<&Row> = found.iter().take(19_991).collect();
        assert!(inserts.iter().all(|row| row.0 == "insert" && row.1 == first.version()));
        assert_eq!(inserts.iter().map(|row| row.2).collect::<Vec<_>>().last(), Some(&50_000));
        let later: Vec<(&str, i64)> = found[19_991..].iter().map(|row| (row.0.as_str(), row.2)).collect();
        assert_eq!(later, [("delete", 12), ("delete", 50_000)]);
    }
    // Before the feed was turned on, there is no way to go on without a gap.
    table.drop_changes().unwrap();
    table.keep_changes(ChangeRetention::new()).unwrap();
    let too_early = table.snapshot().unwrap().changes_from(&first).unwrap_err();
    assert!(matches!(too_early, Error::NoChanges { kept_since: Some(_), .. }), "{too_early}");
}

#[test]
fn a_consumer_goes_on_where_it_has_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let table = new_table(folder.path());
    assert!(matches!(table.add_consumer("copy", ConsumerOptions::new()), Err(Error::NoChanges { .. })));
    table.keep_changes(ChangeRetention::new()).unwrap();
    table.upsert(&numbered(0..5)).unwrap();
    table.add_consumer("copy", ConsumerOptions::new()).unwrap();
    table.add_consumer("other", ConsumerOptions::new().bootstrap(true)).unwrap();
    let again = table.add_consumer("copy", ConsumerOptions::new()).unwrap_err().to_string();
    assert!(again.contains("already"), "{again}");
    table.upsert(&batch(&[(7, 7)])).unwrap();
    let mut changes = table.consume("copy").unwrap();
    assert_eq!(all(&mut changes).len(), 1);
    // It has acknowledged nothing: the change comes again.
    assert_eq!(all(&mut table.consume("copy").unwrap()).len(), 1);
    table.acknowledge("copy", changes.resume_at()).unwrap();
    drop(changes);
    assert!(all(&mut table.consume("copy").unwrap()).is_empty());
    let future = table.acknowledge("copy", 1_000).unwrap_err().to_string();
    assert!(future.contains("the last one is"), "{future}");
    let early = table.acknowledge("other", table.snapshot().unwrap().version()).unwrap_err().to_string();
    assert!(early.contains("read them first"), "{early}");
    // A position never goes back, and may be acknowledged again.
    let back = table.acknowledge("copy", 1).unwrap_err().to_string();
    assert!(back.contains("cannot go back to 1"), "{back}");
    table.acknowledge("copy", table.snapshot().unwrap().version()).unwrap();
    let copy = |table: &Table| table.consumers().unwrap().into_iter().find(|consumer| consumer.name == "copy").unwrap();
    let sequence = copy(&table).sequence;
    assert_eq!(sequence, table.snapshot().unwrap().version());
    drop(table);
    let table = Table::open_read_only(folder.path(), options()).unwrap();
    assert_eq!(copy(&table).sequence, sequence);
    let mut changes = table.consume("other").unwrap();
    assert_eq!(all(&mut changes).len(), 6);
    table.acknowledge("other", changes.resume_at()).unwrap();
    assert!(table.consumers().unwrap().iter().all(|consumer| !consumer.is_bootstrapping));
    drop((changes, table));
    let table = Table::open(folder.path(), options()).unwrap();
    let kept = table.drop_changes().unwrap_err().to_string();
    assert!(kept.contains("copy, other"), "{kept}");
    table.drop_consumer("other").unwrap();
    table.drop_consumer("copy").unwrap();
    table.drop_changes().unwrap();
    assert!(matches!(table.drop_consumer("copy"), Err(Error::Consumer { .. })));
    assert!(matches!(table.consume("copy"), Err(Error::Consumer { .. })));
    for name in ["", "a/b", "..", ".x", "é", &"x".repeat(101)] {
        assert!(matches!(table.add_consumer(name, ConsumerOptions::new()), Err(Error::Consumer { .. })), "{name}");
    }
}

/// A row that the first attempt has returned may be deleted before the second one.
#[test]
fn a_bootstrap_that_was_not_acknowledged_begins_again_without_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let table = new_table(folder.path());
    table.keep_changes(ChangeRetention::new()).unwrap();
    table.upsert(&numbered(0..20_000)).unwrap();
    table.add_consumer("copy", ConsumerOptions::new().bootstrap(true)).unwrap();
    table.delete([100]).unwrap();
    let mut copy = BTreeMap::new();
    let mut changes = table.consume("copy").unwrap();
    apply(&mut copy, &rows(&changes.next().unwrap().unwrap()));
    // Nothing is known to be complete yet.
    table.acknowledge("copy", changes.resume_at()).unwrap();
    drop(changes);
    assert!(copy.contains_key(&7) && !copy.contains_key(&100));
    table.delete([7]).unwrap();
    table.upsert(&batch(&[(8, -8)])).unwrap();
    let mut changes = table.consume("copy").unwrap();
    apply(&mut copy, &all(&mut changes));
    assert_eq!(copy.len(), 19_998);
    assert_eq!((copy.get(&7), copy.get(&8)), (None, Some(&-8)));
    table.acknowledge("copy", changes.resume_at()).unwrap();
    assert!(all(&mut table.consume("copy").unwrap()).is_empty());
}

#[test]
fn the_feed_keeps_what_a_consumer_needs_up_to_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let table = new_table(folder.path());
    table.keep_changes(ChangeRetention::new().rows(10)).unwrap();
    table.add_consumer("slow", ConsumerOptions::new().max_rows(100)).unwrap();
    table.add_consumer("slowest", ConsumerOptions::new().max_rows(50)).unwrap();
    for id in 0..50 {
        table.upsert(&numbered(id..id + 1)).unwrap();
    }
    assert_eq!(all(&mut table.consume("slowest").unwrap()).len(), 50);
    for id in 50..100 {
        table.upsert(&numbered(id..id + 1)).unwrap();
    }
    let mut changes = table.consume("slow").unwrap();
    let first = rows(&changes.next().unwrap().unwrap());
    assert_eq!(first.len(), 100);
    table.acknowledge("slow", changes.resume_at()).unwrap();
    drop(changes);
    table.upsert(&numbered(100..101)).unwrap();
    // Nothing else needs them now.
    let (count, _) = table.snapshot().unwrap().statistics().unwrap().changes.unwrap();
    assert_eq!(count, 10);
    let Err(cut_off) = table.consume("slowest") else { panic!("the changes are gone") };
    assert!(matches!(cut_off, Error::Consumer { .. }), "{cut_off}");
    assert!(cut_off.to_string().contains("more than 50 changes behind"), "{cut_off}");
    table.drop_consumer("slowest").unwrap();
}

#[test]
fn a_follower_acknowledges_what_it_has_returned_before() {
    let folder = tempfile::tempdir().unwrap();
    let table = new_table(folder.path());
    table.upsert(&numbered(0..10)).unwrap();
    table.keep_changes(ChangeRetention::new()).unwrap();
    let mut follower = table.follow("copy", ConsumerOptions::new().bootstrap(true)).unwrap();
    assert_eq!(rows(&follower.next(SOON).unwrap().unwrap()).len(), 10);
    drop(follower);
    // The program ended before it asked for more.
    let mut follower = table.follow("copy", ConsumerOptions::new()).unwrap();
    assert_eq!(rows(&follower.next(SOON).unwrap().unwrap()).len(), 10);
    assert!(follower.next(SOON).unwrap().is_none() && follower.next(SOON).unwrap().is_none());
    let other = table.clone();
    let writer = std::thread::spawn(move || {
        for id in 10..15 {
            other.upsert(&numbered(id..id + 1)).unwrap();
        }
        other.flush().unwrap();
    });
    let mut found = Vec::new();
    while found.len() < 5 {
        found.extend(follower.next(Duration::from_secs(60)).unwrap().iter().flat_map(rows));
    }
    writer.join().unwrap();
    assert_eq!(found.iter().map(|row| row.2).collect::<Vec<_>>(), [10, 11, 12, 13, 14]);
    while follower.next(SOON).unwrap().is_some() {}
    assert_eq!(follower.sequence(), table.snapshot().unwrap().version());
    assert_eq!(table.consumers().unwrap()[0].sequence, follower.sequence());
    let mut without = table.follow_since(follower.sequence());
    assert!(without.next(SOON).unwrap().is_none());
    table.delete([3]).unwrap();
    assert_eq!(rows(&without.next(SOON).unwrap().unwrap())[0].0, "delete");
}

/// Consumers that fail at random have what the table has in the end, and one that never fails gets each change once.
#[test]
fn copies_of_consumers_that_fail_are_complete() {
    let mut random = Seeded::new("consumers that fail");
    for _ in 0..8 {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::create(folder.path().join("shop"), options()).unwrap();
        let table = database.create_table("t", &batch(&[]).schema(), &["id"]).unwrap();
        let mut model: BTreeMap<i64, i64> = (0..9000).map(|id| (id, id)).collect();
        table.upsert(&numbered(0..9000)).unwrap();
        table.keep_changes(ChangeRetention::new().rows(random.u64(1..200))).unwrap();
        for name in ["fails", "works"] {
            table.add_consumer(name, ConsumerOptions::new().bootstrap(random.u8(..4) > 0 || name == "fails")).unwrap();
        }
        let is_bootstrapped = table.consumers().unwrap()[1].is_bootstrapping;
        let (mut copy, mut exact) = (BTreeMap::new(), if is_bootstrapped { BTreeMap::new() } else { model.clone() });
        let mut last = 0;
        for _ in 0..40 {
            let rows_of: Vec<(i64, i64)> =
                (0..random.usize(1..30)).map(|_| (random.i64(..9500), random.i64(..))).collect();
            table.upsert(&batch(&rows_of)).unwrap();
            model.extend(rows_of);
            let gone: Vec<i64> = (0..random.usize(..20)).map(|_| random.i64(..9500)).collect();
            gone.iter().for_each(|id| _ = model.remove(id));
            table.delete(gone).unwrap();
            if random.u8(..6) == 0 {
                table.flush().unwrap();
            }
            if random.bool() {
                let mut changes = table.consume("fails").unwrap();
                // It applies some batches, may fail before it acknowledges them, and forgets where it was.
                for _ in 0..random.usize(..4) {
                    let Some(batch) = changes.next() else { break };
                    apply(&mut copy, &rows(&batch.unwrap()));
                    if random.bool() {
                        table.acknowledge("fails", changes.resume_at()).unwrap();
                    }
                }
            }
            if random.bool() {
                let mut changes = table.consume("works").unwrap();
                let found = all(&mut changes);
                let is_first = last == 0 && is_bootstrapped;
                for (kind, sequence, id, _) in &found {
                    assert!(*sequence > last || is_first, "a change twice");
                    let is_there = exact.contains_key(id);
                    assert!(kind != "insert" || !is_there, "an insert of a known row");
                    assert!(kind == "insert" || is_there, "a gap");
                    apply(&mut exact, &[(kind.clone(), *sequence, *id, Some(0))]);
                }
                apply(&mut exact, &found);
                last = changes.resume_at();
                table.acknowledge("works", last).unwrap();
            }
        }
        for (name, copy) in [("fails", &mut copy), ("works", &mut exact)] {
            let mut changes = table.consume(name).unwrap();
            apply(copy, &all(&mut changes));
            assert!(*copy == model, "{name}");
        }
        // A backup begins without consumers.
        database.backup(folder.path().join("backup")).unwrap();
        let backup = Database::open_read_only(folder.path().join("backup"), options()).unwrap();
        assert!(backup.table("t").unwrap().consumers().unwrap().is_empty());
        assert!(table.check().unwrap().is_intact());
        drop(table);
        database.drop_table("t").unwrap();
        database.vacuum().unwrap();
        assert!(!folder.path().join("shop/table-000001").exists());
    }
}
