//! A filter that every row passes, compared with no filter.

use arrow_array::RecordBatch;
use lath_parquet::{ParquetFile, Pruning, Scan};

use super::at_most;
use super::turns::{Turns, digest};
use crate::data::lineitem::{LARGE, Variant, large_path, make_large};
use crate::files::race::Options;
use crate::record::Record;

/// The maximum time with the filter, relative to no filter.
const GOAL: f64 = 1.05;

/// The number of row groups scanned: 4,194,304 rows.
const ROW_GROUPS: usize = 4;

/// The columns read, with and without a filter; they include the columns of every filter.
const COLUMNS: [&str; 6] = ["l_orderkey", "l_quantity", "l_extendedprice", "l_shipdate", "l_shipmode", "l_comment"];

const FILTERS: [&str; 6] = [
    "l_orderkey > 0",
    "l_quantity >= 0",
    "l_extendedprice >= 0",
    "l_shipdate <= DATE '9999-12-31'",
    "l_shipmode >= 'A'",
    "l_orderkey > 0 AND l_quantity >= 0 AND l_shipdate <= DATE '9999-12-31'",
];

pub fn run(record: &mut Record, options: &Options) {
    make_large();
    record.heading(
        "A filter that keeps everything / no filter: lineitem, scale factor 10, Snappy, 4 row groups, 6 columns, one \
         thread, ms of processor time, median, and median of the ratios",
    );
    let rounds = if options.quick { 5 } else { 11 };
    let mut head = vec!["filter".to_owned()];
    let mut rows: Vec<Vec<String>> = FILTERS.map(|filter| vec![format!("`{filter}`")]).into();
    let mut worst = [0f64; 2];
    for variant in LARGE {
        let name = if variant == Variant::Plain { "PLAIN and dictionary" } else { "DELTA" };
        head.extend(["settled by statistics", "rows tested"].map(|how| format!("{name}, {how}")));
        let file = ParquetFile::open(large_path(variant)).expect("the file is there");
        let scan = || file.scan().select(COLUMNS).row_groups(0..ROW_GROUPS);
        let expected = digest(batches(scan()));
        for (filter, row) in FILTERS.iter().zip(&mut rows) {
            for (pruning, worst) in [Pruning::default(), Pruning::none()].into_iter().zip(&mut worst) {
                let filtered = || scan().filter(filter).expect("the condition is sound").pruning(pruning.clone());
                assert_eq!(digest(batches(filtered())), expected, "{filter} keeps other rows");
                let turns = Turns::of(rounds, || drop_all(filtered()), || drop_all(scan()));
                *worst = worst.max(turns.ratio);
                row.push(turns.cell());
            }
        }
    }
    record.table(&head, &rows);
    record.line(&format!(
        "The worst where statistics settle the filter: {}; where rows are tested: {}.\n",
        at_most(worst[0], GOAL),
        at_most(worst[1], GOAL)
    ));
}

fn batches(scan: Scan) -> impl Iterator<Item = RecordBatch> {
    scan.build().expect("the scan can be planned").map(|batch| batch.expect("rows can be read"))
}

fn drop_all(scan: Scan) {
    batches(scan).for_each(drop);
}
