//! Every tier reads, writes and finds the same: the digests of a sweep over random files and the collection are
//! compared.
//!
//! A process selects its tier once, so each tier runs the sweep in a separate process.

use std::hash::{DefaultHasher, Hash, Hasher};

use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use lath_kernels::Tier;
use lath_parquet::ParquetFile;
use lath_testkit::random::{FileShape, RandomFile};
use lath_testkit::{DIGEST_MARK, Seeded, digests_at, parquet_test_data};

use crate::pruning::condition::Condition;
use crate::pruning::table::Table;
use crate::reading::collect;
use crate::slow_source::source;
use crate::writing::{Choices, write};

#[test]
fn every_tier_gives_the_same_digests() {
    let seed = Seeded::new("every_tier_gives_the_same_digests");
    let digests: Vec<_> =
        Tier::available().iter().map(|&tier| (tier, digests_at(tier.name(), "tiers::sweep", seed.seed()))).collect();
    let (best, expected) = digests.last().unwrap();
    assert!(expected.len() > 100, "{} digests at {best}", expected.len());
    for (tier, lines) in &digests {
        for (line, expected) in lines.iter().zip(expected) {
            assert_eq!(line, expected, "at {tier}, and at {best}");
        }
        assert_eq!(lines.len(), expected.len(), "number of digests at {tier}, and at {best}");
    }
}

#[test]
#[ignore = "every_tier_gives_the_same_digests runs it once per tier"]
fn sweep() {
    assert_eq!(std::env::var("LATH_SIMD").as_deref(), Ok(Tier::current().name()), "the tier that was asked for");
    let mut random = Seeded::new("sweep");
    for case in 0..20 {
        let file = RandomFile::new(&mut random, FileShape { row_count: 1000, ..FileShape::default() });
        let opened = ParquetFile::from_source(source(&mut random, file.bytes.clone())).unwrap();
        let (_, read) = opened.scan().build().and_then(collect).unwrap();
        println!("{DIGEST_MARK}random file {case}, read: {:x}", digest(&read));
        let options = Choices::random(&mut random);
        match write(&file.schema, &file.batches, options.options(&file.schema)) {
            Ok((bytes, _)) => println!("{DIGEST_MARK}random file {case}, written: {:x}", hash(&bytes)),
            Err(error) => println!("{DIGEST_MARK}random file {case}, written: {error}"),
        }
    }
    for case in 0..12 {
        let row_count = random.usize(..2000);
        let table = Table::random(&mut random, row_count);
        let schema = table.batch.schema();
        let options = Choices::random(&mut random).options(&schema);
        let (bytes, _) = write(&schema, std::slice::from_ref(&table.batch), options).unwrap();
        let file = ParquetFile::from_source(source(&mut random, bytes)).unwrap();
        for _ in 0..10 {
            let sql = Condition::random(&mut random, &table, 2).sql(&table.columns);
            let found: Result<Vec<_>, _> = file.scan().filter(&sql).unwrap().build().unwrap().collect();
            println!("{DIGEST_MARK}table {case}, {sql}: {:x}", digest(&found.unwrap()));
        }
    }
    let Some(collection) = parquet_test_data() else { return };
    let mut paths: Vec<_> =
        std::fs::read_dir(collection.join("data")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "parquet")) {
        let name = path.file_name().unwrap().display();
        match ParquetFile::open(path).and_then(|file| file.scan().build()).and_then(collect) {
            Ok((_, batches)) => println!("{DIGEST_MARK}{name}: {:x}", digest(&batches)),
            Err(error) => println!("{DIGEST_MARK}{name}: {error}"),
        }
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A digest of all values as text, independent of buffers and batch boundaries. Columns with named time zones are left
/// out: they have no text without a time zone database, and are decoded like other timestamps.
fn digest(batches: &[RecordBatch]) -> u64 {
    let mut hasher = DefaultHasher::new();
    let options = FormatOptions::new().with_null("null");
    for batch in batches {
        let columns = batch.columns().iter();
        let columns: Vec<_> =
            columns.filter_map(|column| ArrayFormatter::try_new(column.as_ref(), &options).ok()).collect();
        for row in 0..batch.num_rows() {
            for column in &columns {
                match column.value(row).try_to_string() {
                    Ok(text) => text.hash(&mut hasher),
                    Err(error) => error.to_string().hash(&mut hasher),
                }
            }
        }
    }
    hasher.finish()
}
