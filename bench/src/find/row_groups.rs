//! Prunes a million row groups of open files, by statistics and by Bloom filters in memory.

use std::sync::Arc;
use std::time::Instant;

use lath_parquet::{Dataset, DatasetOptions, FilterMemory, FooterCache, Pruning};

use super::median;
use crate::data::Random;
use crate::data::needles::{hex, key};
use crate::data::row_groups::{FILE_ROW_GROUPS, FILES, ROWS, make, path};
use crate::files::race::Options;
use crate::record::Record;

/// The memory limits of the footers of all files, and of their Bloom filters.
const MEMORY: u64 = 16 << 30;

/// The kind of query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum QueryKind {
    /// `id = …`: row groups have ranges of ids.
    Id,
    /// `key = X'…'`: row groups have all keys between their bounds.
    Key,
}

pub fn run(record: &mut Record, options: &Options) {
    make();
    let row_groups = (FILES * FILE_ROW_GROUPS) as f64;
    let start = Instant::now();
    let footers = FooterCache::new(MEMORY as usize);
    let dataset =
        Dataset::open([path()], DatasetOptions::new().footer_cache(footers.clone())).expect("files are there");
    dataset.files().iter().for_each(|file| drop(file.open().expect("the file is sound")));
    record.heading("1,000,000 row groups in 40 open files: one row by its id or key, one thread, median");
    record.line(&format!(
        "Opening them took {:.1} s; their footers take {} MiB of memory.\n",
        start.elapsed().as_secs_f64(),
        footers.byte_count() >> 20
    ));
    let mut bloom = Pruning::none();
    bloom.bloom = true;
    let memory = Arc::new(FilterMemory::new(MEMORY));
    bloom.filter_memory = Some(Arc::clone(&memory));
    let mut statistics = Pruning::none();
    statistics.statistics = true;
    let mut both = Pruning::default();
    both.filter_memory = Some(Arc::clone(&memory));
    let works = [
        ("statistics", QueryKind::Id, statistics, Some(1_000.0)),
        ("Bloom filters in memory", QueryKind::Key, bloom, Some(30.0)),
        ("all evidence, by id", QueryKind::Id, both.clone(), None),
        ("all evidence, by key", QueryKind::Key, both, None),
    ];
    let head = ["", "pruning, ns a row group", "the query, ns a row group", "the query, ms", "goal"].map(str::to_owned);
    let rounds = if options.quick { 5 } else { 21 };
    let mut random = Random(9);
    let mut rows = Vec::new();
    for (name, kind, pruning, goal) in works {
        let (mut pruned, mut took) = (Vec::new(), Vec::new());
        // The first query warms up: it reads the Bloom filters.
        for round in 0..=rounds {
            let (prune_seconds, seconds) = ask(&dataset, kind, random.below(ROWS), &pruning);
            if round > 0 {
                pruned.push(prune_seconds * 1e9 / row_groups);
                took.push(seconds);
            }
        }
        let (pruned, took) = (median(&pruned), median(&took));
        let verdict = goal.map_or("–".to_owned(), |goal| {
            format!("{goal} ns: {}", if pruned <= goal { "reached" } else { "**missed**" })
        });
        rows.push(vec![
            name.to_owned(),
            format!("{pruned:.1}"),
            format!("{:.1}", took * 1e9 / row_groups),
            format!("{:.1}", took * 1e3),
            verdict,
        ]);
    }
    record.table(&head, &rows);
    record.line(&format!("Bloom filters take {} MiB of memory.\n", memory.used() >> 20));
}

/// Seconds of pruning and of the whole query, after the answer has been compared.
fn ask(dataset: &Dataset, kind: QueryKind, id: u64, pruning: &Pruning) -> (f64, f64) {
    let condition = match kind {
        QueryKind::Id => format!("id = {id}"),
        QueryKind::Key => format!("key = X'{}'", hex(&key(id))),
    };
    let start = Instant::now();
    let scan = dataset.scan().filter(&condition).expect("the condition is sound").pruning(pruning.clone());
    let batches = scan.select(["id"]).build().expect("the scan can be planned");
    let progress = batches.progress();
    let (rows, sum) = super::turns::digest(batches.map(|batch| batch.expect("rows can be read")));
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!((rows, sum), (1, id as i64), "{condition} finds other rows");
    (progress.report().times.prune.as_secs_f64(), seconds)
}
