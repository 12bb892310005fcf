//! Backups of tables and databases that are written to, and their state once they are opened.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use lath_table::{ChangeRetention, Database, Durability, Error, HistoryRetention, Snapshot, Table, TableOptions};

fn batch(rows: &[(i64, i64)]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1)));
    RecordBatch::try_from_iter([("id", ids), ("value", values)]).unwrap()
}

fn options() -> TableOptions {
    TableOptions::new().background(false).durability(Durability::Off).merge_files(2).deleted_percent(10)
}

fn rows(snapshot: &Snapshot) -> Vec<(i64, i64)> {
    let batches = snapshot.range::<i64>(..).unwrap().build().unwrap().map(Result::unwrap);
    let columns = |batch: RecordBatch| [0, 1].map(|at| batch.column(at).as_primitive::<Int64Type>().values().to_vec());
    batches.map(columns).flat_map(|[ids, values]| ids.into_iter().zip(values)).collect()
}

fn files(folder: &Path) -> usize {
    let names = std::fs::read_dir(folder.join("_data")).into_iter().flatten().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name != "_README").count()
}

#[test]
fn a_backup_has_one_commit_of_a_table_that_is_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::create(folder.path().join("table"), &batch(&[]).schema(), &["id"], options()).unwrap();
    table.upsert(&batch(&(0..500).map(|id| (id, 0)).collect::<Vec<_>>())).unwrap();
    table.create_index("by value", &["value"], false).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            // Each commit moves an amount from one row to another.
            let mut random = fastrand::Rng::with_seed(7);
            while !is_over.load(Ordering::Relaxed) {
                let mut transaction = table.begin().unwrap();
                let (from, to, amount) = (random.i64(0..250), random.i64(250..500), random.i64(0..100));
                let found = transaction.get_many([from, to]).unwrap();
                let values = found.rows().column(1).as_primitive::<Int64Type>().values().to_vec();
                transaction.upsert(&batch(&[(from, values[0] - amount), (to, values[1] + amount)])).unwrap();
                transaction.commit().unwrap();
                if random.u8(..20) == 0 {
                    table.flush().unwrap();
                    table.compact().unwrap();
                    table.vacuum().unwrap();
                }
            }
        });
        let mut had_files = false;
        for round in 0..12 {
            let path = folder.path().join(format!("backup {round}"));
            let made = table.backup(&path).unwrap();
            assert_eq!((made.files, made.files), (files(&path), made.links));
            had_files |= made.files > 0;
            let backup = Table::open(&path, options()).unwrap();
            assert_eq!(files(&path), made.files, "a file of the backup is not part of it");
            let found = rows(&backup.snapshot().unwrap());
            assert_eq!((found.len(), found.iter().map(|row| row.1).sum::<i64>()), (500, 0));
            let report = backup.check().unwrap();
            assert!(report.is_intact(), "{report:?}");
            // The backup is a table like any other.
            backup.upsert(&batch(&[(3, 1_000_000), (600, 1)])).unwrap();
            backup.delete([4]).unwrap();
            backup.flush().unwrap();
            let found = rows(&backup.snapshot().unwrap());
            assert!(found.len() == 500 && found.contains(&(3, 1_000_000)) && !found.iter().any(|row| row.0 == 4));
            assert!(backup.check().unwrap().is_intact());
        }
        is_over.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        assert!(had_files);
    });
    assert_eq!(rows(&table.snapshot().unwrap()).iter().map(|row| row.1).sum::<i64>(), 0);
    assert!(table.check().unwrap().is_intact());
}

#[test]
fn commits_and_changes_of_a_backup_continue_after_the_tables() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::create(folder.path().join("table"), &batch(&[]).schema(), &["id"], options()).unwrap();
    table.keep_changes(ChangeRetention::new()).unwrap();
    // The backup's store has made fewer commits than the table's.
    (0..200).for_each(|id| table.upsert(&batch(&[(id, 0)])).unwrap());
    table.keep_snapshot("first").unwrap();
    table.flush().unwrap();
    table.upsert(&batch(&[(7, 1)])).unwrap();
    table.keep_snapshot("second").unwrap();
    // Enough for the file to be rewritten.
    table.upsert(&batch(&(20..40).map(|id| (id, 2)).chain([(7, 2)]).collect::<Vec<_>>())).unwrap();
    table.flush().unwrap();
    assert!(table.compact().unwrap().merges > 0);
    let version = table.snapshot().unwrap().version();
    let path = folder.path().join("backup");
    table.backup(&path).unwrap();
    assert!(matches!(table.backup(&path), Err(Error::NotEmpty { .. })));
    drop(table);
    std::fs::remove_dir_all(folder.path().join("table")).unwrap();

    let table = Table::open(&path, options()).unwrap();
    assert_eq!(table.snapshot().unwrap().version(), version);
    table.upsert(&batch(&[(8, 3), (300, 3)])).unwrap();
    table.delete([9]).unwrap();
    assert!(table.snapshot().unwrap().version() > version);
    assert_eq!(table.count().unwrap(), 200);
    assert!(table.get(9).unwrap().is_none());
    let changes = table.snapshot().unwrap().changes(version).unwrap();
    assert_eq!(changes.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 3);
    let snapshot = table.snapshot().unwrap();
    assert_eq!(rows(&snapshot.snapshot_named("first").unwrap()).len(), 200);
    assert!(rows(&snapshot.snapshot_named("second").unwrap()).contains(&(7, 1)));
    drop(snapshot);
    table.flush().unwrap();
    table.compact().unwrap();
    assert!(table.check().unwrap().is_intact());
    // Files that only the snapshots needed are removed with them, and so are files that were dropped here.
    ["first", "second"].iter().for_each(|name| table.drop_snapshot(name).unwrap());
    table.vacuum().unwrap();
    let report = table.check().unwrap();
    assert!(report.is_intact(), "{report:?}");
    assert_eq!((report.files, report.rows), (files(&path), 200));
}

#[test]
fn versions_of_a_backup_follow_the_ones_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::create(folder.path().join("table"), &batch(&[]).schema(), &["id"], options()).unwrap();
    (0..100).for_each(|id| table.upsert(&batch(&[(id, 0)])).unwrap());
    let version = table.snapshot().unwrap().version();
    table.backup(folder.path().join("backup")).unwrap();

    let copy = Table::open(folder.path().join("backup"), options()).unwrap();
    assert_eq!(copy.snapshot().unwrap().version(), version);
    copy.keep_history(HistoryRetention::new()).unwrap();
    copy.delete([1]).unwrap();
    copy.delete([2]).unwrap();
    let newest = copy.snapshot().unwrap();
    let versions: Vec<u64> = newest.history().unwrap().iter().map(|kept| kept.version).collect();
    let counts: Vec<u64> =
        versions.iter().map(|&version| newest.at_version(version).unwrap().count().unwrap()).collect();
    assert_eq!(counts, [100, 99, 98], "{versions:?}");
    assert!(versions[0] > version, "{versions:?} after {version}");
    // The number of the commit is durable.
    drop((newest, copy));
    let copy = Table::open(folder.path().join("backup"), options()).unwrap();
    assert_eq!(copy.snapshot().unwrap().at_version(versions[0]).unwrap().count().unwrap(), 100);
}

#[test]
fn a_database_is_backed_up_with_all_its_tables() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path().join("database"), options()).unwrap();
    let tables = ["a", "b", "dropped"].map(|name| database.create_table(name, &batch(&[]).schema(), &["id"]).unwrap());
    for table in &tables {
        table.upsert(&batch(&[(1, 1), (2, 2)])).unwrap();
        table.flush().unwrap();
    }
    database.keep_snapshot("all").unwrap();
    assert!(matches!(tables[0].backup(folder.path().join("part")), Err(Error::PartOfDatabase { .. })));
    drop(tables);
    database.drop_table("dropped").unwrap();
    let path = folder.path().join("backup");
    assert_eq!(database.backup(&path).unwrap().files, 3);
    database.table("a").unwrap().delete([1]).unwrap();

    let backup = Database::open(&path, options()).unwrap();
    assert_eq!(backup.table_names().unwrap(), ["a", "b"]);
    let named = backup.snapshot().unwrap().snapshot_named("all").unwrap();
    assert_eq!(rows(&named.table("dropped").unwrap()), [(1, 1), (2, 2)]);
    drop(named);
    let table = backup.table("a").unwrap();
    assert_eq!(rows(&table.snapshot().unwrap()), [(1, 1), (2, 2)]);
    table.upsert(&batch(&[(1, 5)])).unwrap();
    assert_eq!(rows(&table.snapshot().unwrap()), [(1, 5), (2, 2)]);
    backup.create_table("c", &batch(&[]).schema(), &["id"]).unwrap().upsert(&batch(&[(1, 1)])).unwrap();
    backup.drop_snapshot("all").unwrap();
    assert!(backup.vacuum().unwrap() > 0);
    for name in ["a", "b", "c"] {
        let report = backup.table(name).unwrap().check().unwrap();
        assert!(report.is_intact(), "{report:?}");
    }
}

#[test]
fn leftovers_of_killed_backup_are_no_table_and_are_removed_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::create(folder.path().join("table"), &batch(&[]).schema(), &["id"], options()).unwrap();
    table.upsert(&batch(&[(1, 1), (2, 2)])).unwrap();
    table.flush().unwrap();
    let path = folder.path().join("backup");
    table.backup(&path).unwrap();
    // The state that a process leaves if it is killed before it renames the store.
    std::fs::rename(path.join("_table.lath"), path.join("unfinished.lath")).unwrap();
    std::fs::write(path.join("stray.parquet"), b"half").unwrap();
    let marker = "A backup was begun here and has not ended. The next one into this folder removes what is here.\n";
    std::fs::write(path.join("unfinished-backup"), marker).unwrap();
    assert!(matches!(Table::open(&path, options()), Err(Error::NoTable { .. })));
    table.backup(&path).unwrap();
    let names: Vec<_> = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        names.iter().all(|name| !name.to_str().unwrap().contains("unfinished") && name != "stray.parquet"),
        "{names:?}"
    );
    let backup = Table::open(&path, options()).unwrap();
    assert_eq!(rows(&backup.snapshot().unwrap()), [(1, 1), (2, 2)]);
    drop(backup);
    // A complete backup stays, and so does a folder with any other file.
    std::fs::write(path.join("unfinished-backup"), marker).unwrap();
    assert!(matches!(table.backup(&path), Err(Error::NotEmpty { .. })));
    let other = folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("unfinished-backup"), "notes of somebody").unwrap();
    assert!(matches!(table.backup(&other), Err(Error::NotEmpty { .. })));
}

#[test]
fn leftovers_of_killed_export_do_not_block_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::create(folder.path().join("table"), &batch(&[]).schema(), &["id"], options()).unwrap();
    table.upsert(&batch(&[(1, 1)])).unwrap();
    let path = folder.path().join("exported");
    std::fs::create_dir_all(path.join(".part.lath-0.partial")).unwrap();
    std::fs::write(path.join(".part.lath-0.partial").join("part-00000.parquet"), b"half").unwrap();
    assert_eq!(table.export(&path).unwrap().rows, 1);
    let names: Vec<_> = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().any(|name| name == "part-00000.parquet"), "{names:?}");
    std::fs::write(path.join("more"), b"").unwrap();
    assert!(matches!(table.export(&path), Err(Error::NotEmpty { .. })));
}
