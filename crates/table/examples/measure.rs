//! Measures a table: loading, upserts of several sizes, gets, and scans before and after updates.
//!
//! `cargo run --release -p lath-table --example measure [ROWS [FOLDER]]`

#![allow(clippy::unwrap_used, reason = "a program for people, which stops at the first error")]

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use lath_table::{Durability, Table, TableOptions};

const BATCH: i64 = 10_000;
const TOWNS: i32 = 50;

fn batch(ids: &[i64], price: f64) -> RecordBatch {
    let columns: [(&str, ArrayRef); 4] = [
        ("id", Arc::new(Int64Array::from(ids.to_vec()))),
        ("town", Arc::new(ids.iter().map(|id| Some((id % i64::from(TOWNS)) as i32)).collect::<Int32Array>())),
        ("price", Arc::new(Float64Array::from(vec![price; ids.len()]))),
        ("name", Arc::new(StringArray::from_iter_values(ids.iter().map(|id| format!("name of {id}"))))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// A number that looks random: each of `0..rows` once, as `number` goes through them.
fn shuffled(number: i64, rows: i64) -> i64 {
    (number as i128 * 1_000_003 % i128::from(rows)) as i64
}

fn per_second(count: u64, time: Duration) -> String {
    format!("{:.0} a second", count as f64 / time.as_secs_f64())
}

fn upserts(table: &Table, rows: i64, rows_a_commit: i64, commits: i64, durability: Durability, price: f64) {
    let start = Instant::now();
    for commit in 0..commits {
        let ids: Vec<i64> = (0..rows_a_commit).map(|row| shuffled(commit * rows_a_commit + row, rows)).collect();
        let mut transaction = table.begin().unwrap();
        transaction.upsert(&batch(&ids, price)).unwrap();
        transaction.commit_with(durability).unwrap();
    }
    let (time, count) = (start.elapsed(), (commits * rows_a_commit) as u64);
    let (commits, rows) = (per_second(commits as u64, time), per_second(count, time));
    println!("upsert, {rows_a_commit} rows a commit, {durability:?}: {commits} commits, {rows} rows");
}

fn gets(table: &Table, what: &str, ids: impl Iterator<Item = i64>, is_there: bool) {
    let snapshot = table.snapshot().unwrap();
    let (start, mut count) = (Instant::now(), 0);
    for id in ids {
        assert_eq!(snapshot.get(id).unwrap().is_some(), is_there, "{id}");
        count += 1;
    }
    println!("get, {what}: {:.1} µs", start.elapsed().as_secs_f64() * 1e6 / f64::from(count));
}

fn aggregate(table: &Table, what: &str, rows: i64) {
    for run in ["first", "again"] {
        let start = Instant::now();
        let mut sums: HashMap<i32, (u64, f64)> = HashMap::new();
        for batch in table.scan().unwrap().select(["town", "price"]).build().unwrap() {
            let batch = batch.unwrap();
            let (towns, prices) =
                (batch.column(0).as_primitive::<Int32Type>(), batch.column(1).as_primitive::<Float64Type>());
            for (&town, price) in towns.values().iter().zip(prices.values()) {
                let sum = sums.entry(town).or_default();
                *sum = (sum.0 + 1, sum.1 + price);
            }
        }
        assert_eq!(sums.values().map(|sum| sum.0).sum::<u64>(), rows as u64);
        println!("aggregate of all rows, {what}, {run}: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    }
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    println!("{what}: {:.2} s", start.elapsed().as_secs_f64());
    result
}

fn main() {
    let mut args = std::env::args().skip(1);
    let rows: i64 = args.next().map_or(1_000_000, |rows| rows.parse().unwrap());
    let folder = args.next().map_or_else(|| std::env::temp_dir().join("lath-table-measure"), PathBuf::from);
    let _ = std::fs::remove_dir_all(&folder);
    let options = TableOptions::new().background(false);
    let table = Table::create(&folder, &batch(&[], 0.0).schema(), &["id"], options).unwrap();
    timed(&format!("load {rows} rows, {BATCH} a commit, Sync"), || {
        for start in (0..rows).step_by(BATCH as usize) {
            let ids: Vec<i64> = (start..rows.min(start + BATCH)).map(|number| shuffled(number, rows)).collect();
            table.upsert(&batch(&ids, 1.0)).unwrap();
        }
    });
    gets(&table, "hot", (0..20_000).map(|number| shuffled(number, rows)), true);
    aggregate(&table, "all hot", rows);
    println!("{:?}", timed("flush", || table.flush().unwrap()));
    gets(&table, "cold", (0..5_000).map(|number| shuffled(number, rows)), true);
    gets(&table, "absent, beyond all keys", (0..20_000).map(|number| rows + number), false);
    aggregate(&table, "all cold", rows);
    timed("get_many of 10,000 cold keys", || {
        let ids: Vec<i64> = (0..10_000).map(|number| shuffled(number, rows)).collect();
        let found = table.get_many(batch(&ids, 0.0)).unwrap();
        assert_eq!(found.rows().num_rows(), 10_000);
    });
    upserts(&table, rows, 10_000, rows / 100_000, Durability::Sync, 2.0);
    aggregate(&table, "a tenth hot", rows);
    upserts(&table, rows, 100, 200, Durability::Sync, 3.0);
    upserts(&table, rows, 1, 500, Durability::Sync, 3.0);
    upserts(&table, rows, 1, 5_000, Durability::Deferred, 3.0);
    aggregate(&table, "some more hot", rows);
    println!("{:?}", timed("flush", || table.flush().unwrap()));
    aggregate(&table, "a tenth masked", rows);
    println!("{:?}", timed("compact", || table.compact().unwrap()));
    println!("vacuum: {} files", table.vacuum().unwrap());
    timed("check", || assert!(table.check().unwrap().is_intact()));
    drop(table);
    std::fs::remove_dir_all(&folder).unwrap();
}
