//! Rows that expire.

mod model;
mod rows;

use std::fs;
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, TimestampMicrosecondArray, TimestampNanosecondArray};
use arrow_schema::{DataType, TimeUnit};
use lath_table::{ChangeRetention, Database, Error, Table, TableOptions};

use self::rows::{DAY, MovedClock, Row, batch, schema, time_types};

const START: u64 = 20_000 * DAY;

fn micros() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, None)
}

/// Rows with these numbers and this time.
fn rows_at(ids: std::ops::Range<i64>, ts: u64) -> RecordBatch {
    let row = |id: i64| (id, Row { ts: Some(ts), code: Some(format!("c{id}")), n: id });
    batch(&micros(), &ids.map(row).collect::<Vec<_>>())
}

fn create(folder: &std::path::Path, options: TableOptions) -> Table {
    let table = Table::create(folder, &schema(&micros()), &["id"], options).unwrap();
    table.set_ttl("ts", Duration::from_secs(30 * DAY)).unwrap();
    table
}

#[test]
fn rows_expire_at_the_second_in_columns_of_every_type() {
    for time in time_types() {
        let folder = tempfile::tempdir().unwrap();
        let clock = MovedClock::at(START);
        let table = Table::create(folder.path(), &schema(&time), &["id"], clock.options()).unwrap();
        let row = |id, ts| (id, Row { ts, code: None, n: 0 });
        table.upsert(&batch(&time, &[row(1, Some(START)), row(2, None)])).unwrap();
        table.set_ttl("ts", Duration::from_secs(DAY)).unwrap();
        for is_flushed in [false, true] {
            clock.set(START + DAY - 1);
            assert_eq!(table.count().unwrap(), 2, "{time}");
            assert!(table.get(1).unwrap().is_some());
            let before = table.snapshot().unwrap();
            clock.set(START + DAY);
            assert_eq!(table.count().unwrap(), 1, "{time}");
            assert!(table.get(1).unwrap().is_none() && table.get(2).unwrap().is_some(), "{time}");
            assert_eq!(before.count().unwrap(), 2, "a snapshot always answers the same");
            assert!(before.get(1).unwrap().is_some());
            if !is_flushed {
                clock.set(START);
                table.flush().unwrap();
            }
        }
    }
}

#[test]
fn extreme_times_do_not_overflow() {
    let folder = tempfile::tempdir().unwrap();
    let clock = MovedClock::at(2_147_483_648);
    for (number, is_nanos) in [false, true].into_iter().enumerate() {
        let times = vec![i64::MIN, -1, 0, 2_147_483_647, i64::MAX];
        let ids: ArrayRef = std::sync::Arc::new(Int64Array::from_iter_values(0..5));
        let times: ArrayRef = match is_nanos {
            true => std::sync::Arc::new(TimestampNanosecondArray::from(times)),
            false => std::sync::Arc::new(TimestampMicrosecondArray::from(times)),
        };
        let rows = RecordBatch::try_from_iter([("id", ids), ("ts", times)]).unwrap();
        let table =
            Table::create(folder.path().join(number.to_string()), &rows.schema(), &["id"], clock.options()).unwrap();
        table.upsert(&rows).unwrap();
        for is_flushed in [false, true] {
            // 1,000 years: the time before which rows have expired is no number of nanoseconds in 64 bits.
            table.set_ttl("ts", Duration::from_secs(31_557_600_000)).unwrap();
            assert_eq!(table.count().unwrap(), if is_nanos { 5 } else { 4 });
            table.set_ttl("ts", Duration::ZERO).unwrap();
            let left = table.scan().unwrap().build().unwrap().map(|batch| batch.unwrap().num_rows()).sum::<usize>();
            assert_eq!((left, table.count().unwrap()), (1, 1));
            assert!(table.get(4).unwrap().is_some());
            assert_eq!(table.get_many(vec![0, 1, 2, 3, 4]).unwrap().rows().num_rows(), 1);
            if !is_flushed {
                table.drop_ttl().unwrap();
                table.upsert(&rows).unwrap();
                table.flush().unwrap();
            }
        }
        table.compact().unwrap();
        assert!(table.check().unwrap().is_intact());
    }
}

#[test]
fn a_file_whose_rows_have_all_expired_is_removed_without_being_read() {
    let folder = tempfile::tempdir().unwrap();
    let clock = MovedClock::at(START);
    let path = folder.path().join("table");
    let table = create(&path, clock.options());
    table.upsert(&rows_at(0..60_000, START)).unwrap();
    table.flush().unwrap();
    table.upsert(&rows_at(60_000..60_100, START + 40 * DAY)).unwrap();
    table.flush().unwrap();
    let largest = || {
        let files = fs::read_dir(path.join("_data")).unwrap().map(|entry| entry.unwrap().path());
        files.max_by_key(|file| file.metadata().unwrap().len()).unwrap()
    };
    let file = largest();
    let mut bytes = fs::read(&file).unwrap();
    let half = bytes.len() / 2;
    bytes[4..half].fill(0xee);
    fs::write(&file, bytes).unwrap();
    drop(table);
    let table = Table::open(&path, clock.options()).unwrap();
    clock.advance(30 * DAY);
    // Its pages cannot be read any more.
    assert_eq!(table.count().unwrap(), 100);
    let compacted = table.compact().unwrap();
    assert_eq!((compacted.expired_files, compacted.expired_rows), (1, 60_000));
    assert_eq!((compacted.merges, table.snapshot().unwrap().statistics().unwrap().files.len()), (0, 1));
    table.vacuum().unwrap();
    assert!(!file.exists());
    assert_eq!(table.count().unwrap(), 100);
    let report = table.check().unwrap();
    assert!(report.is_intact() && report.rows == 100, "{report:?}");
}

#[test]
fn merges_and_flushes_leave_expired_rows_out() {
    let folder = tempfile::tempdir().unwrap();
    let clock = MovedClock::at(START);
    let table = create(&folder.path().join("table"), clock.options());
    table.create_index("by_n", &["n"], true).unwrap();
    let some = |first: i64| {
        let row = |id: i64| {
            let ts = (id % 3 > 0).then_some(START + (id % 3) as u64 * 10 * DAY);
            (id, Row { ts, code: None, n: id })
        };
        batch(&micros(), &(first..first + 300).map(row).collect::<Vec<_>>())
    };
    table.upsert(&some(0)).unwrap();
    table.flush().unwrap();
    table.upsert(&some(300)).unwrap();
    clock.advance(40 * DAY);
    let flushed = table.flush().unwrap();
    assert_eq!(flushed.rows, 200);
    let compacted = table.compact().unwrap();
    assert_eq!(compacted.expired_rows, 100);
    let statistics = table.snapshot().unwrap().statistics().unwrap();
    assert_eq!((statistics.rows, statistics.files.len(), statistics.files[0].rows), (400, 1, 400));
    clock.advance(40 * DAY);
    assert_eq!(table.count().unwrap(), 200);
    assert_eq!(table.compact().unwrap().expired_rows, 200);
    assert_eq!(table.snapshot().unwrap().range_by_index::<i64>("by_n", ..).unwrap().count(), 1);
    let report = table.check().unwrap();
    assert!(report.is_intact() && report.rows == 200, "{report:?}");
}

#[test]
fn the_background_thread_removes_expired_files() {
    let folder = tempfile::tempdir().unwrap();
    let clock = MovedClock::at(START);
    let path = folder.path().join("table");
    let table = create(&path, clock.options().background(true).flush_rows(50));
    table.upsert(&rows_at(0..1000, START)).unwrap();
    table.flush().unwrap();
    clock.advance(60 * DAY);
    let start = Instant::now();
    let files = || table.snapshot().unwrap().statistics().unwrap().files;
    let mut next = 1000;
    while files().iter().any(|file| file.rows >= 1000) && start.elapsed() < Duration::from_secs(60) {
        // Wakes the thread.
        table.upsert(&rows_at(next..next + 100, START + 60 * DAY)).unwrap();
        next += 100;
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(files().iter().all(|file| file.masked_rows == 0), "{:?} after {:?}", files(), start.elapsed());
    assert_eq!(table.count().unwrap(), next as u64 - 1000);
    assert!(table.background_error().is_none());
}

#[test]
fn expired_rows_are_in_no_ones_way_and_never_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let clock = MovedClock::at(START);
    let table = create(&folder.path().join("table"), clock.options());
    table.create_index("codes", &["code"], true).unwrap();
    table.upsert(&rows_at(0..10, START)).unwrap();
    table.flush().unwrap();
    table.upsert(&rows_at(10..20, START)).unwrap();
    let taken =
        |id: i64, code: &str, ts| batch(&micros(), &[(id, Row { ts: Some(ts), code: Some(code.to_owned()), n: 0 })]);
    assert!(matches!(table.insert(&taken(90, "c5", START)), Err(Error::NotUnique { .. })));
    clock.advance(30 * DAY);
    let now = START + 30 * DAY;
    table.insert(&taken(90, "c5", now)).unwrap();
    table.insert(&taken(91, "c15", now)).unwrap();
    table.insert(&taken(6, "c6", now)).unwrap();
    assert_eq!(table.update(&rows_at(7..8, now)).unwrap().rows, 0);
    assert!(matches!(table.insert(&taken(92, "c6", now)), Err(Error::NotUnique { .. })));
    assert!(matches!(table.insert(&taken(6, "c7", now)), Err(Error::DuplicateKey { .. })));
    // A longer life, or an endless one, brings no row back.
    table.set_ttl("ts", Duration::from_secs(300 * DAY)).unwrap();
    assert_eq!(table.count().unwrap(), 3);
    table.drop_ttl().unwrap();
    assert_eq!(table.count().unwrap(), 3);
    assert_eq!(table.snapshot().unwrap().ttl(), None);
    let report = table.check().unwrap();
    assert!(report.is_intact() && report.rows == 3, "{report:?}");
}

#[test]
fn the_change_feed_does_not_record_expiry() {
    let folder = tempfile::tempdir().unwrap();
    let clock = MovedClock::at(START);
    let table = create(&folder.path().join("table"), clock.options());
    table.create_index("codes", &["code"], true).unwrap();
    table.keep_changes(ChangeRetention::new()).unwrap();
    let since = table.snapshot().unwrap().version();
    table.upsert(&rows_at(0..4, START)).unwrap();
    table.flush().unwrap();
    table.upsert(&rows_at(4..6, START)).unwrap();
    clock.advance(31 * DAY);
    table.delete([0, 5]).unwrap();
    table.upsert(&rows_at(1..2, START + 31 * DAY)).unwrap();
    let stolen = batch(&micros(), &[(9, Row { ts: None, code: Some("c2".to_owned()), n: 0 })]);
    table.upsert(&stolen).unwrap();
    table.flush().unwrap();
    table.compact().unwrap();
    let changes = table.snapshot().unwrap().changes(since).unwrap();
    let kinds: Vec<String> = changes
        .flat_map(|batch| {
            let batch = batch.unwrap();
            batch.column(0).as_string::<i32>().iter().map(|kind| kind.unwrap().to_owned()).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(kinds, ["insert"; 8]);
}

#[test]
fn rules_that_no_table_can_have_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let clock = MovedClock::at(START);
    let table = create(&folder.path().join("table"), clock.options());
    let refused = |column: &str, lifetime: Duration| table.set_ttl(column, lifetime).unwrap_err().to_string();
    assert!(refused("n", Duration::ZERO).contains("timestamps or dates"));
    assert!(refused("nothing", Duration::ZERO).contains("no column \"nothing\""));
    assert!(refused("ts", Duration::MAX).contains("1,000 years"));
    let dropped = table.drop_column("ts").unwrap_err().to_string();
    assert!(dropped.contains("drop the TTL first"), "{dropped}");
    table.rename_column("ts", "since").unwrap();
    assert_eq!(table.snapshot().unwrap().ttl().unwrap().to_string(), "since + INTERVAL '30 days'");
    table.drop_ttl().unwrap();
    table.drop_column("since").unwrap();
}

#[test]
fn backups_reopened_tables_and_databases_keep_the_rule() {
    let folder = tempfile::tempdir().unwrap();
    let clock = MovedClock::at(START);
    let database = Database::create(folder.path().join("shop"), clock.options()).unwrap();
    let table = database.create_table("events", &schema(&micros()), &["id"]).unwrap();
    table.set_ttl("ts", Duration::from_secs(30 * DAY)).unwrap();
    table.upsert(&rows_at(0..10, START)).unwrap();
    table.flush().unwrap();
    table.upsert(&rows_at(10..30, START + DAY)).unwrap();
    let all = database.snapshot().unwrap();
    database.backup(folder.path().join("backup")).unwrap();
    let mut transaction = database.begin().unwrap();
    assert_eq!(transaction.table("events").unwrap().count().unwrap(), 30);
    clock.advance(30 * DAY);
    // The clocks of a snapshot and of a transaction stand still, also for reads that begin later.
    assert_eq!(all.table("events").unwrap().count().unwrap(), 30);
    transaction.table("events").unwrap().upsert(&rows_at(30..31, START)).unwrap();
    assert_eq!(transaction.table("events").unwrap().count().unwrap(), 31);
    assert_eq!(transaction.snapshot().unwrap().table("events").unwrap().count().unwrap(), 31);
    drop(transaction);
    assert_eq!(database.snapshot().unwrap().table("events").unwrap().count().unwrap(), 20);
    let backup = Database::open_read_only(folder.path().join("backup"), clock.options()).unwrap();
    assert_eq!(backup.table("events").unwrap().count().unwrap(), 20);
    clock.advance(DAY);
    assert_eq!(backup.table("events").unwrap().count().unwrap(), 0);
}

/// Versions that do not know the rule would return expired rows.
#[test]
fn the_number_of_the_format_says_that_rows_expire() {
    let folder = tempfile::tempdir().unwrap();
    let clock = MovedClock::at(START);
    let path = folder.path().join("table");
    let format = || {
        let store = lath_store::Store::open(path.join("_table.lath")).unwrap();
        let snapshot = store.snapshot().unwrap();
        let state = snapshot.tree("table/meta").unwrap().unwrap().get(b"state").unwrap().unwrap().to_vec();
        lath_store::RecordReader::new("the state", &state).unwrap().u32().unwrap()
    };
    let table = create(&path, clock.options());
    drop(table);
    assert_eq!(format(), 14);
    let table = Table::open(&path, clock.options()).unwrap();
    table.add_check("some", &lath_table::Predicate::parse("n >= 0").unwrap()).unwrap();
    drop(table);
    assert_eq!(format(), 16);
    let table = Table::open(&path, clock.options()).unwrap();
    assert!(table.snapshot().unwrap().ttl().is_some());
    table.drop_ttl().unwrap();
    drop(table);
    assert_eq!(format(), 8);
}

/// Rows would refer to missing ones.
#[test]
fn a_table_with_foreign_keys_has_no_ttl() {
    let folder = tempfile::tempdir().unwrap();
    let clock = MovedClock::at(START);
    let database = Database::create(folder.path().join("shop"), clock.options()).unwrap();
    for name in ["events", "notes", "others"] {
        database.create_table(name, &schema(&micros()), &["id"]).unwrap();
    }
    let ttl = |name: &str| database.table(name).unwrap().set_ttl("ts", Duration::ZERO);
    ttl("others").unwrap();
    let add = |table: &str, referred: &str| database.add_foreign_key(table, "fk", &["n"], referred, &["id"]);
    for (table, referred) in [("notes", "others"), ("others", "notes")] {
        let error = add(table, referred).unwrap_err().to_string();
        assert!(error.contains("drop the TTL first"), "{error}");
        assert_eq!(database.table("notes").unwrap().snapshot().unwrap().foreign_keys().unwrap().len(), 0);
    }
    add("notes", "events").unwrap();
    for name in ["notes", "events"] {
        let error = ttl(name).unwrap_err().to_string();
        assert!(error.contains("drop these constraints first"), "{error}");
    }
    database.drop_foreign_key("notes", "fk").unwrap();
    ttl("events").unwrap();
    ttl("notes").unwrap();
}
