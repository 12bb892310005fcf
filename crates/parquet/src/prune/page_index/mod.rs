//! What the page index knows: which pages of a column chunk have rows that may pass.
//!
//! The column index has a smallest and largest value, a flag for pages of nulls alone, and counts of nulls and NaNs for each
//! page, which prove what the statistics of a chunk do; the offset index has the pages' first rows. Pages of different
//! columns do not line up: what each column rules out is put together row by row, as AND, OR and NOT have it.
//!
//! Only the indexes of columns in the test are read and decoded. One is passed over (its column rules out nothing) where the
//! other is missing, where it does not lie within the file, is longer than [`footer_bytes`](crate::Limits::footer_bytes),
//! cannot be decrypted, or is malformed: where counts of pages and rows do not agree, too.
//! The boundary order is not made use of: telling the pages apart takes less than decoding their bounds, and an index whose
//! order is not the one that it claims does no harm.

mod column_index;
mod pieces;

use std::ops::Range;

use bytes::Bytes;
use lath_predicate::{Test, ValueTest};

use self::column_index::ColumnIndex;
pub(crate) use self::column_index::Counts;
use self::pieces::Pieces;
use super::bounds::BoundReader;
use super::column::PreparedColumn;
use super::domain::Domain;
use super::outcomes::{Evidence, Outcomes};
use crate::error::Result;
use crate::file::ParquetFile;
use crate::page::PagePlaces;
use lath_format::Module;

/// The indexes of a chunk, as they are in the file.
#[derive(Debug)]
pub(super) struct ChunkIndexes {
    pub(super) row_group: usize,
    /// Index in the predicate's columns.
    pub(super) column: usize,
    column_index: Bytes,
    offset_index: Bytes,
}

/// Where the indexes of a chunk are; `None` if they cannot be used.
pub(super) fn locate(file: &ParquetFile, row_group: usize, leaf: usize) -> Option<[Range<u64>; 2]> {
    let chunk = file.metadata().chunk(row_group, leaf).ok()?;
    Some([file.index_range(chunk.column_index())?, file.index_range(chunk.offset_index())?])
}

/// Reads the indexes of `chunks`, which are pairs of a row group and a column of the predicate with its leaf; those that
/// cannot be used are left out.
pub(super) fn read(file: &ParquetFile, chunks: &[(usize, usize, usize)]) -> Result<Vec<ChunkIndexes>> {
    let located = |&(row_group, column, leaf): &(usize, usize, usize)| {
        locate(file, row_group, leaf).map(|ranges| ((row_group, column, leaf), ranges))
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
            let [column_index, offset_index] = opened(file, row_group, leaf, column_index, offset_index)?;
            Some(ChunkIndexes { row_group, column, column_index, offset_index })
        });
    Ok(indexes.collect())
}

/// The indexes of a chunk, decrypted if they are encrypted; `None` if that fails.
fn opened(
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

/// What the indexes of a row group leave of its rows.
#[derive(Debug)]
pub(super) struct PossibleRows {
    pub(super) rows: Vec<Range<u64>>,
    /// Pages that no row is left of, of all columns with an index.
    pub(super) pruned_pages: u64,
    /// The test with what is settled for all of `rows`, if anything is.
    pub(super) test: Option<Test>,
}

/// What `look` makes of each page of a column chunk, given its rows, counts and what its values can be; `None` if there is no index
/// that can be used.
pub(crate) fn pages_of_chunk<T>(
    file: &ParquetFile,
    row_group: usize,
    leaf: usize,
    bounds: Option<&BoundReader>,
    mut look: impl FnMut(Range<u64>, Counts, &Domain<'_>) -> T,
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
        look(rows, pages.index.counts(descriptor, page), &domain)
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
    let of_column = indexes.iter().filter(|index| index.column < columns.len());
    let pages: Vec<Pages<'_>> = of_column.filter_map(|index| Pages::read(index, row_count)).collect();
    if pages.is_empty() {
        return None;
    }
    let indexed = Indexed { pages: &pages, columns, row_count };
    let rows = indexed.pieces(test).possible_rows();
    let pruned_pages = pages.iter().map(|pages| pages.count_outside(&rows, row_count)).sum();
    let test = super::outcomes::settle(test, &Within { indexed: &indexed, rows: &rows });
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
        Some(Self { column: indexes.column, first_rows, index })
    }

    /// The rows of each page.
    fn rows(&self, row_count: u64) -> impl Iterator<Item = Range<u64>> {
        let ends = self.first_rows.iter().skip(1).copied().chain([row_count]);
        self.first_rows.iter().copied().zip(ends).map(|(start, end)| start..end)
    }

    fn count_outside(&self, rows: &[Range<u64>], row_count: u64) -> u64 {
        let mut rows = rows.iter().peekable();
        let is_outside = |page: &Range<u64>| {
            while rows.next_if(|range| range.end <= page.start).is_some() {}
            rows.peek().is_none_or(|range| range.start >= page.end)
        };
        self.rows(row_count).filter(is_outside).count() as u64
    }
}

/// All that is known of the pages of a row group.
struct Indexed<'a> {
    pages: &'a [Pages<'a>],
    columns: &'a [PreparedColumn<'a>],
    row_count: u64,
}

impl Indexed<'_> {
    fn pieces(&self, test: &Test) -> Pieces {
        let fold = |tests: &[Test], start: Outcomes, f: fn(Outcomes, Outcomes) -> Outcomes| {
            let whole = Pieces::whole(self.row_count, start);
            tests.iter().fold(whole, |all, test| all.zip(&self.pieces(test), f))
        };
        match test {
            Test::Constant(truth) => Pieces::whole(self.row_count, Outcomes::only(*truth)),
            Test::All(tests) => fold(tests, Outcomes::TRUE, Outcomes::and),
            Test::Any(tests) => fold(tests, Outcomes::FALSE, Outcomes::or),
            Test::Not(test) => self.pieces(test).map(Outcomes::not),
            Test::Is(test, truth) => self.pieces(test).map(|outcomes| outcomes.is(*truth)),
            Test::Values { column, test } => self.of_values(*column, test),
            Test::Columns { .. } => Pieces::whole(self.row_count, Outcomes::ANY),
        }
    }

    fn of_values(&self, column: usize, test: &ValueTest) -> Pieces {
        let prepared = self.columns.get(column);
        let pages = self.pages.iter().find(|pages| pages.column == column);
        let (Some(pages), Some(prepared)) = (pages, prepared.filter(|prepared| prepared.is_about_values(test))) else {
            return Pieces::whole(self.row_count, Outcomes::ANY);
        };
        let Some(descriptor) = prepared.descriptor else { return Pieces::whole(self.row_count, Outcomes::ANY) };
        Pieces::new(pages.rows(self.row_count).enumerate().map(|(page, rows)| {
            let row_count = rows.end - rows.start;
            let domain = pages.index.domain(prepared.bounds.as_ref(), descriptor, page, row_count);
            (rows.end, domain.outcomes(test))
        }))
    }
}

/// What is known of the rows that are left.
struct Within<'a> {
    indexed: &'a Indexed<'a>,
    rows: &'a [Range<u64>],
}

impl Evidence for Within<'_> {
    fn values(&self, column: usize, test: &ValueTest) -> Outcomes {
        self.indexed.of_values(column, test).within(self.rows)
    }
}
