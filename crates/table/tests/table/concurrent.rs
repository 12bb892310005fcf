//! Changes while rows are flushed and files are merged, and snapshots while files are dropped.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use lath_table::{Durability, Predicate, Snapshot, Table, TableOptions};
use lath_testkit::Seeded;

use crate::rows::id_values as batch;

const ROWS: i64 = 4000;

fn table(folder: &std::path::Path) -> Table {
    let options = TableOptions::new().background(false).durability(Durability::Off).merge_files(2).file_rows(3000);
    Table::create(folder, &batch([]).schema(), &["id"], options).unwrap()
}

fn read_rows(snapshot: &Snapshot) -> BTreeMap<i64, i64> {
    let mut rows = BTreeMap::new();
    for batch in snapshot.scan().build().unwrap() {
        let batch = batch.unwrap();
        let column = |at: usize| batch.column(at).as_primitive::<Int64Type>().values().to_vec();
        for (id, value) in column(0).into_iter().zip(column(1)) {
            assert!(rows.insert(id, value).is_none(), "{id} twice");
        }
    }
    assert_eq!(snapshot.count().unwrap(), rows.len() as u64);
    rows
}

/// Changes the table while `work` runs, and compares. Returns the number of changes made meanwhile.
fn change_during(table: &Table, random: &mut Seeded, work: impl Fn(&Table) + Sync) -> u64 {
    change_in_kinds_during(table, random, 4, work)
}

/// Like [`change_during`], with only the first `kinds` of upserts, deletes by a condition, and deletes by key.
fn change_in_kinds_during(table: &Table, random: &mut Seeded, kinds: u8, work: impl Fn(&Table) + Sync) -> u64 {
    let mut expected = read_rows(&table.snapshot().unwrap());
    let mut changes = 0;
    std::thread::scope(|scope| {
        let working = scope.spawn(|| work(table));
        while !working.is_finished() {
            let id = random.i64(0..ROWS);
            match random.u8(..kinds) {
                0 => {
                    table.upsert(&batch([(id, -id)])).unwrap();
                    expected.insert(id, -id);
                }
                1 => {
                    let condition = format!("id >= {id} AND id < {}", id + 3);
                    table.delete_where(&Predicate::parse(&condition).unwrap()).unwrap();
                    expected.retain(|other, _| !(id..id + 3).contains(other));
                }
                _ => {
                    table.delete([id]).unwrap();
                    expected.remove(&id);
                }
            }
            changes += 1;
        }
    });
    assert!(read_rows(&table.snapshot().unwrap()) == expected, "after {changes} changes");
    changes
}

#[test]
fn changes_during_a_flush_and_a_merge_are_kept() {
    let mut random = Seeded::new("changes during a flush and a merge are kept");
    let (mut in_flushes, mut in_merges, mut rounds) = (0, 0, 0);
    // On a busy machine, work may finish before a change is made.
    while rounds < 12 || (in_flushes <= 12 || in_merges <= 12) && rounds < 200 {
        rounds += 1;
        let folder = tempfile::tempdir().unwrap();
        let table = table(folder.path());
        // No file has these keys, so deleting one leaves no tombstone.
        table.upsert(&batch((0..ROWS).map(|id| (id, id)))).unwrap();
        in_flushes += change_during(&table, &mut random, |table| assert!(table.flush().unwrap().files > 0));
        table.upsert(&batch((0..ROWS).step_by(2).map(|id| (id, id + 1)))).unwrap();
        in_flushes += change_during(&table, &mut random, |table| assert!(table.flush().unwrap().files > 0));
        in_merges += change_during(&table, &mut random, |table| assert!(table.compact().unwrap().merges > 0));
        // Without deletes a flush does not look for tombstones.
        table.upsert(&batch((0..ROWS).map(|id| (id, id + 2)))).unwrap();
        in_flushes += change_in_kinds_during(&table, &mut random, 1, |table| assert!(table.flush().unwrap().files > 0));
        table.flush().unwrap();
        let report = table.check().unwrap();
        assert!(report.is_intact(), "{report:?}");
    }
    assert!(in_flushes > 12 && in_merges > 12, "{in_flushes} {in_merges}");
}

#[test]
fn hot_rows_become_files_while_files_are_merged() {
    const FLUSH_ROWS: u64 = 1000;
    const ALL: i64 = 100_000;
    let mut random = Seeded::new("hot rows become files while files are merged");
    for is_clustered in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let options = TableOptions::new().durability(Durability::Off).flush_rows(FLUSH_ROWS).merge_files(1000);
        let table = Table::create(folder.path(), &batch([]).schema(), &["id"], options).unwrap();
        if is_clustered {
            table.cluster_by(&["value"]).unwrap();
        }
        // All rows of one file may be deleted while it is merged.
        for rows in [0..ROWS, ROWS..ALL / 2, ALL / 2..ALL] {
            let mut transaction = table.begin().unwrap();
            transaction.upsert(&batch(rows.map(|id| (id, -id)))).unwrap();
            transaction.commit().unwrap();
            table.flush().unwrap();
        }
        let mut expected = read_rows(&table.snapshot().unwrap());
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let merging = scope.spawn(|| {
                let mut merges = 0;
                while !is_over.load(Ordering::Relaxed) {
                    merges += table.compact().unwrap().merges;
                }
                merges
            });
            for first in (0..300 * 50).step_by(50) {
                // All rows of the first file, and some of others.
                let mut ids: Vec<i64> = (first..ROWS.min(first + 50)).collect();
                ids.extend((0..50).map(|_| random.i64(0..ALL)));
                if random.bool() {
                    table.upsert(&batch(ids.iter().map(|&id| (id, id)))).unwrap();
                    expected.extend(ids.into_iter().map(|id| (id, id)));
                } else {
                    table.delete(ids.clone()).unwrap();
                    ids.iter().for_each(|id| {
                        expected.remove(id);
                    });
                }
                // They may be late on a busy machine, but must not wait for the last merge.
                let start = Instant::now();
                while table.snapshot().unwrap().statistics().unwrap().hot_rows >= 5 * FLUSH_ROWS {
                    assert!(start.elapsed() < Duration::from_secs(60), "hot rows stay");
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            is_over.store(true, Ordering::Relaxed);
            assert!(merging.join().unwrap() > 0);
        });
        assert!(read_rows(&table.snapshot().unwrap()) == expected);
        let report = table.check().unwrap();
        assert!(report.is_intact(), "{report:?}");
        assert!(table.background_error().is_none(), "{:?}", table.background_error());
    }
}

#[test]
fn files_stay_as_long_as_a_snapshot_can_reach_them() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path());
    table.upsert(&batch((0..ROWS).map(|id| (id, id)))).unwrap();
    table.flush().unwrap();
    let before = read_rows(&table.snapshot().unwrap());
    table.keep_snapshot("before").unwrap();
    table.upsert(&batch((0..ROWS).map(|id| (id, 0)))).unwrap();
    table.flush().unwrap();
    assert_eq!(table.vacuum().unwrap(), 0, "a named snapshot needs the first files");
    // The first files were dropped before this commit, which can reach them only by the named snapshot.
    let reader = table.snapshot().unwrap();
    table.drop_snapshot("before").unwrap();
    table.upsert(&batch([(1, 1)])).unwrap();
    assert_eq!(table.vacuum().unwrap(), 0, "a reader reaches the named snapshot");
    let named = reader.snapshot_named("before").unwrap();
    drop(reader);
    assert_eq!(table.vacuum().unwrap(), 0, "the named snapshot is read");
    assert!(read_rows(&named) == before);
    drop(named);
    // The store notices with its next commit.
    table.upsert(&batch([(1, 2)])).unwrap();
    assert_eq!(table.vacuum().unwrap(), 2);
    assert_eq!(table.vacuum().unwrap(), 0);
    assert!(table.check().unwrap().is_intact());
}

#[test]
fn aborted_transaction_undoes_its_changes() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path());
    table.upsert(&batch([(1, 1), (2, 2), (3, 3)])).unwrap();
    table.flush().unwrap();
    let before = read_rows(&table.snapshot().unwrap());
    let mut transaction = table.begin().unwrap();
    transaction.upsert(&batch([(1, 10), (4, 4)])).unwrap();
    transaction.delete([2]).unwrap();
    assert_eq!(transaction.delete_where(&Predicate::parse("id = 3").unwrap()).unwrap(), 1);
    assert_eq!(transaction.count().unwrap(), 2);
    assert!(transaction.get(3).unwrap().is_none() && transaction.get(4).unwrap().is_some());
    drop(transaction);
    assert!(read_rows(&table.snapshot().unwrap()) == before);
    assert!(table.check().unwrap().is_intact());
}

#[test]
fn losses_of_damaged_table_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path());
    table.upsert(&batch((0..ROWS).map(|id| (id, id)))).unwrap();
    table.flush().unwrap();
    std::fs::write(folder.path().join("_data/0000009999-0123456789abcdef.pq"), b"left").unwrap();
    let report = table.check().unwrap();
    assert!(matches!(&report.problems[..], [lath_table::Problem::Orphan { .. }]), "{report:?}");
    drop(table);
    let options = || TableOptions::new().background(false);
    let table = Table::open(folder.path(), options()).unwrap();
    assert!(table.check().unwrap().is_intact());
    drop(table);
    let names = std::fs::read_dir(folder.path().join("_data")).unwrap().map(|entry| entry.unwrap().path());
    let file = names.min().unwrap();
    std::fs::remove_file(file).unwrap();
    let table = Table::open(folder.path(), options()).unwrap();
    let report = table.check().unwrap();
    assert!(matches!(&report.problems[..], [lath_table::Problem::File { .. }]), "{report:?}");
    assert!(table.get(1).is_err());
}
