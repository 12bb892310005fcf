//! Measures publication: two tables of many files, one of them published as Iceberg, take the same upserts and flushes in turns.
//!
//! `cargo run --release -p lath-table --example publishing [FILES [FOLDER]]`

#![allow(clippy::unwrap_used, reason = "a program for people, which stops at the first error")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use lath_table::{PublishOptions, Table, TableOptions};

const FILE_ROWS: i64 = 1_000;
const COMMIT_ROWS: i64 = 10_000;
const COMMITS: i64 = 20;
const ROUNDS: i64 = 21;

fn batch(ids: &[i64], price: f64) -> RecordBatch {
    let columns: [(&str, ArrayRef); 3] = [
        ("id", Arc::new(Int64Array::from(ids.to_vec()))),
        ("price", Arc::new(Float64Array::from(vec![price; ids.len()]))),
        ("name", Arc::new(StringArray::from_iter_values(ids.iter().map(|id| format!("name of {id}"))))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn table(folder: &Path, files: i64) -> Table {
    let _ = std::fs::remove_dir_all(folder);
    // Without the background thread, files are not merged.
    let options = TableOptions::new().background(false);
    let table =
        Table::create(folder, &batch(&[], 0.0).schema(), &["id"], options.clone().file_rows(FILE_ROWS as u64)).unwrap();
    for start in (0..files * FILE_ROWS).step_by(100_000) {
        let end = (start + 100_000).min(files * FILE_ROWS);
        table.upsert(&batch(&(start..end).collect::<Vec<_>>(), 1.0)).unwrap();
    }
    table.flush().unwrap();
    drop(table);
    Table::open(folder, options).unwrap()
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

fn main() {
    let mut args = std::env::args().skip(1);
    let files: i64 = args.next().map_or(1_000, |files| files.parse().unwrap());
    let folder = args.next().map_or_else(|| std::env::temp_dir().join("lath-table-publishing"), PathBuf::from);
    let tables = ["plain", "published"].map(|name| table(&folder.join(name), files));
    let first = timed(|| _ = tables[1].publish(PublishOptions::new()).unwrap());
    println!("{files} files; the first publication: {:.1} ms", first.as_secs_f64() * 1e3);
    let rows = files * FILE_ROWS;
    // A few rows of one file, so that a flush writes one small file and one deletion vector.
    let (mut flushes, mut upserts) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for round in 0..ROUNDS {
        for (table, times) in tables.iter().zip(&mut flushes) {
            table.upsert(&batch(&[round * 7 % rows, round * 7 % rows + 1], 2.0)).unwrap();
            times.push(timed(|| _ = table.flush().unwrap()));
        }
    }
    let [plain, published] = flushes.map(median);
    println!(
        "a flush of two rows: {plain:.1} ms; with a publication {published:.1} ms: {:.1} ms more",
        published - plain
    );
    // One flush after 20 commits of 10,000 rows anywhere.
    for round in 0..5 {
        for (table, times) in tables.iter().zip(&mut upserts) {
            times.push(timed(|| {
                for commit in 0..COMMITS {
                    let at = (round * COMMITS + commit) * COMMIT_ROWS;
                    let ids: Vec<i64> = (at..at + COMMIT_ROWS).map(|row| (row * 1_003) % rows).collect();
                    table.upsert(&batch(&ids, 3.0)).unwrap();
                }
                table.flush().unwrap();
            }));
        }
    }
    let [plain, published] = upserts.map(|times| (COMMITS * COMMIT_ROWS) as f64 / median(times) * 1e3);
    println!(
        "upserts, {COMMIT_ROWS} a commit, a flush after {COMMITS}: {plain:.0} rows a second; published {published:.0}: {:.1} % fewer",
        (1.0 - published / plain) * 100.0
    );
}
