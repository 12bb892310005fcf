//! Evidence of the page index: rules out pages of a column chunk.
//!
//! The column index has a minimum and maximum, a flag for pages of nulls only, and null and NaN counts of each
//! page; they prove the same as the statistics of a chunk. The offset index has the first row of each page. Pages of different
//! columns do not line up: the outcomes of each column are combined row by row, by AND, OR and NOT.
//!
//! Only the indexes of columns in the test are read and decoded. A pair of indexes is not used (its column rules out nothing) if
//! one is missing, does not lie within the file, is longer than [`footer_bytes`](crate::Limits::footer_bytes), cannot be
//! decrypted, or is malformed, which includes page and row counts that contradict each other; neither is a column index whose
//! pages cannot have as many nulls as the footer's count for the chunk. The boundary order is not used: comparing all pages takes
//! less time than decoding their bounds, and an index with a wrong boundary order does no harm.

mod column_index;
mod runs;

use std::ops::Range;

use bytes::Bytes;
use lath_predicate::{Test, ValueTest};

use self::column_index::ColumnIndex;
pub(crate) use self::column_index::Counts;
use self::runs::OutcomeRuns;
use super::bounds::BoundReader;
use super::column::PreparedColumn;
use super::domain::Domain;
use super::outcomes::{Evidence, Outcomes, simplify_with};
use crate::error::Result;
use crate::file::ParquetFile;
use crate::page::PagePlaces;
use lath_format::Module;

/// The encoded indexes of a chunk.
#[derive(Debug)]
pub(super) struct ChunkIndexes {
    pub(super) row_group: usize,
    /// Index in the predicate's columns.
    pub(super) column: usize,
    column_index: Bytes,
    offset_index: Bytes,
    /// The footer's null count of the chunk, for a flat column.
    null_count: Option<u64>,
}

/// The ranges of a chunk's column index and offset index; `None` if one cannot be used.
pub(super) fn index_ranges(file: &ParquetFile, row_group: usize, leaf: usize) -> Option<[Range<u64>; 2]> {
    let chunk = file.metadata().chunk(row_group, leaf).ok()?;
    Some([file.index_range(chunk.column_index())?, file.index_range(chunk.offset_index())?])
}

/// Reads the indexes of `chunks`: each is a row group, a column of the predicate, and its leaf. Chunks without usable indexes are
/// left out.
pub(super) fn read(file: &ParquetFile, chunks: &[(usize, usize, usize)]) -> Result<Vec<ChunkIndexes>> {
    let located = |&(row_group, column, leaf): &(usize, usize, usize)| {
        index_ranges(file, row_group, leaf).map(|ranges| ((row_group, column, leaf), ranges))
    };
    let (places, ranges): (Vec<_>, Vec<_>) = chunks.iter().filter_map(located).unzip();
    let ranges: Vec<Range<u64>> = ranges.into_iter().flatten().collect();
    if ranges.is_empty() {
        return Ok(Vec::new());
    }
    let read = file.read_many(&ranges)?;
    let indexes =
        places.into_iter().zip(read.as_chunks::<2>().0).filter_map(|(place, [column_index, offset_index])| {
            let (row_group, column, leaf) = place;
            let [column_index, offset_index] = decrypted(file, row_group, leaf, column_index, offset_index)?;
            let null_count = null_count(file, row_group, leaf);
            Some(ChunkIndexes { row_group, column, column_index, offset_index, null_count })
        });
    Ok(indexes.collect())
}

/// The null count of a chunk in the footer. For lists, writers count nulls in pages differently.
fn null_count(file: &ParquetFile, row_group: usize, leaf: usize) -> Option<u64> {
    let descriptor = file.metadata().schema_descr().columns().get(leaf)?;
    let is_counted = descriptor.max_rep_level() == 0 && descriptor.max_def_level() > 0;
    is_counted.then(|| file.metadata().chunk(row_group, leaf).ok()?.statistics()?.null_count).flatten()
}

/// The indexes of a chunk, decrypted if they are encrypted; `None` if that fails.
fn decrypted(
    file: &ParquetFile,
    row_group: usize,
    leaf: usize,
    column_index: &Bytes,
    offset_index: &Bytes,
) -> Option<[Bytes; 2]> {
    let chunk = file.metadata().chunk(row_group, leaf).ok()?;
    if !chunk.is_encrypted() {
        return Some([column_index.clone(), offset_index.clone()]);
    }
    let decryptor = file.chunk_spec(row_group, leaf).ok()?.decryptor?;
    let open = |bytes: &[u8], module| Some(Bytes::from(decryptor.decrypt(bytes, module).ok()?));
    Some([open(column_index, Module::ColumnIndex)?, open(offset_index, Module::OffsetIndex)?])
}

/// The rows of a row group that the page index has not ruled out.
#[derive(Debug)]
pub(super) struct PossibleRows {
    pub(super) rows: Vec<Range<u64>>,
    /// Pages without a remaining row, of all columns with an index.
    pub(super) pruned_pages: u64,
    /// The test without the parts that are decided for all of `rows`, if there are such parts.
    pub(super) test: Option<Test>,
}

/// Calls `visit` with the rows, counts and domain of each page of a column chunk; `None` if there is no usable index.
pub(crate) fn pages_of_chunk<T>(
    file: &ParquetFile,
    row_group: usize,
    leaf: usize,
    bounds: Option<&BoundReader>,
    mut visit: impl FnMut(Range<u64>, Counts, &Domain<'_>) -> T,
) -> Result<Option<Vec<T>>> {
    let descriptor = file.metadata().schema_descr().columns().get(leaf);
    let (Some(&row_count), Some(descriptor)) = (file.row_group_row_counts().get(row_group), descriptor) else {
        return Ok(None);
    };
    let read = read(file, &[(row_group, 0, leaf)])?;
    let Some(indexes) = read.first() else { return Ok(None) };
    let Some(pages) = Pages::read(indexes, row_count) else { return Ok(None) };
    let page = |(page, rows): (usize, Range<u64>)| {
        let domain = pages.index.domain(bounds, descriptor, page, rows.end - rows.start);
        visit(rows, pages.index.counts(descriptor, page), &domain)
    };
    Ok(Some(pages.rows(row_count).enumerate().map(page).collect()))
}

/// The rows of a row group for which `test` may be true.
pub(super) fn possible_rows(
    test: &Test,
    columns: &[PreparedColumn<'_>],
    indexes: &[ChunkIndexes],
    row_count: u64,
) -> Option<PossibleRows> {
    let indexes = indexes.iter().filter(|index| index.column < columns.len());
    let pages: Vec<Pages<'_>> = indexes.filter_map(|index| Pages::read(index, row_count)).collect();
    if pages.is_empty() {
        return None;
    }
    let evidence = PageEvidence { pages: &pages, columns, row_count };
    let rows = evidence.runs(test).possible_rows();
    let pruned_pages = pages.iter().map(|pages| pages.count_outside(&rows, row_count)).sum();
    let test = simplify_with(test, &RemainingRows { evidence: &evidence, rows: &rows });
    Some(PossibleRows { rows, pruned_pages, test })
}

/// The pages of one chunk.
struct Pages<'a> {
    column: usize,
    first_rows: Vec<u64>,
    index: ColumnIndex<'a>,
}

impl<'a> Pages<'a> {
    fn read(indexes: &'a ChunkIndexes, row_count: u64) -> Option<Self> {
        let first_rows = PagePlaces::read(&indexes.offset_index, row_count)?.into_first_rows();
        let index = ColumnIndex::read(&indexes.column_index, first_rows.len())?;
        let pages = Self { column: indexes.column, first_rows, index };
        let rows = pages.rows(row_count).map(|rows| rows.end - rows.start);
        let agrees = indexes.null_count.is_none_or(|nulls| pages.index.may_have_nulls(nulls, rows));
        agrees.then_some(pages)
    }

    /// The rows of each page.
    fn rows(&self, row_count: u64) -> impl Iterator<Item = Range<u64>> {
        let ends = self.first_rows.iter().skip(1).copied().chain([row_count]);
        self.first_rows.iter().copied().zip(ends).map(|(start, end)| start..end)
    }

    /// Number of pages without any of `rows`.
    fn count_outside(&self, rows: &[Range<u64>], row_count: u64) -> u64 {
        let mut rows = rows.iter().peekable();
        let is_outside = |page: &Range<u64>| {
            while rows.next_if(|range| range.end <= page.start).is_some() {}
            rows.peek().is_none_or(|range| range.start >= page.end)
        };
        self.rows(row_count).filter(is_outside).count() as u64
    }
}

/// The page indexes of a row group.
struct PageEvidence<'a> {
    pages: &'a [Pages<'a>],
    columns: &'a [PreparedColumn<'a>],
    row_count: u64,
}

impl PageEvidence<'_> {
    fn runs(&self, test: &Test) -> OutcomeRuns {
        let fold = |tests: &[Test], start: Outcomes, f: fn(Outcomes, Outcomes) -> Outcomes| {
            let whole = OutcomeRuns::uniform(self.row_count, start);
            tests.iter().fold(whole, |all, test| all.zip(&self.runs(test), f))
        };
        match test {
            Test::Constant(truth) => OutcomeRuns::uniform(self.row_count, Outcomes::only(*truth)),
            Test::All(tests) => fold(tests, Outcomes::TRUE, Outcomes::and),
            Test::Any(tests) => fold(tests, Outcomes::FALSE, Outcomes::or),
            Test::Not(test) => self.runs(test).map(Outcomes::not),
            Test::Is(test, truth) => self.runs(test).map(|outcomes| outcomes.is(*truth)),
            Test::Values { column, test } => self.value_runs(*column, test),
            Test::Columns { .. } => OutcomeRuns::uniform(self.row_count, Outcomes::ANY),
        }
    }

    fn value_runs(&self, column: usize, test: &ValueTest) -> OutcomeRuns {
        let prepared = self.columns.get(column);
        let pages = self.pages.iter().find(|pages| pages.column == column);
        let (Some(pages), Some(prepared)) = (pages, prepared.filter(|prepared| prepared.applies_to(test))) else {
            return OutcomeRuns::uniform(self.row_count, Outcomes::ANY);
        };
        let Some(descriptor) = prepared.descriptor else { return OutcomeRuns::uniform(self.row_count, Outcomes::ANY) };
        OutcomeRuns::new(pages.rows(self.row_count).enumerate().map(|(page, rows)| {
            let row_count = rows.end - rows.start;
            let domain = pages.index.domain(prepared.bounds.as_ref(), descriptor, page, row_count);
            (rows.end, domain.outcomes(test))
        }))
    }
}

/// The page indexes, restricted to the remaining rows.
struct RemainingRows<'a> {
    evidence: &'a PageEvidence<'a>,
    rows: &'a [Range<u64>],
}

impl Evidence for RemainingRows<'_> {
    fn values(&self, column: usize, test: &ValueTest) -> Outcomes {
        self.evidence.value_runs(column, test).outcomes_within(self.rows)
    }
}
