//! Queue of row groups that wait, are scanned, or are done, and of batches that wait for the reader.
//!
//! A file is in one of these states:
//!
//! | state | `is_open` | `row_groups` | next |
//! | --- | --- | --- | --- |
//! | planned by a thread | false | empty | open |
//! | open | true | those not read yet | read |
//! | read | true | empty | removed, once it is the first |
//!
//! A row group of an open file is in one of these:
//!
//! | state | `planned` | `is_done` | next |
//! | --- | --- | --- | --- |
//! | waiting for a thread | some | false | scanned |
//! | scanned | none | false | done |
//! | done | none | true | removed, once the reader has its batches or its error |

use std::collections::VecDeque;
use std::ops::Range;
use std::task::Waker;

use arrow_array::RecordBatch;

use crate::error::Error;
use crate::scan::planner::PlannedRowGroup;
use crate::scan::thresholds::{MAX_FILES_AHEAD, MAX_FILES_AT_ONCE};

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) next_file: usize,
    /// Files in order, beginning with the file whose rows are wanted next.
    pub(super) files: VecDeque<File>,
    /// Index of the first of `files` within the whole scan.
    pub(super) first_file: usize,
    /// Batches of any row group, if the order does not matter.
    pub(super) unordered: VecDeque<RecordBatch>,
    /// The error that ended the scan early.
    pub(super) error: Option<Error>,
    pub(super) waiting_bytes: usize,
    pub(super) idle: usize,
    pub(super) workers: usize,
    /// Whether files are opened one at a time, because opening waits for I/O.
    pub(super) opens_one_at_a_time: bool,
    pub(super) is_reader_waiting: bool,
    pub(super) waker: Option<Waker>,
}

#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) is_open: bool,
    pub(super) row_groups: VecDeque<RowGroup>,
    /// Number of its row groups that are done.
    pub(super) done: usize,
}

#[derive(Debug)]
pub(super) struct RowGroup {
    /// `None` once a thread has taken it.
    pub(super) planned: Option<PlannedRowGroup>,
    pub(super) batches: VecDeque<(RecordBatch, usize)>,
    pub(super) is_done: bool,
    /// An error that follows the batches.
    pub(super) error: Option<Error>,
}

/// Next task of a thread.
pub(super) enum Task {
    /// Opens these files, one after another.
    Open(Range<usize>),
    Scan {
        file: usize,
        row_group: usize,
        planned: Box<PlannedRowGroup>,
    },
}

impl State {
    /// The earliest row group that no thread works on, else the next file.
    pub(super) fn next_task(&mut self, file_count: usize) -> Option<Task> {
        for (file, position) in self.files.iter_mut().zip(self.first_file..) {
            for (row_group, index) in file.row_groups.iter_mut().zip(file.done..) {
                if let Some(planned) = row_group.planned.take() {
                    return Some(Task::Scan { file: position, row_group: index, planned: Box::new(planned) });
                }
            }
        }
        if self.next_file < file_count && self.files.len() < MAX_FILES_AHEAD {
            let first = self.next_file;
            let left = file_count - first;
            self.next_file += if self.opens_one_at_a_time { 1 } else { files_at_once(first, left, self.workers) };
            self.files.resize_with(self.next_file - self.first_file, File::default);
            return Some(Task::Open(first..self.next_file));
        }
        None
    }

    /// Whether an idle thread may get work later.
    pub(super) fn may_have_tasks_later(&self, file_count: usize) -> bool {
        self.next_file < file_count || self.files.iter().any(|file| !file.is_open)
    }

    pub(super) fn file(&mut self, index: usize) -> Option<&mut File> {
        self.files.get_mut(index.checked_sub(self.first_file)?)
    }

    pub(super) fn row_group(&mut self, file: usize, row_group: usize) -> Option<&mut RowGroup> {
        let file = self.file(file)?;
        let index = row_group.checked_sub(file.done)?;
        file.row_groups.get_mut(index)
    }

    /// Removes the first row groups that are done and left no batch and no error, and the first files that were read; whether there were any.
    pub(super) fn drop_finished(&mut self) -> bool {
        let mut has_dropped = false;
        while let Some(file) = self.files.front_mut().filter(|file| file.is_open) {
            match file.row_groups.front() {
                None => {
                    self.files.pop_front();
                    self.first_file += 1;
                }
                Some(row_group) if row_group.is_finished() => {
                    file.row_groups.pop_front();
                    file.done += 1;
                }
                Some(_) => break,
            }
            has_dropped = true;
        }
        has_dropped
    }

    /// The row group whose rows are wanted next, if its file is open.
    pub(super) fn first_row_group(&mut self) -> Option<&mut RowGroup> {
        self.files.front_mut().filter(|file| file.is_open)?.row_groups.front_mut()
    }

    /// Whether the thread that waits for the next batch can go on: with a batch, an error or the end. Finished row groups were dropped.
    pub(super) fn reader_can_proceed(&mut self, file_count: usize) -> bool {
        let is_at_end = self.files.is_empty() && self.next_file >= file_count;
        let is_ready = |row_group: &mut RowGroup| row_group.error.is_some() || !row_group.batches.is_empty();
        is_at_end || self.error.is_some() || !self.unordered.is_empty() || self.first_row_group().is_some_and(is_ready)
    }

    /// Whether a batch of this row group has to be accepted whatever its size, because the reader waits for it.
    pub(super) fn is_awaited(&mut self, file: usize, row_group: usize, unordered: bool) -> bool {
        if unordered {
            return self.unordered.is_empty();
        }
        let is_first = self.files.front().is_some_and(|first| file == self.first_file && row_group == first.done);
        is_first && self.row_group(file, row_group).is_some_and(|row_group| row_group.batches.is_empty())
    }
}

impl RowGroup {
    /// Whether it is done, and the reader has its batches and its error.
    fn is_finished(&self) -> bool {
        self.is_done && self.batches.is_empty() && self.error.is_none()
    }

    pub(super) fn planned(planned: PlannedRowGroup) -> Self {
        Self { planned: Some(planned), batches: VecDeque::new(), is_done: false, error: None }
    }

    pub(super) fn failed(error: Error) -> Self {
        Self { planned: None, batches: VecDeque::new(), is_done: true, error: Some(error) }
    }
}

/// Number of remaining files to open next, if opening costs little: few at the start, where the first files may have enough rows,
/// and few at the end, so that no thread waits for another.
pub(in crate::scan) fn files_at_once(first: usize, left: usize, threads: usize) -> usize {
    (first / 4).min(left / (4 * threads.max(1))).clamp(1, MAX_FILES_AT_ONCE.min(left))
}
