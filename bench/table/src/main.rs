//! Measures keyed tables against DuckDB, SQLite, Lance and delta-rs. Start it with `bench/run table`; see
//! docs/benchmarks.md.

mod lath;
mod options;
mod peers;
mod rows;

use std::process::ExitCode;

use lath_bench_record::record::Record;

use crate::options::Options;

/// The work, in order. An engine has a figure for each, or none if it cannot do it.
pub const WORK: [(&str, &str); 22] = [
    ("load", "load the base: rows/s"),
    ("hot", "get, hot: median µs"),
    ("cold", "get, cold and present: median µs"),
    ("absent", "get, absent: median µs"),
    ("group", "count by status, fresh: ms"),
    ("group_parquet", "count by status by DuckDB over these files: ms"),
    ("open", "open: ms"),
    ("base_bytes", "space of the base: MB"),
    ("upsert_1", "upserts of 1 a commit: rows/s"),
    ("upsert_1_threads", "upserts of 1 a commit by 8 threads: rows/s"),
    ("upsert_100", "upserts of 100 a commit: rows/s"),
    ("upsert_10000", "upserts of 10,000 a commit, half new: rows/s"),
    ("written", "bytes written per upserted byte, 10,000 a commit"),
    ("update", "update 10 % at random: s"),
    ("group_updated", "count by status after that: ms"),
    ("updated_bytes", "space after that: MB"),
    ("group_compacted", "count by status, compacted: ms"),
    ("compacted_bytes", "space, compacted: MB"),
    ("delete", "delete 1 % by key: s"),
    ("flush_wait", "longest commit of a row while a fifth of the rows are flushed: ms"),
    ("flush_wait_large", "longest commit of a row while all rows are flushed: ms"),
    ("small_space", "greatest space of 100,000 rows, all replaced 20 times: times the compacted space"),
];

/// The figures of an engine, by the names of [`WORK`].
pub type Figures = Vec<(String, f64)>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options = match Options::parse(&arguments) {
        Ok(options) => options,
        Err(error) => {
            eprintln!(
                "{error}\nusage: bench/run table [--quick] [--rows=N] [--upserts=N] [--engines=lath,duckdb,sqlite,lance,delta-rs]"
            );
            return ExitCode::from(2);
        }
    };
    let mut record = Record::start("table", options.is_quick);
    record.heading(&format!(
        "Keyed tables: {} rows, {} upserts of each kind of commit at most",
        options.rows, options.upserts
    ));
    std::fs::create_dir_all(&options.folder).expect("the folder of tables can be made");
    let folder = tempfile::tempdir_in(&options.folder).expect("there is room for tables");
    let mut head = vec!["".to_owned()];
    let mut all: Vec<Figures> = Vec::new();
    for engine in &options.engines {
        eprintln!("{engine}…");
        let folder = folder.path().join(engine);
        let figures = match engine.as_str() {
            "lath" => Ok(lath::run(&folder, &options)),
            peer => peers::run(peer, &folder, &options),
        };
        match figures {
            Ok(figures) => {
                eprintln!("{figures:?}");
                head.push(engine.clone());
                all.push(figures);
            }
            Err(error) => record.line(&format!("{engine} failed: {error}")),
        }
        let _ = std::fs::remove_dir_all(&folder);
    }
    let cell = |figures: &Figures, name: &str| {
        figures.iter().find(|(own, _)| own == name).map_or_else(|| "–".to_owned(), |(_, figure)| format_figure(*figure))
    };
    let rows: Vec<Vec<String>> = WORK
        .iter()
        .map(|(name, what)| {
            let cells = all.iter().map(|figures| cell(figures, name));
            std::iter::once((*what).to_owned()).chain(cells).collect()
        })
        .collect();
    record.table(&head, &rows);
    eprintln!("record: {}", record.path().display());
    ExitCode::SUCCESS
}

/// Three significant digits.
fn format_figure(figure: f64) -> String {
    match figure {
        f if f >= 100.0 => format!("{f:.0}"),
        f if f >= 10.0 => format!("{f:.1}"),
        f => format!("{f:.3}"),
    }
}
