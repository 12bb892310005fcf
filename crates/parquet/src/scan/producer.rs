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
use crate::error::{Error, Result};

/// Makes batches of the rows that survive in a row group: few survivors of many windows become one batch.
#[derive(Debug)]
pub(super) struct Producer {
    scan: RowGroupScan,
    pending: Vec<RecordBatch>,
    pending_rows: usize,
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
            left: job.limit,
            ended: false,
        }
    }

    /// The next batch, of at most the job's batch size.
    pub(super) fn next(&mut self, reader: &mut Reader, job: &Job) -> Result<Option<RecordBatch>> {
        // Not until a batch is full: that would cut the next one's rows in two and copy both parts.
        let enough = if job.target.can_be_joined() { job.batch_size / 2 } else { 0 };
        while (self.pending.is_empty() || self.pending_rows < enough) && !self.ended {
            if self.left == 0 {
                self.ended = true;
                break;
            }
            let Some(survivors) = self.scan.next(reader, &job.counters)? else {
                self.ended = true;
                break;
            };
            let most = usize::try_from(self.left).unwrap_or(usize::MAX);
            let target = &self.scan.planned().target;
            let row_numbers = job.target.has_row_numbers().then(|| self.scan.row_numbers(&survivors, most));
            let target = Arc::clone(target);
            let batch = self.scan.batch(survivors, most, reader, &job.counters)?;
            let batch = target.apply(&batch, row_numbers)?;
            self.left -= batch.num_rows() as u64;
            self.pending_rows += batch.num_rows();
            self.pending.push(batch);
        }
        self.flush(job.batch_size)
    }

    /// Leaves what is of use to the next row group.
    pub(super) fn finish(self, reader: &mut Reader) {
        self.scan.finish(reader);
    }

    fn flush(&mut self, most: usize) -> Result<Option<RecordBatch>> {
        let Some(first) = self.pending.first() else { return Ok(None) };
        let joined = match self.pending.as_slice() {
            [batch] => batch.clone(),
            batches => concat_batches(&first.schema(), batches).map_err(|error| Error::invalid(error.to_string()))?,
        };
        let is_sparse = self.pending.len() > 1 || joined.num_rows() < most / 4;
        let joined = if is_sparse { compact(joined)? } else { joined };
        self.pending.clear();
        self.pending_rows = 0;
        if joined.num_rows() <= most {
            return Ok(Some(joined));
        }
        let rest = joined.slice(most, joined.num_rows() - most);
        self.pending_rows = rest.num_rows();
        self.pending.push(rest);
        Ok(Some(joined.slice(0, most)))
    }
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
        DataType::Utf8View => compact_views(column.as_string_view()).unwrap_or_else(|| Arc::clone(column)),
        DataType::BinaryView => compact_views(column.as_binary_view()).unwrap_or_else(|| Arc::clone(column)),
        _ => Arc::clone(column),
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns.collect(), &options)
        .map_err(|error| Error::invalid(error.to_string()))
}

fn compact_views<T: ByteViewType>(array: &GenericByteViewArray<T>) -> Option<ArrayRef> {
    /// Not worth a copy.
    const LITTLE: usize = 1 << 16;
    let held = array.data_buffers().iter().map(Buffer::len).sum::<usize>();
    (held > LITTLE && held / 4 > array.total_buffer_bytes_used()).then(|| Arc::new(array.gc()) as ArrayRef)
}
