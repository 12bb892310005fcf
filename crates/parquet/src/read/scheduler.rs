//! Decoding the leaves of a read on several threads.
//!
//! A task is the next batch of one leaf. A thread that is free takes the leaf that is furthest behind, so that wide
//! and narrow columns, cheap and dear ones, share the threads without being assigned to any. The thread that asks for
//! batches works as well while what it needs is not there.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::leaf_stream::LeafStream;
use crate::decode::LeafBatch;
use crate::error::{Error, Result};

pub(super) struct Scheduler {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// Signalled when a leaf can be worked on or the read ends.
    work: Condvar,
    /// Signalled when a batch is there.
    ready: Condvar,
    most_ahead: usize,
}

struct State {
    columns: Vec<Column>,
    stop: bool,
}

struct Column {
    /// Absent while a thread works on it, and after its end or an error.
    stream: Option<LeafStream>,
    working: bool,
    decoded: VecDeque<Result<LeafBatch>>,
    produced: usize,
}

impl Scheduler {
    pub(super) fn new(streams: Vec<LeafStream>, threads: usize, most_ahead: usize) -> Self {
        let column = |stream| Column { stream: Some(stream), working: false, decoded: VecDeque::new(), produced: 0 };
        let columns = streams.into_iter().map(column).collect();
        let shared = Arc::new(Shared {
            state: Mutex::new(State { columns, stop: false }),
            work: Condvar::new(),
            ready: Condvar::new(),
            most_ahead,
        });
        let spawn = |_| {
            let shared = Arc::clone(&shared);
            // A thread that cannot be had is done without: the caller's own decodes everything in the end.
            thread::Builder::new().name("lath-decode".into()).spawn(move || work(&shared)).ok()
        };
        let workers = (1..threads).filter_map(spawn).collect();
        Self { shared, workers }
    }

    /// The next batch of a leaf; `None` after its last.
    pub(super) fn take(&self, column: usize) -> Result<Option<LeafBatch>> {
        let shared = &*self.shared;
        let mut state = shared.lock();
        loop {
            let wanted = &mut state.columns[column];
            if let Some(batch) = wanted.decoded.pop_front() {
                shared.work.notify_one();
                return batch.map(Some);
            }
            if wanted.stream.is_none() && !wanted.working {
                return Ok(None);
            }
            // The leaf that is waited for comes first, unless a worker has it already.
            let next = if wanted.stream.is_some() { Some(column) } else { state.furthest_behind(shared.most_ahead) };
            state = match next {
                Some(column) => shared.decode_one(state, column),
                None => shared.ready.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.work.notify_all();
        for worker in self.workers.drain(..) {
            // A worker that panicked has nothing left to hand over.
            let _ = worker.join();
        }
    }
}

fn work(shared: &Shared) {
    let mut state = shared.lock();
    while !state.stop {
        state = match state.furthest_behind(shared.most_ahead) {
            Some(column) => shared.decode_one(state, column),
            None => shared.work.wait(state).unwrap_or_else(PoisonError::into_inner),
        };
    }
}

impl State {
    /// The leaf with the fewest batches so far among those that nobody works on and that may run further ahead.
    fn furthest_behind(&self, most_ahead: usize) -> Option<usize> {
        let free = |column: &Column| column.stream.is_some() && column.decoded.len() < most_ahead;
        let columns = self.columns.iter().enumerate().filter(|(_, column)| free(column));
        columns.min_by_key(|(_, column)| column.produced).map(|(index, _)| index)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decodes a batch of `column`, whose stream is there, without holding the lock.
    fn decode_one<'a>(&'a self, mut state: MutexGuard<'a, State>, column: usize) -> MutexGuard<'a, State> {
        let slot = &mut state.columns[column];
        let Some(mut stream) = slot.stream.take() else { return state };
        slot.working = true;
        drop(state);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stream.next()));
        let mut state = self.lock();
        let slot = &mut state.columns[column];
        slot.working = false;
        match result {
            Ok(Ok(Some(batch))) => {
                slot.decoded.push_back(Ok(batch));
                slot.produced += 1;
                slot.stream = Some(stream);
            }
            Ok(Ok(None)) => {}
            Ok(Err(error)) => slot.decoded.push_back(Err(error)),
            // The waiting thread must not wait for ever; it learns of the bug here instead.
            Err(_) => slot.decoded.push_back(Err(Error::corrupt("a decoding thread panicked"))),
        }
        self.ready.notify_all();
        if self.has_more_workers_than_work(&state) {
            return state;
        }
        self.work.notify_one();
        state
    }

    fn has_more_workers_than_work(&self, state: &State) -> bool {
        state.furthest_behind(self.most_ahead).is_none()
    }
}
