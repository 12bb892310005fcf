//! The rows of a task.

use std::ops::Range;
use std::sync::Arc;

use lath_source::Version;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::scan::planner::Planner;
use crate::scan::task::{How, ScanTask};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RowsForm {
    row_group: usize,
    ranges: Vec<(u64, u64)>,
    /// Whether all of them pass.
    settled: bool,
    row_count: u64,
    byte_count: u64,
}

impl RowsForm {
    pub(super) fn new(task: &ScanTask) -> Self {
        Self {
            row_group: task.row_group,
            ranges: task.rows.iter().map(|range| (range.start, range.end)).collect(),
            settled: task.is_settled,
            row_count: task.row_count,
            byte_count: task.byte_count,
        }
    }

    pub(super) fn into_task(self, planner: &Arc<Planner>, how: How, file: usize, version: Version) -> Result<ScanTask> {
        let rows: Vec<Range<u64>> = self.ranges.into_iter().map(|(start, end)| start..end).collect();
        let is_sorted = rows.windows(2).all(|pair| pair[0].end <= pair[1].start);
        if !is_sorted || rows.iter().any(Range::is_empty) {
            return Err(Error::invalid("ranges of rows have to be sorted, disjoint and not empty"));
        }
        Ok(ScanTask {
            planner: Arc::clone(planner),
            how,
            file,
            version: Some(version),
            row_group: self.row_group,
            rows,
            row_count: self.row_count,
            byte_count: self.byte_count,
            is_settled: self.settled,
            open: None,
        })
    }
}
