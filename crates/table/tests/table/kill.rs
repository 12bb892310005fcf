//! Processes that are killed while they upsert, delete, change the schema, flush and compact: every reported commit is
//! there, and no file remains that does not belong to the table.
//!
//! `LATH_FULL=1` kills five hundred processes instead of twenty.

#![cfg(unix)]
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field};
use fastrand::Rng;
use lath_table::{ChangeRetention, Error, Predicate, Table, TableOptions};
use lath_testkit::{Seeded, lines_until_killed, say};

const PATH: &str = "LATH_TEST_TABLE_PATH";
const SEED: &str = "LATH_TEST_TABLE_SEED";

/// The key of the row with the number of the last commit.
const NUMBER_KEY: i64 = -1;

type Rows = BTreeMap<i64, i64>;

/// The change of one commit.
enum Change {
    Upsert(Vec<(i64, i64)>),
    Delete(Vec<i64>),
    DeleteWhere(i64),
}

fn change(seed: u64, number: i64) -> Change {
    let mut random = Rng::with_seed(seed ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let count = 1 + random.usize(..30);
    match random.u8(..8) {
        0 => Change::DeleteWhere(random.i64(0..200)),
        1 | 2 => Change::Delete((0..count).map(|_| random.i64(0..3000)).collect()),
        _ => Change::Upsert((0..count).map(|_| (random.i64(0..3000), random.i64(0..200))).collect()),
    }
}

fn apply(rows: &mut Rows, seed: u64, number: i64) {
    match change(seed, number) {
        Change::Upsert(changed) => rows.extend(changed),
        Change::Delete(keys) => rows.retain(|key, _| !keys.contains(key)),
        Change::DeleteWhere(value) => rows.retain(|_, other| *other != value),
    }
}

fn batch(rows: &[(i64, i64)]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1)));
    RecordBatch::try_from_iter([("id", ids), ("value", values)]).unwrap()
}

/// Converts rows to the table's columns: `extra` is added and dropped.
fn batch_for(table: &Table, rows: &[(i64, i64)]) -> RecordBatch {
    let (batch, schema) = (batch(rows), table.schema().unwrap());
    let mut columns = batch.columns().to_vec();
    if schema.fields().len() > columns.len() {
        columns.push(Arc::new(Int64Array::from(vec![0; rows.len()])));
    }
    RecordBatch::try_new(schema, columns).unwrap()
}

/// Adds or drops the column `extra`, and renames and widens it in between.
fn change_schema(table: &Table, number: i64) {
    match table.schema().unwrap().fields().len() {
        2 => table.add_column(&Field::new("new", DataType::Int32, false), Some(number.into())).unwrap(),
        _ if number % 2 == 0 => table.drop_column("extra").unwrap(),
        _ => return,
    }
    if table.schema().unwrap().column_with_name("new").is_some() {
        table.rename_column("new", "extra").unwrap();
        table.widen_column("extra", &DataType::Int64).unwrap();
    }
}

/// Completes a [`change_schema`] that a killed process has begun.
fn complete_schema(table: &Table) {
    let schema = table.schema().unwrap();
    if schema.column_with_name("new").is_some() {
        table.rename_column("new", "extra").unwrap();
    }
    if schema.fields().len() > 2 {
        table.widen_column("extra", &DataType::Int64).unwrap();
    }
}

fn options() -> TableOptions {
    TableOptions::new()
        .bulk_rows(20)
        .background(false)
        .file_rows(1500)
        .merge_files(3)
        .deleted_percent(20)
        .store_options(lath_store::Options::new().log_limit_bytes(1 << 16).capacity_bytes(1 << 30))
}

fn last_number(table: &Table) -> i64 {
    let row = table.get(NUMBER_KEY).unwrap();
    row.map_or(0, |row| row.column(1).as_primitive::<Int64Type>().value(0))
}

/// The sequences of the changes that are kept.
fn last_sequences(table: &Table) -> Vec<u64> {
    let snapshot = table.snapshot().unwrap();
    let Err(Error::NoChanges { kept_since: Some(kept), .. }) = snapshot.changes(0) else { panic!("all are kept") };
    let batches = snapshot.changes(kept).unwrap().map(Result::unwrap);
    batches.flat_map(|batch| batch.column(1).as_primitive::<UInt64Type>().values().to_vec()).collect()
}

/// Not a test: the program of the children.
#[test]
fn child() {
    let Ok(path) = std::env::var(PATH) else { return };
    let seed: u64 = std::env::var(SEED).unwrap().parse().unwrap();
    let table = Table::open(path, options()).unwrap();
    let mut number = last_number(&table);
    complete_schema(&table);
    std::thread::scope(|scope| {
        let maintained = table.clone();
        scope.spawn(move || {
            loop {
                maintained.flush().unwrap();
                maintained.compact().unwrap();
                maintained.vacuum().unwrap();
            }
        });
        loop {
            number += 1;
            if number % 16 == 0 || number % 29 == 0 {
                change_schema(&table, number);
            }
            let columns = |rows: &[(i64, i64)]| batch_for(&table, rows);
            let mut transaction = table.begin().unwrap();
            match change(seed, number) {
                Change::Upsert(rows) => transaction.upsert(&columns(&rows)).unwrap(),
                Change::Delete(keys) => transaction.delete(keys).unwrap(),
                Change::DeleteWhere(value) => {
                    let condition = format!("value = {value} AND id >= 0");
                    transaction.delete_where(&Predicate::parse(&condition).unwrap()).unwrap();
                }
            }
            transaction.upsert(&columns(&[(NUMBER_KEY, number)])).unwrap();
            transaction.commit().unwrap();
            say(&format!("commit {number}"));
        }
    });
}

/// Runs a child for a while and kills it. Returns the last commit that it reported.
fn run_and_kill(path: &Path, seed: u64, delay: Duration) -> i64 {
    let seed = seed.to_string();
    let environment = [(PATH, path.as_os_str()), (SEED, OsStr::new(&seed))];
    let lines = lines_until_killed("kill::child", &environment, delay);
    let numbers = lines.iter().filter_map(|line| line.strip_prefix("commit ")?.parse().ok());
    numbers.max().unwrap_or(0)
}

#[test]
fn commits_acknowledged_by_killed_process_survive_and_no_stray_file_stays() {
    let kills = if std::env::var_os("LATH_FULL").is_some() { 500 } else { 20 };
    kill_writers(kills, 5..250, None);
}

/// Kills processes that write to a table, whose files are below a URL if there is one, each after some milliseconds.
pub(crate) fn kill_writers(kills: u64, delays: Range<u64>, url: Option<&str>) {
    let mut random = Seeded::new("what a killed process said was committed is there and no file stays");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let seed = random.u64(..);
    let created = url.into_iter().fold(options(), TableOptions::cold_files);
    let table = Table::create(&path, &batch(&[]).schema(), &["id"], created).unwrap();
    // The check compares both with the rows.
    table.create_index("by value", &["value"], false).unwrap();
    table.keep_changes(ChangeRetention::new().rows(2000)).unwrap();
    drop(table);
    let (mut rows, mut number, mut files) = (Rows::new(), 0, 0);
    for round in 0..kills {
        let delay = Duration::from_millis(random.u64(delays.clone()));
        let committed = run_and_kill(&path, seed, delay);
        let what = format!("round {round}, killed after {delay:?}");
        let table = Table::open(&path, options()).unwrap_or_else(|error| panic!("{what}: {error}"));
        let there = last_number(&table);
        assert!(there >= committed.max(number), "{what}: {committed} was committed, and {there} is there");
        for number in number + 1..=there {
            apply(&mut rows, seed, number);
        }
        number = there;
        if number > 0 {
            rows.insert(NUMBER_KEY, number);
        }
        let mut found = Rows::new();
        for batch in table.range::<i64>(..).unwrap().build().unwrap() {
            let batch = batch.unwrap();
            let column = |at: usize| batch.column(at).as_primitive::<Int64Type>().values().to_vec();
            found.extend(column(0).into_iter().zip(column(1)));
        }
        assert!(found == rows, "{what}: commit {there} is not whole");
        let mut report = table.check().unwrap();
        // Opening sends no request, and so it leaves objects that no commit names. The server may store one after the process that has
        // sent it was killed.
        for _ in 0..100 {
            if url.is_none() || report.is_intact() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
            table.vacuum().unwrap();
            report = table.check().unwrap();
        }
        assert!(report.is_intact(), "{what}: {report:?}");
        let sequences = last_sequences(&table);
        assert!(sequences.is_sorted() && sequences.is_empty() == (number == 0), "{what}: {sequences:?}");
        files = files.max(report.files);
        table.cluster_by(if round % 2 == 0 { &["value"][..] } else { &[] }).unwrap();
    }
    assert!(number > 0 && files > 0, "nothing was flushed between {kills} kills");
    println!("{kills} kills, {number} commits, {files} files");
}
