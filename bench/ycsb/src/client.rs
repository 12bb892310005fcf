//! Threads that run a workload.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::check::check;
use crate::engine::{Client, Engine, FIELDS, ROW_BYTES};
use crate::engines::{Work, with};
use crate::options::Options;
use crate::row::{field, row};
use crate::workload::{Operation, Operations, WORKLOADS, Workload, key};

/// The figures of one run.
pub struct Figure {
    pub per_second: f64,
    /// The 99th percentile of latencies.
    pub slow_us: f64,
}

/// Loads an engine, runs all workloads with all numbers of clients, and checks the rows. Returns the engine's note, too.
pub fn run(engine: &str, folder: &Path, options: &Options) -> (Vec<Figure>, Option<String>) {
    with(engine, All { folder, options }).expect("options have known engines")
}

struct All<'o> {
    folder: &'o Path,
    options: &'o Options,
}

impl Work for All<'_> {
    type Answer = (Vec<Figure>, Option<String>);

    fn on<E: Engine>(self) -> (Vec<Figure>, Option<String>) {
        let engine = E::open(self.folder, self.options.is_synced);
        engine.load(&mut (0..self.options.rows).map(|number| (key(number), row(number))));
        let count = AtomicU64::new(self.options.rows);
        let mut figures = Vec::new();
        for workload in &WORKLOADS {
            for &clients in &self.options.clients {
                figures.push(measure(&engine, workload, clients, self.options, &count));
            }
        }
        check(&engine, self.options.rows, count.into_inner());
        (figures, engine.note())
    }
}

fn measure<E: Engine>(engine: &E, workload: &Workload, clients: usize, options: &Options, count: &AtomicU64) -> Figure {
    let start = Instant::now();
    let (warm, end) = (start + options.time / 3, start + options.time);
    let mut latencies: Vec<Duration> = Vec::new();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..clients)
            .map(|client| {
                scope.spawn(move || {
                    let seed = (workload.name as u64) << 32 | (client as u64 + 1) << 8 | clients as u64;
                    work(&mut engine.client(), workload, Operations::new(seed, options.rows), (warm, end), count)
                })
            })
            .collect();
        for thread in threads {
            latencies.extend(thread.join().expect("a client works"));
        }
    });
    latencies.sort_unstable();
    let slow = latencies.get(latencies.len() * 99 / 100).copied().unwrap_or_default();
    let per_second = latencies.len() as f64 / (end - warm).as_secs_f64();
    eprintln!("  {} {clients}: {per_second:.0}/s", workload.name);
    Figure { per_second, slow_us: slow.as_secs_f64() * 1e6 }
}

/// Works until the end, and returns the latencies since `warm`.
fn work(
    client: &mut impl Client,
    workload: &Workload,
    mut operations: Operations,
    (warm, end): (Instant, Instant),
    count: &AtomicU64,
) -> Vec<Duration> {
    let mut latencies = Vec::new();
    let mut bytes = Vec::new();
    loop {
        let begun = Instant::now();
        if begun >= end {
            return latencies;
        }
        match operations.next(workload, count.load(Ordering::Relaxed)) {
            // The newest rows may still be on their way.
            Operation::Read(number) => {
                client.read(&key(number), &mut bytes);
                let len = bytes.len();
                assert!(len == ROW_BYTES || len == 0 && workload.newest_first, "row {number} has {len} bytes");
            }
            Operation::Update(number) => {
                let value = field(operations.random());
                client.update(&key(number), (operations.random() % FIELDS as u64) as usize, &value);
            }
            Operation::Insert => {
                let number = count.fetch_add(1, Ordering::Relaxed);
                client.insert(&key(number), &row(number));
            }
            Operation::Scan(number, rows) => {
                assert!(client.scan(&key(number), rows) > 0, "no rows from {number} on");
            }
            Operation::Change(number) => {
                client.read(&key(number), &mut bytes);
                assert_eq!(bytes.len(), ROW_BYTES);
                let value = field(operations.random());
                client.update(&key(number), (operations.random() % FIELDS as u64) as usize, &value);
            }
        }
        if begun >= warm {
            latencies.push(begun.elapsed());
        }
    }
}
