//! A filter within the scan, compared with decoding every row and filtering the batches.

use arrow_array::RecordBatch;
use arrow_select::filter::filter_record_batch;
use lath_parquet::{ParquetFile, Predicate, Pruning};

use super::at_most;
use super::turns::{Turns, digest};
use crate::data::selective::{BOUND, Encodings, make, path};
use crate::files::race::Options;
use crate::record::Record;

/// The maximum time of the scan, relative to filtering afterwards.
const GOAL: f64 = 1.05;

/// The shares of rows that pass.
const SHARES: [f64; 6] = [0.01, 0.1, 0.5, 0.9, 0.99, 1.0];

/// The columns read of the rows that pass; `id` first, for the comparison.
const PROJECTIONS: [(&str, &[&str]); 2] =
    [("five columns", &["id", "amount", "price", "name", "comment"]), ("id", &["id"])];

pub fn run(record: &mut Record, options: &Options) {
    make();
    record.heading(
        "A filter within the scan / decoding everything and filtering the batches: 4,194,304 rows, uncompressed, one thread, \
         ms of processor time, median, and median of the ratios",
    );
    let rounds = if options.quick { 3 } else { 9 };
    let mut worst: (f64, String) = (0.0, String::new());
    for encodings in Encodings::ALL {
        let file = ParquetFile::open(path(encodings)).expect("the file is there");
        let mut head = vec![encodings.label().to_owned()];
        let mut rows = Vec::new();
        for share in SHARES {
            // If all rows pass, statistics show it: once they are used, once not.
            let ways = [("", Pruning::default()), (", tested", Pruning::none())];
            for (note, pruning) in ways.into_iter().take(if share == 1.0 { 2 } else { 1 }) {
                rows.push((format!("{share} pass{note}"), share, pruning));
            }
        }
        let mut cells: Vec<Vec<String>> = rows.iter().map(|(label, ..)| vec![label.clone()]).collect();
        for column in ["random", "runs"] {
            for (name, projection) in PROJECTIONS {
                head.push(format!("{column}, {name}"));
                for ((label, share, pruning), row) in rows.iter().zip(&mut cells) {
                    let condition = format!("{column} < {}", (share * f64::from(BOUND)).round());
                    let turns = measure(&file, &condition, projection, pruning, rounds);
                    row.push(turns.cell());
                    if turns.ratio > worst.0 {
                        worst = (turns.ratio, format!("{}, {column}, {name}, {label}", encodings.label()));
                    }
                }
            }
        }
        record.table(&head, &cells);
    }
    record.line(&format!("The worst: {}, {}.\n", worst.1, at_most(worst.0, GOAL)));
}

fn measure(file: &ParquetFile, condition: &str, projection: &[&str], pruning: &Pruning, rounds: usize) -> Turns {
    let scan = || file.scan().threads(1);
    let pushed = || {
        let scan = scan().filter(condition).expect("the condition is sound").pruning(pruning.clone());
        let batches = scan.select(projection.iter().copied()).build().expect("the scan can be planned");
        batches.map(|batch| batch.expect("rows can be read"))
    };
    let filter = Predicate::parse(condition).and_then(|predicate| predicate.filter(file.schema()));
    let filter = filter.expect("the condition is of a column of the file");
    let wanted: Vec<usize> = (0..projection.len()).collect();
    let afterwards = || {
        let paths = projection.iter().map(|&path| path.to_owned()).chain(filter.columns());
        let batches = scan().select(paths).build().expect("the scan can be planned");
        batches.map(|batch| -> RecordBatch {
            let batch = batch.expect("rows can be read");
            let mask = filter.evaluate(&batch).expect("the batch has the column");
            let batch = batch.project(&wanted).expect("the columns come first");
            filter_record_batch(&batch, &mask).expect("the mask is as long as the batch")
        })
    };
    assert_eq!(digest(pushed()), digest(afterwards()), "{condition} finds other rows");
    Turns::of(rounds, || pushed().for_each(drop), || afterwards().for_each(drop))
}
