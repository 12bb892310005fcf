//! Produces the batches of one row group.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::ByteViewType;
use arrow_array::{Array, ArrayRef, GenericByteViewArray, RecordBatch, RecordBatchOptions};
use arrow_buffer::Buffer;
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;

use super::job::Job;
use super::row_group::{Next, RowGroupScan};
use super::work::Reader;
use crate::decode::detach_views;
use crate::error::{Error, Result};
use crate::scan::planner::PlannedRowGroup;
use crate::scan::thresholds::{COMPACTED_PART, MAX_KEPT_BYTES, MIN_ROWS_BETWEEN, UNJOINED_PART};

/// Builds batches of the surviving rows of a row group: few survivors of many windows become one batch.
#[derive(Debug)]
pub(in crate::scan) struct Producer {
    /// `None` at the end.
    scan: Option<RowGroupScan>,
    /// Rows tested since the dynamic filter was last applied, and the number after which it is applied again.
    rows_since: u64,
    rows_between: u64,
    pending: Vec<RecordBatch>,
    pending_rows: usize,
    /// The batch to return next; nothing is pending then.
    ready: Option<RecordBatch>,
    /// Rows that may still be returned.
    left: u64,
}

impl Producer {
    pub(in crate::scan) fn new(planned: PlannedRowGroup, reader: &mut Reader, job: &Job) -> Result<Self> {
        let scan = job.narrow(planned)?.map(|planned| RowGroupScan::new(planned, reader, job.settings.batch_size));
        Ok(Self {
            scan,
            rows_since: 0,
            rows_between: 0,
            pending: Vec::new(),
            pending_rows: 0,
            ready: None,
            left: job.settings.limit,
        })
    }

    /// The next batch, of at most the job's batch size.
    pub(in crate::scan) fn next(&mut self, reader: &mut Reader, job: &Job) -> Result<Option<RecordBatch>> {
        if let Some(batch) = self.ready.take() {
            return Ok(Some(batch));
        }
        let enough = if job.target.can_be_joined() { job.settings.batch_size / UNJOINED_PART } else { 0 };
        while self.pending.is_empty() || self.pending_rows < enough {
            let Some(batch) = self.next_window(reader, job)? else { break };
            let batch = release_pages(batch, job.settings.batch_size)?;
            // Large enough batches are returned as they are.
            if (enough..=job.settings.batch_size).contains(&batch.num_rows()) {
                if self.pending.is_empty() {
                    return Ok(Some(batch));
                }
                self.ready = Some(batch);
                break;
            }
            self.hold(batch);
        }
        let joined = match self.pending.as_slice() {
            [] => return Ok(None),
            [batch] => batch.clone(),
            [first, ..] => concat_batches(&first.schema(), &self.pending).map_err(|error| Error::from_arrow(&error))?,
        };
        self.pending.clear();
        self.pending_rows = 0;
        if joined.num_rows() <= job.settings.batch_size {
            return Ok(Some(joined));
        }
        let rest = joined.slice(job.settings.batch_size, joined.num_rows() - job.settings.batch_size);
        self.hold(release_pages(rest, job.settings.batch_size)?);
        Ok(Some(joined.slice(0, job.settings.batch_size)))
    }

    /// Adds rows to the pending batch.
    fn hold(&mut self, batch: RecordBatch) {
        self.pending_rows += batch.num_rows();
        self.pending.push(batch);
    }

    /// The surviving rows of the next window that has any.
    fn next_window(&mut self, reader: &mut Reader, job: &Job) -> Result<Option<RecordBatch>> {
        if self.left == 0 {
            return Ok(None);
        }
        loop {
            self.narrow(reader, job)?;
            let Some(scan) = &mut self.scan else { return Ok(None) };
            let (window_rows, survivors) = scan.next(reader, &job.counters)?;
            self.rows_since = self.rows_since.saturating_add(window_rows as u64);
            let survivors = match survivors {
                Next::Survivors(survivors) => survivors,
                Next::Nothing => continue,
                Next::End => return Ok(None),
            };
            let survivors = survivors.first(usize::try_from(self.left).unwrap_or(usize::MAX));
            let first_row = scan.planned().first_row;
            let row_numbers = job.target.has_row_numbers().then(|| survivors.row_numbers(first_row));
            let target = Arc::clone(&scan.planned().target);
            let batch = scan.batch(&survivors, reader, &job.counters)?;
            let batch = target.apply(&batch, row_numbers)?;
            self.left -= batch.num_rows() as u64;
            return Ok(Some(batch));
        }
    }

    /// Applies the current dynamic filter, from the next window on. That opens the columns again, so that a filter that changes
    /// all the time is applied after twice as many rows each time.
    fn narrow(&mut self, reader: &mut Reader, job: &Job) -> Result<()> {
        let has_newer_filter = |scan: &mut RowGroupScan| job.has_newer_filter(scan.planned());
        if self.rows_since >= self.rows_between
            && let Some(scan) = self.scan.take_if(has_newer_filter)
        {
            let left = job.narrow(scan.stop(reader))?;
            self.scan = left.map(|planned| RowGroupScan::new(planned, reader, job.settings.batch_size));
            self.rows_between = (2 * self.rows_between).max(MIN_ROWS_BETWEEN);
            self.rows_since = 0;
        }
        Ok(())
    }

    /// Leaves open columns to the next row group.
    pub(in crate::scan) fn finish(self, reader: &mut Reader) {
        if let Some(scan) = self.scan {
            scan.finish(reader);
        }
    }
}

/// Copies few rows out of their pages, so that the memory of the pages is freed.
fn release_pages(batch: RecordBatch, batch_size: usize) -> Result<RecordBatch> {
    if batch.num_rows() < batch_size / COMPACTED_PART { compact(batch) } else { Ok(batch) }
}

/// Replaces views that use little of the pages that they keep in memory by views of copies.
fn compact(batch: RecordBatch) -> Result<RecordBatch> {
    if !batch
        .schema()
        .fields()
        .iter()
        .any(|field| matches!(field.data_type(), DataType::Utf8View | DataType::BinaryView))
    {
        return Ok(batch);
    }
    let columns = batch.columns().iter().map(|column| match column.data_type() {
        DataType::Utf8View => compact_views(column, column.as_string_view()),
        DataType::BinaryView => compact_views(column, column.as_binary_view()),
        _ => Arc::clone(column),
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns.collect(), &options)
        .map_err(|error| Error::from_arrow(&error))
}

fn compact_views<T: ByteViewType>(column: &ArrayRef, views: &GenericByteViewArray<T>) -> ArrayRef {
    let held = views.data_buffers().iter().map(Buffer::len).sum::<usize>();
    let detached = if held > MAX_KEPT_BYTES { detach_views(views, held / 4) } else { None };
    detached.unwrap_or_else(|| Arc::clone(column))
}
