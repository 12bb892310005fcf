//! Measures Lath's ordered store against its peers. Start it with `bench/run store`; see docs/benchmarks.md.

mod child;
mod disk;
mod engine;
mod engines;
mod keys;
mod nodes;
mod options;
mod report;
mod table;

use std::path::Path;
use std::process::ExitCode;

use lath_bench_record::record::Record;

use child::{Child, Task};
use keys::Kind;
use options::Options;

const USAGE: &str = "usage: lath-bench-store [--quick] [--keys=N,…] [--engines=NAME,…] [--folder=FOLDER]
       lath-bench-store child ENGINE KIND KEYS FOLDER TASK…
       lath-bench-store disk FOLDER BYTES SECONDS";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["child", engine, kind, keys, folder, task @ ..] = &words[..] {
        let (Some(kind), Ok(keys), Some(task)) = (Kind::parse(kind), keys.parse(), Task::parse(task)) else {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        };
        let Some(answer) = engines::with(engine, Child { task, kind, keys, folder: Path::new(folder) }) else {
            eprintln!("there is no engine {engine}; there are {}", engines::NAMES.join(", "));
            return ExitCode::from(2);
        };
        println!("{answer}");
        return ExitCode::SUCCESS;
    }
    if let ["disk", folder, bytes, seconds] = &words[..] {
        let (Ok(bytes), Ok(seconds)) = (bytes.parse(), seconds.parse()) else {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        };
        println!("{}", disk::appends(Path::new(folder), bytes, seconds));
        return ExitCode::SUCCESS;
    }
    match Options::parse(&arguments) {
        Ok(options) => {
            let mut record = Record::start("store", options.sizes.iter().all(|&keys| keys < 20_000_000));
            nodes::run(&mut record);
            report::run(&mut record, &options);
            eprintln!("record: {}", record.path().display());
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}
