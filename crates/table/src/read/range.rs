//! Reads rows in key order.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use lath_parquet::{BatchFilter, Predicate};

use super::count::count_range;
use crate::error::Result;
use crate::file::{ColdCondition, filter_columns};
use crate::read::scan::{FileRange, RowMerge, RowSource, column_places};
use crate::row::key::KeyRange;
use crate::row::{BATCH_ROWS, batch};
use crate::view::{Engine, Expiry, HotColumns, HotCursor, View, dead_rows};

/// The maximum average size of a row in a file of which short ranges are read block by block. A block of larger rows has many pages, most of which
/// a range does not need.
const MAX_BLOCK_ROW_BYTES: u64 = 8 << 10;

/// Builder of a read of rows in key order: a range of keys, columns and conditions.
///
/// Files that are [clustered](crate::Table::cluster_by) by other columns are read several times, one window of rows at a time: first the
/// key columns, to find the next keys, and then the rows with these keys. The windows of all files take about 256 MiB together.
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
    /// An error if the pending rows of a transaction could not be written.
    view: Result<Box<dyn View + 'v>>,
    range: KeyRange,
    columns: Option<Vec<String>>,
    predicate: Option<Predicate>,
    limit: u64,
}

impl<'v> RangeScan<'v> {
    pub(crate) fn new(engine: Arc<Engine>, view: Result<Box<dyn View + 'v>>, range: KeyRange) -> Self {
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

    /// The number of rows in the range, up to the limit. Without a condition, this reads at most two blocks of the key columns of a file in
    /// key order, and all key columns of other files.
    ///
    /// # Errors
    /// As [`build`](Self::build), and whatever goes wrong while reading.
    pub fn count(self) -> Result<u64> {
        if self.predicate.is_some() || self.view.as_ref().is_ok_and(|view| view.expiry().is_some()) {
            let none: [String; 0] = [];
            return self.select(none).build()?.try_fold(0, |count, batch| Ok(count + batch?.num_rows() as u64));
        }
        Ok(count_range(&self.engine, &mut *self.view?, &self.range)?.min(self.limit))
    }

    /// Starts reading.
    ///
    /// # Errors
    /// [`Error::Batch`](crate::Error::Batch) for columns that the table does not have, [`Error::Predicate`](crate::Error::Predicate) or
    /// [`Error::Parquet`](crate::Error::Parquet) for a condition that does not fit them, and whatever goes wrong while files are looked up.
    pub fn build(self) -> Result<RangeBatches<'v>> {
        let Self { engine, view, range, columns, predicate, limit } = self;
        let mut view = view?;
        let schema = Arc::clone(view.schema());
        let mut columns = column_places(&schema, columns.as_deref())?;
        let output = Arc::new(schema.arrow().project(&columns)?);
        let wanted = columns.len();
        let predicate = Expiry::and_live(view.expiry(), predicate);
        let filter = predicate.as_ref().map(|predicate| predicate.filter(schema.arrow())).transpose()?;
        if let Some(filter) = &filter {
            let needed = filter_columns(filter, schema.arrow().fields());
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
            let part = FileRange {
                range: &range,
                max_rows,
                columns: &columns,
                file_count: files.len(),
                has_small_rows: entry.bytes <= entry.rows.saturating_mul(MAX_BLOCK_ROW_BYTES),
            };
            sources.push(RowSource::range(&engine, &file, dead, &part, pushed)?);
        }
        sources.push(RowSource::hot(HotCursor::new(range, HotColumns::new(&schema, &columns)?), max_rows));
        let read = Arc::new(schema.arrow().project(&columns)?);
        Ok(RangeBatches {
            view,
            merge: RowMerge::by_key(schema, columns, sources),
            read,
            filter,
            wanted,
            output,
            left: limit,
        })
    }
}

/// The batches of a range, in the order of keys. After an error there are no more.
pub struct RangeBatches<'v> {
    view: Box<dyn View + 'v>,
    merge: RowMerge,
    /// The requested columns, followed by columns that only the condition needs.
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
