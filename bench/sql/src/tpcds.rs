//! The 99 queries of TPC-DS. Tables and queries come from DuckDB's extension.

use std::fs;

use lath_bench_record::record::Record;

use crate::data;
use crate::options::Options;
use crate::suite::Suite;

pub fn run(record: &mut Record, options: &Options) {
    let Some(folder) = data::tpcds(options.scale) else {
        record.line("TPC-DS: not run, because DuckDB's extension, which makes its tables, is not there\n");
        return;
    };
    let entries = fs::read_dir(folder.join("queries")).expect("the queries are there");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    files.sort();
    let question = |path: &std::path::PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy();
        let text = fs::read_to_string(path).expect("a readable query");
        let lines = text.trim().trim_end_matches(';').lines();
        let text: Vec<&str> = lines.map(|line| line.split("--").next().unwrap_or_default()).collect();
        (format!("Q{name}"), text.join("\n"))
    };
    let suite = Suite {
        title: format!("TPC-DS, scale factor {}", options.scale),
        tables: data::TPCDS_TABLES.map(|table| (table, folder.join(format!("{table}.parquet")))).to_vec(),
        questions: files.iter().map(question).collect(),
        datafusion_goal: 1.25,
        duckdb_goal: 1.25,
    };
    suite.run(record, options);
}
