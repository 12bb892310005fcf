//! Lath's tables.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use lath_table::{Table, TableOptions};

use crate::options::Options;
use crate::rows::{count_statuses, id, mix, rows};
use crate::{Figures, peers};

const BATCH_ROWS: u64 = 100_000;
const GETS: u64 = 2_000;

/// Does all work, and checks the results.
///
/// # Panics
/// If an answer is wrong.
pub fn run(folder: &Path, options: &Options) -> Figures {
    let mut figures = Figures::new();
    let mut note = |name: &str, figure: f64| figures.push((name.to_owned(), figure));
    let base = options.rows;

    let started = Instant::now();
    let schema = rows([0], 0).schema();
    let table = Table::create(folder, &schema, &["id"], TableOptions::new()).expect("a new folder");
    // A load is one transaction; generating the rows does not count, for the peers neither.
    let mut seconds = started.elapsed().as_secs_f64();
    let mut transaction = table.begin().expect("one writer");
    for start in (0..base).step_by(BATCH_ROWS as usize) {
        let batch = rows(start..(start + BATCH_ROWS).min(base), 0);
        let started = Instant::now();
        transaction.upsert(&batch).expect("rows fit");
        seconds += started.elapsed().as_secs_f64();
    }
    let started = Instant::now();
    transaction.commit().expect("commits");
    table.flush().expect("flushes");
    note("load", base as f64 / (seconds + started.elapsed().as_secs_f64()));
    settle(&table);
    assert_eq!(table.count().expect("counts"), base);
    let base_bytes = folder_bytes(folder);
    note("base_bytes", base_bytes / 1e6);

    note("cold", median_get(&table, (0..GETS).map(|number| mix(number) % base), true));
    note("absent", median_get(&table, (0..GETS).map(|number| base + (1 << 40) + number), false));
    let expected = count_statuses((0..base).map(|number| (number, 0)));
    note("group", group(&table, expected.clone()));
    if options.engines.iter().any(|engine| engine == "duckdb") {
        let (milliseconds, counts) = peers::count_parquet(folder);
        assert_eq!(counts, expected);
        note("group_parquet", milliseconds);
    }
    let (table, milliseconds) = opened_again(table, folder);
    note("open", milliseconds);

    // New rows are numbered from the end of the base, and updates choose among all.
    let mut end = base;
    for (name, per_commit) in [("upsert_1", 1), ("upsert_100", 100), ("upsert_10000", 10_000)] {
        let upserts = options.upsert_count(per_commit);
        let written = written_bytes();
        let mut batches = Vec::new();
        for commit in 0..upserts / per_commit {
            let numbers: Vec<u64> = (0..per_commit)
                .map(|row| if (row + commit) % 2 == 0 { mix(commit * per_commit + row) % base } else { end + row })
                .collect();
            end += per_commit;
            batches.push(rows(numbers, 1));
        }
        let bytes: usize = batches.iter().map(|batch| batch.get_array_memory_size()).sum();
        let started = Instant::now();
        for batch in &batches {
            table.upsert(batch).expect("rows fit");
        }
        note(name, upserts as f64 / started.elapsed().as_secs_f64());
        if per_commit == 1 {
            note("hot", median_get(&table, (0..upserts).filter(|at| at % 2 == 0).map(|at| mix(at) % base), true));
            note("upsert_1_threads", upserts_by_threads(&table, base, upserts));
        }
        if per_commit == 10_000 {
            settle(&table);
            note("written", (written_bytes() - written) / bytes as f64);
        }
    }
    drop(table);

    // The rest starts from the base again.
    fs::remove_dir_all(folder).expect("the folder can be removed");
    let table = Table::create(folder, &schema, &["id"], TableOptions::new()).expect("a new folder");
    for start in (0..base).step_by(BATCH_ROWS as usize) {
        table.upsert(&rows(start..(start + BATCH_ROWS).min(base), 0)).expect("rows fit");
    }
    table.flush().expect("flushes");
    settle(&table);
    let is_updated = |number: u64| mix(number ^ 0xabcd) % 10 == 0;
    let updated: Vec<u64> = (0..base).filter(|&number| is_updated(number)).collect();
    let started = Instant::now();
    for numbers in updated.chunks(10_000) {
        table.upsert(&rows(numbers.to_vec(), 1)).expect("rows fit");
    }
    note("update", started.elapsed().as_secs_f64());
    let expected = count_statuses((0..base).map(|number| (number, u64::from(is_updated(number)))));
    note("group_updated", group(&table, expected.clone()));
    note("updated_bytes", folder_bytes(folder) / 1e6);
    table.flush().expect("flushes");
    settle(&table);
    note("group_compacted", group(&table, expected));
    note("compacted_bytes", folder_bytes(folder) / 1e6);

    let deleted: Vec<i64> = (0..base).filter(|number| mix(number ^ 0x1234) % 100 == 0).map(id).collect();
    let started = Instant::now();
    table.delete(deleted.clone()).expect("deletes");
    note("delete", started.elapsed().as_secs_f64());
    assert_eq!(table.count().expect("counts"), base - deleted.len() as u64);
    drop(table);

    let folder = folder.with_extension("flushed");
    for (rows, name) in [(base / 5, "flush_wait"), (base, "flush_wait_large")] {
        let _ = fs::remove_dir_all(&folder);
        note(name, longest_commit_beside_flush(&folder, rows));
    }
    fs::remove_dir_all(&folder).expect("the folder can be removed");
    note("small_space", space_of_small_table(&folder));
    fs::remove_dir_all(&folder).expect("the folder can be removed");
    figures
}

/// The longest time, in milliseconds, that a commit of one row takes while so many rows are flushed.
fn longest_commit_beside_flush(folder: &Path, hot: u64) -> f64 {
    let never = TableOptions::new().background(false).bulk_rows(u64::MAX);
    let table = Table::create(folder, &rows([0], 0).schema(), &["id"], never).expect("a new folder");
    for start in (0..hot).step_by(BATCH_ROWS as usize) {
        table.upsert(&rows(start..(start + BATCH_ROWS).min(hot), 0)).expect("rows fit");
    }
    let mut longest = Duration::ZERO;
    std::thread::scope(|scope| {
        let flushing = scope.spawn(|| table.flush().expect("flushes"));
        let mut at = 0;
        while !flushing.is_finished() {
            let row = rows([mix(at) % hot], 1);
            let started = Instant::now();
            table.upsert(&row).expect("rows fit");
            longest = longest.max(started.elapsed());
            at += 1;
        }
        let report = flushing.join().expect("the flush ends");
        assert!(report.rows > hot / 2, "only {} rows were flushed beside {at} commits", report.rows);
    });
    assert_eq!(table.count().expect("counts"), hot);
    longest.as_secs_f64() * 1e3
}

/// The greatest size of a table of 100,000 rows while all are replaced twenty times, divided by its size when it is compacted.
fn space_of_small_table(folder: &Path) -> f64 {
    const ROWS: u64 = 100_000;
    let table = Table::create(folder, &rows([0], 0).schema(), &["id"], TableOptions::new()).expect("a new folder");
    let mut most: f64 = 0.0;
    for round in 0..20 {
        for start in (0..ROWS).step_by(1_000) {
            table.upsert(&rows(start..start + 1_000, round)).expect("rows fit");
        }
        most = most.max(folder_bytes(folder));
    }
    table.flush().expect("flushes");
    settle(&table);
    assert_eq!(table.count().expect("counts"), ROWS);
    most / folder_bytes(folder)
}

/// Closes and opens the table a few times, and returns it with the median milliseconds of opening.
fn opened_again(mut table: Table, folder: &Path) -> (Table, f64) {
    let mut times = [0.0; 9];
    for time in &mut times {
        drop(table);
        let started = Instant::now();
        table = Table::open(folder, TableOptions::new()).expect("the table opens");
        *time = started.elapsed().as_secs_f64() * 1e3;
    }
    times.sort_by(f64::total_cmp);
    (table, times[times.len() / 2])
}

/// Compacts, and removes obsolete files.
fn settle(table: &Table) {
    table.compact().expect("compacts");
    table.vacuum().expect("removes files");
}

fn median_get(table: &Table, numbers: impl Iterator<Item = u64>, is_there: bool) -> f64 {
    let snapshot = table.snapshot().expect("a snapshot");
    let mut times: Vec<Duration> = Vec::new();
    let numbers: Vec<u64> = numbers.collect();
    // Once to warm caches.
    for round in 0..2 {
        for &number in &numbers {
            let started = Instant::now();
            let row = black_box(snapshot.get(id(number)).expect("gets"));
            if round == 1 {
                times.push(started.elapsed());
            }
            assert_eq!(row.is_some(), is_there, "row {number}");
        }
    }
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e6
}

/// The minimum of five times, in milliseconds.
fn group(table: &Table, expected: Vec<(String, u64)>) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..5 {
        let started = Instant::now();
        // So few that a linear search is faster than a map.
        let mut counts: Vec<(String, u64)> = Vec::new();
        let scan = table.scan().expect("a snapshot").select(["status"]).dictionary_columns(["status"]);
        for batch in scan.build().expect("scans") {
            let batch = batch.expect("reads");
            let statuses = batch.column(0).as_dictionary::<Int32Type>();
            let mut rows = vec![0; statuses.values().len()];
            statuses.keys().iter().flatten().for_each(|key| rows[key as usize] += 1);
            for (status, rows) in statuses.values().as_string::<i32>().iter().flatten().zip(rows) {
                match counts.iter_mut().find(|(known, _)| known == status) {
                    Some((_, count)) => *count += rows,
                    None => counts.push((status.to_owned(), rows)),
                }
            }
        }
        least = least.min(started.elapsed().as_secs_f64());
        counts.sort();
        assert_eq!(counts, expected);
    }
    least * 1e3
}

fn upserts_by_threads(table: &Table, base: u64, upserts: u64) -> f64 {
    let started = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                for at in 0..upserts {
                    table.upsert(&rows([mix(at * 8 + thread) % base], 2)).expect("rows fit");
                }
            });
        }
    });
    (8 * upserts) as f64 / started.elapsed().as_secs_f64()
}

/// The size of all files of a folder.
pub fn folder_bytes(folder: &Path) -> f64 {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let sizes = entries.map(|entry| {
        let entry = entry.expect("an entry");
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
            // A file that a checkpoint has just removed.
            Err(_) => 0.0,
            Ok(metadata) => allocated(&metadata),
        }
    });
    sizes.sum()
}

/// The disk space of a file: stores are sparse.
fn allocated(metadata: &fs::Metadata) -> f64 {
    use std::os::unix::fs::MetadataExt;
    (metadata.blocks() * 512) as f64
}

/// The bytes that this process has written to disk.
fn written_bytes() -> f64 {
    let io = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = io.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or(f64::NAN)
}
