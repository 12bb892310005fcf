//! Damage anywhere in the folder of a table: every answer is correct or an error.
//!
//! Damage that no checksum can detect is allowed only in one place: the end of a log looks as if the power had failed
//! before it was written, so the newest commits may be missing, each in full and with all later ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use fastrand::Rng;
use lath_table::{Error, Table, TableOptions};
use lath_testkit::damage_a_file;
use lath_writer::WriteOptions;

/// The number of mutations in every run, and with `LATH_FULL=1`.
const SAMPLE: u64 = 60;
const ALL: u64 = 1000;

/// Group, text and number of each key.
type Rows = BTreeMap<i64, (i64, String, f64)>;
type Row = (i64, (i64, String, f64));
type ExpectedRows<'e> = &'e dyn Fn(&Rows) -> Vec<Row>;

fn options() -> TableOptions {
    TableOptions::new().background(false).write_options(WriteOptions::default().row_group_rows(1500))
}

fn batch(rows: &Rows) -> RecordBatch {
    let columns: [(&str, ArrayRef); 4] = [
        ("id", Arc::new(Int64Array::from_iter_values(rows.keys().copied()))),
        ("group", Arc::new(Int64Array::from_iter_values(rows.values().map(|row| row.0)))),
        ("text", Arc::new(StringArray::from_iter_values(rows.values().map(|row| &row.1)))),
        ("number", Arc::new(Float64Array::from_iter_values(rows.values().map(|row| row.2)))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn push_rows(batch: &RecordBatch, rows: &mut Vec<Row>) {
    let [id, group, number] = ["id", "group", "number"].map(|name| batch.column_by_name(name).unwrap());
    let text = batch.column_by_name("text").unwrap();
    let text = arrow_cast::cast(text, &arrow_schema::DataType::Utf8).unwrap();
    for row in 0..batch.num_rows() {
        let value = |array: &ArrayRef| array.as_primitive::<Int64Type>().value(row);
        let text = text.as_string::<i32>().value(row).to_owned();
        rows.push((value(id), (value(group), text, number.as_primitive::<Float64Type>().value(row))));
    }
}

fn made(ids: impl Iterator<Item = i64>, round: i64) -> Rows {
    ids.map(|id| (id, ((id * 7 + round) % 50, format!("text {} {round}", id % 90), id as f64 / 8.0 + round as f64)))
        .collect()
}

/// Builds a table with files in which rows are masked, an index, hot rows and tombstones. Returns its contents after
/// each of the last commits. `is_closed`: whether the files are from a closed table rather than a killed process.
fn build(folder: &Path, is_closed: bool) -> Vec<Rows> {
    let live = folder.join("live");
    let table = Table::create(&live, &batch(&Rows::new()).schema(), &["id"], options()).unwrap();
    table.create_index("by group", &["group"], false).unwrap();
    let mut rows = Rows::new();
    let upsert = |rows: &mut Rows, new: Rows| {
        table.upsert(&batch(&new)).unwrap();
        rows.extend(new);
    };
    upsert(&mut rows, made((0..6000).map(|id| id * 2), 0));
    table.flush().unwrap();
    upsert(&mut rows, made((1000..3000).map(|id| id * 3), 1));
    table.delete((500..900).map(|id| id * 4).collect::<Vec<i64>>()).unwrap();
    (500..900).for_each(|id| drop(rows.remove(&(id * 4))));
    table.flush().unwrap();
    let mut versions = vec![rows.clone()];
    for round in 2..8 {
        upsert(&mut rows, made((round * 100..round * 100 + 60).map(|id| id * 5), round));
        versions.push(rows.clone());
        table.delete([round * 500 + 5]).unwrap();
        rows.remove(&(round * 500 + 5));
        versions.push(rows.clone());
    }
    let table = if is_closed {
        drop(table);
        None
    } else {
        Some(table)
    };
    copy_folder(&live, &folder.join("whole"));
    drop(table);
    if is_closed { versions.split_off(versions.len() - 1) } else { versions }
}

/// Copies a folder with all that is below it, without locks.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            copy_folder(&path, &to.join(path.file_name().unwrap()));
        } else if !path.to_str().unwrap().ends_with("-lock") {
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
}

/// Counts the errors of a table, and lists its wrong answers: answers that do not match one version, the same for all
/// of them.
fn wrong_answers(table: &Table, versions: &[Rows], random: &mut Rng) -> (usize, Vec<String>) {
    let mut errors = 0;
    let mut wrong: Vec<Vec<String>> = vec![Vec::new(); versions.len()];
    let mut judge = |what: String, answer: Result<Vec<Row>, Error>, expected: ExpectedRows<'_>| match answer {
        Err(_) => errors += 1,
        Ok(mut found) => {
            found.sort_by_key(|row| row.0);
            for (version, wrong) in versions.iter().zip(&mut wrong) {
                if found != expected(version) {
                    wrong.push(format!("{what}: {} rows", found.len()));
                }
            }
        }
    };
    let row_of = |rows: &Rows, id: i64| rows.get(&id).map(|row| (id, row.clone())).into_iter().collect::<Vec<_>>();
    for _ in 0..12 {
        let id = random.i64(0..12_000);
        let found = table.snapshot().and_then(|snapshot| snapshot.get(id)).map(|batch| {
            let mut rows = Vec::new();
            batch.iter().for_each(|batch| push_rows(batch, &mut rows));
            rows
        });
        judge(format!("get {id}"), found, &|rows| row_of(rows, id));
    }
    let collect = |batches: lath_table::TableBatches| {
        let mut rows = Vec::new();
        for batch in batches {
            push_rows(&batch?, &mut rows);
        }
        Ok(rows)
    };
    let group = random.i64(0..50);
    let found = table.snapshot().and_then(|snapshot| snapshot.get_by_index("by group", group)).map(|batch| {
        let mut rows = Vec::new();
        push_rows(&batch, &mut rows);
        rows
    });
    let in_group =
        |rows: &Rows| rows.iter().filter(|row| row.1.0 == group).map(|(id, row)| (*id, row.clone())).collect();
    judge(format!("by index {group}"), found, &in_group);
    let id = random.i64(0..12_000);
    for condition in [format!("id = {id}"), format!("\"group\" = {group}"), format!("id > {id} and text = 'text 7 0'")]
    {
        let found = table.scan().and_then(|scan| scan.filter(&condition)?.build()).and_then(collect);
        let is_wanted = |id_: i64, row: &(i64, String, f64)| match () {
            () if condition.contains("text") => id_ > id && row.1 == "text 7 0",
            () if condition.contains("group") => row.0 == group,
            () => id_ == id,
        };
        let expected = |rows: &Rows| {
            rows.iter().filter(|(id, row)| is_wanted(**id, row)).map(|(id, row)| (*id, row.clone())).collect()
        };
        judge(format!("scan where {condition}"), found, &expected);
    }
    let found = table.scan().and_then(lath_table::TableScan::build).and_then(collect);
    judge("scan".to_owned(), found, &|rows| rows.iter().map(|(id, row)| (*id, row.clone())).collect());
    let count = |count: u64| vec![(count as i64, (0, String::new(), 0.0))];
    judge("count".to_owned(), table.count().map(count), &|rows| count(rows.len() as u64));
    let found = table.range(id..id + 3000).and_then(lath_table::RangeScan::count).map(count);
    judge(format!("count from {id}"), found, &|rows| count(rows.range(id..id + 3000).count() as u64));
    let found = table.range(id..).and_then(|range| range.limit(40).build()).and_then(|batches| {
        let mut rows = Vec::new();
        for batch in batches {
            push_rows(&batch?, &mut rows);
        }
        Ok(rows)
    });
    let first = |rows: &Rows| rows.range(id..).take(40).map(|(id, row)| (*id, row.clone())).collect();
    judge(format!("40 rows from {id}"), found, &first);
    let least = wrong.into_iter().min_by_key(Vec::len).unwrap_or_default();
    (errors, least)
}

#[test]
fn every_answer_of_a_damaged_table_is_right_or_an_error() {
    let count = if std::env::var_os("LATH_FULL").is_some() { ALL } else { SAMPLE };
    let seed = std::env::var("LATH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0x00da_3a9e_u64);
    println!("seed {seed}");
    let (mut refused, mut errors, mut all_right) = (0, 0, 0);
    let mut failures = Vec::new();
    for is_closed in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let versions = build(folder.path(), is_closed);
        for number in 0..count / 2 {
            let mut random = Rng::with_seed(seed + number * 2 + u64::from(is_closed));
            let damaged = folder.path().join(format!("damaged {number}"));
            copy_folder(&folder.path().join("whole"), &damaged);
            let names = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            let files = names(&damaged).chain(names(&damaged.join("_data"))).filter(|path| path.is_file());
            let what = damage_a_file(&files.collect::<Vec<_>>(), &mut random);
            let opened = match number % 2 {
                0 => Table::open_read_only(&damaged, options()),
                _ => Table::open(&damaged, options()),
            };
            match opened {
                Err(_) => refused += 1,
                Ok(table) => {
                    // Only the log can lose commits.
                    let versions = if what.contains("-log") { &versions[..] } else { &versions[versions.len() - 1..] };
                    let (error_count, wrong) = wrong_answers(&table, versions, &mut random);
                    errors += error_count;
                    all_right += usize::from(error_count == 0 && wrong.is_empty());
                    if !wrong.is_empty() {
                        failures.push(format!("{what} (closed: {is_closed}, {number}): {wrong:?}"));
                    }
                }
            }
            fs::remove_dir_all(&damaged).unwrap();
        }
    }
    println!(
        "{count} mutations: {refused} refused when opened, {errors} errors of answers, {all_right} without an error"
    );
    assert!(failures.is_empty(), "{} of {count} give wrong answers:\n{}", failures.len(), failures.join("\n"));
}
