//! Decodes files of one column in one thread: million values a second.

use std::collections::BTreeSet;

use parquet::file::reader::{FileReader, SerializedFileReader};

use super::lineitem::best_of_each;
use super::race::{Contestant, Options, Outcome, Runner, race};
use crate::data::columns::{ALL, Column, make};
use crate::record::{Record, against_goal};

/// The required factor for columns that must be well ahead; for the others, being faster is enough.
const WELL_AHEAD: f64 = 1.5;

fn goal(column: &Column) -> f64 {
    let kinds = ["delta", "string", "split", "list", "null"];
    if kinds.iter().any(|kind| column.name.contains(kind)) { WELL_AHEAD } else { 1.0 }
}

pub fn run(record: &mut Record, options: &Options) {
    make();
    record.heading("Columns alone, uncompressed, one thread: million values a second, best");
    let mut labels = BTreeSet::new();
    let mut results: Vec<(&Column, u64, Vec<Outcome>)> = Vec::new();
    for column in ALL.iter().filter(|column| options.wants(column.name)) {
        let path = column.path();
        let values = if options.lath {
            let digests = super::verify(&path).expect("Lath reads what the parquet crate reads");
            digests[0].leaves()
        } else {
            rows(column)
        };
        let mut runners = options.runners();
        if !column.name.starts_with("string") {
            // Views and offsets differ only for strings.
            runners.retain(|runner| !matches!(runner, Runner::Own(reader) if !reader.way.views));
        }
        let outcomes = race(&runners, &path, 1, options);
        for outcome in &outcomes {
            assert_eq!(outcome.rows, rows(column), "{} on {}", outcome.runner.label(), path.display());
            labels.insert(outcome.runner.label());
        }
        eprintln!("{} done", column.name);
        results.push((column, values, outcomes));
    }
    let mut head = vec!["column".to_owned()];
    head.extend(labels.iter().cloned());
    head.extend(["Lath against the best peer", "the same by processor time"].map(str::to_owned));
    let table: Vec<Vec<String>> = results
        .iter()
        .map(|(column, values, outcomes)| {
            let rate = |outcome: &Outcome| format!("{:.0}", *values as f64 / outcome.best() / 1e6);
            let mut row = vec![column.what.to_owned()];
            row.extend(labels.iter().map(|label| {
                outcomes.iter().find(|o| o.runner.label() == *label).map_or_else(|| "–".to_owned(), rate)
            }));
            for time in [Outcome::best, Outcome::best_cpu] {
                row.push(match best_of_each(outcomes, time) {
                    (Some(lath), Some(peer)) => against_goal(time(peer) / time(lath), goal(column)),
                    _ => "–".to_owned(),
                });
            }
            row
        })
        .collect();
    record.table(&head, &table);
    if options.lath {
        record.line("Digests of every column agree with the `parquet` crate's; row counts of all readers agree.");
    }
}

fn rows(column: &Column) -> u64 {
    let file = std::fs::File::open(column.path()).expect("file was made");
    SerializedFileReader::new(file).expect("footer is readable").metadata().file_metadata().num_rows() as u64
}
