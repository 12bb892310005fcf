//! State shared by the threads of a scan and its reader.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use arrow_array::RecordBatch;

use super::state::{RowGroup, State, Task};
use crate::error::{Error, Result};
use crate::scan::planner::PlannedRowGroup;
use crate::scan::run::job::{Job, panicked};
use crate::scan::run::producer::Producer;
use crate::scan::run::work::Reader;
use crate::scan::thresholds::CANCEL_INTERVAL;

#[derive(Debug)]
pub(super) struct SharedState {
    pub(super) job: Arc<Job>,
    pub(super) state: Mutex<State>,
    /// Signalled when there is work for a waiting thread.
    pub(super) work_available: Condvar,
    /// Signalled when the next batch may be ready.
    pub(super) batch_ready: Condvar,
    pub(super) stop: Arc<AtomicBool>,
}

impl SharedState {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.job.settings.cancel.is_cancelled()
    }

    /// Wakes the thread that waits for batches.
    pub(super) fn wake_reader(&self, state: &mut State) {
        if state.is_reader_waiting {
            self.batch_ready.notify_one();
        }
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    /// Wakes waiting worker threads.
    pub(super) fn wake_workers(&self, state: &State) {
        if state.idle > 0 {
            self.work_available.notify_all();
        }
    }

    /// Wakes the thread that waits for batches if it can go on. Most row groups of a search have no rows: a wake for each costs more than searching it.
    fn wake_reader_if_ready(&self, state: &mut State) {
        if state.reader_can_proceed(self.job.unit_count()) {
            self.wake_reader(state);
        }
    }

    /// The next batch, if it is ready.
    pub(super) fn take_batch(&self, state: &mut State) -> Poll<Result<Option<RecordBatch>>> {
        if let Some(batch) = state.unordered.pop_front() {
            let bytes = size_of_batch(&batch);
            return Poll::Ready(Ok(Some(self.taken(state, batch, bytes))));
        }
        if state.drop_finished() {
            self.wake_workers(state);
        }
        if let Some(row_group) = state.first_row_group() {
            if let Some((batch, bytes)) = row_group.batches.pop_front() {
                return Poll::Ready(Ok(Some(self.taken(state, batch, bytes))));
            }
            if let Some(error) = row_group.error.take() {
                self.stop.store(true, Ordering::Relaxed);
                self.work_available.notify_all();
                return Poll::Ready(Err(error));
            }
        }
        if let Some(error) = state.error.take() {
            return Poll::Ready(Err(error));
        }
        if state.files.is_empty() && state.next_file >= self.job.unit_count() {
            return Poll::Ready(Ok(None));
        }
        if state.workers == 0 {
            return Poll::Ready(Err(panicked()));
        }
        Poll::Pending
    }

    /// A batch that no longer waits.
    fn taken(&self, state: &mut State, batch: RecordBatch, bytes: usize) -> RecordBatch {
        state.waiting_bytes -= bytes;
        self.job.runtime.memory().give_back(bytes);
        self.wake_workers(state);
        batch
    }

    /// Waits for the next task; `None` at the end.
    pub(super) fn next_task(&self) -> Option<Task> {
        let mut state = self.lock();
        loop {
            if self.is_stopped() {
                return None;
            }
            if let Some(task) = state.next_task(self.job.unit_count()) {
                return Some(task);
            }
            if state.files.is_empty() && state.next_file >= self.job.unit_count() {
                return None;
            }
            if !state.may_have_tasks_later(self.job.unit_count()) {
                return None;
            }
            state = self.wait(state);
        }
    }

    pub(super) fn wait<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.idle += 1;
        let waited = self.work_available.wait_timeout(state, CANCEL_INTERVAL * 10);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.idle -= 1;
        state
    }

    /// Adds the planned row groups of files from `first` on.
    pub(super) fn add_row_groups(&self, first: usize, planned: Vec<Result<Vec<PlannedRowGroup>>>) {
        let mut state = self.lock();
        for (index, planned) in (first..).zip(planned) {
            let Some(file) = state.file(index) else { return };
            file.is_open = true;
            match planned {
                Ok(planned) => file.row_groups.extend(planned.into_iter().map(RowGroup::planned)),
                Err(error) => file.row_groups.push_back(RowGroup::failed(error)),
            }
        }
        state.drop_finished();
        self.wake_workers(&state);
        self.wake_reader_if_ready(&mut state);
    }

    /// Builds the batches of a row group.
    pub(super) fn scan_row_group(
        &self,
        file: usize,
        row_group: usize,
        planned: PlannedRowGroup,
        reader: &mut Reader,
    ) -> Result<()> {
        let mut producer = Producer::new(planned, reader, &self.job)?;
        while let Some(batch) = producer.next(reader, &self.job)? {
            if !self.push_batch(file, row_group, batch) {
                return Err(Error::Cancelled);
            }
        }
        producer.finish(reader);
        Ok(())
    }

    /// Adds a batch to its queue, once there is room; `false` if the scan was dropped.
    pub(super) fn push_batch(&self, file: usize, row_group: usize, batch: RecordBatch) -> bool {
        let bytes = size_of_batch(&batch);
        let mut state = self.lock();
        loop {
            if self.is_stopped() {
                return false;
            }
            let is_awaited = state.is_awaited(file, row_group, self.job.settings.unordered);
            let memory = self.job.runtime.memory();
            if is_awaited {
                memory.take(bytes);
                break;
            }
            if state.waiting_bytes.saturating_add(bytes) <= self.job.settings.memory_budget_bytes
                && memory.try_take(bytes)
            {
                break;
            }
            state = self.wait(state);
        }
        if self.job.settings.unordered {
            state.unordered.push_back(batch);
        } else {
            let Some(row_group) = state.row_group(file, row_group) else {
                self.job.runtime.memory().give_back(bytes);
                return false;
            };
            row_group.batches.push_back((batch, bytes));
        }
        state.waiting_bytes += bytes;
        self.wake_reader_if_ready(&mut state);
        true
    }

    pub(super) fn finish_row_group(&self, file: usize, row_group: usize, result: Result<()>) {
        let mut state = self.lock();
        let Some(row_group) = state.row_group(file, row_group) else { return };
        row_group.is_done = true;
        row_group.error = result.err();
        if self.job.settings.unordered
            && let Some(error) = row_group.error.take()
        {
            state.error.get_or_insert(error);
            self.stop.store(true, Ordering::Relaxed);
        }
        state.drop_finished();
        self.wake_workers(&state);
        self.wake_reader_if_ready(&mut state);
    }
}

fn size_of_batch(batch: &RecordBatch) -> usize {
    batch.get_array_memory_size()
}
