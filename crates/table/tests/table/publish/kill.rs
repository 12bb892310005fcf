//! Processes that are killed while a thread publishes the table that they change: readers of Iceberg and Delta Lake find a commit of it, at any time.
//!
//! `LATH_FULL=1` kills two hundred processes instead of eight.

#![cfg(unix)]
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::time::Duration;

use fastrand::Rng;
use lath_table::{Durability, PublishOptions, Table, TableOptions};
use lath_testkit::{Seeded, lines_until_killed, say};

use super::delta::read_newest_versions;
use super::{EXTRA_KEY, Rows, assert_no_leftovers, batch, read_all, read_newest};

const PATH: &str = "LATH_TEST_PUBLISHED_PATH";
const SEED: &str = "LATH_TEST_PUBLISHED_SEED";

/// The key of the row with the number of the last commit.
const NUMBER_KEY: i64 = -1;

fn options() -> TableOptions {
    let store = lath_store::Options::new().log_limit_bytes(1 << 16).capacity_bytes(1 << 30);
    TableOptions::new().bulk_rows(80).flush_rows(60).file_rows(150).merge_files(3).store_options(store)
}

/// The rows that commit `number` puts, and the keys that it deletes.
fn change(seed: u64, number: i64) -> (Rows, Vec<i64>) {
    let mut random = Rng::with_seed(seed ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let count = if random.u8(..6) == 0 { 120 } else { random.usize(1..20) };
    let put = (0..count).map(|_| (random.i64(0..600), Some(random.i64(0..1000)))).chain([(NUMBER_KEY, Some(number))]);
    (put.collect(), (0..random.usize(..12)).map(|_| random.i64(0..600)).collect())
}

/// The number of the last commit that rows have.
fn commit_number(rows: &Rows) -> i64 {
    rows.get(&NUMBER_KEY).copied().flatten().unwrap_or(0)
}

/// The rows after each of these commits.
fn rows_after(seed: u64, numbers: impl IntoIterator<Item = i64>) -> BTreeMap<i64, Rows> {
    let mut after: BTreeMap<i64, Rows> = numbers.into_iter().map(|number| (number, Rows::new())).collect();
    let (mut rows, mut last) = (Rows::new(), 0);
    for (number, wanted) in &mut after {
        for number in last + 1..=*number {
            let (put, keys) = change(seed, number);
            rows.extend(put);
            rows.retain(|key, _| !keys.contains(key));
        }
        last = *number;
        wanted.clone_from(&rows);
    }
    after
}

fn rows(table: &Table) -> Rows {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;

    let mut found = Rows::new();
    for batch in table.scan().unwrap().build().unwrap() {
        let batch = batch.unwrap();
        let column = |at: usize| batch.column(at).as_primitive::<Int64Type>().iter();
        found.extend(column(0).map(Option::unwrap).zip(column(1)));
    }
    found
}

/// Not a test: the program of the children.
#[test]
fn child() {
    let Ok(path) = std::env::var(PATH) else { return };
    let seed: u64 = std::env::var(SEED).unwrap().parse().unwrap();
    let table = Table::open(path, options()).unwrap();
    let keep = Duration::from_millis([0, 20, 600_000][commit_number(&rows(&table)) as usize % 3]);
    table.publish(PublishOptions::new().delta(true).keep(keep).max_age(Duration::from_millis(1))).unwrap();
    let mut number = commit_number(&rows(&table));
    loop {
        number += 1;
        let (put, keys) = change(seed, number);
        let mut transaction = table.begin().unwrap();
        transaction.upsert(&batch(&put)).unwrap();
        transaction.delete(keys).unwrap();
        // Some commits are lost with the process.
        if number % 4 == 0 {
            transaction.commit_with(Durability::Off).unwrap();
        } else {
            transaction.commit().unwrap();
            say(&format!("commit {number}"));
        }
    }
}

#[test]
fn what_a_killed_process_has_published_is_a_commit_and_the_next_process_goes_on() {
    let kills = if std::env::var_os("LATH_FULL").is_some() { 200 } else { 8 };
    let mut random = Seeded::new("publish kills");
    let seed = random.u64(..);
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().canonicalize().unwrap().join("table");
    drop(Table::create(&folder, &batch(&Rows::new()).schema(), &["id"], options()).unwrap());
    let (mut committed, mut snapshots) = (0, 0);
    for round in 0..kills {
        let delay = Duration::from_millis(random.u64(20..300));
        let text = seed.to_string();
        let environment = [(PATH, folder.as_os_str()), (SEED, OsStr::new(&text))];
        let lines = lines_until_killed("publish::kill::child", &environment, delay);
        let reported = lines.iter().filter_map(|line| line.strip_prefix("commit ")?.parse().ok()).max();
        committed = committed.max(reported.unwrap_or(0));
        let what = format!("round {round}, killed after {delay:?}");

        let mut published: Vec<Rows> = read_all(&folder).into_iter().flatten().map(|(_, rows)| rows).collect();
        published.extend(read_newest_versions(&folder).into_iter().map(|(_, rows)| rows));
        // Snapshots of the check for leftovers have one row more.
        published.iter_mut().for_each(|rows| _ = rows.remove(&EXTRA_KEY));
        let wanted = rows_after(seed, published.iter().map(commit_number));
        for rows in &published {
            assert!(wanted[&commit_number(rows)] == *rows, "{what}: the snapshot of commit {}", commit_number(rows));
        }
        snapshots += published.len();

        let table = Table::open(&folder, options().background(false)).unwrap_or_else(|error| panic!("{what}: {error}"));
        let there = rows(&table);
        let number = commit_number(&there);
        assert!(number >= committed, "{what}: {committed} was committed, and {number} is there");
        assert!(there == rows_after(seed, [number])[&number], "{what}: commit {number} is not whole");
        let newest = published.iter().map(commit_number).max().unwrap_or(0);
        assert!(number >= newest, "{what}: {newest} is published, and {number} is there");
        let report = table.check().unwrap();
        assert!(report.is_intact(), "{what}: {report:?}");
        table.publish(PublishOptions::new()).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(read_newest(&folder) == there, "{what}: published again");
        committed = number;
        if round % 4 == 3 {
            assert_no_leftovers(&table, &folder, &what);
            table.delete([EXTRA_KEY]).unwrap();
        }
    }
    assert!(committed > 0 && snapshots > kills, "{committed} commits, {snapshots} snapshots");
}
