//! Threads that encode leaves.
//!
//! Every leaf has a queue of jobs, which any free thread does in order, one thread at a time; so chunks do not depend on the
//! number of threads. The caller's thread is one of them: it works instead of waiting.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use arrow_schema::DataType;
use lath_format::schema::ColumnDescPtr;
use lath_parquet::{Error, Result};

use crate::chunk::ChunkWriter;
use crate::chunk::EncodedChunk;
use crate::options::LeafOptions;
use crate::schema::LeafSchema;
use crate::stripe::StripedLeaf;

/// The leaves of a file, and the threads that encode them.
pub(crate) struct Pool {
    shared: Arc<SharedState>,
    workers: Vec<JoinHandle<()>>,
}

struct SharedState {
    state: Mutex<State>,
    /// Signalled when a leaf has work, and at the end.
    work: Condvar,
    /// Signalled when work was done.
    done: Condvar,
}

struct State {
    leaves: Vec<Leaf>,
    /// Leaves that have jobs but no thread.
    ready: Vec<usize>,
    busy_count: usize,
    /// Bytes of values that are not encoded yet.
    waiting_bytes: usize,
    /// The first error.
    error: Option<Error>,
    stop: bool,
}

struct Leaf {
    /// Dotted path, for errors.
    path: Arc<str>,
    make: Arc<Make>,
    /// `None` while a thread has it, and after an error.
    writer: Option<ChunkWriter>,
    jobs: VecDeque<Job>,
    /// Bytes of the jobs.
    waiting_bytes: usize,
    finished: VecDeque<EncodedChunk>,
    buffered_bytes: usize,
}

/// Everything needed to create a leaf's writer.
struct Make {
    column: ColumnDescPtr,
    arrow_type: DataType,
    options: Arc<LeafOptions>,
}

enum Job {
    /// Encode this, which takes up this many bytes.
    Write(StripedLeaf, usize),
    /// End the column chunk; with `release`, keep no buffers for the next.
    Finish { release: bool },
}

impl Pool {
    /// The number of threads includes the caller's.
    pub(crate) fn new(leaves: &[LeafSchema], threads: usize) -> Result<Self> {
        let leaf = |leaf: &LeafSchema| {
            let (column, arrow_type) = (Arc::clone(&leaf.column), leaf.arrow_type.clone());
            let make = Arc::new(Make { column, arrow_type, options: Arc::clone(&leaf.options) });
            let writer = make.chunk_writer()?;
            let path = leaf.column.path().string().into();
            let (jobs, finished) = (VecDeque::new(), VecDeque::new());
            Ok(Leaf { path, make, writer: Some(writer), jobs, waiting_bytes: 0, finished, buffered_bytes: 0 })
        };
        let state = State {
            leaves: leaves.iter().map(leaf).collect::<Result<_>>()?,
            ready: Vec::new(),
            busy_count: 0,
            waiting_bytes: 0,
            error: None,
            stop: false,
        };
        let shared = Arc::new(SharedState { state: Mutex::new(state), work: Condvar::new(), done: Condvar::new() });
        let spawn = |_| {
            let shared = Arc::clone(&shared);
            // If a thread cannot be started, go on without it: the caller's thread encodes everything in the end.
            thread::Builder::new().name("lath-encode".into()).spawn(move || shared.work_on()).ok()
        };
        let workers = (1..threads.min(leaves.len().max(1))).filter_map(spawn).collect();
        Ok(Self { shared, workers })
    }

    /// Whether there are threads besides the caller's.
    pub(crate) fn has_workers(&self) -> bool {
        !self.workers.is_empty()
    }

    /// Passes on the values of a batch for each leaf, in file order, with their sizes in bytes.
    pub(crate) fn write(&self, leaves: impl IntoIterator<Item = (StripedLeaf, usize)>) {
        let mut state = self.shared.lock();
        for (leaf, (striped, bytes)) in leaves.into_iter().enumerate() {
            state.push(leaf, Job::Write(striped, bytes));
        }
        self.shared.work.notify_all();
    }

    /// Ends every leaf's column chunk; with `release`, leaves keep no buffers for the next one.
    pub(crate) fn finish_chunks(&self, release: bool) {
        let mut state = self.shared.lock();
        (0..state.leaves.len()).for_each(|leaf| state.push(leaf, Job::Finish { release }));
        self.shared.work.notify_all();
    }

    /// Works until at most `bytes` wait to be encoded.
    ///
    /// # Errors
    /// The first error of any thread.
    pub(crate) fn work_down_to(&self, bytes: usize) -> Result<()> {
        self.shared.work_until(|state| state.waiting_bytes <= bytes)
    }

    /// Does the jobs of one leaf, or waits until another thread has done some; returns whether there was anything left to do.
    ///
    /// # Errors
    /// The first error of any thread.
    pub(crate) fn work_a_step(&self) -> Result<bool> {
        let mut state = self.shared.lock();
        if state.error.is_none() {
            if state.ready.is_empty() && state.busy_count == 0 {
                return Ok(false);
            }
            state = self.shared.work_once(state);
        }
        state.error.take().map_or(Ok(true), Err)
    }

    /// Bytes that the leaves hold; exact when there is nothing left to do.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.shared.lock().leaves.iter().map(|leaf| leaf.buffered_bytes).sum()
    }

    /// The next finished chunk of a leaf, if there is one.
    pub(crate) fn take_chunk(&self, leaf: usize) -> Option<EncodedChunk> {
        self.shared.lock().leaves.get_mut(leaf)?.finished.pop_front()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.work.notify_all();
        for worker in self.workers.drain(..) {
            // A worker that panicked has nothing left to return.
            let _ = worker.join();
        }
    }
}

impl State {
    fn push(&mut self, index: usize, job: Job) {
        let Some(leaf) = self.leaves.get_mut(index) else { return };
        leaf.waiting_bytes += job.waiting_bytes();
        self.waiting_bytes += job.waiting_bytes();
        leaf.jobs.push_back(job);
        if leaf.writer.is_some() && leaf.jobs.len() == 1 {
            self.ready.push(index);
        }
    }

    /// The ready leaf with the most waiting bytes, so that no long job is left for the end, when other threads are idle.
    fn next_leaf(&mut self) -> Option<usize> {
        let waiting_bytes = |place: &usize| self.leaves[self.ready[*place]].waiting_bytes;
        let place = (0..self.ready.len()).rev().max_by_key(waiting_bytes)?;
        Some(self.ready.remove(place))
    }
}

impl SharedState {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Main loop of a worker.
    fn work_on(&self) {
        let mut state = self.lock();
        while !state.stop {
            state = match state.next_leaf() {
                Some(leaf) => self.encode(state, leaf),
                None => self.work.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn work_until(&self, is_enough: impl Fn(&State) -> bool) -> Result<()> {
        let mut state = self.lock();
        loop {
            if let Some(error) = state.error.take() {
                return Err(error);
            }
            if is_enough(&state) {
                return Ok(());
            }
            state = self.work_once(state);
        }
    }

    fn work_once<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        match state.next_leaf() {
            Some(leaf) => self.encode(state, leaf),
            None => self.done.wait(state).unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// Does the jobs of a leaf, without holding the lock.
    fn encode<'a>(&'a self, mut state: MutexGuard<'a, State>, index: usize) -> MutexGuard<'a, State> {
        let leaf = &mut state.leaves[index];
        let Some(mut writer) = leaf.writer.take() else { return state };
        let jobs = std::mem::take(&mut leaf.jobs);
        let make = Arc::clone(&leaf.make);
        let done_bytes = std::mem::take(&mut leaf.waiting_bytes);
        state.busy_count += 1;
        drop(state);

        let mut finished = VecDeque::new();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            jobs.into_iter().try_for_each(|job| match job {
                Job::Write(striped, _) => writer.write(&striped),
                Job::Finish { release } => {
                    finished.push_back(writer.finish()?);
                    if release {
                        writer = make.chunk_writer()?;
                    }
                    Ok(())
                }
            })
        }));
        // The caller must not wait forever; it gets the error instead.
        let outcome = outcome.unwrap_or_else(|_| Err(Error::internal("an encoding thread panicked")));

        let mut state = self.lock();
        state.busy_count -= 1;
        state.waiting_bytes -= done_bytes;
        let leaf = &mut state.leaves[index];
        match outcome {
            Ok(()) => {
                leaf.finished.append(&mut finished);
                leaf.buffered_bytes = writer.buffered_bytes();
                leaf.writer = Some(writer);
                if !leaf.jobs.is_empty() {
                    state.ready.push(index);
                }
            }
            Err(error) => {
                let path = Arc::clone(&leaf.path);
                let error = error.locate(|at| at.column = at.column.take().or(Some(path)));
                state.error.get_or_insert(error);
                // Waiting jobs will never be done.
                state.ready.clear();
                state.stop = true;
            }
        }
        self.done.notify_all();
        state
    }
}

impl Make {
    fn chunk_writer(&self) -> Result<ChunkWriter> {
        ChunkWriter::new(&self.column, &self.arrow_type, Arc::clone(&self.options))
    }
}

impl Job {
    fn waiting_bytes(&self) -> usize {
        match self {
            Self::Write(_, bytes) => *bytes,
            Self::Finish { .. } => 0,
        }
    }
}
