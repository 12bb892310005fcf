//! Random histories of a database whose follower is begun and ended at any time: after each round the copy equals the source.
//!
//! `LATH_FULL=1` takes 200 histories instead of 6.

use std::path::Path;
use std::time::Duration;

use arrow_schema::{DataType, Field};
use fastrand::Rng;
use lath_table::{ChangeRetention, ConsumerOptions, Database, HistoryRetention, Replica, Snapshot, Table};

use super::contents::{assert_copied, assert_no_surplus, batch, fast_options, numbers};

/// Puts rows into a table, whatever columns it has by now.
fn put(table: &Table, random: &mut Rng) {
    let count = [1, 5, 400][random.usize(..3)];
    let rows: Vec<(i64, i64)> = (0..count).map(|_| (random.i64(0..2000), random.i64(0..100))).collect();
    let rows = batch(&rows);
    let schema = table.schema().unwrap();
    let mut columns = rows.columns().to_vec();
    while columns.len() < schema.fields().len() {
        let field = schema.field(columns.len());
        columns.push(arrow_array::new_null_array(field.data_type(), rows.num_rows()));
    }
    // Keys may repeat; the last row wins.
    table.upsert(&arrow_array::RecordBatch::try_new(schema, columns).unwrap()).unwrap();
}

fn change(database: &Database, random: &mut Rng) {
    let names = database.table_names().unwrap();
    let name = (!names.is_empty()).then(|| names[random.usize(..names.len())].clone());
    let table = name.as_ref().map(|name| database.table(name).unwrap());
    match (random.u8(..32), &table) {
        (0 | 1, _) | (_, None) => {
            let new = format!("t{}", random.u8(..6));
            if !names.contains(&new) {
                database.create_table(&new, &batch(&[]).schema(), &["id"]).unwrap();
            }
        }
        (2, Some(_)) => database.drop_table(name.as_ref().unwrap()).unwrap(),
        (3, Some(_)) => {
            let new = format!("t{}", random.u8(..6));
            if !names.contains(&new) {
                database.rename_table(name.as_ref().unwrap(), &new).unwrap();
            }
        }
        (4..=6, Some(table)) => drop(table.flush().unwrap()),
        (7, Some(table)) => drop(table.compact().unwrap()),
        (8 | 9, _) => drop(database.vacuum().unwrap()),
        (10, _) => {
            let kept = format!("s{}", random.u8(..4));
            if database.snapshot().unwrap().snapshot_names().unwrap().contains(&kept) {
                database.drop_snapshot(&kept).unwrap();
            } else {
                database.keep_snapshot(&kept).unwrap();
            }
        }
        (11, _) => database
            .keep_history(HistoryRetention::new().commits(random.u64(1..40)).age(Duration::from_secs(60)))
            .unwrap(),
        (12, _) if random.bool() => database.drop_history().unwrap(),
        (13, Some(table)) => {
            let columns = table.schema().unwrap();
            if columns.fields().len() < 4 {
                let field = Field::new(format!("c{}", random.u32(..)), DataType::Int32, true);
                table.add_column(&field, None).unwrap();
            } else {
                table.drop_column(columns.field(2).name()).unwrap();
            }
        }
        (14, Some(table)) => {
            if table.snapshot().unwrap().indexes().is_empty() {
                table.create_index("by_value", &["value"], false).unwrap();
            } else {
                table.drop_index("by_value").unwrap();
            }
        }
        (15, Some(table)) => table.keep_changes(ChangeRetention::new().rows(random.u64(1..500))).unwrap(),
        (16, Some(table)) => {
            let mut consumers = table.consumers().unwrap();
            match consumers.pop() {
                None => drop(table.add_consumer("mail", ConsumerOptions::new())),
                Some(_) if random.bool() => table.drop_consumer("mail").unwrap(),
                Some(_) => drop(table.acknowledge("mail", table.snapshot().unwrap().version())),
            }
        }
        (17, _) => {
            if !database.drop_view("v").unwrap() {
                database.put_view("v", "SELECT 1").unwrap();
            }
        }
        (18, _) => {
            if database.sequences().unwrap().contains_key("numbers") {
                database.next_numbers("numbers", random.usize(1..40)).unwrap();
            } else {
                database.create_sequence("numbers", &numbers()).unwrap();
            }
        }
        (19..=21, Some(table)) => table.delete((0..50).map(|_| random.i64(0..2000)).collect::<Vec<_>>()).unwrap(),
        (22, _) => {
            let mut transaction = database.begin().unwrap();
            for name in &names {
                let rows = transaction.table(name).unwrap();
                rows.delete([random.i64(0..2000)]).unwrap();
            }
            transaction.commit().unwrap();
        }
        (_, Some(table)) => put(table, random),
    }
}

fn total(snapshot: &Snapshot) -> u64 {
    snapshot.scan().build().unwrap().map(|batch| batch.unwrap().num_rows() as u64).sum()
}

fn run(seed: u64) {
    println!("seed {seed}");
    let mut random = Rng::with_seed(seed);
    let folder = tempfile::tempdir().unwrap();
    let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
    let mut database = Some(Database::create(&source, fast_options()).unwrap());
    let mut replica: Option<Replica> = None;
    let mut readers: Vec<(Snapshot, u64)> = Vec::new();
    let mut has_copy = false;
    for _ in 0..150 {
        let open = database.get_or_insert_with(|| Database::open(&source, fast_options()).unwrap());
        for _ in 0..random.usize(1..8) {
            change(open, &mut random);
        }
        match random.u8(..12) {
            // The process ends, and perhaps none writes while the follower works.
            0 => database = None,
            1 => replica = None,
            2 if has_copy => {
                let reading = Database::open_read_only(&copy, fast_options()).unwrap();
                let all = reading.snapshot().unwrap();
                for name in all.table_names().unwrap() {
                    let table = all.table(&name).unwrap();
                    readers.push((table.clone(), total(&table)));
                }
            }
            3 => readers.clear(),
            _ => {}
        }
        if random.u8(..3) == 0 {
            let open = replica.get_or_insert_with(|| Replica::open(&source, &copy, fast_options()).unwrap());
            let result = open.catch_up().unwrap();
            assert_eq!(result.whole_copy.is_some(), !has_copy, "{result:?}");
            has_copy = true;
            assert_copied(&source, &copy);
            if readers.is_empty() {
                open.catch_up().unwrap();
                assert_no_surplus(&source, &copy);
            }
            for (snapshot, rows) in &readers {
                assert_eq!(total(snapshot), *rows, "a reader keeps the commit that it has");
            }
        }
    }
    drop((replica, database));
    readers.clear();
    finish(&source, &copy, &mut random);
}

/// Promotes the copy, and changes both.
fn finish(source: &Path, copy: &Path, random: &mut Rng) {
    Replica::open(source, copy, fast_options()).unwrap().catch_up().unwrap();
    assert_copied(source, copy);
    Replica::promote(copy, fast_options()).unwrap();
    for folder in [copy, source] {
        let database = Database::open(folder, fast_options()).unwrap();
        for _ in 0..30 {
            change(&database, random);
        }
        drop(database);
        super::contents::check(folder);
    }
}

#[test]
fn copy_equals_its_source_after_each_round_of_random_histories() {
    let seed = lath_testkit::seed();
    let histories = if std::env::var_os("LATH_FULL").is_some() { 200 } else { 6 };
    for history in 0..histories {
        run(seed.wrapping_add(history));
    }
}
