//! Queries that read little: joins with a few keys, the newest rows, a few row groups out of very many.

use std::path::PathBuf;

use lath_bench_record::record::{Record, against_goal};

use crate::data;
use crate::engine::Engine;
use crate::options::Options;
use crate::race::{Race, cell, head, least_seconds};

/// Joins keys in a separate table with 1,000 files.
pub fn joins(record: &mut Record, options: &Options) {
    let mut rows = Vec::new();
    for has_bloom in [true, false] {
        let needles = data::needles(has_bloom);
        for &threads in &options.threads {
            for count in [10, 100, 1_000] {
                let tables = [("needles", needles.clone()), ("keys", data::keys(count))];
                let name =
                    format!("{count} keys, {}, {threads} threads", if has_bloom { "Bloom" } else { "no filters" });
                let query = "SELECT count(*), sum(id) FROM needles JOIN keys ON needles.key = keys.key";
                rows.push(row(&name, &tables, threads, query, options, Some(5.0)));
            }
        }
    }
    table(record, "Join of a few keys with 1,000 files of 100,000 rows: milliseconds, least", rows);
}

/// The last ten events of ten days.
pub fn newest(record: &mut Record, options: &Options) {
    let tables = [("hours", data::hours())];
    let query = "SELECT ts, id, host FROM hours ORDER BY ts DESC LIMIT 10";
    let row = |&threads| row(&format!("{threads} threads"), &tables, threads, query, options, Some(3.0));
    let rows = options.threads.iter().map(row).collect();
    table(record, "`ORDER BY ts DESC LIMIT 10` over 240 files of an hour each: milliseconds, least", rows);
}

/// Four rows out of a million row groups.
pub fn planning(record: &mut Record, options: &Options) {
    let tables = [("groups", data::row_groups())];
    let query = "SELECT count(*), sum(amount) FROM groups WHERE id BETWEEN 2000000 AND 2000003";
    let row = |&threads| row(&format!("{threads} threads"), &tables, threads, query, options, None);
    let rows = options.threads.iter().map(row).collect();
    table(record, "Four rows out of 1,000,000 row groups of 40 files: milliseconds, least (goal 1,000)", rows);
}

fn row(
    name: &str,
    tables: &[(&str, PathBuf)],
    threads: usize,
    query: &str,
    options: &Options,
    goal: Option<f64>,
) -> Vec<String> {
    let times = Race::start(&Engine::ALL, threads, tables).run(name, query, options.rounds());
    let mut row = vec![name.to_owned()];
    row.extend(times.iter().map(|(_, least)| cell(*least)));
    for is_meant in [Engine::is_datafusion as fn(Engine) -> bool, |engine| engine == Engine::Peer("duckdb")] {
        let ratio = least_seconds(&times, is_meant) / least_seconds(&times, |engine| engine == Engine::Lath);
        row.push(goal.map_or_else(|| format!("{ratio:.2} ×"), |goal| against_goal(ratio, goal)));
    }
    eprintln!("{}", row.join(" | "));
    row
}

fn table(record: &mut Record, heading: &str, rows: Vec<Vec<String>>) {
    record.heading(heading);
    record.table(&head(), &rows);
}
