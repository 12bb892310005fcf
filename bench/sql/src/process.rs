//! Whole processes: `lath sql`, from its start to its end.

use std::process::{Command, Stdio};
use std::time::Instant;

use lath_bench_record::record::Record;

use crate::data;
use crate::engine::program;
use crate::options::Options;

pub fn run(record: &mut Record, options: &Options) {
    record.heading("`lath sql` as a process: milliseconds, least / median");
    let needles = data::needles(true);
    let first = format!("SELECT * FROM '{}' LIMIT 10", needles.display());
    let found = format!("SELECT * FROM '{}' WHERE key = 'c4ca4238a0b92382'", needles.display());
    let rounds = if options.is_quick { 7 } else { 31 };
    let rows = [
        ("`SELECT 1`", "SELECT 1".to_owned(), Some(30.0)),
        ("ten rows of a folder of 1,000 files", first, Some(60.0)),
        ("a row of a folder of 1,000 files, by its key", found, None),
    ]
    .map(|(name, query, goal)| {
        let mut times: Vec<f64> = (0..rounds).map(|_| milliseconds(&query)).collect();
        times.sort_by(f64::total_cmp);
        let (least, median) = (times[0], times[times.len() / 2]);
        let verdict = match goal {
            None => String::new(),
            Some(goal) if median <= goal => format!("{goal}: reached"),
            Some(goal) => format!("{goal}: **missed**"),
        };
        vec![name.to_owned(), format!("{least:.1} / {median:.1}"), verdict]
    });
    record.table(&["".to_owned(), "Lath".to_owned(), "goal".to_owned()], &rows);
}

fn milliseconds(query: &str) -> f64 {
    let start = Instant::now();
    let mut command = Command::new(program("lath"));
    let status = command.args(["sql", query]).stdout(Stdio::null()).status().expect("lath can be started");
    assert!(status.success(), "{query} failed");
    start.elapsed().as_secs_f64() * 1e3
}
