//! A scan on the caller's thread.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_array::RecordBatch;

use super::job::Job;
use super::parallel::files_at_once;
use super::producer::Producer;
use super::work::Reader;
use crate::error::Result;
use crate::scan::planner::PlannedRowGroup;

/// Goes from file to file and row group to row group.
#[derive(Debug)]
pub(in crate::scan) struct Serial {
    job: Arc<Job>,
    reader: Reader,
    next_file: usize,
    /// PlannedRowGroup row groups of the next files.
    planned: VecDeque<Result<Vec<PlannedRowGroup>>>,
    row_groups: VecDeque<PlannedRowGroup>,
    producer: Option<Producer>,
}

impl Serial {
    pub(in crate::scan) fn new(job: Arc<Job>) -> Self {
        let reader = Reader::new(&job, Arc::new(AtomicBool::new(false)));
        Self { job, reader, next_file: 0, planned: VecDeque::new(), row_groups: VecDeque::new(), producer: None }
    }

    /// The next batch; `None` after the last.
    pub(in crate::scan) fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(producer) = &mut self.producer {
                if let Some(batch) = producer.next(&mut self.reader, &self.job)? {
                    return Ok(Some(batch));
                }
                if let Some(producer) = self.producer.take() {
                    producer.finish(&mut self.reader);
                }
            }
            if let Some(planned) = self.row_groups.pop_front() {
                self.producer = Some(Producer::new(planned, &mut self.reader, &self.job)?);
            } else if let Some(planned) = self.planned.pop_front() {
                self.row_groups = planned?.into();
            } else if self.next_file < self.job.unit_count() {
                let (first, left) = (self.next_file, self.job.unit_count() - self.next_file);
                let opens_singly = self.job.waits_for_units();
                self.next_file += if opens_singly { 1 } else { files_at_once(first, left, 1) };
                self.planned = self.job.plan_units(first..self.next_file).into();
            } else {
                return Ok(None);
            }
        }
    }
}
