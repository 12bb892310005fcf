//! Random files read back the same as written, and the same as by the `parquet` crate's reader, whichever columns, rows
//! and types are selected.
//!
//! `LATH_CASES` sets the number of files, `LATH_SEED` repeats a run.

use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use lath_parquet::{ParquetFile, Strings};
use lath_testkit::Seeded;
use lath_testkit::equality::{check_sound, plain_batch, same_values};
use lath_testkit::random::{FileShape, RandomFile};
use parquet::arrow::arrow_reader::ArrowReaderOptions;

use crate::reading::{Table, collect, read_with_crate};
use crate::slow_source::source;

/// The number of files in a default run.
const DEFAULT_CASES: usize = 80;

fn cases() -> usize {
    std::env::var("LATH_CASES").map_or(DEFAULT_CASES, |text| text.parse().expect("LATH_CASES is a number"))
}

#[test]
fn random_files_read_back() {
    let mut random = Seeded::new("random_files_read_back");
    for case in 0..cases() {
        let seed = random.u64(..);
        let mut choices = fastrand::Rng::with_seed(seed);
        let file = RandomFile::new(&mut choices, FileShape::default());
        let outcome = check(&mut choices, &file);
        outcome.unwrap_or_else(|what| panic!("{what}\nin case {case} with seed {seed:#x}: {file:?}"));
    }
}

fn check(random: &mut fastrand::Rng, file: &RandomFile) -> Result<(), String> {
    let by_crate =
        read_with_crate(&file.bytes, ArrowReaderOptions::new(), None).map_err(|error| format!("crate: {error}"))?;
    let opened = ParquetFile::from_source(source(random, file.bytes.clone())).map_err(|error| error.to_string())?;
    if opened.row_count() != file.row_count() as u64 {
        return Err(format!("{} rows counted, {} written", opened.row_count(), file.row_count()));
    }

    let all = opened.scan().build().and_then(collect).map_err(|error| error.to_string())?;
    check_sound(&all.1)?;
    if file.has_arrow_schema && !file.coerced {
        same_values((&file.schema, &file.batches), (&all.0, &all.1)).map_err(|what| format!("as written: {what}"))?;
    }
    same_values((&by_crate.0, &by_crate.1), (&all.0, &all.1)).map_err(|what| format!("as the crate: {what}"))?;

    for _ in 0..4 {
        let choice = Choice::new(random, file, &by_crate.0, &opened);
        choice.check(file, &opened).map_err(|what| format!("{what}\nof {choice:?}"))?;
    }
    Ok(())
}

/// A selection of a file's contents, and the way to read it.
#[derive(Debug)]
struct Choice {
    columns: Option<Vec<String>>,
    row_groups: Option<Vec<usize>>,
    row_ranges: Option<Vec<Range<u64>>>,
    batch_size: usize,
    strings: Strings,
    dictionary_columns: Vec<String>,
    threads: usize,
    by_column: bool,
}

impl Choice {
    fn new(random: &mut fastrand::Rng, file: &RandomFile, schema: &Schema, opened: &ParquetFile) -> Self {
        let mut paths = Vec::new();
        for field in schema.fields() {
            collect_paths(field, String::new(), &mut paths);
        }
        let row_group_count = opened.metadata().row_group_count();
        let columns = random.bool().then(|| random.choose_multiple(&paths, random.clone().usize(1..=3)));
        Self {
            columns: columns.map(|columns| columns.into_iter().cloned().collect()),
            row_groups: (random.u8(..3) == 0).then(|| (0..row_group_count).filter(|_| random.bool()).collect()),
            row_ranges: random.bool().then(|| row_ranges(random, file.row_count() as u64)),
            batch_size: [1, 7, 64, 1000, 8192][random.usize(if file.row_count() > 200 { 1 } else { 0 }..5)],
            strings: if random.bool() { Strings::Views } else { Strings::Offsets },
            dictionary_columns: file
                .schema
                .fields()
                .iter()
                .filter(|field| is_string(field.data_type()) && random.bool())
                .map(|field| field.name().clone())
                .collect(),
            threads: random.usize(1..=4),
            by_column: random.bool(),
        }
    }

    fn check(&self, file: &RandomFile, opened: &ParquetFile) -> Result<(), String> {
        let read = self.read(opened).map_err(|error| error.to_string())?;
        check_sound(&read.1)?;
        if let Some(batch) = read.1.iter().find(|batch| batch.num_rows() > self.batch_size || batch.num_rows() == 0) {
            return Err(format!("a batch of {} rows", batch.num_rows()));
        }
        for field in read.0.fields() {
            self.check_form(field)?;
        }
        let whole = read_with_crate(&file.bytes, ArrowReaderOptions::new(), self.columns.as_deref())
            .map_err(|error| format!("crate: {error}"))?;
        let expected = self.in_order(&self.chosen_rows(&plain_batch(&whole.0, &whole.1), opened));
        let actual = plain_batch(&read.0, &read.1);
        same_values(
            (&expected.schema(), std::slice::from_ref(&expected)),
            (&actual.schema(), std::slice::from_ref(&actual)),
        )
    }

    fn read(&self, opened: &ParquetFile) -> lath_parquet::Result<Table> {
        let mut builder = opened.scan().batch_size(self.batch_size).strings(self.strings);
        builder = builder.threads(self.threads).by_column(self.by_column);
        if let Some(columns) = &self.columns {
            builder = builder.select(columns.clone());
        }
        if let Some(row_groups) = &self.row_groups {
            builder = builder.row_groups(row_groups.clone());
        }
        if let Some(row_ranges) = &self.row_ranges {
            builder = builder.rows(row_ranges.clone());
        }
        let chosen = |name: &&String| match &self.columns {
            None => true,
            Some(columns) => columns.contains(*name),
        };
        collect(builder.dictionary_columns(self.dictionary_columns.iter().filter(chosen).cloned()).build()?)
    }

    /// The columns in the order of the paths that selected them.
    fn in_order(&self, batch: &RecordBatch) -> RecordBatch {
        let Some(paths) = &self.columns else { return batch.clone() };
        let schema = batch.schema();
        let rank = |&index: &usize| {
            let name = schema.field(index).name();
            let is_in =
                |path: &String| path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
            paths.iter().position(is_in)
        };
        let mut order: Vec<usize> = (0..batch.num_columns()).collect();
        order.sort_by_key(rank);
        batch.project(&order).unwrap()
    }

    /// The chosen rows of a batch of all rows.
    fn chosen_rows(&self, all: &RecordBatch, opened: &ParquetFile) -> RecordBatch {
        let mut parts = Vec::new();
        let mut start = 0;
        let whole = std::slice::from_ref(&(0..u64::MAX)).to_vec();
        let ranges = self.row_ranges.as_ref().unwrap_or(&whole);
        for (i, row_group) in opened.metadata().row_groups().enumerate() {
            let rows = start..start + row_group.num_rows();
            start = rows.end;
            if self.row_groups.as_ref().is_some_and(|chosen| !chosen.contains(&i)) {
                continue;
            }
            for range in ranges {
                let (first, end) = (range.start.max(rows.start), range.end.min(rows.end));
                if first < end {
                    parts.push(all.slice(first as usize, (end - first) as usize));
                }
            }
        }
        arrow_select::concat::concat_batches(&all.schema(), &parts).unwrap()
    }

    /// Checks that a root column has the requested type.
    fn check_form(&self, field: &Field) -> Result<(), String> {
        let data_type = field.data_type();
        let as_asked = match data_type {
            DataType::Dictionary(..) => true,
            _ if self.dictionary_columns.contains(field.name()) => false,
            DataType::Utf8View | DataType::BinaryView => self.strings == Strings::Views,
            DataType::Utf8 | DataType::Binary | DataType::LargeUtf8 | DataType::LargeBinary => {
                self.strings == Strings::Offsets
            }
            _ => true,
        };
        if as_asked { Ok(()) } else { Err(format!("column {} is read as {data_type}", field.name())) }
    }
}

fn is_string(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
    )
}

/// The paths, in the names of the Parquet schema, of a field and of everything below it that can be selected
/// separately: a map is selected as a whole, because the `parquet` crate cannot read part of one.
fn collect_paths(field: &Field, above: String, paths: &mut Vec<String>) {
    let path = above + field.name();
    match field.data_type() {
        DataType::Struct(fields) => fields.iter().for_each(|field| collect_paths(field, format!("{path}."), paths)),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            collect_paths(item, format!("{path}.list."), paths);
        }
        _ => {}
    }
    paths.push(path);
}

/// Up to five sorted, disjoint ranges within (and sometimes past) `row_count` rows.
fn row_ranges(random: &mut fastrand::Rng, row_count: u64) -> Vec<Range<u64>> {
    let mut bounds: Vec<u64> = (0..2 * random.usize(1..=5)).map(|_| random.u64(..=row_count + 3)).collect();
    bounds.sort_unstable();
    bounds.dedup();
    bounds.chunks_exact(2).map(|pair| pair[0]..pair[1]).collect()
}
