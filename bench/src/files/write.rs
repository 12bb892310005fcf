//! TPC-H lineitem from memory to a file, by every writer.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::lineitem::{ROWS, best_of_each};
use super::race::{Contestant, Options, Outcome, race};
use super::writers::{Entry, Writer, arrow_bytes, load};
use crate::data::Codec;
use crate::data::lineitem::{Variant, make, path};
use crate::record::{Record, against_goal};

/// The required ratio of Lath's speed to the fastest peer's.
fn goal(codec: Codec) -> f64 {
    match codec {
        Codec::None => 2.0,
        Codec::Snappy => 1.5,
        Codec::Zstd => 1.25,
    }
}

/// The times of one contestant with one codec, and the size of its file.
struct WriteResult {
    outcome: Outcome<Entry>,
    file_bytes: u64,
}

pub fn run(record: &mut Record, options: &Options) {
    make();
    let source = path(Variant::Plain, Codec::None);
    let bytes = arrow_bytes(&load(&source)) as f64;
    record.heading(
        "Writing TPC-H lineitem, scale factor 1, from memory: MB/s of Arrow bytes, best / median / by processor time (file, MB)",
    );
    record.line(&format!("{:.0} MB of Arrow bytes; files go to memory where /dev/shm exists.\n", bytes / 1e6));
    for threads in [1, 2] {
        if !options.wants_threads(threads) {
            continue;
        }
        let columns: Vec<Vec<WriteResult>> = Codec::ALL
            .into_iter()
            .map(
                |codec| {
                    if options.wants(codec.name()) { contest(codec, &source, threads, options) } else { Vec::new() }
                },
            )
            .collect();
        table(record, threads, &columns, bytes);
    }
    if options.lath {
        record.line("Digests of all columns of Lath's files, read by the `parquet` crate, equal the source's; row counts of all files agree.");
    }
}

fn contest(codec: Codec, source: &Path, threads: usize, options: &Options) -> Vec<WriteResult> {
    let mut entries: Vec<Entry> = Vec::new();
    if options.lath {
        entries.push(Entry { writer: Writer::Lath, codec });
        if codec == Codec::Zstd {
            entries.push(Entry { writer: Writer::LathCompact, codec });
        }
    }
    if options.peers {
        // The crate's writer has one thread.
        let peers = Writer::PEERS.into_iter().filter(|&writer| threads == 1 || writer != Writer::Parquet);
        entries.extend(peers.map(|writer| Entry { writer, codec }));
    }
    let outcomes = race(&entries, source, threads, options);
    let written = outcomes.into_iter().map(|outcome| {
        let out = outcome.runner.out();
        assert_eq!(outcome.rows, ROWS, "{}", outcome.runner.label());
        if outcome.runner.is_lath() {
            let expected = super::verify(source).expect("the source is readable");
            assert_eq!(super::verify(&out).as_ref(), Ok(&expected), "{} as read by the parquet crate", out.display());
        }
        let file_bytes = fs::metadata(&out).expect("the file was written").len();
        WriteResult { outcome, file_bytes }
    });
    let written = written.collect();
    for entry in &entries {
        // Peers that are not installed wrote nothing.
        let _ = fs::remove_file(entry.out());
    }
    written
}

fn table(record: &mut Record, threads: usize, columns: &[Vec<WriteResult>], bytes: f64) {
    let mut head = vec![format!("{threads} thread{}", if threads == 1 { "" } else { "s" })];
    head.extend(Codec::ALL.map(|codec| codec.name().to_owned()));
    let labels: BTreeSet<String> = columns.iter().flatten().map(|written| written.outcome.runner.label()).collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for label in labels {
        let mut row = vec![label.clone()];
        for column in columns {
            row.push(column.iter().find(|written| written.outcome.runner.label() == label).map_or_else(
                || "–".to_owned(),
                |WriteResult { outcome, file_bytes }| {
                    let rate = |seconds: f64| bytes / seconds / 1e6;
                    let [best, median, cpu] = [outcome.best(), outcome.median(), outcome.best_cpu()].map(rate);
                    format!("{best:.0} / {median:.0} / {cpu:.0} ({:.0})", *file_bytes as f64 / 1e6)
                },
            ));
        }
        rows.push(row);
    }
    for (title, time) in [
        ("Lath against the best peer", Outcome::best as fn(&Outcome<Entry>) -> f64),
        ("the same by processor time", Outcome::best_cpu),
    ] {
        let mut row = vec![title.to_owned()];
        for (column, codec) in columns.iter().zip(Codec::ALL) {
            // The compact profile is measured for its size only.
            let outcomes: Vec<Outcome<Entry>> = column
                .iter()
                .filter(|written| written.outcome.runner.writer != Writer::LathCompact)
                .map(|written| written.outcome.clone())
                .collect();
            row.push(match best_of_each(&outcomes, time) {
                (Some(lath), Some(peer)) => {
                    format!("{} against {}", against_goal(time(peer) / time(lath), goal(codec)), peer.runner.label())
                }
                _ => "–".to_owned(),
            });
        }
        rows.push(row);
    }
    record.table(&head, &rows);
}
