//! Measures how Lath reads footers, against the `parquet` crate. Start it with `bench/run footers`; see
//! docs/benchmarks.md.

mod data;
mod facts;
mod memory;

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bytes::Bytes;
use data::{Shape, footer};
use lath_bench_record::record::{Record, against_goal};
use lath_format::{FileMetaData, Footer};
use parquet::file::metadata::{ParquetMetaDataOptions, ParquetMetaDataReader};

const SCHEMA_DEPTH: usize = 100;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let quick = match words[..] {
        [] => false,
        ["--quick"] => true,
        ["memory", reader @ ("lath" | "parquet"), path] => {
            memory::child(reader, Path::new(path));
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("usage: lath-bench-footers [--quick]");
            return ExitCode::from(2);
        }
    };
    let mut record = Record::start("footers", quick);
    let rounds = if quick { 5 } else { 60 };
    for (shape, goals) in [
        (Shape { columns: 10_000, row_groups: 10 }, true),
        (Shape { columns: 16, row_groups: 1_000 }, false),
        (Shape { columns: 20, row_groups: 1 }, false),
    ] {
        measure(&mut record, shape, rounds, goals);
    }
    memory::run(&mut record, quick);
    eprintln!("record: {}", record.path().display());
    ExitCode::SUCCESS
}

/// The minimum time of one call of `work`, over as many calls as fit in a millisecond.
fn time(least: &mut Duration, mut work: impl FnMut()) {
    let start = Instant::now();
    let mut calls = 0;
    while calls == 0 || start.elapsed() < Duration::from_millis(1) {
        work();
        calls += 1;
    }
    *least = (*least).min(start.elapsed() / calls);
}

fn find(footer: &Bytes) -> Footer {
    Footer::find(footer.clone(), false, None, SCHEMA_DEPTH).expect("a footer")
}

/// Times every operation, including the drop of its result. Each has a turn in every round.
fn measure(record: &mut Record, shape: Shape, rounds: usize, has_goals: bool) {
    let bytes = footer(shape);
    let three = [1, shape.columns / 2, shape.columns - 1];
    let schema = find(&bytes).parse_schema().expect("a schema");
    let whole_options = ParquetMetaDataOptions::new().with_encoding_stats_as_mask(false);
    let by_crate = |options| ParquetMetaDataReader::decode_metadata_with_options(&bytes, options).expect("a footer");
    let open = || FileMetaData::from_bytes(bytes.clone()).expect("a footer");
    let known = || find(&bytes).with_schema(schema.clone()).expect("a footer");

    let (ours, theirs) = (open(), by_crate(None));
    let expected = facts::by_crate(&theirs, 0..shape.columns);
    assert_eq!(facts::by_lath(&ours, 0..shape.columns), expected, "the readers do not agree");
    assert_eq!(facts::by_lath(&ours, three.into_iter()), facts::by_crate(&theirs, three.into_iter()));

    let mut least = [Duration::MAX; 9];
    for _ in 0..rounds {
        let [crate_open, crate_whole, crate_facts, found, types, opened, known_three, opened_three, all] = &mut least;
        time(crate_open, || drop(black_box(by_crate(None))));
        time(crate_whole, || drop(black_box(by_crate(Some(&whole_options)))));
        time(crate_facts, || assert_eq!(facts::by_crate(&by_crate(None), 0..shape.columns), expected));
        time(found, || drop(black_box(find(&bytes))));
        let footer = find(&bytes);
        time(types, || drop(black_box(footer.parse_schema())));
        time(opened, || drop(black_box(open())));
        time(known_three, || _ = black_box(facts::by_lath(&known(), three.into_iter())));
        time(opened_three, || _ = black_box(facts::by_lath(&open(), three.into_iter())));
        time(all, || assert_eq!(facts::by_lath(&open(), 0..shape.columns), expected));
    }
    let micros = least.map(|least| least.as_secs_f64() * 1e6);
    let [crate_open, crate_whole, crate_facts, found, types, opened, known_three, opened_three, all] = micros;
    record.heading(&format!("{}: {} bytes, {} a chunk", shape.name(), bytes.len(), bytes.len() / shape.chunks()));
    let peer = |name: &str, micros: f64| vec![name.to_owned(), format!("{micros:.1}"), String::new()];
    let row = |name: &str, micros: f64, peer: f64, goal: f64| {
        let ratio = peer / micros;
        let ratio = if has_goals && goal > 0.0 { against_goal(ratio, goal) } else { format!("{ratio:.2} ×") };
        vec![name.to_owned(), format!("{micros:.1}"), ratio]
    };
    let rows = [
        peer("`parquet` crate: decoded", crate_open),
        peer("`parquet` crate: decoded, with statistics of page encodings", crate_whole),
        peer("`parquet` crate: decoded, facts of every chunk read", crate_facts),
        row("Lath: found (`Footer::find`)", found, crate_open, 0.0),
        row("Lath: the schema alone", types, crate_open, 0.0),
        row("Lath: found, schema made", opened, crate_open, 0.0),
        row("Lath: found, schema of another file, three columns read", known_three, crate_open, 30.0),
        row("Lath: found, schema made, three columns read", opened_three, crate_open, 0.0),
        row("Lath: found, schema made, facts of every chunk read", all, crate_facts, 5.0),
    ];
    record.table(&["".to_owned(), "µs, least".to_owned(), "crate / Lath".to_owned()], &rows);
}
