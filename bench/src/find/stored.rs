//! Finds a row by key out of 1,000 files of a store whose responses take 20 ms: requests, bytes and time.
//!
//! The store is a web server in this process. An object in S3 takes the same requests; listing a bucket takes one more
//! for each 1,000 objects.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lath_parquet::{Dataset, DatasetOptions, FilterMemory, FooterCache, ParquetFile, Pruning};
use lath_testkit::server::{Fault, Server};
use lath_writer::{ParquetWriter, WriteOptions};

use super::median;
use crate::data::Random;
use crate::data::needles::{FILE_ROWS, FILES, Kind, hex, key, make};
use crate::files::race::Options;
use crate::record::Record;

const LATENCY: Duration = Duration::from_millis(20);

/// The maximum requests and bytes per file.
const GOALS: [(f64, f64); 2] = [(3.0, 100.0), (1.0, 100.0)];

/// A row of the table.
struct Work {
    name: &'static str,
    files: Vec<(String, Bytes)>,
    keeps_filters: bool,
}

/// The cost of a query.
#[derive(Clone, Copy, Debug)]
struct Cost {
    requests: f64,
    bytes: f64,
    seconds: f64,
}

pub fn run(record: &mut Record, options: &Options) {
    make();
    record.heading(
        "One row by key out of 1,000 files of 100,000 rows behind HTTP, 20 ms a request, 64 in flight: requests and KiB a file \
         (mean), and ms (median)",
    );
    let files: Vec<(String, Bytes)> = (0..FILES)
        .map(|file| (format!("{file:03}.parquet"), fs::read(Kind::Bloom.path(file)).expect("the file is there").into()))
        .collect();
    let copies: Vec<(String, Bytes)> = files.iter().map(|(name, file)| (name.clone(), copy(file))).collect();
    let works = [
        Work { name: "as the `parquet` crate writes them", files: files.clone(), keeps_filters: false },
        Work { name: "copied by Lath", files: copies.clone(), keeps_filters: false },
        Work { name: "as the crate writes them, filters kept in memory", files, keeps_filters: true },
        Work { name: "copied by Lath, filters kept in memory", files: copies, keeps_filters: true },
    ];
    let (datasets, queries) = if options.quick { (8, 3) } else { (24, 5) };
    let mut rows = Vec::new();
    for work in works {
        // Each uses the same keys.
        let mut random = Random(10);
        let mut costs: [Vec<Cost>; 2] = Default::default();
        for _ in 0..datasets {
            let server = Server::with_faults(work.files.clone(), |_, _| Fault::Delay(LATENCY));
            let urls: Vec<String> = work.files.iter().map(|(name, _)| server.url(name)).collect();
            let mut pruning = Pruning::default();
            pruning.filter_memory = work.keeps_filters.then(|| Arc::new(FilterMemory::new(1 << 30)));
            let mut dataset = None;
            for query in 0..=queries {
                let id = random.below(FILES as u64 * FILE_ROWS);
                let (requests, bytes, start) = (server.requests().len(), server.sent(), Instant::now());
                let dataset = dataset.get_or_insert_with(|| {
                    let options = DatasetOptions::new().footer_cache(FooterCache::new(2 << 30));
                    Dataset::open(&urls, options).expect("the server answers")
                });
                find(dataset, id, &pruning);
                costs[usize::from(query > 0)].push(Cost {
                    requests: (server.requests().len() - requests) as f64 / FILES as f64,
                    bytes: (server.sent() - bytes) as f64 / FILES as f64 / 1024.0,
                    seconds: start.elapsed().as_secs_f64(),
                });
            }
        }
        for ((state, costs), (most_requests, most_bytes)) in ["cold", "warm"].into_iter().zip(costs).zip(GOALS) {
            // A key's block has the same position in filters of the same length, so vary the keys, not the files.
            let mean = |figure: fn(&Cost) -> f64| costs.iter().map(figure).sum::<f64>() / costs.len() as f64;
            let (requests, bytes) = (mean(|cost| cost.requests), mean(|cost| cost.bytes));
            let seconds = median(&costs.iter().map(|cost| cost.seconds).collect::<Vec<_>>());
            let verdict = |is_reached: bool| if is_reached { "reached" } else { "**missed**" };
            rows.push(vec![
                format!("{}, {state}", work.name),
                format!("{requests:.2}"),
                format!("{bytes:.1}"),
                format!("{:.0}", seconds * 1e3),
                format!("{most_requests} requests: {}", verdict(requests <= most_requests)),
                format!("{most_bytes} KiB: {}", verdict(bytes <= most_bytes)),
            ]);
        }
    }
    let head = ["files", "requests a file", "KiB a file", "ms", "goal", "goal"].map(str::to_owned);
    record.table(&head, &rows);
}

/// The file with its row groups copied: Lath puts all Bloom filters after the last row group.
fn copy(file: &Bytes) -> Bytes {
    let file = ParquetFile::from_bytes(file.clone()).expect("the file is sound");
    let mut writer =
        ParquetWriter::new_like(Vec::new(), &file, None, WriteOptions::default()).expect("the schema can be written");
    for row_group in 0..file.metadata().row_group_count() {
        writer.copy_row_group(&file, row_group).expect("the row group can be copied");
    }
    writer.finish_into().expect("the file can be finished").0.into()
}

/// Compares the answer.
fn find(dataset: &Dataset, id: u64, pruning: &Pruning) {
    let scan = dataset.scan().filter(&format!("key = X'{}'", hex(&key(id)))).expect("the condition is sound");
    let scan = scan.pruning(pruning.clone()).select(["id"]).threads(dataset.concurrency());
    let batches = scan.build().expect("the scan can be planned");
    let found = super::turns::digest(batches.map(|batch| batch.expect("rows can be read")));
    assert_eq!(found, (1, id as i64), "other rows are found");
}
