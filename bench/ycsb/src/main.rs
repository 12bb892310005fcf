//! Runs the workloads of YCSB on Lath and its peers. Start it with `bench/run ycsb`; see docs/benchmarks.md.

mod check;
mod client;
mod engine;
mod engines;
mod library;
mod options;
mod row;
mod workload;

use std::process::ExitCode;

use lath_bench_record::record::Record;

use crate::client::run;
use crate::options::Options;
use crate::workload::WORKLOADS;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options = match Options::parse(&arguments) {
        Ok(options) => options,
        Err(message) => {
            eprintln!(
                "{message}\nusage: bench/run ycsb [--quick] [--rows=N] [--seconds=N] [--clients=N,…] [--engines=NAME,…] [--unsynced] [--folder=FOLDER]"
            );
            return ExitCode::from(2);
        }
    };
    let mut record = Record::start("ycsb", options.is_quick);
    let commits = if options.is_synced { "each commit synced" } else { "commits not synced" };
    record.heading(&format!("YCSB: {} rows of ten fields of 100 bytes, {commits}", options.rows));
    record.line("Operations a second, and the 99th percentile of their latencies in µs. A third of each run comes before the measurement.");
    record.line("After the workloads all rows were counted, and samples compared with what was written.\n");
    let mut head = vec!["workload".to_owned(), "clients".to_owned()];
    let mut notes = Vec::new();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for workload in &WORKLOADS {
        for clients in &options.clients {
            rows.push(vec![format!("{}: {}", workload.name, workload.what), clients.to_string()]);
        }
    }
    for engine in &options.engines {
        if let Some(obstacle) = engines::obstacle(engine, options.is_synced) {
            eprintln!("bench: without {engine}: {obstacle}");
            notes.push(format!("{engine} is not measured: {obstacle}"));
            continue;
        }
        eprintln!("{engine}…");
        let folder = options.folder.join(engine);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        let (figures, note) = run(engine, &folder, &options);
        head.push(engine.clone());
        notes.extend(note);
        let _ = std::fs::remove_dir_all(&folder);
        for (row, figure) in rows.iter_mut().zip(figures) {
            row.push(format!("{:.0} ({:.0})", figure.per_second, figure.slow_us));
        }
    }
    record.table(&head, &rows);
    for note in notes {
        record.line(&format!("- {note}"));
    }
    eprintln!("record: {}", record.path().display());
    ExitCode::SUCCESS
}
