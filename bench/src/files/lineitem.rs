//! Decodes all of TPC-H lineitem with every reader.

use std::collections::BTreeSet;

use super::race::{Contestant, Options, Outcome, race};
use crate::data::Codec;
use crate::data::lineitem::{Variant, make, path};
use crate::record::{Record, against_goal};

pub const ROWS: u64 = 6_001_215;

pub fn run(record: &mut Record, options: &Options) {
    make();
    record.heading(
        "Whole files: TPC-H lineitem, scale factor 1, all 16 columns, seconds (best / median / best processor time)",
    );
    if options.lath {
        for variant in Variant::ALL {
            super::verify(&path(variant, Codec::None)).expect("Lath reads what the parquet crate reads");
        }
        record.line("Lath's digests of all columns equal the `parquet` crate's, views and offsets; row counts of all readers agree.\n");
    }
    for threads in [1, 2] {
        for codec in Codec::ALL {
            if !options.wants_threads(threads) {
                continue;
            }
            let goal = if codec == Codec::None { 2.0 } else { 1.4 };
            let columns = Variant::ALL.map(|variant| {
                let path = path(variant, codec);
                if !options.wants(&format!("{} {}", variant.name(), codec.name())) {
                    return Vec::new();
                }
                let outcomes = race(&options.runners(), &path, threads, options);
                for outcome in &outcomes {
                    assert_eq!(outcome.rows, ROWS, "{} on {}", outcome.runner.label(), path.display());
                }
                outcomes
            });
            if columns.iter().all(Vec::is_empty) {
                continue;
            }
            let plural = if threads == 1 { "" } else { "s" };
            table(record, &format!("{}, {threads} thread{plural}", codec.name()), &columns, goal);
        }
    }
}

/// A row for each reader and a column for each variant, followed by Lath relative to the best peer.
fn table(record: &mut Record, title: &str, columns: &[Vec<Outcome>; 4], goal: f64) {
    let mut head = vec![title.to_owned()];
    head.extend(Variant::ALL.map(|variant| variant.name().to_owned()));
    let labels: BTreeSet<String> = columns.iter().flatten().map(|outcome| outcome.runner.label()).collect();
    let mut rows: Vec<Vec<String>> = labels
        .into_iter()
        .map(|label| {
            let cells = columns.iter().map(|outcomes| match outcomes.iter().find(|o| o.runner.label() == label) {
                Some(outcome) => format!("{:.3} / {:.3} / {:.3}", outcome.best(), outcome.median(), outcome.best_cpu()),
                None => "–".to_owned(),
            });
            let mut row: Vec<String> = cells.collect();
            row.insert(0, label.clone());
            row
        })
        .collect();
    rows.push(ratios("Lath against the best peer", columns, goal, Outcome::best));
    rows.push(ratios("the same by processor time", columns, goal, Outcome::best_cpu));
    record.table(&head, &rows);
}

/// A row of ratios: the best peer's time divided by Lath's best.
fn ratios(title: &str, columns: &[Vec<Outcome>], goal: f64, time: fn(&Outcome) -> f64) -> Vec<String> {
    let cells = columns.iter().map(|outcomes| match best_of_each(outcomes, time) {
        (Some(lath), Some(peer)) => {
            format!("{} against {}", against_goal(time(peer) / time(lath), goal), peer.runner.label())
        }
        (None, Some(peer)) => peer.runner.label(),
        _ => "–".to_owned(),
    });
    std::iter::once(title.to_owned()).chain(cells).collect()
}

/// The fastest of Lath's ways, and the fastest peer.
pub fn best_of_each<C: Contestant>(
    outcomes: &[Outcome<C>],
    time: fn(&Outcome<C>) -> f64,
) -> (Option<&Outcome<C>>, Option<&Outcome<C>>) {
    let fastest = |lath: bool| {
        outcomes.iter().filter(|outcome| outcome.runner.is_lath() == lath).min_by(|a, b| time(a).total_cmp(&time(b)))
    };
    (fastest(true), fastest(false))
}
