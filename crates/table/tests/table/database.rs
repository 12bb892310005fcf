//! Several tables in one store: compared with maps, with readers in other processes, and rejected operations.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use lath_table::{Database, DatabaseSnapshot, Durability, Error, HistoryRetention, Snapshot, Table, TableOptions};
use lath_testkit::Seeded;

use crate::rows::id_values as batch;

const PATH: &str = "LATH_TEST_DATABASE_READER";

/// More rows than any change has.
const MANY: u64 = 1 << 30;

type Rows = BTreeMap<i64, i64>;
type Tables = BTreeMap<String, Rows>;

fn options() -> TableOptions {
    TableOptions::new()
        .durability(Durability::Off)
        .background(false)
        .merge_files(3)
        .file_rows(400)
        .deleted_percent(20)
        .store_options(lath_store::Options::new().capacity_bytes(1 << 30))
}

fn create(database: &Database, name: &str) -> Table {
    database.create_table(name, &batch([]).schema(), &["id"]).unwrap()
}

fn read_rows(snapshot: &Snapshot) -> Rows {
    let mut rows = Rows::new();
    for batch in snapshot.range::<i64>(..).unwrap().build().unwrap() {
        let batch = batch.unwrap();
        let column = |at: usize| batch.column(at).as_primitive::<Int64Type>().values().to_vec();
        rows.extend(column(0).into_iter().zip(column(1)));
    }
    assert_eq!(snapshot.count().unwrap(), rows.len() as u64);
    rows
}

fn read_tables(snapshot: &DatabaseSnapshot) -> Tables {
    let names = snapshot.table_names().unwrap();
    names.into_iter().map(|name| (name.clone(), read_rows(&snapshot.table(&name).unwrap()))).collect()
}

fn files_below(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { files_below(&path) } else { usize::from(is_parquet(&path)) }).sum()
}

fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "pq")
}

struct History {
    random: Seeded,
    database: Option<Database>,
    model: Tables,
    kept: BTreeMap<String, Tables>,
    held: Vec<(DatabaseSnapshot, Tables)>,
    /// The contents at versions while the history is kept, and the smallest and the last maximum number of earlier commits.
    past: Option<(BTreeMap<u64, Tables>, (u64, u64))>,
    steps: Vec<String>,
    /// The number of rows that become files at once.
    bulk_rows: u64,
}

impl History {
    fn options(&self) -> TableOptions {
        options().bulk_rows(self.bulk_rows)
    }
}

#[test]
fn databases_match_maps_of_maps() {
    let cases = std::env::var("LATH_CASES").map_or(8, |cases| cases.parse().unwrap());
    let mut seeds = Seeded::new("databases do as maps of maps do");
    for case in 0..cases {
        let random = Seeded::with_seed(format!("history {case}"), seeds.u64(..));
        let folder = tempfile::tempdir().unwrap();
        let (model, kept) = (Tables::new(), BTreeMap::new());
        let bulk_rows = if case % 2 == 0 { MANY } else { 300 };
        let mut history =
            History { random, database: None, model, kept, held: Vec::new(), past: None, steps: Vec::new(), bulk_rows };
        history.database = Some(Database::create(folder.path().join("database"), history.options()).unwrap());
        history.run();
    }
}

impl History {
    fn database(&self) -> Database {
        self.database.clone().unwrap()
    }

    fn run(mut self) {
        for step in 0..60 {
            let what = self.step();
            self.steps.push(what);
            if let Some((past, _)) = &mut self.past {
                let newest = self.database.as_ref().unwrap().snapshot().unwrap();
                past.insert(newest.history().unwrap().last().unwrap().version, self.model.clone());
            }
            if step % 5 == 4 {
                self.compare();
            }
        }
        self.compare();
        self.held.clear();
        let database = self.database();
        for name in self.kept.keys() {
            database.drop_snapshot(name).unwrap();
        }
        database.drop_history().unwrap();
        database.vacuum().unwrap();
        let mut files = 0;
        for name in self.model.keys() {
            let report = database.table(name).unwrap().check().unwrap();
            assert!(report.is_intact(), "{report:?} after {:?}", self.steps);
            files += report.files;
        }
        assert_eq!(files_below(database.folder()), files, "after {:?}", self.steps);
    }

    fn compare(&mut self) {
        let newest = self.database().snapshot().unwrap();
        assert_eq!(read_tables(&newest), self.model, "after {:?}", self.steps);
        assert!(newest.snapshot_names().unwrap().iter().eq(self.kept.keys()));
        for (name, model) in &self.kept {
            assert_eq!(read_tables(&newest.snapshot_named(name).unwrap()), *model, "{name} after {:?}", self.steps);
        }
        self.compare_history(&newest);
        for (snapshot, model) in &self.held {
            assert_eq!(read_tables(snapshot), *model, "a snapshot that is held after {:?}", self.steps);
        }
    }

    /// Compares the versions that can be read with what they had.
    fn compare_history(&self, newest: &DatabaseSnapshot) {
        let kept = newest.history().unwrap();
        let Some((past, commits)) = &self.past else {
            assert_eq!(kept, []);
            assert!(newest.at_time(SystemTime::now()).is_err());
            return;
        };
        let count = kept.len() as u64 - 1;
        assert!(count <= commits.1 + commits.1 / 4, "{kept:?}, {commits:?}");
        assert!(count >= commits.0 || newest.at_version(*past.keys().next().unwrap()).is_ok(), "{kept:?}, {commits:?}");
        for (version, tables) in past {
            let then = newest.at_version(*version);
            if matches!(then, Err(Error::NotKept { .. })) && *version < kept[0].version {
                continue;
            }
            assert_eq!(read_tables(&then.unwrap()), *tables, "version {version} after {:?}", self.steps);
            for (name, rows) in tables.iter().filter(|(name, _)| newest.table_names().unwrap().contains(name)) {
                // A table that was created later under this name is another one.
                match newest.table(name).unwrap().at_version(*version) {
                    Ok(table) if newest.table(name).unwrap().version() <= *version => {
                        assert_eq!(read_rows(&table), *rows, "{name}");
                    }
                    then => drop(then.map(|then| read_rows(&then))),
                }
            }
        }
        for commit in &kept {
            let [by_time, by_version] =
                [newest.at_time(commit.time), newest.at_version(commit.version)].map(|at| read_tables(&at.unwrap()));
            assert_eq!(by_time, by_version, "{commit:?} after {:?}", self.steps);
        }
        let before = newest.at_time(kept[0].time - Duration::from_micros(1));
        assert!(matches!(before, Err(Error::NotKept { .. })));
    }

    fn random_name(&mut self) -> String {
        ["orders", "parts/∅", "x"][self.random.usize(..3)].to_owned()
    }

    fn random_rows(&mut self) -> Rows {
        let count = if self.random.u8(..4) == 0 { 700 } else { self.random.usize(..20) };
        (0..count).map(|_| (self.random.i64(0..1000), self.random.i64(0..50))).collect()
    }

    fn step(&mut self) -> String {
        let database = self.database();
        let name = self.random_name();
        let table = database.table(&name);
        assert_eq!(table.is_ok(), self.model.contains_key(&name), "{name} after {:?}", self.steps);
        match self.random.u8(..19) {
            0..=2 => {
                let created = database.create_table(&name, &batch([]).schema(), &["id"]);
                match self.model.contains_key(&name) {
                    true => assert!(matches!(created, Err(Error::TableExists { .. }))),
                    false => drop((created.unwrap(), self.model.insert(name.clone(), Rows::new()))),
                }
                format!("create {name}")
            }
            3 => {
                let dropped = database.drop_table(&name);
                match self.model.remove(&name) {
                    Some(_) => dropped.unwrap(),
                    None => assert!(matches!(dropped, Err(Error::NoSuchTable { .. }))),
                }
                if let Ok(table) = table {
                    let gone = table.upsert(&batch([(1, 1)])).unwrap_err();
                    assert!(matches!(gone, Error::NoTable { .. }), "{gone}");
                    assert!(table.flush().is_err());
                }
                format!("drop {name}")
            }
            4..=6 => self.transaction(),
            7 | 8 => {
                let Ok(table) = table else { return "nothing".to_owned() };
                let rows = self.random_rows();
                table.upsert(&batch(rows.clone())).unwrap();
                self.model.get_mut(&name).unwrap().extend(rows);
                format!("upsert {name}")
            }
            9 | 10 => {
                table.map_or_else(|_| "nothing".to_owned(), |table| format!("{:?} {name}", table.flush().unwrap()))
            }
            11 => table.map_or_else(|_| "nothing".to_owned(), |table| format!("{:?} {name}", table.compact().unwrap())),
            12 => format!("vacuum {}", database.vacuum().unwrap()),
            13 => {
                let kept = format!("snapshot {}", self.random.u8(..2));
                match self.kept.remove(&kept) {
                    Some(_) => database.drop_snapshot(&kept).unwrap(),
                    None => {
                        database.keep_snapshot(&kept).unwrap();
                        self.kept.insert(kept.clone(), self.model.clone());
                    }
                }
                format!("keep or drop {kept}")
            }
            14 => {
                if self.held.len() >= 2 {
                    self.held.remove(0);
                }
                self.held.push((database.snapshot().unwrap(), self.model.clone()));
                "hold a snapshot".to_owned()
            }
            15 => {
                let commits = self.random.u64(1..30);
                database.keep_history(HistoryRetention::new().commits(commits)).unwrap();
                let (past, (least, _)) = self.past.take().unwrap_or_else(|| (BTreeMap::new(), (commits, 0)));
                self.past = Some((past, (least.min(commits), commits)));
                format!("keep {commits} commits")
            }
            16 if self.random.bool() => {
                database.drop_history().unwrap();
                self.past = None;
                "drop the history".to_owned()
            }
            17 => {
                let Some((past, _)) = &self.past else { return "nothing".to_owned() };
                let newest = database.snapshot().unwrap();
                let kept: Vec<_> = past
                    .iter()
                    .filter_map(|(version, tables)| Some((newest.at_version(*version).ok()?, tables)))
                    .collect();
                if let Some((snapshot, tables)) = kept.first() {
                    self.held.push((snapshot.clone(), (*tables).clone()));
                }
                "hold an earlier commit".to_owned()
            }
            _ => {
                self.held.clear();
                let folder = database.folder().to_owned();
                database.sync().unwrap();
                drop((table, self.database.take(), database));
                self.database = Some(Database::open(folder, self.options()).unwrap());
                "reopen".to_owned()
            }
        }
    }

    fn transaction(&mut self) -> String {
        let mut transaction = self.database().begin().unwrap();
        let mut model = self.model.clone();
        let (mut savepoints, mut views) = (Vec::new(), Vec::new());
        for _ in 0..self.random.usize(1..12) {
            match self.random.u8(..8) {
                0 => savepoints.push((transaction.savepoint().unwrap(), model.clone())),
                1 if !savepoints.is_empty() => {
                    let at = self.random.usize(..savepoints.len());
                    savepoints.truncate(at + 1);
                    transaction.rollback(&savepoints[at].0).unwrap();
                    model.clone_from(&savepoints[at].1);
                    // Files of rows that were undone are gone.
                    if self.bulk_rows < MANY {
                        views.clear();
                    }
                }
                2 if !savepoints.is_empty() => {
                    let at = self.random.usize(..savepoints.len());
                    transaction.release(&savepoints[at].0).unwrap();
                    savepoints.truncate(at);
                }
                3 => {
                    views.push((transaction.snapshot().unwrap(), model.clone()));
                    let (view, expected) = &views[self.random.usize(..views.len())];
                    assert_eq!(read_tables(view), *expected, "a view after {:?}", self.steps);
                }
                _ => {}
            }
            let (name, rows) = (self.random_name(), self.random_rows());
            let Some(expected) = model.get_mut(&name) else {
                assert!(matches!(transaction.table(&name), Err(Error::NoSuchTable { .. })));
                continue;
            };
            let part = transaction.table(&name).unwrap();
            if self.random.bool() {
                part.upsert(&batch(rows.clone())).unwrap();
                expected.extend(rows);
            } else {
                part.delete(rows.keys().copied().collect::<Vec<i64>>()).unwrap();
                expected.retain(|key, _| !rows.contains_key(key));
            }
        }
        for (name, expected) in &model {
            assert_eq!(transaction.table(name).unwrap().count().unwrap(), expected.len() as u64);
        }
        let is_committed = self.random.u8(..3) > 0;
        if is_committed {
            transaction.commit().unwrap();
            self.model = model;
        } else {
            drop(transaction);
            if self.bulk_rows < MANY {
                views.clear();
            }
        }
        for (view, expected) in &views {
            assert_eq!(read_tables(view), *expected, "a view of an ended transaction after {:?}", self.steps);
        }
        self.held.extend(views.into_iter().take(1));
        if is_committed { "transaction" } else { "aborted transaction" }.to_owned()
    }
}

#[test]
fn sums_over_two_tables_hold_in_another_process() {
    const TOTAL: i64 = 1000;
    let sum = |snapshot: &DatabaseSnapshot| -> i64 {
        ["a", "b"].iter().map(|name| read_rows(&snapshot.table(name).unwrap()).values().sum::<i64>()).sum()
    };
    if let Ok(path) = std::env::var(PATH) {
        let database = Database::open_read_only(path, options()).unwrap();
        let (start, mut states) = (Instant::now(), std::collections::BTreeSet::new());
        while start.elapsed() < Duration::from_millis(1500) || states.len() < 4 {
            assert!(start.elapsed() < Duration::from_secs(60), "the reader has seen {} commits", states.len());
            let snapshot = database.snapshot().unwrap();
            assert_eq!(sum(&snapshot), TOTAL);
            states.insert(snapshot.table("a").unwrap().version());
        }
        assert!(matches!(database.begin(), Err(Error::Store { .. })));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database");
    let database = Database::create(&path, options()).unwrap();
    let (a, b) = (create(&database, "a"), create(&database, "b"));
    a.upsert(&batch((0..100).map(|id| (id, 10)))).unwrap();
    b.upsert(&batch((0..100).map(|id| (id, 0)))).unwrap();
    let mut reader = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "database::sums_over_two_tables_hold_in_another_process", "--nocapture"])
        .env(PATH, &path)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut random = fastrand::Rng::with_seed(lath_testkit::seed());
    while reader.try_wait().unwrap().is_none() {
        let (id, amount) = (random.i64(0..100), random.i64(1..5));
        let mut transaction = database.begin().unwrap();
        for (name, change) in [("a", -amount), ("b", amount)] {
            let part = transaction.table(name).unwrap();
            let value = part.get(id).unwrap().unwrap().column(1).as_primitive::<Int64Type>().value(0);
            part.upsert(&batch([(id, value + change)])).unwrap();
        }
        transaction.commit().unwrap();
        match random.u8(..30) {
            0 => drop((a.flush().unwrap(), b.flush().unwrap())),
            1 => drop((a.compact().unwrap(), database.vacuum().unwrap())),
            _ => {}
        }
    }
    assert!(reader.wait().unwrap().success());
    assert_eq!(sum(&database.snapshot().unwrap()), TOTAL);
}

#[test]
fn names_and_folders_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path(), options()).unwrap();
    for name in ["", " a", "a ", "a\n", "a\0b", &"x".repeat(256)] {
        let refused = database.create_table(name, &batch([]).schema(), &["id"]).unwrap_err();
        assert!(matches!(refused, Error::TableName { .. }), "{name:?}: {refused}");
    }
    assert!(matches!(database.create_table("a", &batch([]).schema(), &["none"]), Err(Error::Schema { .. })));
    assert!(database.table_names().unwrap().is_empty());
    create(&database, &"x".repeat(255));

    assert!(matches!(Table::create(folder.path(), &batch([]).schema(), &["id"], options()), Err(Error::Exists { .. })));
    assert!(matches!(Table::open(folder.path(), options()), Err(Error::NoTable { .. })));
    assert!(matches!(Database::create(folder.path(), options()), Err(Error::InUse { .. })));
    drop(database);
    assert!(matches!(Database::create(folder.path(), options()), Err(Error::Exists { .. })));

    let other = tempfile::tempdir().unwrap();
    assert!(matches!(Database::open(other.path(), options()), Err(Error::NoDatabase { .. })));
    drop(Table::create(other.path(), &batch([]).schema(), &["id"], options()).unwrap());
    assert!(matches!(Database::create(other.path(), options()), Err(Error::Exists { .. })));
    assert!(matches!(Database::open_read_only(other.path(), options()), Err(Error::NoDatabase { .. })));
}

#[test]
fn a_part_of_a_transaction_is_not_committed_alone() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path().join("database"), options()).unwrap();
    create(&database, "a");
    create(&database, "b");
    let alone = Table::create(folder.path().join("alone"), &batch([]).schema(), &["id"], options()).unwrap();
    let mut transaction = database.begin().unwrap();
    transaction.table("b").unwrap().upsert(&batch([(2, 2)])).unwrap();
    let part = transaction.table("a").unwrap();
    part.upsert(&batch([(1, 1)])).unwrap();
    let part = std::mem::replace(part, alone.begin().unwrap());
    assert!(matches!(part.commit(), Err(Error::PartOfTransaction)));
    assert!(matches!(transaction.commit(), Err(Error::PartOfTransaction)));
    for name in ["a", "b"] {
        assert_eq!(database.table(name).unwrap().count().unwrap(), 0, "{name}");
    }
    assert_eq!(alone.count().unwrap(), 0);
}

#[test]
fn tables_are_renamed_and_replaced_in_one_commit() {
    let folder = tempfile::tempdir().unwrap();
    let options = || TableOptions::new().background(false);
    let database = Database::create(folder.path(), options()).unwrap();
    let schema = Schema::new(vec![Field::new("id", DataType::Int64, false)]);
    let ids =
        |ids: Vec<i64>| RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(ids)) as ArrayRef)]).unwrap();
    let old = database.create_table("t", &schema, &["id"]).unwrap();
    old.upsert(&ids(vec![1, 2])).unwrap();
    database.keep_snapshot("before").unwrap();
    database.put_view("v", "CREATE VIEW v AS SELECT 1").unwrap();
    database.rename_table("t", "u").unwrap();
    assert_eq!(database.table_names().unwrap(), ["u"]);
    // The handle stays one of the same table.
    old.upsert(&ids(vec![3])).unwrap();
    assert_eq!(database.table("u").unwrap().count().unwrap(), 3);
    let before = database.snapshot().unwrap().snapshot_named("before").unwrap();
    assert_eq!(before.contents(&old).unwrap().count().unwrap(), 2);
    assert!(matches!(database.rename_table("t", "w"), Err(Error::NoSuchTable { .. })));
    assert!(matches!(database.rename_table("u", "v"), Err(Error::TableExists { .. })));
    assert!(matches!(database.rename_table("u", ""), Err(Error::TableName { .. })));
    database.rename_table("u", "u").unwrap();

    let new_name = Database::replacement_name("u");
    let new = database.create_table(&new_name, &schema, &["id"]).unwrap();
    new.upsert(&ids(vec![7])).unwrap();
    assert_eq!(database.table_names().unwrap(), ["u"]);
    drop(old);
    database.replace_table("u", &new_name).unwrap();
    assert_eq!(database.table("u").unwrap().count().unwrap(), 1);
    assert!(matches!(database.replace_table("u", &new_name), Err(Error::NoSuchTable { .. })));

    // A process that ends before it replaces a table leaves none.
    database.create_table(&new_name, &schema, &["id"]).unwrap();
    drop((new, before, database));
    let database = Database::open(folder.path(), options()).unwrap();
    assert!(matches!(database.table(&new_name), Err(Error::NoSuchTable { .. })));
    assert_eq!(database.table("u").unwrap().count().unwrap(), 1);
}

fn folders(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<String> = entries
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_table_of_a_transaction_that_is_undone_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    // Rows become files at once.
    let options = || TableOptions::new().background(false).bulk_rows(1);
    let database = Database::create(folder.path(), options()).unwrap();
    let by_key: [&str; 0] = [];
    let rows = batch([(1, 1), (2, 2)]);

    let mut transaction = database.begin().unwrap();
    let table = transaction.create_table("a", &rows.schema(), &["id"], &by_key, &[]).unwrap();
    table.insert(&rows).unwrap();
    let seen = transaction.snapshot().unwrap();
    assert_eq!(seen.table("a").unwrap().count().unwrap(), 2);
    let savepoint = transaction.savepoint().unwrap();
    transaction.create_table("b", &rows.schema(), &["id"], &by_key, &[]).unwrap();
    assert_eq!(folders(folder.path()).len(), 2);
    transaction.rollback(&savepoint).unwrap();
    assert!(matches!(transaction.table("b"), Err(Error::NoSuchTable { .. })));
    assert_eq!(folders(folder.path()).len(), 1);
    drop((transaction, seen));
    assert_eq!(folders(folder.path()), [""; 0]);
    assert!(database.table_names().unwrap().is_empty());

    // The next one has another folder, and stays.
    let mut transaction = database.begin().unwrap();
    transaction.create_table("a", &rows.schema(), &["id"], &by_key, &[]).unwrap().insert(&rows).unwrap();
    transaction.create_table("gone", &rows.schema(), &["id"], &by_key, &[]).unwrap();
    transaction.drop_table("gone").unwrap();
    transaction.commit().unwrap();
    assert_eq!(database.table("a").unwrap().count().unwrap(), 2);
    let kept = folders(folder.path());
    assert_eq!(kept.len(), 1, "{kept:?}");

    // A process that is killed before it commits may leave a folder.
    drop(database);
    let left = folder.path().join("table-000077");
    std::fs::create_dir_all(left.join("_data")).unwrap();
    std::fs::write(left.join("_data").join("1.pq"), "rows").unwrap();
    std::fs::create_dir_all(folder.path().join("table-of-mine")).unwrap();
    let database = Database::open(folder.path(), options()).unwrap();
    let mut expected = kept.clone();
    expected.push("table-of-mine".to_owned());
    assert_eq!(folders(folder.path()), expected);
    assert_eq!(database.table("a").unwrap().count().unwrap(), 2);
}

#[test]
fn a_dropped_table_comes_back_with_its_changes_when_a_savepoint_does() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(folder.path(), options()).unwrap();
    create(&database, "a");
    create(&database, "b");
    database.table("a").unwrap().upsert(&batch([(1, 1)])).unwrap();
    let mut transaction = database.begin().unwrap();
    transaction.table("a").unwrap().upsert(&batch([(2, 2)])).unwrap();
    transaction.table("a").unwrap().create_index("i", &["id"], false).unwrap();
    let savepoint = transaction.savepoint().unwrap();
    transaction.table("a").unwrap().upsert(&batch([(3, 3)])).unwrap();
    transaction.table("a").unwrap().drop_index("i").unwrap();
    transaction.drop_table("a").unwrap();
    transaction.rename_table("b", "a").unwrap();
    let inner = transaction.savepoint().unwrap();
    assert_eq!(transaction.table("a").unwrap().count().unwrap(), 0);
    transaction.rollback(&inner).unwrap();
    assert!(matches!(transaction.table("b"), Err(Error::NoSuchTable { .. })));
    transaction.rollback(&savepoint).unwrap();
    assert_eq!(transaction.table("a").unwrap().count().unwrap(), 2);
    assert_eq!(transaction.table("b").unwrap().count().unwrap(), 0);
    transaction.commit().unwrap();
    let table = database.table("a").unwrap();
    assert_eq!(table.count().unwrap(), 2);
    assert_eq!(table.snapshot().unwrap().indexes().len(), 1);
    assert!(table.check().unwrap().problems.is_empty());
}
