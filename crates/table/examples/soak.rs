//! Runs one writer, a thread that flushes, compacts and removes files all the time, and eight readers in two processes, for a number of
//! seconds, and checks that every snapshot adds up.
//!
//! `cargo run --release -p lath-table --example soak -- 60`
//!
//! The writer moves money between accounts, so the sum of all amounts is constant. It also inserts and deletes pairs of rows whose
//! amounts cancel out. Readers sum up the rows of a scan, compare the sum with gets, ranges, counts and the index, wait, and sum up
//! again.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use fastrand::Rng;
use lath_table::{Durability, RangeScan, Snapshot, Table, TableOptions, Transaction};

/// Readers of each process.
const READERS: u64 = 4;
const ACCOUNTS: i64 = 2_000;
const BALANCE: i64 = 1_000;
/// The key of the first row that is no account.
const FIRST_PAIR: i64 = 1_000_000;
const PAIRS: i64 = 500;
const KEPT: [&str; 2] = ["kept", "kept too"];

pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;
type Rows = BTreeMap<i64, i64>;

/// Text by which a row shows that it is whole.
fn seal(id: i64, amount: i64) -> String {
    format!("{id} has {amount}. ").repeat(1 + (id + amount).unsigned_abs() as usize % 9)
}

fn batch(rows: &Rows) -> Outcome<RecordBatch> {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.keys().copied()));
    let amounts: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.values().copied()));
    let seals: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|(id, amount)| seal(*id, *amount))));
    Ok(RecordBatch::try_from_iter([("id", ids), ("amount", amounts), ("seal", seals)])?)
}

fn add_rows(rows: &mut Rows, batch: &RecordBatch) -> Outcome<()> {
    let (ids, amounts) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_primitive::<Int64Type>());
    let seals = arrow_cast::cast(batch.column(2), &arrow_schema::DataType::Utf8)?;
    for row in 0..batch.num_rows() {
        let (id, amount) = (ids.value(row), amounts.value(row));
        if seals.as_string::<i32>().value(row) != seal(id, amount) {
            return Err(format!("row {id} has a text that nobody wrote").into());
        }
        if rows.insert(id, amount).is_some() {
            return Err(format!("row {id} is there twice").into());
        }
    }
    Ok(())
}

fn agree<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Outcome<()> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?} and not {expected:?}").into()) }
}

fn collect_rows(range: RangeScan<'_>) -> Outcome<Rows> {
    let mut rows = Rows::new();
    range.build()?.try_for_each(|batch| add_rows(&mut rows, &batch?))?;
    Ok(rows)
}

/// Adds up what a commit has, and holds all ways of reading against each other.
fn add_up(snapshot: &Snapshot, random: &mut Rng) -> Outcome<Rows> {
    let mut rows = Rows::new();
    snapshot.scan().build()?.try_for_each(|batch| add_rows(&mut rows, &batch?))?;
    agree("the sum", rows.values().sum(), ACCOUNTS * BALANCE)?;
    agree("the accounts", rows.range(..FIRST_PAIR).count() as i64, ACCOUNTS)?;
    agree("the rows of pairs", rows.range(FIRST_PAIR..).filter(|(id, _)| !rows.contains_key(&(*id ^ 1))).count(), 0)?;
    agree("the count", snapshot.count()?, rows.len() as u64)?;
    let low = random.i64(0..ACCOUNTS);
    let part = low..low + random.i64(1..300);
    let expected: Rows = rows.range(part.clone()).map(|(id, amount)| (*id, *amount)).collect();
    agree("the count of a range", snapshot.range(part.clone())?.count()?, expected.len() as u64)?;
    agree("a range", collect_rows(snapshot.range(part)?)?, expected)?;
    for _ in 0..4 {
        let id = if random.bool() { random.i64(0..ACCOUNTS) } else { FIRST_PAIR + random.i64(0..2 * PAIRS) };
        let mut found = Rows::new();
        snapshot.get(id)?.map_or(Ok(()), |row| add_rows(&mut found, &row))?;
        agree("a get", found.get(&id), rows.get(&id))?;
    }
    let ids: Vec<i64> = (0..20).map(|_| random.i64(0..ACCOUNTS)).collect();
    let found = snapshot.get_many(ids.clone())?;
    let amounts = found.rows().column(1).as_primitive::<Int64Type>();
    for (id, place) in ids.iter().zip(found.places()) {
        agree("one of many gets", place.map(|place| amounts.value(place)), rows.get(id).copied())?;
    }
    let amount = rows.get(&ids[0]).copied().unwrap_or_default();
    let mut by_index = Rows::new();
    add_rows(&mut by_index, &snapshot.get_by_index("by amount", amount)?)?;
    agree("the index", by_index, rows.iter().map(|(id, of)| (*id, *of)).filter(|(_, of)| *of == amount).collect())?;
    Ok(rows)
}

fn read(table: &Table, is_over: &AtomicBool, seed: u64) -> Outcome<u64> {
    let mut random = Rng::with_seed(seed);
    let (mut count, mut newest) = (0, 0);
    while !is_over.load(Ordering::Relaxed) {
        let snapshot = table.snapshot()?;
        let rows = add_up(&snapshot, &mut random).map_err(|error| format!("commit {}: {error}", snapshot.version()))?;
        if snapshot.version() < newest {
            return Err(format!("commit {} was seen after commit {newest}", snapshot.version()).into());
        }
        newest = snapshot.version();
        if random.u8(..4) == 0 {
            std::thread::sleep(Duration::from_millis(random.u64(..300)));
            agree("a snapshot held for long", add_up(&snapshot, &mut random)? == rows, true)?;
        }
        if random.u8(..8) == 0 {
            for name in snapshot.snapshot_names()? {
                add_up(&snapshot.snapshot_named(&name)?, &mut random)?;
            }
        }
        count += 1;
        // So that the writer gets some of the processors.
        std::thread::sleep(Duration::from_millis(random.u64(..40)));
    }
    Ok(count)
}

/// Runs the readers of a process until `is_over`; how many snapshots they added up.
fn read_all(table: &Table, is_over: &AtomicBool, seed: u64) -> Outcome<u64> {
    std::thread::scope(|scope| {
        let start = |reader| {
            scope.spawn(move || {
                let outcome = read(table, is_over, seed ^ reader);
                if outcome.is_err() {
                    is_over.store(true, Ordering::Relaxed);
                }
                outcome
            })
        };
        let readers: Vec<_> = (0..READERS).map(start).collect();
        let counts = readers.into_iter().map(|reader| reader.join().map_err(|_| "a reader panicked")?);
        counts.sum::<Outcome<u64>>()
    })
}

/// Moves money and pairs a few times.
fn transfer(transaction: &mut Transaction, random: &mut Rng) -> Outcome<()> {
    for _ in 0..random.u32(1..12) {
        let (from, to) = (random.i64(0..ACCOUNTS), random.i64(0..ACCOUNTS));
        if from != to {
            let mut rows = Rows::new();
            add_rows(&mut rows, transaction.get_many(vec![from, to])?.rows())?;
            let amount = random.i64(..=rows[&from].max(1)).rem_euclid(rows[&from].max(1));
            rows.entry(from).and_modify(|balance| *balance -= amount);
            rows.entry(to).and_modify(|balance| *balance += amount);
            transaction.upsert(&batch(&rows)?)?;
        }
        let pair = FIRST_PAIR + 2 * random.i64(0..PAIRS);
        if random.bool() {
            let amount = random.i64(1..1_000_000);
            transaction.upsert(&batch(&Rows::from([(pair, amount), (pair + 1, -amount)]))?)?;
        } else {
            transaction.delete(vec![pair, pair + 1])?;
        }
    }
    Ok(())
}

fn write_once(table: &Table, random: &mut Rng) -> Outcome<()> {
    let mut transaction = table.begin()?;
    transfer(&mut transaction, random)?;
    if random.u8(..32) == 0 {
        // Half of a transfer, which no reader may see.
        transaction.upsert(&batch(&Rows::from([(random.i64(0..ACCOUNTS), 7)]))?)?;
        return Ok(());
    }
    transaction.commit_with(match random.u8(..64) {
        0 => Durability::Sync,
        1..=3 => Durability::Off,
        _ => Durability::Deferred,
    })?;
    if random.u8(..64) == 0 {
        let name = KEPT[usize::from(random.bool())];
        if table.snapshot_names()?.iter().any(|kept| kept == name) {
            table.drop_snapshot(name)?;
        } else {
            table.keep_snapshot(name)?;
        }
    }
    Ok(())
}

fn options() -> TableOptions {
    TableOptions::new()
        .durability(Durability::Deferred)
        .flush_rows(400)
        .file_rows(700)
        .merge_files(2)
        .deleted_percent(20)
        .store_options(lath_store::Options::new().capacity_bytes(8 << 30).log_limit_bytes(4 << 20))
}

/// Runs the readers of the other process until its standard input is closed.
pub(crate) fn read_in_other_process(path: &Path) -> Outcome<u64> {
    let table = Table::open_read_only(path, options())?;
    let is_over = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&is_over);
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        ends.store(true, Ordering::Relaxed);
    });
    read_all(&table, &is_over, fastrand::u64(..))
}

/// Writes and reads for `seconds`, and returns a summary. `other_process` returns the command that reads the table in another process.
pub(crate) fn soak(seconds: u64, seed: u64, other_process: impl FnOnce(&Path) -> Outcome<Command>) -> Outcome<String> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("table");
    let table = Table::create(&path, &batch(&Rows::new())?.schema(), &["id"], options())?;
    table.upsert(&batch(&(0..ACCOUNTS).map(|account| (account, BALANCE)).collect())?)?;
    table.create_index("by amount", &["amount"], false)?;
    let mut other = other_process(&path)?.stdin(Stdio::piped()).spawn()?;
    let (is_over, begin, commits) = (AtomicBool::new(false), Instant::now(), AtomicU64::new(0));
    let snapshots = std::thread::scope(|scope| -> Outcome<u64> {
        let readers = scope.spawn(|| read_all(&table, &is_over, seed));
        let mut random = Rng::with_seed(seed);
        let mut written = Ok(());
        while written.is_ok() && begin.elapsed() < Duration::from_secs(seconds) && !is_over.load(Ordering::Relaxed) {
            written = write_once(&table, &mut random);
            commits.fetch_add(1, Ordering::Relaxed);
            if let Some(status) = other.try_wait()? {
                written = Err(format!("the other process has ended: {status}").into());
            }
        }
        is_over.store(true, Ordering::Relaxed);
        let read = readers.join().map_err(|_| "the readers panicked")??;
        written.map(|()| read)
    });
    // The other process ends with its standard input.
    drop(other.stdin.take());
    let status = other.wait()?;
    let snapshots = snapshots?;
    agree("whether the other process succeeded", status.success(), true)?;
    table.background_error().map_or(Ok(()), Err)?;
    let rows = add_up(&table.snapshot()?, &mut Rng::new())?;
    drop(table);
    let table = Table::open(&path, options().background(false))?;
    agree("the rows after opening again", add_up(&table.snapshot()?, &mut Rng::new())? == rows, true)?;
    table.vacuum()?;
    let report = table.check()?;
    agree("what is wrong", report.problems, Vec::new())?;
    if snapshots < READERS {
        return Err("some reader did not get to add up anything".into());
    }
    let last = table.snapshot()?.version();
    let commits = commits.into_inner();
    Ok(format!("{commits} transactions, {last} commits, {snapshots} snapshots added up here, {} files", report.files))
}

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let first = args.next().unwrap_or_else(|| "60".to_owned());
    if first == "--read" {
        let path = args.next().ok_or("the folder of a table is missing")?;
        println!("{} snapshots added up in the other process", read_in_other_process(Path::new(&path))?);
        return Ok(());
    }
    let (seconds, seed) = (first.parse()?, fastrand::u64(..));
    println!("seed {seed}, {seconds} seconds");
    let other_process = |path: &Path| {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--read").arg(path);
        Ok(command)
    };
    println!("{}", soak(seconds, seed, other_process)?);
    Ok(())
}
