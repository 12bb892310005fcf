//! Measures SQL over Lath's scans against DataFusion with its own reader, DuckDB and polars. Start it with `bench/run
//! sql`; see docs/benchmarks.md.

mod answers;
mod clickbench;
mod data;
mod engine;
mod finding;
mod options;
mod process;
mod race;
mod suite;
mod tpcds;
mod tpch;

use std::process::ExitCode;

use lath_bench_record::record::Record;

use crate::options::Options;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options = match Options::parse(&arguments) {
        Ok(options) => options,
        Err(error) => {
            eprintln!(
                "{error}\nusage: bench/run sql [--quick] [--scale=N] [--only=PART] [--threads=N] [--query=N,…] [--files=NAME]"
            );
            return ExitCode::from(2);
        }
    };
    let mut record = Record::start("sql", options.is_quick);
    type Part = (&'static str, fn(&mut Record, &Options));
    let parts: [Part; 7] = [
        ("tpch", tpch::run),
        ("tpcds", tpcds::run),
        ("clickbench", clickbench::run),
        ("join", finding::joins),
        ("top", finding::newest),
        ("planning", finding::planning),
        ("process", process::run),
    ];
    for (_, part) in parts.into_iter().filter(|(name, _)| options.wants(name)) {
        part(&mut record, &options);
    }
    eprintln!("record: {}", record.path().display());
    ExitCode::SUCCESS
}
