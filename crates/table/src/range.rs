//! Rows in the order of their keys.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_row::Rows;
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use arrow_select::interleave::interleave;
use lath_parquet::{BatchFilter, DeleteMask, Predicate};

use crate::byte_list::ByteList;
use crate::cold::{ColdFile, NumberedBatches};
use crate::cold_condition::{ColdCondition, columns_of};
use crate::count::{count_range, rows_of_range};
use crate::dead::dead_rows;
use crate::engine::Engine;
use crate::error::Result;
use crate::hot::HotCursor;
use crate::key_range::KeyRange;
use crate::scan::places_of;
use crate::schema::{BATCH_ROWS, TableSchema, batch};
use crate::view::View;

/// Says which rows to read in the order of their keys, and which of their columns.
///
/// ```no_run
/// # fn main() -> lath_table::Result<()> {
/// # let table = lath_table::Table::open("people", lath_table::TableOptions::new())?;
/// for batch in table.snapshot()?.range(1000..2000)?.select(["name"]).limit(10).build()? {
///     println!("{} rows", batch?.num_rows());
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is read before `build`"]
pub struct RangeScan<'v> {
    engine: Arc<Engine>,
    view: Box<dyn View + 'v>,
    range: KeyRange,
    columns: Option<Vec<String>>,
    predicate: Option<Predicate>,
    limit: u64,
}

impl<'v> RangeScan<'v> {
    pub(crate) fn new(engine: Arc<Engine>, view: Box<dyn View + 'v>, range: KeyRange) -> Self {
        Self { engine, view, range, columns: None, predicate: None, limit: u64::MAX }
    }

    /// Reads only these columns, in this order.
    pub fn select<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// Finds only rows for which an SQL expression is true. Several conditions all have to be true.
    ///
    /// # Errors
    /// [`Error::Predicate`](crate::Error::Predicate) if the text is not understood.
    pub fn filter(self, text: &str) -> Result<Self> {
        Ok(self.predicate(Predicate::parse(text)?))
    }

    /// Finds only rows for which `predicate` is true, too.
    pub fn predicate(mut self, predicate: Predicate) -> Self {
        self.predicate = Some(match self.predicate.take() {
            Some(before) => before.and(predicate),
            None => predicate,
        });
        self
    }

    /// Ends after this many rows.
    pub fn limit(mut self, rows: u64) -> Self {
        self.limit = rows;
        self
    }

    /// The number of rows in the range, up to the limit. Without a condition, at most two blocks of the key columns are read of each file.
    ///
    /// # Errors
    /// As [`build`](Self::build), and whatever goes wrong while reading.
    pub fn count(mut self) -> Result<u64> {
        if self.predicate.is_some() {
            let none: [String; 0] = [];
            return self.select(none).build()?.try_fold(0, |count, batch| Ok(count + batch?.num_rows() as u64));
        }
        self.view.prepare()?;
        Ok(count_range(&self.engine, &mut *self.view, &self.range)?.min(self.limit))
    }

    /// Starts reading.
    ///
    /// # Errors
    /// [`Error::Batch`](crate::Error::Batch) for columns that the table does not have, [`Error::Predicate`](crate::Error::Predicate) or
    /// [`Error::Parquet`](crate::Error::Parquet) for a condition that does not fit them, and whatever goes wrong while files are looked up.
    pub fn build(self) -> Result<RangeBatches<'v>> {
        let Self { engine, mut view, range, columns, predicate, limit } = self;
        view.prepare()?;
        let schema = Arc::clone(view.schema());
        let mut columns = places_of(&schema, columns.as_deref())?;
        let output = Arc::new(schema.arrow().project(&columns)?);
        let wanted = columns.len();
        let filter = predicate.as_ref().map(|predicate| predicate.filter(schema.arrow())).transpose()?;
        if let Some(filter) = &filter {
            let needed = columns_of(filter, schema.arrow().fields());
            columns.extend(needed.into_iter().filter(|column| !columns.contains(column)).collect::<Vec<_>>());
        }
        let files = view.manifest().in_range(&range);
        let dead = dead_rows(&engine, &mut *view, &files)?;
        let mut sources = Vec::new();
        // Each source could have all rows up to the limit.
        let max_rows = if filter.is_some() { u64::MAX } else { limit };
        for (entry, dead) in files.iter().zip(&dead) {
            let file = engine.cold(&mut *view, entry)?;
            let ColdCondition { pushed, .. } = ColdCondition::new(predicate.as_ref(), file.upgrade())?;
            sources.push(Source::cold(&file, dead, &range, max_rows, &columns, pushed)?);
        }
        sources.push(Source::hot(HotCursor::new(range), max_rows));
        let read = Arc::new(schema.arrow().project(&columns)?);
        Ok(RangeBatches { view, merge: Merge { schema, columns, sources }, read, filter, wanted, output, left: limit })
    }
}

/// Where sorted rows come from: a file or the hot tree.
#[derive(Debug)]
pub(crate) struct Source {
    rows: SourceRows,
    /// What was read and not handed out yet.
    current: Option<Current>,
    is_done: bool,
}

#[derive(Debug)]
enum SourceRows {
    /// Batches of the columns that are wanted, and behind them those of the key.
    Cold(Box<NumberedBatches>),
    /// At most so many rows.
    Hot(HotCursor, u64),
}

/// A batch of a source, some rows of which were handed out.
#[derive(Debug)]
struct Current {
    keys: EncodedKeys,
    columns: Vec<ArrayRef>,
    at: usize,
    len: usize,
}

#[derive(Debug)]
enum EncodedKeys {
    Rows(Rows),
    List(ByteList),
}

impl EncodedKeys {
    fn get(&self, at: usize) -> &[u8] {
        match self {
            Self::Rows(rows) => rows.row(at).data(),
            Self::List(list) => list.get(at),
        }
    }
}

impl Current {
    fn key(&self) -> &[u8] {
        self.keys.get(self.at)
    }
}

impl Source {
    /// The first rows of a file in a range that are not dead, at most so many, and of these the ones that satisfy a condition on the file's
    /// own columns.
    pub(crate) fn cold(
        file: &ColdFile,
        dead: &DeleteMask,
        range: &KeyRange,
        max_rows: u64,
        columns: &[usize],
        predicate: Option<Predicate>,
    ) -> Result<Self> {
        let rows = first_rows(rows_of_range(file, range)?, dead, max_rows);
        let read: Vec<usize> = columns.iter().chain(file.schema().key().columns()).copied().collect();
        let mut scan = file.scan(&read)?.rows(rows).deleted([(0, dead.clone())]);
        if let Some(predicate) = predicate {
            scan = scan.predicate(predicate);
        }
        let batches = file.numbered(scan, &read)?;
        Ok(Self { rows: SourceRows::Cold(Box::new(batches)), current: None, is_done: false })
    }

    /// The first rows of the hot tree, at most so many.
    pub(crate) fn hot(cursor: HotCursor, max_rows: u64) -> Self {
        Self { rows: SourceRows::Hot(cursor, max_rows), current: None, is_done: false }
    }

    /// Reads on if all rows were handed out.
    fn fill(&mut self, view: &mut dyn View, schema: &Arc<TableSchema>, wanted: &[usize]) -> Result<()> {
        while !self.is_done && self.current.as_ref().is_none_or(|current| current.at == current.len) {
            self.current = match &mut self.rows {
                SourceRows::Cold(batches) => match batches.next().transpose()? {
                    Some((mut columns, numbers)) => {
                        let keys = EncodedKeys::Rows(schema.key().encode(&columns.split_off(wanted.len()))?);
                        Some(Current { keys, columns, at: 0, len: numbers.len() })
                    }
                    None => None,
                },
                SourceRows::Hot(cursor, left) => {
                    let rows =
                        cursor.next(view, usize::try_from(*left).map_or(BATCH_ROWS, |left| left.min(BATCH_ROWS)))?;
                    *left -= rows.len() as u64;
                    match rows.len() {
                        0 => None,
                        len => {
                            let columns = rows.decode(schema)?.project(wanted)?.columns().to_vec();
                            let keys = EncodedKeys::List(rows.keys().clone());
                            Some(Current { keys, columns, at: 0, len })
                        }
                    }
                }
            };
            self.is_done = self.current.is_none();
        }
        Ok(())
    }
}

/// The shortest part from the beginning of `rows` on that has `max_rows` rows that are not dead, or all.
fn first_rows(rows: Range<u64>, dead: &DeleteMask, max_rows: u64) -> Range<u64> {
    let mut first = rows.start..rows.start.saturating_add(max_rows).min(rows.end);
    loop {
        let live = (first.end - first.start).saturating_sub(dead.count_within(&first));
        if live >= max_rows || first.end == rows.end {
            return first;
        }
        first.end = rows.end.min(first.end + (max_rows - live));
    }
}

/// Merges sources that have no key in common.
#[derive(Debug)]
pub(crate) struct Merge {
    pub(crate) schema: Arc<TableSchema>,
    pub(crate) columns: Vec<usize>,
    pub(crate) sources: Vec<Source>,
}

/// Some rows in the order of their keys.
#[derive(Debug)]
pub(crate) struct MergedRows {
    pub(crate) columns: Vec<ArrayRef>,
    pub(crate) row_count: usize,
    pub(crate) keys: ByteList,
}

impl Merge {
    /// The next rows, at most so many; none at the end. Their keys are given where they are asked for.
    pub(crate) fn next(&mut self, view: &mut dyn View, max_rows: usize, with_keys: bool) -> Result<MergedRows> {
        let mut pieces: Vec<Vec<ArrayRef>> = Vec::new();
        let mut order: Vec<(usize, usize)> = Vec::new();
        let mut keys = ByteList::default();
        // For each source, where the batch that it is at is among the pieces.
        let mut piece_of: Vec<Option<usize>> = vec![None; self.sources.len()];
        while order.len() < max_rows {
            for (source, piece) in self.sources.iter_mut().zip(&mut piece_of) {
                if source.current.as_ref().is_none_or(|current| current.at == current.len) {
                    source.fill(view, &self.schema, &self.columns)?;
                    *piece = None;
                }
            }
            let Some((first, end)) = self.first_run() else { break };
            let Some(current) = &mut self.sources[first].current else { break };
            let piece = *piece_of[first].get_or_insert_with(|| {
                pieces.push(current.columns.clone());
                pieces.len() - 1
            });
            let end = end.min(current.at + (max_rows - order.len()));
            for row in current.at..end {
                order.push((piece, row));
                if with_keys {
                    keys.push(current.keys.get(row));
                }
            }
            current.at = end;
        }
        let column = |at: usize| {
            let arrays: Vec<&dyn Array> = pieces.iter().map(|piece| &*piece[at]).collect();
            Ok(interleave(&arrays, &order)?)
        };
        let columns =
            if order.is_empty() { Vec::new() } else { (0..self.columns.len()).map(column).collect::<Result<_>>()? };
        Ok(MergedRows { columns, row_count: order.len(), keys })
    }

    /// The source with the least key, and up to which of its rows keys are less than those of all others.
    fn first_run(&self) -> Option<(usize, usize)> {
        let (mut first, mut second): (Option<(usize, &Current)>, Option<&Current>) = (None, None);
        for (at, source) in self.sources.iter().enumerate() {
            let Some(current) = &source.current else { continue };
            match first {
                Some((_, least)) if least.key() <= current.key() => {
                    if second.is_none_or(|second| current.key() < second.key()) {
                        second = Some(current);
                    }
                }
                _ => {
                    second = first.map(|(_, current)| current).or(second);
                    first = Some((at, current));
                }
            }
        }
        let (first, current) = first?;
        let Some(second) = second else { return Some((first, current.len)) };
        let bound = second.key();
        let mut end = current.at + 1;
        while end < current.len && current.keys.get(end) < bound {
            end += 1;
        }
        Some((first, end))
    }
}

/// The batches of a range, in the order of keys. After an error there are no more.
pub struct RangeBatches<'v> {
    view: Box<dyn View + 'v>,
    merge: Merge,
    /// The columns that are wanted, and behind them those that only the condition needs.
    read: SchemaRef,
    wanted: usize,
    filter: Option<BatchFilter>,
    output: SchemaRef,
    left: u64,
}

impl RangeBatches<'_> {
    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.output)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some(filter) = &self.filter else {
            let max_rows = usize::try_from(self.left).map_or(BATCH_ROWS, |left| left.min(BATCH_ROWS));
            let rows = self.merge.next(&mut *self.view, max_rows, false)?;
            return match rows.row_count {
                0 => Ok(None),
                row_count => batch(&self.output, rows.columns, row_count).map(Some),
            };
        };
        loop {
            let rows = self.merge.next(&mut *self.view, BATCH_ROWS, false)?;
            if rows.row_count == 0 {
                return Ok(None);
            }
            let read = batch(&self.read, rows.columns, rows.row_count)?;
            let mut found = filter_record_batch(&read, &filter.evaluate(&read)?)?;
            if found.num_rows() > 0 {
                let left = usize::try_from(self.left).unwrap_or(usize::MAX);
                found = found.slice(0, found.num_rows().min(left));
                let columns = found.columns()[..self.wanted].to_vec();
                return batch(&self.output, columns, found.num_rows()).map(Some);
            }
        }
    }
}

impl Iterator for RangeBatches<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let next = self.next_batch().transpose();
        match &next {
            Some(Ok(batch)) => self.left -= batch.num_rows() as u64,
            _ => self.left = 0,
        }
        next
    }
}

impl std::fmt::Debug for RangeScan<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RangeScan").field("columns", &self.columns).field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for RangeBatches<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RangeBatches").field("schema", &self.output).finish_non_exhaustive()
    }
}
