//! The 43 questions of ClickBench over generated page views.

use lath_bench_record::record::Record;

use crate::data;
use crate::options::Options;
use crate::suite::Suite;

/// A question a line, in the order of ClickBench, with orders that are total.
const QUESTIONS: &str = include_str!("../clickbench/questions.sql");

pub fn run(record: &mut Record, options: &Options) {
    let rows = 1_000_000 * u64::from(options.scale);
    let suite = Suite {
        title: format!("ClickBench, {rows} generated rows"),
        tables: vec![("hits", data::hits(rows))],
        questions: QUESTIONS.lines().enumerate().map(|(at, text)| (format!("Q{at}"), text.to_owned())).collect(),
        datafusion_goal: 1.4,
        duckdb_goal: 1.4,
    };
    suite.run(record, options);
}
