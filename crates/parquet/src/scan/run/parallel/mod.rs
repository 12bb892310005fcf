//! A scan on several threads.
//!
//! A thread takes the earliest row group that no other thread has, and opens the next files if there is none. Batches wait in the
//! queue of their row group until the reader has taken the batches before. The bytes of waiting batches are bounded: a thread
//! whose batch does not fit waits too, unless the reader waits for just that batch.

mod shared;
mod state;

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Poll, Waker};

use arrow_array::RecordBatch;

use self::shared::SharedState;
pub(in crate::scan) use self::state::files_at_once;
use self::state::{State, Task};
use super::job::{Job, panicked};
use super::work::Reader;
use crate::error::{Error, Result};
use crate::scan::thresholds::{CANCEL_INTERVAL, HEAP_ROOM_BYTES};

/// The threads of a scan. Dropping it tells them to end, without waiting for them.
#[derive(Debug)]
pub(in crate::scan) struct Parallel {
    shared: Arc<SharedState>,
}

impl Parallel {
    /// Starts `threads` threads.
    pub(in crate::scan) fn new(job: Arc<Job>, threads: usize) -> Result<Self> {
        let opens_one_at_a_time = job.waits_for_units();
        let shared = Arc::new(SharedState {
            job,
            state: Mutex::new(State { opens_one_at_a_time, ..State::default() }),
            work_available: Condvar::new(),
            batch_ready: Condvar::new(),
            stop: Arc::default(),
        });
        let scan = Self { shared };
        for started in 0..threads {
            let shared = Arc::clone(&scan.shared);
            shared.lock().workers += 1;
            let worker = Arc::clone(&scan.shared);
            let spawned = worker.job.runtime.clone().spawn("lath-scan", move || work(&worker));
            if let Err(error) = spawned {
                shared.lock().workers -= 1;
                // Threads that cannot be started are not needed, unless none can.
                if started == 0 {
                    return Err(Error::io("start a thread", error));
                }
            }
        }
        Ok(scan)
    }

    /// The next batch; `None` after the last.
    pub(in crate::scan) fn next(&mut self) -> Result<Option<RecordBatch>> {
        let mut state = self.shared.lock();
        loop {
            self.shared.job.settings.cancel.check()?;
            if let Poll::Ready(batch) = self.shared.take_batch(&mut state) {
                return batch;
            }
            state.is_reader_waiting = true;
            let waited = self.shared.batch_ready.wait_timeout(state, CANCEL_INTERVAL);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            state.is_reader_waiting = false;
        }
    }

    /// As [`Parallel::next`], without waiting: `waker` is woken when a batch is ready.
    pub(in crate::scan) fn poll(&mut self, waker: &Waker) -> Poll<Result<Option<RecordBatch>>> {
        let mut state = self.shared.lock();
        if let Err(error) = self.shared.job.settings.cancel.check() {
            return Poll::Ready(Err(error));
        }
        let polled = self.shared.take_batch(&mut state);
        if polled.is_pending() {
            match &mut state.waker {
                Some(known) => known.clone_from(waker),
                none => *none = Some(waker.clone()),
            }
        }
        polled
    }
}

impl Drop for Parallel {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        let mut state = self.shared.lock();
        self.shared.job.runtime.memory().give_back(state.waiting_bytes);
        *state = State { workers: state.workers, idle: state.idle, ..State::default() };
        state.next_file = self.shared.job.unit_count();
        drop(state);
        self.shared.work_available.notify_all();
    }
}

fn work(shared: &SharedState) {
    let job = &shared.job;
    let mut reader = Reader::new(job, Arc::clone(&shared.stop));
    let worked = catch_unwind(AssertUnwindSafe(|| {
        while let Some(task) = shared.next_task() {
            match task {
                Task::Open(files) => {
                    let first = files.start;
                    drop(black_box(Vec::<u8>::with_capacity(HEAP_ROOM_BYTES)));
                    let planned = job.plan_units(files);
                    shared.add_row_groups(first, planned);
                }
                Task::Scan { file, row_group, planned } => {
                    let result = shared.scan_row_group(file, row_group, *planned, &mut reader);
                    shared.finish_row_group(file, row_group, result);
                }
            }
        }
    }));
    let mut state = shared.lock();
    state.workers -= 1;
    if worked.is_err() {
        state.error = Some(panicked());
        shared.stop.store(true, Ordering::Relaxed);
        shared.work_available.notify_all();
    }
    shared.wake_reader(&mut state);
}
