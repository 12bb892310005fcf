//! Files behind a correct server.

use std::fs;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use bytes::Bytes;
use lath_parquet::{CountingSource, Dataset, DatasetOptions, Error, FooterCache, OpenOptions};
use lath_writer::{BloomFilter, ColumnOptions, ParquetWriter, WriteOptions};

use super::{expected, open, options, parquet, rows, table};
use lath_testkit::server::{Fault, Server};

fn ranges(server: &Server) -> Vec<String> {
    server
        .requests()
        .into_iter()
        .map(|request| format!("{} {}", request.method, request.range.unwrap_or_default()))
        .collect()
}

#[test]
fn a_small_file_takes_one_request_and_gives_the_rows_of_the_local_file() {
    let file = parquet(&table(0, 1_000));
    let server = Server::of([("data/a%20b.parquet".into(), file.clone())]);
    let dataset = open(&server.url("data/a%20b.parquet")).unwrap();
    assert_eq!(dataset.concurrency(), DatasetOptions::DEFAULT_REQUESTS_IN_FLIGHT);
    let open = dataset.files()[0].open().unwrap();
    assert_eq!(rows(&open).unwrap(), expected(&file));
    // The file is shorter than the first read, so everything came with the footer.
    assert_eq!(ranges(&server), ["GET bytes=-73728"]);
    assert_eq!(server.sent(), file.len());
}

#[test]
fn a_large_file_is_read_in_few_requests_that_grow() {
    let file = parquet(&table(0, 400_000));
    assert!(file.len() > 4 << 20, "{}", file.len());
    let server = Server::of([("a.parquet".into(), file.clone())]);
    let dataset = open(&server.url("a.parquet")).unwrap();
    let open = dataset.files()[0].open().unwrap();
    assert_eq!(ranges(&server).len(), 1);
    assert_eq!(rows(&open).unwrap(), expected(&file));
    let requests = server.requests().len();
    assert!(requests <= 30, "{requests} requests for {} bytes", file.len());
    assert!(server.sent() < file.len() * 5 / 4, "{} of {} bytes", server.sent(), file.len());
}

#[test]
fn a_footer_longer_than_the_first_read_takes_one_request_more() {
    let batch = table(0, 10);
    let columns = (0..900).map(|at| (format!("a column with a long name {at}"), Arc::clone(batch.column(1))));
    let file = parquet(&RecordBatch::try_from_iter(columns).unwrap());
    let server = Server::of([("a.parquet".into(), file.clone())]);
    let dataset = open(&server.url("a.parquet")).unwrap();
    assert_eq!(dataset.schema().fields().len(), 900);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn footers_that_are_cached_cost_no_request_in_a_dataset_and_one_in_the_next() {
    let file = parquet(&table(0, 100_000));
    let server = Server::of([("a.parquet".into(), file.clone())]);
    let (url, cache) = (server.url("a.parquet"), FooterCache::new(1 << 20));
    let shared = || DatasetOptions::new().footer_cache(cache.clone());
    let dataset = Dataset::open([&url], shared()).unwrap();
    assert_eq!(server.requests().len(), 1);
    dataset.files()[0].open().unwrap();
    dataset.files()[0].open().unwrap();
    assert_eq!(server.requests().len(), 1);
    Dataset::open([&url], shared()).unwrap();
    assert_eq!(ranges(&server)[1..], ["HEAD "]);
    Dataset::open([&url], shared().revalidate(false)).unwrap();
    assert_eq!(server.requests().len(), 2);

    // The tail that came with the footer counts against the budget.
    assert!(cache.byte_count() > 72 << 10, "{}", cache.byte_count());
    server.replace("a.parquet", parquet(&table(0, 50)));
    let replaced = Dataset::open([&url], shared()).unwrap();
    assert_eq!(replaced.files()[0].open().unwrap().row_count(), 50);
}

#[test]
fn filters_that_are_asked_again_are_read_whole_by_the_second_query_and_kept() {
    // Too long to come with the footer.
    const FILTER: usize = 128 << 10;
    let batch = table(0, 50_000);
    let column = ColumnOptions::new().bloom_filter(BloomFilter::Bytes(FILTER)).dictionary(false);
    let mut writer =
        ParquetWriter::new(Vec::new(), &batch.schema(), WriteOptions::default().all_columns(column)).unwrap();
    writer.write(&batch).unwrap();
    let file = Bytes::from(writer.finish_into().unwrap().0);
    let server = Server::of([("a.parquet".into(), file)]);
    let cache = FooterCache::new(1 << 20);
    let shared = DatasetOptions::new().footer_cache(cache.clone());
    let dataset = Dataset::open([server.url("a.parquet")], shared).unwrap();
    let find = |keys: &str| {
        let (requests, sent) = (server.requests().len(), server.sent());
        let batches = dataset.scan().filter(&format!("name IN ({keys})")).unwrap().build().unwrap();
        let rows: usize = batches.map(|batch| batch.unwrap().num_rows()).sum();
        (rows, server.requests().len() - requests, server.sent() - sent)
    };
    // Header and block, then all of it, then nothing.
    let (rows, requests, bytes) = find("'row 1 of none'");
    assert!(rows == 0 && (1..=2).contains(&requests), "{requests} requests");
    assert!(bytes < FILTER / 2, "{bytes}");
    // Opening the file again counts the parts of its footer that have been decoded since.
    drop(dataset.files()[0].open().unwrap());
    let before = cache.byte_count();
    let (rows, requests, bytes) = find("'row 1 of none'");
    assert_eq!((rows, requests), (0, 1));
    assert!((FILTER..FILTER + 1024).contains(&bytes), "{bytes}");
    assert_eq!(cache.byte_count(), before + FILTER);
    assert_eq!(find("'row 1 of none'"), (0, 0, 0));
    assert_eq!(find("'row 1 of none', 'row 2 of none'"), (0, 0, 0));
}

/// A file of one row group, with many pages per column.
fn paged(rows: i64) -> Bytes {
    let batch = table(0, rows);
    let column = ColumnOptions::new().dictionary(false).page_rows(1000);
    let mut writer =
        ParquetWriter::new(Vec::new(), &batch.schema(), WriteOptions::default().all_columns(column)).unwrap();
    writer.write(&batch).unwrap();
    Bytes::from(writer.finish_into().unwrap().0)
}

#[test]
fn pages_of_rows_that_are_found_are_read_alone() {
    let file = paged(300_000);
    let server = Server::of([("a.parquet".into(), file.clone())]);
    let dataset = open(&server.url("a.parquet")).unwrap();
    for id in [0, 123_456, 299_999] {
        let (requests, sent) = (server.requests().len(), server.sent());
        let scan = dataset.scan().filter(&format!("id = {id}")).unwrap();
        let batches: Vec<RecordBatch> = scan.build().unwrap().map(|batch| batch.unwrap()).collect();
        assert_eq!(batches, [expected(&file).slice(id, 1)]);
        // The index of `id`, the positions of the pages of both columns, and a page of each.
        let (requests, sent) = (server.requests().len() - requests, server.sent() - sent);
        assert!(requests <= 4 && sent < 200_000, "{requests} requests, {sent} of {} bytes", file.len());
    }
    // Rows by their numbers.
    let (requests, sent) = (server.requests().len(), server.sent());
    let read =
        dataset.files()[0].open().unwrap().scan().rows(vec![250_000..250_005, 250_005..250_010]).build().unwrap();
    let rows: Vec<RecordBatch> = read.map(|batch| batch.unwrap()).collect();
    assert_eq!(rows, [expected(&file).slice(250_000, 10)]);
    let (requests, sent) = (server.requests().len() - requests, server.sent() - sent);
    assert!(requests <= 3 && sent < 200_000, "{requests} requests, {sent} of {} bytes", file.len());
}

#[test]
fn columns_that_are_asked_are_read_at_once_and_no_others() {
    let server = Server::of([("a.parquet".into(), paged(50_000))]);
    let dataset = open(&server.url("a.parquet")).unwrap();
    let (requests, sent) = (server.requests().len(), server.sent());
    let scan = dataset.scan().filter("name LIKE '%few'").unwrap().select(["id"]);
    assert_eq!(scan.build().unwrap().count(), 0);
    let opened = dataset.files()[0].open().unwrap();
    let chunk = opened.metadata().chunk(0, 1).expect("a chunk").compressed_size() as usize;
    let (requests, sent) = (server.requests().len() - requests, server.sent() - sent);
    assert!(requests == 1 && (chunk..chunk + 1000).contains(&sent), "{requests} requests, {sent} of {chunk} bytes");
}

#[test]
fn an_object_that_is_replaced_gives_an_error_and_no_mixture() {
    let file = parquet(&table(0, 100_000));
    let server = Server::of([("a.parquet".into(), file.clone())]);
    let dataset = open(&server.url("a.parquet")).unwrap();
    let open = dataset.files()[0].open().unwrap();
    server.replace("a.parquet", parquet(&table(7, 100_000)));
    let error = rows(&open).unwrap_err();
    assert!(matches!(error, Error::Io { .. }) && error.to_string().contains("replaced"), "{error}");
}

#[test]
fn near_ranges_are_joined_and_far_ones_asked_for_together_within_the_bound() {
    let file = Bytes::from((0..8_000_000u32).map(|at| (at % 251) as u8).collect::<Vec<_>>());
    let delay = Duration::from_millis(60);
    let server = Server::with_faults([("a.parquet".into(), file.clone())], move |_, _| Fault::Delay(delay));
    // Not a Parquet file, so opening fails; only its source is needed.
    let dataset = open(&server.url("a.parquet"));
    assert!(matches!(dataset, Err(Error::NotParquet { .. })), "{dataset:?}");

    let real = parquet(&table(0, 400_000));
    let server = Server::with_faults([("a.parquet".into(), real.clone())], move |_, _| Fault::Delay(delay));
    let dataset = Dataset::open([server.url("a.parquet")], options().requests_in_flight(4)).unwrap();
    let open = dataset.files()[0].open().unwrap();
    let before = server.requests().len();
    let traffic = Arc::default();
    let source = CountingSource::new(Arc::clone(open.source()), Arc::clone(&traffic));
    let wanted: Vec<_> = (0..12u64)
        .rev()
        .flat_map(|at| [at * 300_000..at * 300_000 + 10, at * 300_000 + 20_000..at * 300_000 + 20_020])
        .collect();
    let started = Instant::now();
    let parts = lath_parquet::ByteRanges::read_many(&source, &wanted).unwrap();
    let took = started.elapsed();
    for (range, part) in wanted.iter().zip(&parts) {
        assert_eq!(part, &real[range.start as usize..range.end as usize]);
    }
    assert_eq!(server.requests().len() - before, 12);
    assert_eq!((traffic.requests(), traffic.bytes()), (12, 12 * 20_020));
    assert_eq!(server.most_at_once(), 4);
    assert!(took >= delay * 3 && took < delay * 9, "{took:?}");

    // Gaps are bridged only if no longer than the requested bytes, and never over 128 KiB.
    let requests = |ranges: [Range<u64>; 2]| lath_parquet::ByteRanges::requests(&source, &ranges).len();
    assert_eq!(requests([0..60_000, 160_000..220_000]), 1);
    assert_eq!(requests([160_000..220_000, 0..30_000]), 2);
    assert_eq!(requests([0..200_000, 340_000..600_000]), 2);
}

#[test]
fn files_of_several_places_are_one_dataset() {
    let files = [parquet(&table(0, 10)), parquet(&table(10, 20))];
    let server = Server::of([("year=2026/a.parquet".into(), files[0].clone())]);
    let directory = std::env::temp_dir().join(format!("lath-stores-{}", std::process::id())).join("year=2025");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("b.parquet"), &files[1]).unwrap();
    let list = directory.with_file_name("list.txt");
    fs::write(
        &list,
        format!("{}\nfile://{}\n", server.url("year=2026/a.parquet"), directory.join("b.parquet").display()),
    )
    .unwrap();
    let dataset = Dataset::open([format!("@{}", list.display())], options()).unwrap();
    let rows: Vec<u64> = dataset.files().iter().map(|file| file.open().unwrap().row_count()).collect();
    assert_eq!(rows, [10, 20]);
    assert_eq!(dataset.partitions()[0].field().name(), "year");
    assert_eq!(dataset.files()[0].path(), None);
    fs::remove_dir_all(directory.parent().unwrap()).unwrap();
}

#[test]
fn what_a_web_server_cannot_do_is_said() {
    let server = Server::of([]);
    for (path, expected) in
        [("data/", "cannot list its files"), ("*.parquet", "cannot list its files"), ("a?b=c", "query")]
    {
        let error = open(&server.url(path)).unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
        assert!(error.to_string().contains(expected) || path.contains('?'), "{error}");
    }
    assert!(server.requests().is_empty());
    assert!(matches!(open("http:///a.parquet"), Err(Error::Invalid { .. })));
}

#[test]
fn limits_hold_for_what_a_server_says() {
    let mut limits = lath_parquet::Limits::default();
    limits.footer_bytes = 100;
    let server = Server::of([("a.parquet".into(), parquet(&table(0, 10)))]);
    let options = options().open_options(OpenOptions::new().limits(limits));
    assert!(matches!(Dataset::open([server.url("a.parquet")], options), Err(Error::Limit { .. })));
    let server = Server::of([("a.parquet".into(), Bytes::new()), ("b.parquet".into(), Bytes::from_static(b"PAR1"))]);
    assert!(open(&server.url("a.parquet")).is_err());
    assert!(matches!(open(&server.url("b.parquet")), Err(Error::Corrupt { .. })));
}
