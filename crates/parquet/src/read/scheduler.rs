//! Decoding the leaves of a read on several threads.
//!
//! A task is the next few batches of one leaf. A thread that is free takes the leaf that is furthest behind, so that wide
//! and narrow columns, cheap and dear ones, share the threads without being assigned to any. The thread that asks for
//! batches works as well while what it needs is not there. Several batches at once, because one takes some microseconds
//! to decode, about what waking a thread costs.

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
    /// Threads that wait for work, and whether the caller's waits for a batch: nobody else is worth a system call.
    idle_workers: usize,
    caller_waits: bool,
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
            state: Mutex::new(State { columns, idle_workers: 0, caller_waits: false, stop: false }),
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
                let can_be_worked_on = wanted.stream.is_some() && wanted.decoded.len() <= shared.most_ahead / 2;
                if can_be_worked_on && state.idle_workers > 0 {
                    shared.work.notify_one();
                }
                return batch.map(Some);
            }
            if wanted.stream.is_none() && !wanted.working {
                return Ok(None);
            }
            // The leaf that is waited for comes first, unless a worker has it already.
            let next = if wanted.stream.is_some() { Some(column) } else { state.furthest_behind(shared.most_ahead) };
            state = match next {
                Some(column) => shared.decode(state, column),
                None => {
                    state.caller_waits = true;
                    let mut state = shared.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
                    state.caller_waits = false;
                    state
                }
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
            Some(column) => shared.decode(state, column),
            None => {
                state.idle_workers += 1;
                let mut state = shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle_workers -= 1;
                state
            }
        };
    }
}

impl State {
    /// The leaf with the fewest batches so far among those that nobody works on and that have no more than half of what
    /// they may have in stock.
    fn furthest_behind(&self, most_ahead: usize) -> Option<usize> {
        let free = |column: &Column| column.stream.is_some() && column.decoded.len() <= most_ahead / 2;
        let columns = self.columns.iter().enumerate().filter(|(_, column)| free(column));
        columns.min_by_key(|(_, column)| column.produced).map(|(index, _)| index)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decodes batches of `column` until its stock is full, without holding the lock.
    fn decode<'a>(&'a self, mut state: MutexGuard<'a, State>, column: usize) -> MutexGuard<'a, State> {
        let slot = &mut state.columns[column];
        let Some(mut stream) = slot.stream.take() else { return state };
        slot.working = true;
        let mut missing = self.most_ahead.saturating_sub(slot.decoded.len()).max(1);
        drop(state);

        let mut decoded = VecDeque::with_capacity(missing);
        let mut ended = false;
        while missing > 0 && !ended {
            match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stream.next())) {
                Ok(Ok(Some(batch))) => decoded.push_back(Ok(batch)),
                Ok(Ok(None)) => ended = true,
                Ok(Err(error)) => {
                    decoded.push_back(Err(error));
                    ended = true;
                }
                // The waiting thread must not wait for ever; it learns of the bug here instead.
                Err(_) => {
                    decoded.push_back(Err(Error::corrupt("a decoding thread panicked")));
                    ended = true;
                }
            }
            missing -= 1;
        }

        let mut state = self.lock();
        let slot = &mut state.columns[column];
        slot.working = false;
        slot.produced += decoded.len();
        slot.decoded.append(&mut decoded);
        if !ended {
            slot.stream = Some(stream);
        }
        if state.caller_waits {
            self.ready.notify_one();
        }
        state
    }
}
