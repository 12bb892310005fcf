//! Compares a copy with its source: entry by entry in the stores, by the rows that readers find, and by the files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use lath_store::{Options, Snapshot, Store};
use lath_table::{Database, Durability, SequenceOptions, Table, TableOptions};

pub(super) type Trees = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

/// All that a store has: its newest commit, and its named snapshots with their names.
pub(super) type Contents = BTreeMap<String, (u64, Trees)>;

pub(super) fn options() -> TableOptions {
    TableOptions::new().background(false).merge_files(2).deleted_percent(10)
}

pub(super) fn fast_options() -> TableOptions {
    options().durability(Durability::Deferred)
}

pub(super) fn numbers() -> SequenceOptions {
    SequenceOptions { start: 1, increment: 1, min: 1, max: i64::MAX, cycle: false }
}

pub(super) fn batch(rows: &[(i64, i64)]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1)));
    RecordBatch::try_from_iter([("id", ids), ("value", values)]).unwrap()
}

fn trees(snapshot: &Snapshot) -> Trees {
    let tree = |name: String| {
        let tree = snapshot.tree(&name).unwrap().unwrap();
        let entries = tree.iter().map(|entry| entry.map(|(key, value)| (key, value.to_vec())).unwrap()).collect();
        (name, entries)
    };
    snapshot.tree_names().unwrap().into_iter().map(tree).collect()
}

pub(super) fn open_store(folder: &Path) -> Store {
    let names = ["database.lath", "_table.lath"];
    let path = names.iter().map(|name| folder.join(name)).find(|path| path.is_file()).unwrap();
    Options::new().read_only(true).open(path).unwrap()
}

pub(super) fn contents(folder: &Path) -> Contents {
    let newest = open_store(folder).snapshot().unwrap();
    let mut all = Contents::from([(String::new(), (newest.sequence(), trees(&newest)))]);
    for name in newest.snapshot_names().unwrap() {
        let named = newest.snapshot(&name).unwrap().unwrap();
        all.insert(name, (named.sequence(), trees(&named)));
    }
    all
}

/// The names of the data files, and the small files with their contents.
fn files(folder: &Path) -> (Vec<PathBuf>, BTreeMap<PathBuf, String>) {
    let (mut data, mut small) = (Vec::new(), BTreeMap::new());
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let below = path.strip_prefix(folder).unwrap().to_owned();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if name == "metadata" {
                continue;
            } else if path.is_dir() {
                folders.push(path);
            } else if name.contains(".pq") {
                data.push(below);
            } else if name.ends_with(".json") {
                small.insert(below, fs::read_to_string(path).unwrap());
            }
        }
    }
    data.sort();
    (data, small)
}

/// Asserts that a copy has what its source has, and that all of it can be read. The source may have files besides that no commit names.
pub(super) fn assert_copied(source: &Path, copy: &Path) {
    let (expected, found) = (contents(source), contents(copy));
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "names of snapshots");
    for (name, (commit, trees)) in &expected {
        let (found_commit, found_trees) = &found[name];
        assert_eq!(found_commit, commit, "commit of snapshot {name:?}");
        assert_eq!(found_trees.keys().collect::<Vec<_>>(), trees.keys().collect::<Vec<_>>(), "trees of {name:?}");
        for (tree, entries) in trees {
            // The history is the newest commit's. A snapshot in the copy lists none that the source has dropped since.
            if tree == "history" && !name.is_empty() {
                continue;
            }
            assert!(found_trees[tree] == *entries, "tree {tree} of snapshot {name:?} at commit {commit} differs");
        }
    }
    let newest = &expected[""].1;
    // A dropped table keeps its files as long as readers need them.
    let is_there = |path: &PathBuf| match path.iter().next().unwrap().to_str().unwrap().strip_prefix("table-") {
        Some(number) => newest.contains_key(&format!("table/{}/meta", number.parse::<u64>().unwrap())),
        None => true,
    };
    let small = |folder: &Path| {
        let files = files(folder).1.into_iter().filter(|(path, _)| is_there(path));
        files.collect::<BTreeMap<_, _>>()
    };
    assert_eq!(small(copy), small(source), "sequences and consumers");
    check(copy);
}

/// Asserts that a copy without readers has no file that its source does not have.
pub(super) fn assert_no_surplus(source: &Path, copy: &Path) {
    let (source, copy) = (files(source).0, files(copy).0);
    let surplus: Vec<_> = copy.iter().filter(|file| !source.contains(file)).collect();
    assert!(surplus.is_empty(), "the copy has files that the source does not have: {surplus:?}");
}

/// Checks all tables of a folder.
pub(super) fn check(folder: &Path) {
    let mut tables = Vec::new();
    let database = Database::open_read_only(folder, options());
    match &database {
        Ok(database) => {
            tables.extend(database.table_names().unwrap().iter().map(|name| database.table(name).unwrap()));
        }
        Err(_) => tables.push(Table::open_read_only(folder, options()).unwrap()),
    }
    for table in tables {
        let report = table.check().unwrap();
        // Neither is damage: a file that no commit names goes once no reader is left, and space that readers held may stay unused.
        let is_damage = |problem: &&lath_table::Problem| {
            let text = problem.to_string();
            !text.contains("no commit names") && !text.contains("marked as used, but nothing refers")
        };
        let damage: Vec<_> = report.problems.iter().filter(is_damage).collect();
        assert!(damage.is_empty(), "{}: {damage:?}", table.folder().display());
        let rows = table.scan().unwrap().build().unwrap().map(|batch| batch.unwrap().num_rows() as u64).sum::<u64>();
        assert_eq!(rows, table.count().unwrap());
    }
}
