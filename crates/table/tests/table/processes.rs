//! Readers in other processes while a writer flushes, compacts and removes files.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use lath_table::{Durability, Snapshot, Table, TableOptions};

const PATH: &str = "LATH_TEST_TABLE_READER";
const ACCOUNTS: i64 = 2500;
const TOTAL: i64 = ACCOUNTS * 100;

fn batch(rows: &[(i64, i64)]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
    let sums: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1)));
    RecordBatch::try_from_iter([("account", ids), ("sum", sums)]).unwrap()
}

fn options() -> TableOptions {
    TableOptions::new().durability(Durability::Deferred).background(false).merge_files(3).file_rows(2000)
}

fn sum_values(snapshot: &Snapshot) -> i64 {
    let batches = snapshot.scan().select(["sum"]).build().unwrap();
    batches.map(|batch| batch.unwrap().column(0).as_primitive::<Int64Type>().values().iter().sum::<i64>()).sum()
}

fn check_snapshot(snapshot: &Snapshot) {
    assert_eq!(sum_values(snapshot), TOTAL);
    assert_eq!(snapshot.count().unwrap(), ACCOUNTS as u64);
    assert_eq!(snapshot.range(100..200).unwrap().count().unwrap(), 100);
}

#[test]
fn sums_hold_at_every_snapshot_in_another_process() {
    if let Ok(path) = std::env::var(PATH) {
        let table = Table::open_read_only(path, options()).unwrap();
        let held = table.snapshot().unwrap();
        let first = held.version();
        let start = Instant::now();
        let mut newest = first;
        while start.elapsed() < Duration::from_millis(2500) || newest <= first + 10 {
            assert!(start.elapsed() < Duration::from_secs(60), "the reader has seen commits {first} to {newest} only");
            let snapshot = table.snapshot().unwrap();
            newest = snapshot.version();
            check_snapshot(&snapshot);
            // Files that the writer has dropped since still exist for this one.
            check_snapshot(&held);
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let table = Table::create(&path, &batch(&[]).schema(), &["account"], options()).unwrap();
    let all: Vec<(i64, i64)> = (0..ACCOUNTS).map(|account| (account, 100)).collect();
    table.upsert(&batch(&all)).unwrap();
    table.flush().unwrap();
    let mut readers: Vec<_> = (0..2)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "processes::sums_hold_at_every_snapshot_in_another_process", "--nocapture"])
                .env(PATH, &path)
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut random = fastrand::Rng::with_seed(lath_testkit::seed());
    let (mut commits, mut removed) = (0, 0);
    while readers.iter_mut().any(|reader| reader.try_wait().unwrap().is_none()) {
        let mut transaction = table.begin().unwrap();
        let [from, to] = [(); 2].map(|()| random.i64(0..ACCOUNTS));
        let amount = random.i64(0..50);
        for (account, change) in [(from, -amount), (to, amount)] {
            let row = transaction.get(account).unwrap().unwrap();
            let sum = row.column(1).as_primitive::<Int64Type>().value(0);
            transaction.upsert(&batch(&[(account, sum + change)])).unwrap();
        }
        transaction.commit().unwrap();
        commits += 1;
        if commits % 20 == 0 {
            table.flush().unwrap();
            table.compact().unwrap();
            removed += table.vacuum().unwrap();
        }
    }
    for mut reader in readers {
        assert!(reader.wait().unwrap().success());
    }
    // There are no readers any more.
    removed += table.vacuum().unwrap();
    assert!(removed > 0, "no file was removed in {commits} commits");
    let report = table.check().unwrap();
    assert!(report.is_intact(), "{report:?}");
    check_snapshot(&table.snapshot().unwrap());
}

#[test]
fn a_table_has_one_writer_and_is_not_created_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    assert!(matches!(Table::open(&path, options()), Err(lath_table::Error::NoTable { .. })));
    assert!(!path.exists());
    let table = Table::create(&path, &batch(&[]).schema(), &["account"], options()).unwrap();
    let reader = Table::open_read_only(&path, options()).unwrap();
    table.upsert(&batch(&[(1, 2)])).unwrap();
    assert_eq!(reader.count().unwrap(), 1);
    let refused = reader.upsert(&batch(&[(1, 3)])).unwrap_err();
    assert!(refused.to_string().contains("read-only"), "{refused}");
    drop((reader, table));
    let again = Table::create(&path, &batch(&[]).schema(), &["account"], options()).unwrap_err();
    assert!(matches!(again, lath_table::Error::Exists { .. }), "{again}");
}

const HELD: &str = "LATH_TEST_TABLE_HELD";

/// Starts another process that has the table open, for reading or writing, until its standard input ends. The table is
/// open when this returns.
fn hold(path: &std::path::Path, how: &str) -> (std::process::Child, impl Send + use<>) {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::a_writer_waits_for_others_and_then_says_which_process_it_is", "--nocapture"])
        .env(HELD, format!("{how}:{}", path.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = std::io::BufReader::new(process.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("it is open") {
        line.clear();
        assert!(std::io::BufRead::read_line(&mut output, &mut line).unwrap() > 0, "the other process has ended");
    }
    // If its output were closed, it could not report success.
    (process, output)
}

#[test]
fn a_writer_waits_for_others_and_then_says_which_process_it_is() {
    if let Ok(held) = std::env::var(HELD) {
        let (how, path) = held.split_once(':').unwrap();
        let table = match how {
            "read" => Table::open_read_only(path, options()),
            _ => Table::open(path, options()),
        };
        let table = table.unwrap();
        println!("it is open");
        std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
        return drop(table);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    drop(Table::create(&path, &batch(&[]).schema(), &["account"], options()).unwrap());
    let (mut other, output) = hold(&path, "write");
    let error = Table::open(&path, options().wait(Duration::from_millis(50))).unwrap_err();
    assert!(matches!(error, lath_table::Error::InUse { .. }), "{error}");
    if cfg!(target_os = "linux") {
        let text = error.to_string();
        assert!(text.contains(&format!("process {} ", other.id())) && text.contains("writes to it"), "{text}");
    }
    // A process that waits long enough gets the table as soon as the other has ended.
    let input = other.stdin.take();
    let ended = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        drop(input);
        let status = other.wait().unwrap();
        drop(output);
        status
    });
    let table = Table::open(&path, options().wait(Duration::from_secs(100))).unwrap();
    table.upsert(&batch(&[(1, 2)])).unwrap();
    assert!(ended.join().unwrap().success());
}

#[test]
fn a_reader_of_an_idle_table_refuses_no_writer_and_keeps_what_it_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let all: Vec<(i64, i64)> = (0..ACCOUNTS).map(|account| (account, 100)).collect();
    let table = Table::create(&path, &batch(&[]).schema(), &["account"], options()).unwrap();
    table.upsert(&batch(&all)).unwrap();
    table.flush().unwrap();
    table.upsert(&batch(&all[..500])).unwrap();
    drop(table);
    let (mut other, output) = hold(&path, "read");
    let reader = Table::open_read_only(&path, options()).unwrap();
    let held = reader.snapshot().unwrap();
    for session in 0..3 {
        let table = Table::open(&path, options().wait(Duration::ZERO)).unwrap();
        for round in 0..4 {
            let rows: Vec<(i64, i64)> = all.iter().map(|(account, _)| (*account, session * 10 + round)).collect();
            table.upsert(&batch(&rows)).unwrap();
            table.flush().unwrap();
            table.compact().unwrap();
            table.vacuum().unwrap();
        }
        // Files that the writer has dropped exist for as long as the reader needs them.
        check_snapshot(&held);
        check_snapshot(&reader.snapshot().unwrap());
    }
    drop(other.stdin.take());
    assert!(other.wait().unwrap().success());
    drop((output, held, reader));
    let table = Table::open(&path, options()).unwrap();
    table.upsert(&batch(&all[..1])).unwrap();
    assert!(table.vacuum().unwrap() > 0);
    assert!(table.check().unwrap().is_intact());
}
