//! Random histories of a table whose files fail or lose power, with the contents after every commit.

mod contents;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use arrow_schema::{DataType, Field};
use fastrand::Rng;
use lath_table::{Durability, HistoryRetention, Predicate, Result, Table, TableOptions};

use self::contents::{Column, Contents};

/// A transaction that is lost if the process ends before the table is closed.
pub(crate) const OFF: &str = "transaction kept in memory";

/// The number of keys.
const KEYS: i64 = 60;

/// The state after a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) contents: Arc<Contents>,
    has_index: bool,
    is_clustered: bool,
    named: BTreeMap<String, Arc<Contents>>,
    /// The states of the kept history, equal ones after each other once; none if no history is kept.
    past: Vec<Arc<Contents>>,
}

/// The outcome of one operation.
pub(crate) struct Step {
    pub(crate) what: String,
    /// The version it leaves if it succeeds.
    pub(crate) next: Version,
    /// Whether all commits so far are certainly durable.
    pub(crate) result: Result<bool>,
}

pub(crate) fn options() -> TableOptions {
    let store = lath_store::Options::new().capacity_bytes(1 << 26).background_checkpoints(false);
    TableOptions::new()
        .background(false)
        .file_rows(40)
        .merge_files(2)
        .deleted_percent(30)
        .store_options(store.log_limit_bytes(1 << 14))
}

impl Version {
    /// Reads the version of a table.
    pub(crate) fn of(table: &Table, what: &str) -> Self {
        let snapshot = table.snapshot().unwrap_or_else(|error| panic!("{what}: {error}"));
        let contents = Contents::of(&snapshot, what);
        let count = snapshot.count().unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(count, contents.rows.len() as u64, "{what}: count");
        let mut named = BTreeMap::new();
        for name in snapshot.snapshot_names().unwrap() {
            let of = Contents::of(&snapshot.snapshot_named(&name).unwrap(), &format!("{what}, {name}"));
            named.insert(name, Arc::new(of));
        }
        let mut past = Vec::new();
        for kept in snapshot.history().unwrap() {
            let then = snapshot.at_version(kept.version).unwrap_or_else(|error| panic!("{what}: {error}"));
            past.push(Arc::new(Contents::of(&then, &format!("{what}, version {}", kept.version))));
        }
        past.dedup();
        Self {
            past,
            contents: Arc::new(contents),
            has_index: !snapshot.indexes().is_empty(),
            is_clustered: !snapshot.cluster_columns().is_empty(),
            named,
        }
    }

    fn set(&mut self) -> &mut Contents {
        Arc::make_mut(&mut self.contents)
    }

    fn random_rows(&self, random: &mut Rng) -> BTreeMap<i64, Vec<Option<i64>>> {
        let most = if random.u8(..4) == 0 { 40 } else { 6 };
        let count = 1 + random.usize(..most);
        let mut value = || (random.u8(..8) > 0).then(|| random.i64(-1_000_000..1_000_000));
        let columns = 1 + self.contents.columns.len();
        let rows: Vec<Vec<Option<i64>>> = (0..count).map(|_| (0..columns).map(|_| value()).collect()).collect();
        rows.into_iter().map(|row| (random.i64(0..KEYS), row)).collect()
    }
}

/// Runs one operation.
pub(crate) fn step(table: &mut Option<Table>, version: &Version, options: &TableOptions, random: &mut Rng) -> Step {
    let mut next = version.clone();
    let open = table.clone().unwrap();
    let kind = random.u8(..38);
    let (what, result) = match kind {
        0..=7 => upsert(&open, &mut next, random),
        8 | 9 => {
            let keys: Vec<i64> = (0..random.usize(1..12)).map(|_| random.i64(0..KEYS)).collect();
            next.set().rows.retain(|key, _| !keys.contains(key));
            ("delete", open.delete(keys).map(|()| false))
        }
        10 => {
            let bound = random.i64(-1_000_000..0);
            next.set().rows.retain(|_, row| row[0].is_none_or(|value| value >= bound));
            let condition = Predicate::parse(&format!("value < {bound}")).unwrap();
            ("delete where", open.delete_where(&condition).map(|_| false))
        }
        11..=15 => transaction(&open, &mut next, random),
        16..=20 => ("flush", open.flush().map(|flushed| flushed.rows > 0)),
        21..=23 => ("compact", open.compact().map(|compacted| compacted.merges > 0)),
        24 | 25 => ("vacuum", open.vacuum().map(|removed| removed > 0)),
        26 => ("sync", open.sync().map(|()| true)),
        27 => index(&open, &mut next),
        28..=30 => keep_or_drop(&open, &mut next, random),
        32 if next.past.is_empty() => {
            next.past.push(Arc::clone(&next.contents));
            ("keep the history", open.keep_history(HistoryRetention::new()).map(|()| true))
        }
        32 => {
            next.past.clear();
            ("drop the history", open.drop_history().map(|()| true))
        }
        31 => {
            let folder = open.folder().to_owned();
            drop((table.take(), open));
            let opened = Table::open(folder, options.clone());
            return Step {
                what: "reopen".to_owned(),
                next,
                result: opened.map(|open| {
                    *table = Some(open);
                    false
                }),
            };
        }
        36 | 37 => cluster(&open, &mut next),
        _ => change_schema(&open, &mut next, random),
    };
    if next.past.last().is_some_and(|last| *last != next.contents) {
        next.past.push(Arc::clone(&next.contents));
    }
    // A commit that changes nothing makes nothing durable; one that may have changed nothing counts as such.
    let is_durable = |durable: bool| durable || (next != *version && !what.ends_with("d transaction") && what != OFF);
    Step { what: what.to_owned(), result: result.map(is_durable), next }
}

fn upsert(table: &Table, next: &mut Version, random: &mut Rng) -> (&'static str, Result<bool>) {
    let rows = next.random_rows(random);
    let batch = next.contents.batch(&rows);
    next.set().rows.extend(rows);
    ("upsert", table.upsert(&batch).map(|()| true))
}

fn transaction(table: &Table, next: &mut Version, random: &mut Rng) -> (&'static str, Result<bool>) {
    let durability = [Durability::Sync, Durability::Sync, Durability::Deferred, Durability::Off][random.usize(..4)];
    let what = match durability {
        Durability::Deferred => "deferred transaction",
        Durability::Off => OFF,
        _ => "transaction",
    };
    let mut change = || -> Result<bool> {
        let mut transaction = table.begin()?;
        for _ in 0..random.usize(1..4) {
            let rows = next.random_rows(random);
            transaction.upsert(&next.contents.batch(&rows))?;
            next.set().rows.extend(rows);
            let keys: Vec<i64> = (0..random.usize(1..4)).map(|_| random.i64(0..KEYS)).collect();
            next.set().rows.retain(|key, _| !keys.contains(key));
            transaction.delete(keys)?;
        }
        transaction.commit_with(durability)?;
        Ok(durability == Durability::Sync)
    };
    (what, change())
}

fn index(table: &Table, next: &mut Version) -> (&'static str, Result<bool>) {
    next.has_index = !next.has_index;
    if next.has_index {
        return ("create index", table.create_index("by value", &["value"], false).map(|()| true));
    }
    ("drop index", table.drop_index("by value").map(|()| true))
}

fn cluster(table: &Table, next: &mut Version) -> (&'static str, Result<bool>) {
    next.is_clustered = !next.is_clustered;
    let columns: &[&str] = if next.is_clustered { &["value"] } else { &[] };
    ("cluster", table.cluster_by(columns).map(|()| true))
}

fn keep_or_drop(table: &Table, next: &mut Version, random: &mut Rng) -> (&'static str, Result<bool>) {
    let name = ["monday", "tuesday"][random.usize(..2)];
    if next.named.remove(name).is_some() {
        return ("drop snapshot", table.drop_snapshot(name).map(|()| true));
    }
    next.named.insert(name.to_owned(), Arc::clone(&next.contents));
    ("keep snapshot", table.keep_snapshot(name).map(|()| true))
}

fn change_schema(table: &Table, next: &mut Version, random: &mut Rng) -> (&'static str, Result<bool>) {
    let names: BTreeSet<String> = next.contents.columns.iter().map(|column| column.name.clone()).collect();
    let free = ["a", "b", "c"].into_iter().find(|name| !names.contains(*name));
    let count = names.len();
    match random.u8(..4) {
        1 if count > 0 => {
            let at = random.usize(..count);
            let contents = next.set();
            let column = contents.columns.remove(at);
            contents.rows.values_mut().for_each(|row| _ = row.remove(at + 1));
            ("drop column", table.drop_column(&column.name).map(|()| true))
        }
        2 if count > 0 && free.is_some() => {
            let column = &mut next.set().columns[random.usize(..count)];
            let old = std::mem::replace(&mut column.name, free.unwrap_or_default().to_owned());
            ("rename column", table.rename_column(&old, &column.name).map(|()| true))
        }
        3 if count > 0 => {
            let column = &mut next.set().columns[random.usize(..count)];
            column.is_wide = true;
            ("widen column", table.widen_column(&column.name, &DataType::Int64).map(|()| false))
        }
        _ => {
            let Some(name) = free else { return ("nothing", Ok(false)) };
            let value = random.bool().then(|| random.i64(0..100));
            let contents = next.set();
            contents.columns.push(Column { name: name.to_owned(), is_wide: false });
            contents.rows.values_mut().for_each(|row| row.push(value));
            let field = Field::new(name, DataType::Int32, true);
            ("add column", table.add_column(&field, value.map(|value| (value as i32).into())).map(|()| true))
        }
    }
}

/// Panics unless the check of a table finds no problem. Returns the number of its files.
pub(crate) fn assert_intact(table: &Table, what: &str) -> usize {
    let report = table.check().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(report.is_intact(), "{what}: {report:?}");
    report.files
}

/// Panics unless, after a flush and a vacuum, the folder has exactly the files of the store and of the table.
pub(crate) fn assert_no_orphans(table: &Table, folder: &Path, what: &str) {
    table.vacuum().unwrap_or_else(|error| panic!("{what}: {error}"));
    let files = assert_intact(table, what);
    let names = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let (all, mut data) = (names(folder), names(&folder.join("_data")));
    data.retain(|name| name != "_README");
    assert!(all.iter().all(|name| name == "_data" || name.starts_with("_table.lath")), "{what}: {all:?}");
    assert_eq!(data.len(), files, "{what}: {data:?}");
}
