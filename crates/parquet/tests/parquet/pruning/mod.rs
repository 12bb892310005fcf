//! Pruning changes how much is read, never the result: random tables, written so that row groups and pages can be
//! pruned, and random conditions, with every kind of evidence alone, with all of it and with none. An independent
//! evaluation gives the expected rows.
//!
//! `LATH_CASES` sets the number of files, `LATH_SEED` repeats a run.

pub(crate) mod condition;
mod scalar;
pub(crate) mod table;

use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use bytes::Bytes;
use lath_parquet::{FilterMemory, ParquetFile, Pruning, ScanReport};
use lath_testkit::Seeded;
use lath_testkit::random::{until_written, writer_properties};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::EnabledStatistics;

use self::condition::Condition;
use self::table::Table;

use crate::writing::Choices;

const CONDITIONS: usize = 40;

#[test]
fn rows_are_the_same_whatever_is_ruled_out() {
    let mut random = Seeded::new("rows_are_the_same_whatever_is_ruled_out");
    let mut ruled_out = [0; 7];
    let mut found = 0;
    let files: usize = std::env::var("LATH_CASES").map_or(80, |text| text.parse().expect("LATH_CASES is a number"));
    for _ in 0..files {
        let row_count = random.usize(..400);
        let table = Table::random(&mut random, row_count);
        let bytes = match random.bool() {
            true => until_written(|| by_the_crate(&mut random, &table)),
            false => by_lath(&mut random, &table),
        };
        let mut opened =
            || ParquetFile::from_source(crate::slow_source::source(&mut random, bytes.clone())).expect("a sound file");
        // The second has the computed filters.
        let (file, with_computed) = (opened(), opened());
        let whole: Vec<RecordBatch> =
            file.scan().build().expect("all columns").map(|batch| batch.expect("sound pages")).collect();
        let whole = concat_batches(file.schema(), &whole).expect("one schema");
        for _ in 0..CONDITIONS {
            let condition = Condition::random(&mut random, &table, 2);
            let sql = condition.sql(&table.columns);
            let truth: BooleanArray =
                (0..row_count).map(|row| Some(condition.evaluate(&table.columns, row) == Some(true))).collect();
            found += truth.true_count();
            let expected = filter_record_batch(&whole, &truth).expect("a truth for each row");
            for (kind, pruning) in prunings().into_iter().enumerate() {
                let file = if kind == COMPUTED_FILTERS { &with_computed } else { &file };
                let (rows, report) = scan(&mut random, file, &sql, pruning);
                assert_eq!(rows, expected, "{sql}\nwith evidence {kind} of {}", table.batch.schema());
                ruled_out[kind] += row_count as u64 - report.rows_tested;
            }
        }
    }
    eprintln!("{found} rows found; rows ruled out by nothing, each kind of evidence, and all: {ruled_out:?}");
    // Conditions that no value satisfies are decided without evidence. In a few files some kinds of evidence may be
    // useless.
    let needs_none = ruled_out[0];
    let all_rule_out = ruled_out[1..].iter().all(|&rows| rows > needs_none)
        && ruled_out[COMPUTED_FILTERS] > ruled_out[COMPUTED_FILTERS - 1];
    assert!(all_rule_out, "evidence that rules nothing out: {ruled_out:?}");
}

/// The index in [`prunings`] after the file's own filters.
const COMPUTED_FILTERS: usize = 3;

/// No evidence, each kind alone, and all. Bloom filters are tested twice: the file's own, and together with computed
/// ones.
fn prunings() -> [Pruning; 7] {
    let none = Pruning::none;
    let alone = |set: fn(&mut Pruning)| {
        let mut pruning = none();
        set(&mut pruning);
        pruning
    };
    [
        none(),
        alone(|pruning| pruning.statistics = true),
        alone(|pruning| pruning.bloom = true),
        alone(|pruning| {
            pruning.bloom = true;
            pruning.filter_memory = Some(Arc::new(FilterMemory::new(1 << 20)));
        }),
        alone(|pruning| pruning.dictionary = true),
        alone(|pruning| pruning.page_index = true),
        Pruning::default(),
    ]
}

fn scan(random: &mut fastrand::Rng, file: &ParquetFile, sql: &str, pruning: Pruning) -> (RecordBatch, ScanReport) {
    let scan = file.scan().filter(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let scan = scan.pruning(pruning).batch_size([7, 64, 8192][random.usize(..3)]).threads(random.usize(1..3));
    let mut batches = scan.build().unwrap_or_else(|error| panic!("{sql}: {error}"));
    let schema = batches.schema();
    let rows: Vec<RecordBatch> =
        batches.by_ref().map(|batch| batch.unwrap_or_else(|error| panic!("{sql}: {error}"))).collect();
    let rows = concat_batches(&schema, &rows).expect("one schema");
    (rows, batches.report())
}

fn by_the_crate(random: &mut fastrand::Rng, table: &Table) -> Bytes {
    let row_count = table.batch.num_rows();
    let properties = writer_properties(random, &table.batch.schema(), row_count)
        .into_builder()
        .set_coerce_types(false)
        .set_bloom_filter_enabled(random.bool())
        .set_bloom_filter_max_ndv(200)
        .set_statistics_enabled(
            [EnabledStatistics::None, EnabledStatistics::Chunk, EnabledStatistics::Page][random.usize(..3)],
        )
        .set_statistics_truncate_length([None, Some(1), Some(5), Some(64)][random.usize(..4)])
        .set_column_index_truncate_length([None, Some(1), Some(5), Some(64)][random.usize(..4)])
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, table.batch.schema(), Some(properties)).expect("a sound schema");
    writer.write(&table.batch).expect("writing to memory");
    writer.close().expect("writing to memory");
    bytes.into()
}

fn by_lath(random: &mut fastrand::Rng, table: &Table) -> Bytes {
    let schema = table.batch.schema();
    let options = Choices::random(random).options(&schema);
    let (bytes, _) =
        crate::writing::write(&schema, std::slice::from_ref(&table.batch), options).expect("writing to memory");
    bytes
}
