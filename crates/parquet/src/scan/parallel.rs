//! A scan on several threads.
//!
//! Threads take the earliest row group that nobody works on, and open the next file where there is none. Batches wait in the
//! queue of their row group until those before are through. What waits is bounded: a thread whose batch finds no room waits
//! as well, unless its row group is the one whose turn it is and nothing of it is there.

use std::collections::VecDeque;
use std::hint::black_box;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use arrow_array::RecordBatch;

use super::job::{Job, panicked};
use super::planner::Planned;
use super::producer::Producer;
use super::thresholds::{CANCEL_INTERVAL, HEAP_ROOM_BYTES, MAX_FILES_AHEAD, MAX_FILES_AT_ONCE};
use super::work::Reader;
use crate::error::{Error, Result};

/// The threads of a scan. Dropped, it tells them to end, and does not wait for them.
#[derive(Debug)]
pub(super) struct Parallel {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    job: Arc<Job>,
    state: Mutex<State>,
    /// Signalled when there is something to do for a thread that waits.
    work: Condvar,
    /// Signalled when the next batch may be there.
    ready: Condvar,
    stop: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct State {
    next_file: usize,
    /// Files in order, from that on whose rows are wanted next.
    files: VecDeque<File>,
    /// Position within the whole scan of the first of `files`.
    first_file: usize,
    /// Batches of any row group, where the order does not matter.
    loose: VecDeque<RecordBatch>,
    /// What ended the scan too early.
    error: Option<Error>,
    waiting_bytes: usize,
    idle: usize,
    workers: usize,
    /// Files are opened one at a time: each is waited for.
    opens_singly: bool,
    reader_waits: bool,
    waker: Option<Waker>,
}

#[derive(Debug, Default)]
struct File {
    is_open: bool,
    row_groups: VecDeque<RowGroup>,
    /// Row groups of it that are through.
    done: usize,
}

#[derive(Debug)]
struct RowGroup {
    /// Until a thread takes it.
    planned: Option<Planned>,
    batches: VecDeque<(RecordBatch, usize)>,
    is_done: bool,
    /// An error that comes behind the batches.
    error: Option<Error>,
}

/// What a thread does next.
enum Task {
    /// These files, one after the other.
    Open(Range<usize>),
    Scan {
        file: usize,
        row_group: usize,
        planned: Box<Planned>,
    },
}

impl Parallel {
    /// Starts `threads` threads.
    pub(super) fn new(job: Arc<Job>, threads: usize) -> Result<Self> {
        let opens_singly = job.waits_for_units();
        let shared = Arc::new(Shared {
            job,
            state: Mutex::new(State { opens_singly, ..State::default() }),
            work: Condvar::new(),
            ready: Condvar::new(),
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
                // A thread that cannot be had is done without, unless there is none at all.
                if started == 0 {
                    return Err(Error::io("start a thread", error));
                }
            }
        }
        Ok(scan)
    }

    /// The next batch; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>> {
        let mut state = self.shared.lock();
        loop {
            self.shared.job.cancel.check()?;
            if let Poll::Ready(batch) = self.shared.take(&mut state) {
                return batch;
            }
            state.reader_waits = true;
            let waited = self.shared.ready.wait_timeout(state, CANCEL_INTERVAL);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            state.reader_waits = false;
        }
    }

    /// As [`Parallel::next`], without waiting: `waker` is told when there is more.
    pub(super) fn poll(&mut self, waker: &Waker) -> Poll<Result<Option<RecordBatch>>> {
        let mut state = self.shared.lock();
        if let Err(error) = self.shared.job.cancel.check() {
            return Poll::Ready(Err(error));
        }
        let polled = self.shared.take(&mut state);
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
        self.shared.work.notify_all();
    }
}

fn work(shared: &Shared) {
    let job = &shared.job;
    let mut reader = Reader::new(job, Arc::clone(&shared.stop));
    let worked = catch_unwind(AssertUnwindSafe(|| {
        while let Some(task) = shared.next_task() {
            match task {
                Task::Open(files) => {
                    let first = files.start;
                    drop(black_box(Vec::<u8>::with_capacity(HEAP_ROOM_BYTES)));
                    let planned = job.plan_units(files);
                    shared.opened(first, planned);
                }
                Task::Scan { file, row_group, planned } => {
                    let result = shared.scan(file, row_group, *planned, &mut reader);
                    shared.ended(file, row_group, result);
                }
            }
        }
    }));
    let mut state = shared.lock();
    state.workers -= 1;
    if worked.is_err() {
        state.error = Some(panicked());
        shared.stop.store(true, Ordering::Relaxed);
        shared.work.notify_all();
    }
    shared.tell(&mut state);
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.job.cancel.is_cancelled()
    }

    /// Tells who waits for batches to look again.
    fn tell(&self, state: &mut State) {
        if state.reader_waits {
            self.ready.notify_one();
        }
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    /// Lets threads that wait look again.
    fn call(&self, state: &State) {
        if state.idle > 0 {
            self.work.notify_all();
        }
    }

    /// The next batch, if it is there.
    fn take(&self, state: &mut State) -> Poll<Result<Option<RecordBatch>>> {
        loop {
            if let Some(batch) = state.loose.pop_front() {
                let bytes = size_of_batch(&batch);
                state.waiting_bytes -= bytes;
                self.job.runtime.memory().give_back(bytes);
                self.call(state);
                return Poll::Ready(Ok(Some(batch)));
            }
            let Some(file) = state.files.front_mut() else { break };
            if !file.is_open {
                break;
            }
            let Some(row_group) = file.row_groups.front_mut() else {
                state.files.pop_front();
                state.first_file += 1;
                self.call(state);
                continue;
            };
            if let Some((batch, bytes)) = row_group.batches.pop_front() {
                state.waiting_bytes -= bytes;
                self.job.runtime.memory().give_back(bytes);
                self.call(state);
                return Poll::Ready(Ok(Some(batch)));
            }
            if let Some(error) = row_group.error.take() {
                self.stop.store(true, Ordering::Relaxed);
                self.work.notify_all();
                return Poll::Ready(Err(error));
            }
            if !row_group.is_done {
                break;
            }
            file.row_groups.pop_front();
            file.done += 1;
            self.call(state);
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

    /// Waits for something to do; `None` at the end.
    fn next_task(&self) -> Option<Task> {
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
            if !state.can_give_work(self.job.unit_count()) {
                return None;
            }
            state = self.wait(state);
        }
    }

    fn wait<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.idle += 1;
        let waited = self.work.wait_timeout(state, CANCEL_INTERVAL * 10);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.idle -= 1;
        state
    }

    /// Takes what there is to do in files from `first` on.
    fn opened(&self, first: usize, planned: Vec<Result<Vec<Planned>>>) {
        let mut state = self.lock();
        for (index, planned) in (first..).zip(planned) {
            let Some(file) = state.file(index) else { return };
            file.is_open = true;
            match planned {
                Ok(planned) => file.row_groups.extend(planned.into_iter().map(RowGroup::of)),
                Err(error) => file.row_groups.push_back(RowGroup::failed(error)),
            }
        }
        state.drop_empty_files();
        self.call(&state);
        // Most of many files are ruled out: nobody is woken to be told that.
        if state.has_news(self.job.unit_count()) {
            self.tell(&mut state);
        }
    }

    /// Makes the batches of a row group.
    fn scan(&self, file: usize, row_group: usize, planned: Planned, reader: &mut Reader) -> Result<()> {
        let mut producer = Producer::new(planned, reader, &self.job)?;
        while let Some(batch) = producer.next(reader, &self.job)? {
            if !self.put(file, row_group, batch) {
                return Err(Error::Cancelled);
            }
        }
        producer.finish(reader);
        Ok(())
    }

    /// Puts a batch into its queue, once there is room; `false` if nobody wants it any more.
    fn put(&self, file: usize, row_group: usize, batch: RecordBatch) -> bool {
        let bytes = size_of_batch(&batch);
        let mut state = self.lock();
        loop {
            if self.is_stopped() {
                return false;
            }
            let is_next = state.is_next(file, row_group, self.job.unordered);
            let memory = self.job.runtime.memory();
            if is_next {
                memory.take(bytes);
                break;
            }
            if state.waiting_bytes.saturating_add(bytes) <= self.job.memory_limit && memory.try_take(bytes) {
                break;
            }
            state = self.wait(state);
        }
        if self.job.unordered {
            state.loose.push_back(batch);
        } else {
            let Some(row_group) = state.row_group(file, row_group) else {
                self.job.runtime.memory().give_back(bytes);
                return false;
            };
            row_group.batches.push_back((batch, bytes));
        }
        state.waiting_bytes += bytes;
        self.tell(&mut state);
        true
    }

    fn ended(&self, file: usize, row_group: usize, result: Result<()>) {
        let mut state = self.lock();
        let Some(row_group) = state.row_group(file, row_group) else { return };
        row_group.is_done = true;
        row_group.error = result.err();
        if self.job.unordered
            && let Some(error) = row_group.error.take()
        {
            state.error.get_or_insert(error);
            self.stop.store(true, Ordering::Relaxed);
        }
        self.call(&state);
        self.tell(&mut state);
    }
}

impl State {
    /// The earliest row group that nobody works on, else the next file.
    fn next_task(&mut self, file_count: usize) -> Option<Task> {
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
            self.next_file += if self.opens_singly { 1 } else { files_at_once(first, left, self.workers) };
            self.files.resize_with(self.next_file - self.first_file, File::default);
            return Some(Task::Open(first..self.next_file));
        }
        None
    }

    /// Whether there may be something to do later for a thread that has nothing to do now.
    fn can_give_work(&self, file_count: usize) -> bool {
        self.next_file < file_count || self.files.iter().any(|file| !file.is_open)
    }

    fn file(&mut self, index: usize) -> Option<&mut File> {
        self.files.get_mut(index.checked_sub(self.first_file)?)
    }

    fn row_group(&mut self, file: usize, row_group: usize) -> Option<&mut RowGroup> {
        let file = self.file(file)?;
        let index = row_group.checked_sub(file.done)?;
        file.row_groups.get_mut(index)
    }

    /// Files of which nothing is wanted need not wait for their turn.
    fn drop_empty_files(&mut self) {
        while self.files.front().is_some_and(|file| file.is_open && file.row_groups.is_empty()) {
            self.files.pop_front();
            self.first_file += 1;
        }
    }

    /// Whether there is something for who waits for the next batch, or nothing any more.
    fn has_news(&self, file_count: usize) -> bool {
        let Some(first) = self.files.front() else {
            return self.next_file >= file_count || self.error.is_some() || !self.loose.is_empty();
        };
        let is_ready = |row_group: &RowGroup| row_group.is_done || !row_group.batches.is_empty();
        first.is_open && first.row_groups.front().is_none_or(is_ready) || self.error.is_some() || !self.loose.is_empty()
    }

    /// Whether a batch of this row group has to be taken whatever its size, since the reader waits for it.
    fn is_next(&mut self, file: usize, row_group: usize, unordered: bool) -> bool {
        if unordered {
            return self.loose.is_empty();
        }
        let is_first = self.files.front().is_some_and(|first| file == self.first_file && row_group == first.done);
        is_first && self.row_group(file, row_group).is_some_and(|row_group| row_group.batches.is_empty())
    }
}

impl RowGroup {
    fn of(planned: Planned) -> Self {
        Self { planned: Some(planned), batches: VecDeque::new(), is_done: false, error: None }
    }

    fn failed(error: Error) -> Self {
        Self { planned: None, batches: VecDeque::new(), is_done: true, error: Some(error) }
    }
}

/// How many of the files that are left to open next, where opening takes little: few at the start, where the first may have
/// what is wanted, and few at the end, so that no thread waits for another.
pub(super) fn files_at_once(first: usize, left: usize, threads: usize) -> usize {
    (first / 4).min(left / (4 * threads.max(1))).clamp(1, MAX_FILES_AT_ONCE.min(left))
}

fn size_of_batch(batch: &RecordBatch) -> usize {
    batch.get_array_memory_size()
}
