//! Lath's side of the comparison, in a separate process.

use std::io::BufRead;
use std::path::Path;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use lath_parquet::{Dataset, DatasetOptions, Pruning, Scan};

use crate::machine::cpu_seconds;

const SHIPMODES: &str = "l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate \
                         AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01'";

/// Answers a query for each line of standard input: sums the ids of rows with the given keys in hexadecimal.
pub fn needles(folder: &Path, threads: usize, computed_filters: bool) {
    let mut pruning = Pruning::default();
    pruning.computed_filters = computed_filters;
    let queries: Vec<String> = std::io::stdin().lock().lines().map(|line| line.expect("queries are text")).collect();
    report(queries.iter().map(|query| {
        let keys: Vec<String> = query.split(' ').map(|key| format!("X'{key}'")).collect();
        let condition = match &keys[..] {
            [key] => format!("key = {key}"),
            keys => format!("key IN ({})", keys.join(", ")),
        };
        let pruning = &pruning;
        move || {
            // Open the dataset again, as another process would: only the library's caches remain.
            let dataset = Dataset::open([folder], DatasetOptions::new()).expect("the files are there");
            let scan = scan(&dataset, &condition, threads).select(["id"]).pruning(pruning.clone());
            let batches = scan.build().expect("the scan can be planned");
            let sum = |batch: lath_parquet::Result<arrow_array::RecordBatch>| {
                let batch = batch.expect("rows can be read");
                batch.column(0).as_primitive::<Int64Type>().values().iter().sum::<i64>()
            };
            batches.map(sum).sum::<i64>() as u64
        }
    }));
}

/// Counts the rows that pass TPC-H Q12's filter.
pub fn shipmodes(file: &Path, threads: usize, repetitions: usize) {
    report((0..repetitions).map(|_| {
        || {
            let dataset = Dataset::open([file], DatasetOptions::new()).expect("the file is there");
            scan(&dataset, SHIPMODES, threads).count().expect("rows can be counted")
        }
    }));
}

fn scan(dataset: &Dataset, condition: &str, threads: usize) -> Scan {
    dataset.scan().filter(condition).expect("the condition is sound").threads(threads)
}

fn report(queries: impl Iterator<Item = impl FnOnce() -> u64>) {
    let (mut answers, mut seconds, mut cpu) = (Vec::new(), Vec::new(), Vec::new());
    for query in queries {
        let (start, cpu_start) = (Instant::now(), cpu_seconds());
        answers.push(query());
        seconds.push(start.elapsed().as_secs_f64());
        cpu.push(cpu_seconds() - cpu_start);
    }
    println!("{}", serde_json::json!({ "answers": answers, "seconds": seconds, "cpu_seconds": cpu }));
}
