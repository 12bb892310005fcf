//! One partition of shared rows, and its readers.
//!
//! A reader that needs a batch which has not been computed polls the input itself. So no reader waits for another one to be polled,
//! which might never happen: a join reads one input to its end before it polls the other one. When the input has made progress, all
//! waiting readers are woken, because the input knows only the reader that polled it last.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::task::{Context, Poll, Wake, Waker};

use arrow_array::RecordBatch;
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, SpillFile};
use datafusion::physical_plan::metrics::BaselineMetrics;
use futures_util::{Stream, StreamExt};

use super::storage::{Storage, StoredBatch};

/// A partition that several readers read.
pub(super) struct SharedPartition {
    /// The input, until its end. A reader locks it while it polls.
    input: Mutex<Input>,
    state: Mutex<State>,
}

type Input = Option<SendableRecordBatchStream>;

struct State {
    storage: Storage,
    /// The number of the next batch of each reader, started or not; `None` for one that has ended.
    next: Vec<Option<usize>>,
    /// The end of the input: success or an error.
    end: Option<Result<(), Arc<DataFusionError>>>,
    waiting: Vec<Waker>,
    /// Whether a reader found the input locked since its last poll.
    is_contended: bool,
}

/// The next item of a reader.
enum Item {
    Batch(StoredBatch),
    End(Result<(), Arc<DataFusionError>>),
    /// It has to be computed.
    Missing,
}

impl State {
    /// Takes the wakers of all readers that wait.
    fn take_waiting(&mut self) -> Vec<Waker> {
        self.is_contended = false;
        std::mem::take(&mut self.waiting)
    }

    fn finish(&mut self, end: Result<()>) {
        self.end = Some(end.map_err(Arc::new));
    }
}

fn wake(waiting: Vec<Waker>) {
    waiting.into_iter().for_each(Waker::wake);
}

/// Wakes all readers that wait for the input.
struct WakeReaders(Weak<SharedPartition>);

impl Wake for WakeReaders {
    fn wake(self: Arc<Self>) {
        if let Some(partition) = self.0.upgrade() {
            let waiting = partition.state().take_waiting();
            wake(waiting);
        }
    }
}

impl SharedPartition {
    pub(super) fn new(input: SendableRecordBatchStream, storage: Storage, readers: usize) -> Arc<Self> {
        let next = vec![Some(0); readers];
        let state = State { storage, next, end: None, waiting: Vec::new(), is_contended: false };
        Arc::new(Self { input: Mutex::new(Some(input)), state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next item of a reader. If it is missing, `waker` will be woken when it may be there.
    fn next(&self, reader: usize, waker: &Waker) -> Result<Item> {
        let mut state = self.state();
        let Some(number) = state.next[reader] else { return Ok(Item::End(Ok(()))) };
        if let Some(batch) = state.storage.get(number)? {
            if matches!(batch, StoredBatch::Memory { .. }) {
                Self::pass(&mut state, reader, number);
            }
            return Ok(Item::Batch(batch));
        }
        if let Some(end) = &state.end {
            return Ok(Item::End(end.clone()));
        }
        if !state.waiting.iter().any(|other| other.will_wake(waker)) {
            state.waiting.push(waker.clone());
        }
        Ok(Item::Missing)
    }

    /// Notes that a reader has read a batch.
    fn pass(state: &mut State, reader: usize, number: usize) {
        state.next[reader] = Some(number + 1);
        let needed = state.next.iter().flatten().min().copied();
        state.storage.free_until(needed.unwrap_or(usize::MAX));
    }

    /// Locks the input. If another reader polls it, that one wakes this one afterwards.
    fn try_input(&self) -> Result<MutexGuard<'_, Input>, TryLockError<MutexGuard<'_, Input>>> {
        match self.input.try_lock() {
            Err(TryLockError::WouldBlock) => {
                self.state().is_contended = true;
                // It may have looked for waiting readers just before.
                self.input.try_lock()
            }
            locked => locked,
        }
    }

    /// Polls the input once. Returns whether there is a new item; otherwise the readers that wait are woken later.
    fn advance(self: &Arc<Self>) -> bool {
        let mut input = match self.try_input() {
            Ok(input) => input,
            Err(TryLockError::WouldBlock) => return false,
            Err(TryLockError::Poisoned(_)) => {
                let mut state = self.state();
                state.finish(Err(exec_datafusion_err!("the query failed while it computed rows that are read again")));
                let waiting = state.take_waiting();
                drop(state);
                wake(waiting);
                return true;
            }
        };
        let polled = match input.as_mut() {
            Some(stream) => {
                let waker = Waker::from(Arc::new(WakeReaders(Arc::downgrade(self))));
                stream.poll_next_unpin(&mut Context::from_waker(&waker))
            }
            None => Poll::Ready(None),
        };
        let is_ready = polled.is_ready();
        match polled {
            Poll::Ready(Some(Ok(batch))) => {
                let mut state = self.state();
                let is_kept = state.next.iter().flatten().count() > 1;
                if let Err(error) = state.storage.push(batch, is_kept) {
                    state.finish(Err(error));
                    *input = None;
                }
            }
            Poll::Ready(Some(Err(error))) => {
                *input = None;
                self.state().finish(Err(error));
            }
            Poll::Ready(None) => {
                *input = None;
                let mut state = self.state();
                if state.end.is_none() {
                    state.finish(Ok(()));
                }
            }
            Poll::Pending => {}
        }
        drop(input);
        // Readers that found the input locked have not registered with it, so they have to poll again.
        let mut state = self.state();
        let waiting = if is_ready || state.is_contended { state.take_waiting() } else { Vec::new() };
        drop(state);
        wake(waiting);
        is_ready
    }

    /// Ends a reader. The others do not wait for its polls.
    fn leave(&self, reader: usize) {
        let mut state = self.state();
        state.next[reader] = None;
        let needed = state.next.iter().flatten().min().copied();
        state.storage.free_until(needed.unwrap_or(usize::MAX));
        let waiting = state.take_waiting();
        drop(state);
        if needed.is_none()
            && let Ok(mut input) = self.input.lock()
        {
            *input = None;
        }
        wake(waiting);
    }

    /// The rows for a reader.
    pub(super) fn read(
        self: Arc<Self>,
        reader: usize,
        metrics: BaselineMetrics,
    ) -> impl Stream<Item = Result<RecordBatch>> {
        Reader { partition: self, reader, file: None, has_ended: false, metrics }
    }
}

/// Reads a partition from its first batch.
struct Reader {
    partition: Arc<SharedPartition>,
    reader: usize,
    file: Option<OpenFile>,
    has_ended: bool,
    metrics: BaselineMetrics,
}

/// A file of spilled batches that is being read.
struct OpenFile {
    file: Arc<dyn SpillFile>,
    /// The position of the batch that the stream returns next.
    position: usize,
    batches: SendableRecordBatchStream,
}

impl Reader {
    fn poll_item(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<RecordBatch>>> {
        loop {
            match self.partition.next(self.reader, context.waker())? {
                Item::Batch(StoredBatch::Memory { batch, .. }) => return Poll::Ready(Ok(Some(batch))),
                Item::Batch(StoredBatch::File { file, position }) => {
                    return self.poll_file(&file, position, context).map_ok(Some);
                }
                Item::End(Ok(())) => return Poll::Ready(Ok(None)),
                Item::End(Err(error)) => return Poll::Ready(Err(DataFusionError::Shared(error))),
                Item::Missing => {
                    if !self.partition.advance() {
                        return Poll::Pending;
                    }
                }
            }
        }
    }

    fn poll_file(
        &mut self,
        file: &Arc<dyn SpillFile>,
        position: usize,
        context: &mut Context<'_>,
    ) -> Poll<Result<RecordBatch>> {
        let is_open = |open: &OpenFile| Arc::ptr_eq(&open.file, file) && open.position <= position;
        let mut open = match self.file.take().filter(is_open) {
            Some(open) => open,
            None => {
                let batches = self.partition.state().storage.read(file)?;
                OpenFile { file: Arc::clone(file), position: 0, batches }
            }
        };
        loop {
            let Poll::Ready(read) = open.batches.poll_next_unpin(context) else {
                self.file = Some(open);
                return Poll::Pending;
            };
            let missing = || exec_datafusion_err!("a temporary file ends before its last row");
            let batch = read.ok_or_else(missing)??;
            open.position += 1;
            if open.position > position {
                self.file = Some(open);
                let mut state = self.partition.state();
                if let Some(number) = state.next[self.reader] {
                    SharedPartition::pass(&mut state, self.reader, number);
                }
                return Poll::Ready(Ok(batch));
            }
        }
    }
}

impl Stream for Reader {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        let polled = self.poll_item(context).map(Result::transpose);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.has_ended = true;
            self.partition.leave(self.reader);
        }
        self.metrics.record_poll(polled)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if !self.has_ended {
            self.partition.leave(self.reader);
        }
    }
}
