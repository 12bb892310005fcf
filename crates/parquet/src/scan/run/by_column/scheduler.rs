//! Schedules the decoding of leaves on several threads.
//!
//! A task is the next few batches of one leaf. If there are too few leaves to keep the threads busy, several lanes share a leaf:
//! they take runs of rows in turn, and each skips the pages of the others. A free thread takes the leaf that is furthest behind,
//! so that no column is assigned to a thread, whether it is wide or narrow, cheap or expensive. The thread that requests batches
//! also works until its batch is ready. A task has several batches because decoding one takes some microseconds, about as long as
//! waking a thread.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::leaf_stream::{Lane, LeafStream};
use super::plan::ColumnPlan;
use crate::decode::LeafBatch;
use crate::error::{Error, Result};
use crate::scan::thresholds::{BATCHES_AT_ONCE, LANE_ROWS, MAX_BATCHES_AHEAD, MAX_BATCHES_OF_ALL};

pub(super) struct Scheduler {
    shared: Arc<SharedState>,
    workers: Vec<JoinHandle<()>>,
    leaves: Vec<LeafLanes>,
}

/// Lanes of one leaf.
struct LeafLanes {
    /// Index of the first of its lanes.
    first: usize,
    lane: Lane,
    /// Batches taken so far.
    taken: usize,
}

struct SharedState {
    state: Mutex<State>,
    /// Signalled when a leaf can be worked on or the read ends.
    work: Condvar,
    /// Signalled when a batch is ready.
    ready: Condvar,
}

struct State {
    columns: Vec<Column>,
    /// Idle worker threads, and whether the caller waits for a batch: waking threads without need would cost a system call.
    idle_workers: usize,
    caller_waits: bool,
    stop: bool,
}

struct Column {
    /// Maximum batches in stock.
    most_ahead: usize,
    /// `None` while a thread works on it, and after its end or an error.
    stream: Option<LeafStream>,
    working: bool,
    decoded: VecDeque<Result<LeafBatch>>,
    produced: usize,
}

impl Scheduler {
    /// A scheduler for all leaves of `plan`; `None` if there is no work to share among threads.
    pub(super) fn new(plan: &Arc<ColumnPlan>, threads: usize) -> Option<Self> {
        let leaf_count = plan.columns.leaves.len();
        // Only if threads would be idle otherwise: a lane costs a quarter to a half more than a leaf that is not shared, because
        // pages are read twice and batches have left the cache when they are returned.
        let lane_count = threads.div_ceil(leaf_count.max(1));
        let ahead = (MAX_BATCHES_OF_ALL / leaf_count.max(1)).clamp(BATCHES_AT_ONCE, MAX_BATCHES_AHEAD);
        let mut columns = Vec::new();
        let mut leaves = Vec::with_capacity(leaf_count);
        for (leaf, planned) in plan.columns.leaves.iter().enumerate() {
            // In repeated columns pages do not always say how many rows they have, which skipping needs.
            let lane = match lane_count {
                2.. if planned.leaf.max_rep_level == 0 => {
                    Lane { index: 0, count: lane_count, segment: (LANE_ROWS / plan.batch_size).max(1) }
                }
                _ => Lane::ONLY,
            };
            // A lane that is ahead needs room for its whole turn, and some to continue.
            let most_ahead = if lane.count > 1 { lane.segment * 2 } else { 0 }.max(ahead);
            leaves.push(LeafLanes { first: columns.len(), lane, taken: 0 });
            columns.extend((0..lane.count).map(|index| Column {
                most_ahead,
                stream: Some(LeafStream::new(Arc::clone(plan), leaf, Lane { index, ..lane })),
                working: false,
                decoded: VecDeque::new(),
                produced: 0,
            }));
        }
        if threads < 2 || columns.len() < 2 {
            return None;
        }
        let shared = Arc::new(SharedState {
            state: Mutex::new(State { columns, idle_workers: 0, caller_waits: false, stop: false }),
            work: Condvar::new(),
            ready: Condvar::new(),
        });
        let spawn = |_| {
            let shared = Arc::clone(&shared);
            // If a thread cannot be started, go on without it: the caller's thread decodes everything in the end.
            thread::Builder::new().name("lath-decode".into()).spawn(move || work(&shared)).ok()
        };
        let workers = (1..threads).filter_map(spawn).collect();
        Some(Self { shared, workers, leaves })
    }

    /// The next batch of a leaf; `None` after its last.
    pub(super) fn take(&mut self, leaf: usize) -> Result<Option<LeafBatch>> {
        let LeafLanes { first, lane, taken } = &mut self.leaves[leaf];
        let column = *first + lane.of(*taken);
        *taken += 1;
        let shared = &*self.shared;
        let mut state = shared.lock();
        loop {
            let wanted = &mut state.columns[column];
            if let Some(batch) = wanted.decoded.pop_front() {
                let can_be_worked_on = wanted.stream.is_some() && wanted.decoded.len() <= wanted.most_ahead / 2;
                if can_be_worked_on && state.idle_workers > 0 {
                    shared.work.notify_one();
                }
                return batch.map(Some);
            }
            if wanted.stream.is_none() && !wanted.working {
                return Ok(None);
            }
            // The leaf that is waited for comes first, unless a worker has it already.
            let next = if wanted.stream.is_some() { Some(column) } else { state.furthest_behind() };
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
            // A worker that panicked has nothing left to return.
            let _ = worker.join();
        }
    }
}

fn work(shared: &SharedState) {
    let mut state = shared.lock();
    while !state.stop {
        state = match state.furthest_behind() {
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
    /// The leaf with the fewest batches so far among the leaves without a thread that have at most half of their maximum in
    /// stock.
    fn furthest_behind(&self) -> Option<usize> {
        let free = |column: &Column| column.stream.is_some() && column.decoded.len() <= column.most_ahead / 2;
        let columns = self.columns.iter().enumerate().filter(|(_, column)| free(column));
        columns.min_by_key(|(_, column)| column.produced).map(|(index, _)| index)
    }
}

impl SharedState {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decodes a few batches of `column`, no more than its stock has room for, without holding the lock.
    fn decode<'a>(&'a self, mut state: MutexGuard<'a, State>, column: usize) -> MutexGuard<'a, State> {
        let slot = &mut state.columns[column];
        let Some(mut stream) = slot.stream.take() else { return state };
        slot.working = true;
        let room = slot.most_ahead.saturating_sub(slot.decoded.len());
        let mut missing = room.clamp(1, BATCHES_AT_ONCE);
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
                // The waiting thread must not wait forever; it gets the error instead.
                Err(_) => {
                    decoded.push_back(Err(Error::internal("a decoding thread panicked")));
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
