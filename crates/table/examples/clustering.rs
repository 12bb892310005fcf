//! Measures the cost and gain of clustering: rows with random ids and a time, with files sorted by id and by time.
//!
//! `cargo run --release -p lath-table --example clustering [ROWS] [FOLDER]`

use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use fastrand::Rng;
use lath_table::{Durability, Table, TableOptions};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Days that the rows are of.
const DAYS: usize = 30;

const SECONDS_OF_DAY: usize = 24 * 60 * 60;

/// Rows of a transaction.
const BATCH_ROWS: usize = 1 << 17;

/// Gets of single keys.
const GETS: usize = 200;

/// Rows from this one on, of `count` that come in the order of their time.
fn batch(ids: &[i64], from: usize, count: usize) -> Result<RecordBatch> {
    let rows = || (from..count.min(from + BATCH_ROWS)).map(|row| row as i64);
    let seconds_of_row = (DAYS * SECONDS_OF_DAY) as f64 / count as f64;
    let columns: [(&str, ArrayRef); 4] = [
        ("id", Arc::new(rows().map(|row| ids[row as usize]).collect::<Int64Array>())),
        ("ts", Arc::new(rows().map(|row| (row as f64 * seconds_of_row) as i64).collect::<Int64Array>())),
        ("value", Arc::new(Float64Array::from_iter_values(rows().map(|row| (row % 1000) as f64 / 8.0)))),
        ("note", Arc::new(StringArray::from_iter_values(rows().map(|row| format!("note {}", row % 997))))),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}

/// Measurements of one order of files.
struct Measurement {
    load: Duration,
    compact: Duration,
    scan: Duration,
    row_groups: u64,
    row_groups_read: u64,
    rows: usize,
    cold_get: Duration,
    warm_get: Duration,
    ordered: Duration,
}

fn measure(folder: &Path, columns: &[&str], ids: &[i64]) -> Result<Measurement> {
    let options = TableOptions::new().background(false).durability(Durability::Deferred);
    let schema = batch(ids, 0, ids.len())?.schema();
    let table = Table::create_clustered(folder, &schema, &["id"], columns, options.clone())?;
    let began = Instant::now();
    for from in (0..ids.len()).step_by(BATCH_ROWS) {
        table.upsert(&batch(ids, from, ids.len())?)?;
    }
    table.flush()?;
    let load = began.elapsed();
    let began = Instant::now();
    table.compact()?;
    table.vacuum()?;
    let compact = began.elapsed();
    drop(table);

    // Opened for each measurement, so that nothing is cached but the operating system's pages of files.
    let table = Table::open(folder, options.clone())?;
    let (from, to) = (10 * SECONDS_OF_DAY, 11 * SECONDS_OF_DAY);
    let began = Instant::now();
    let mut batches = table.scan()?.filter(&format!("ts >= {from} AND ts < {to}"))?.build()?;
    let mut rows = 0;
    for batch in batches.by_ref() {
        rows += black_box(batch?).num_rows();
    }
    let scan = began.elapsed();
    let reports = batches.reports();
    let (row_groups, row_groups_read) =
        (reports.iter().map(|report| report.pruned.row_groups).sum(), reports.iter().map(|r| r.row_groups).sum());
    drop(batches);

    let began = Instant::now();
    let ordered: usize = table
        .range::<i64>(..)?
        .build()?
        .map(|batch| batch.map(|batch| batch.num_rows()))
        .sum::<std::result::Result<usize, _>>()?;
    let ordered_time = began.elapsed();
    assert_eq!(ordered, ids.len());
    drop(table);

    let gets = |cache_bytes| -> Result<Duration> {
        let table = Table::open(folder, options.clone().cache_bytes(cache_bytes))?;
        let mut times = Vec::with_capacity(GETS);
        for at in 0..GETS {
            let id = ids[at * (ids.len() / GETS)];
            let began = Instant::now();
            let found = table.get(id)?;
            times.push(began.elapsed());
            assert!(found.is_some(), "{id}");
        }
        times.sort_unstable();
        Ok(times[GETS / 2])
    };
    let (cold_get, warm_get) = (gets(0)?, gets(TableOptions::DEFAULT_CACHE_BYTES)?);
    Ok(Measurement {
        load,
        compact,
        scan,
        row_groups,
        row_groups_read,
        rows,
        cold_get,
        warm_get,
        ordered: ordered_time,
    })
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let rows: usize = arguments.next().map_or(Ok(1_000_000), |rows| rows.parse())?;
    let folder: PathBuf = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(folder)?;
    let mut random = Rng::with_seed(17);
    let mut ids: Vec<i64> = (0..rows as i64).map(|row| row * 1_000_003).collect();
    random.shuffle(&mut ids);
    println!("{rows} rows of {DAYS} days");
    for (name, columns) in [("by id", &[][..]), ("by ts", &["ts"][..])] {
        let measured = measure(&folder.path().join(name), columns, &ids)?;
        println!(
            "files {name}: load {:.2?}, compaction {:.2?}; a day's {} rows in {:.2?}, {} of {} row groups read; get of one key {:.1?} \
             without cache, {:.1?} with; all rows in the order of keys in {:.2?}",
            measured.load,
            measured.compact,
            measured.rows,
            measured.scan,
            measured.row_groups_read,
            measured.row_groups,
            measured.cold_get,
            measured.warm_get,
            measured.ordered,
        );
    }
    Ok(())
}
