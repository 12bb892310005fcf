//! The batches of one row group.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::ByteViewType;
use arrow_array::{Array, ArrayRef, GenericByteViewArray, RecordBatch, RecordBatchOptions};
use arrow_buffer::Buffer;
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;

use super::job::Job;
use super::row_group::RowGroupScan;
use super::work::{Planned, Reader};
use crate::decode::detach_views;
use crate::error::{Error, Result};

/// Survivors of a window are handed out as they are from this part of the batch size on. Joining copies them: of random rows,
/// where half or a tenth pass, a filter took 1.3 times as long as filtering afterwards, which joins nothing.
const ENOUGH: usize = 8;

/// Batches of less than this part of the batch size do not keep pages in memory of which they show little.
const FEW: usize = 4;

/// Makes batches of the rows that survive in a row group: few survivors of many windows become one batch.
#[derive(Debug)]
pub(super) struct Producer {
    scan: RowGroupScan,
    pending: Vec<RecordBatch>,
    pending_rows: usize,
    /// What comes after the batch handed out last; nothing is pending then.
    ready: Option<RecordBatch>,
    /// Rows that may still be taken.
    left: u64,
    ended: bool,
}

impl Producer {
    pub(super) fn new(planned: Planned, reader: &mut Reader, job: &Job) -> Self {
        Self {
            scan: RowGroupScan::new(planned, reader, job.batch_size),
            pending: Vec::new(),
            pending_rows: 0,
            ready: None,
            left: job.limit,
            ended: false,
        }
    }

    /// The next batch, of at most the job's batch size.
    pub(super) fn next(&mut self, reader: &mut Reader, job: &Job) -> Result<Option<RecordBatch>> {
        if let Some(batch) = self.ready.take() {
            return Ok(Some(batch));
        }
        let enough = if job.target.can_be_joined() { job.batch_size / ENOUGH } else { 0 };
        while self.pending.is_empty() || self.pending_rows < enough {
            let Some(batch) = self.next_window(reader, job)? else { break };
            let batch = let_go_of_pages(batch, job.batch_size)?;
            // Rows that are enough by themselves are handed out as they are.
            if (enough..=job.batch_size).contains(&batch.num_rows()) {
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
            [first, ..] => concat_batches(&first.schema(), &self.pending).map_err(|error| Error::of_arrow(&error))?,
        };
        self.pending.clear();
        self.pending_rows = 0;
        if joined.num_rows() <= job.batch_size {
            return Ok(Some(joined));
        }
        let rest = joined.slice(job.batch_size, joined.num_rows() - job.batch_size);
        self.hold(let_go_of_pages(rest, job.batch_size)?);
        Ok(Some(joined.slice(0, job.batch_size)))
    }

    /// Keeps rows for a later batch.
    fn hold(&mut self, batch: RecordBatch) {
        self.pending_rows += batch.num_rows();
        self.pending.push(batch);
    }

    /// The rows that survive in the next window that has any.
    fn next_window(&mut self, reader: &mut Reader, job: &Job) -> Result<Option<RecordBatch>> {
        if self.left == 0 || self.ended {
            return Ok(None);
        }
        let Some(survivors) = self.scan.next(reader, &job.counters)? else {
            self.ended = true;
            return Ok(None);
        };
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let target = &self.scan.planned().target;
        let row_numbers = job.target.has_row_numbers().then(|| self.scan.row_numbers(&survivors, most));
        let target = Arc::clone(target);
        let batch = self.scan.batch(survivors, most, reader, &job.counters)?;
        let batch = target.apply(&batch, row_numbers)?;
        self.left -= batch.num_rows() as u64;
        Ok(Some(batch))
    }

    /// Leaves what is of use to the next row group.
    pub(super) fn finish(self, reader: &mut Reader) {
        self.scan.finish(reader);
    }
}

/// Few rows without the pages that they come from, whose memory can then be used again.
fn let_go_of_pages(batch: RecordBatch, batch_size: usize) -> Result<RecordBatch> {
    if batch.num_rows() < batch_size / FEW { compact(batch) } else { Ok(batch) }
}

/// Views that point at little of the pages that they keep in memory become views of copies.
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
        .map_err(|error| Error::of_arrow(&error))
}

fn compact_views<T: ByteViewType>(column: &ArrayRef, views: &GenericByteViewArray<T>) -> ArrayRef {
    /// Not worth a copy.
    const LITTLE: usize = 1 << 16;
    let held = views.data_buffers().iter().map(Buffer::len).sum::<usize>();
    let detached = if held > LITTLE { detach_views(views, held / 4) } else { None };
    detached.unwrap_or_else(|| Arc::clone(column))
}
