//! The 22 queries of TPC-H.

use std::fs;

use lath_bench_record::record::Record;

use crate::data::{self, Layout};
use crate::engine::bench;
use crate::options::Options;
use crate::suite::Suite;

pub fn run(record: &mut Record, options: &Options) {
    for &layout in &options.layouts {
        let question = |number: usize| {
            let path = bench().join(format!("../crates/sql/tests/tpch/q{number:02}.sql"));
            (format!("Q{number}"), fs::read_to_string(path).expect("the queries are there"))
        };
        let suite = Suite {
            title: format!("TPC-H, scale factor {}, {} files", options.scale, layout.name()),
            tables: data::tpch(options.scale, layout),
            questions: (1..=22).map(question).collect(),
            datafusion_goal: if layout == Layout::Default { 1.25 } else { 2.0 },
            duckdb_goal: 1.3,
        };
        suite.run(record, options);
    }
}
