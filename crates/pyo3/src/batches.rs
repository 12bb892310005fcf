//! Batches that are computed on demand.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread, ThreadId};

use futures_core::Stream;
use lath::arrow::array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use lath::arrow::schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;

use crate::capsule;
use crate::error::Failure;
use crate::fork::{OfProcess, Origin};
use crate::progress::{Position, Watcher};
use crate::work::{SIGNAL_PERIOD, guard, is_main_thread, run_watched};

/// Batches, each computed when it is requested or earlier.
pub type BatchStream = Pin<Box<dyn Stream<Item = Result<RecordBatch, Failure>> + Send>>;

/// Returns the current position of the work.
pub type PositionOf = Arc<dyn Fn() -> Position + Send + Sync>;

/// A running scan or query. Its own threads compute batches ahead of the consumer.
pub struct Running {
    work: OfProcess<Work>,
    /// Batches that were peeked at, and are still to be returned.
    returned: VecDeque<RecordBatch>,
    /// Whether an error has ended the work before the last batch.
    failed: bool,
    /// Whether [`take_rows`](Self::take_rows) has come to the end.
    ended: bool,
    schema: SchemaRef,
    position: PositionOf,
    name: &'static str,
    /// Whether its threads call Python.
    calls_python: bool,
}

struct Work {
    batches: BatchStream,
    stop: Arc<dyn Fn() + Send + Sync>,
}

/// The result of waiting for at most [`SIGNAL_PERIOD`].
#[derive(Debug)]
pub enum Step {
    /// The next batch.
    Batch(RecordBatch),
    /// The end.
    End,
    /// No batch yet.
    Waiting,
}

impl Running {
    /// Runs `batches`. Errors call the work `name`. `stop` is called when no more batches are needed.
    pub fn new(
        name: &'static str,
        schema: SchemaRef,
        batches: BatchStream,
        position: PositionOf,
        stop: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let work = OfProcess::new(Work { batches, stop: Arc::new(stop) });
        Self {
            work,
            returned: VecDeque::new(),
            failed: false,
            ended: false,
            schema,
            position,
            name,
            calls_python: false,
        }
    }

    /// Says whether threads of the work call Python, to read file objects.
    #[must_use]
    pub fn calling_python(self, calls_python: bool) -> Self {
        Self { calls_python, ..self }
    }

    /// The names and types of the columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The remaining batches for another library, and the watcher that is told their progress.
    ///
    /// If threads of the work call Python, the batches are computed now: the other library may hold the GIL while it waits for them.
    ///
    /// # Errors
    /// The failure of such work, or an exception of a signal handler or the watcher.
    pub fn into_reader(self, py: Python<'_>, watcher: Option<Watcher>) -> PyResult<capsule::Reader> {
        if !self.calls_python {
            return Ok(Box::new(Reader::new(self, watcher)));
        }
        let (schema, position) = (self.schema.clone(), Arc::clone(&self.position));
        let stop = Arc::clone(&self.work.get(self.name)?.stop);
        let batches = run_watched(py, move || stop(), watcher, move || position(), || self.collect())?;
        Ok(Box::new(RecordBatchIterator::new(batches.into_iter().map(Ok), schema)))
    }

    /// Waits a while for a batch.
    ///
    /// # Errors
    /// The failure of the work, a panic in it, an earlier failure, or that this is another process.
    pub fn step(&mut self) -> Result<Step, Failure> {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        let work = self.work.get_mut(self.name)?;
        if self.failed {
            let what = format!("an error has ended {} before, so that rows are missing: start it again", self.name);
            return Err(Failure::invalid(what));
        }
        if let Some(batch) = self.returned.pop_front() {
            return Ok(Step::Batch(batch));
        }
        if self.ended {
            return Ok(Step::End);
        }
        let step = guard(|| {
            for wait in [true, false] {
                match work.batches.as_mut().poll_next(&mut context) {
                    Poll::Ready(Some(batch)) => return Ok(Step::Batch(batch?)),
                    Poll::Ready(None) => return Ok(Step::End),
                    Poll::Pending if wait => thread::park_timeout(SIGNAL_PERIOD),
                    Poll::Pending => {}
                }
            }
            Ok(Step::Waiting)
        });
        self.failed = step.is_err();
        step
    }

    /// Waits for all batches.
    ///
    /// # Errors
    /// The same as [`step`](Self::step).
    pub fn collect(mut self) -> Result<Vec<RecordBatch>, Failure> {
        self.take_until(|_| false)
    }

    /// Waits for the first batches, up to `row_count` rows together. [`step`](Self::step) returns them again.
    ///
    /// # Errors
    /// The same as [`step`](Self::step).
    pub fn peek(&mut self, row_count: usize) -> Result<Vec<RecordBatch>, Failure> {
        let batches = self.take_until(|taken| taken >= row_count)?;
        self.returned.extend(batches.iter().cloned());
        Ok(batches)
    }

    /// Waits for the next rows, at most `row_count`. After the end there are none.
    ///
    /// # Errors
    /// The same as [`step`](Self::step).
    pub fn take_rows(&mut self, row_count: usize) -> Result<Vec<RecordBatch>, Failure> {
        let (mut batches, mut left) = (Vec::new(), row_count);
        while left > 0 && !self.ended {
            match self.step()? {
                Step::Batch(batch) if batch.num_rows() > left => {
                    self.returned.push_front(batch.slice(left, batch.num_rows() - left));
                    batches.push(batch.slice(0, left));
                    left = 0;
                }
                Step::Batch(batch) => {
                    left -= batch.num_rows();
                    batches.push(batch);
                }
                Step::End => self.ended = true,
                Step::Waiting => {}
            }
        }
        Ok(batches)
    }

    fn take_until(&mut self, is_enough: impl Fn(usize) -> bool) -> Result<Vec<RecordBatch>, Failure> {
        let (mut batches, mut row_count) = (Vec::new(), 0);
        while !is_enough(row_count) {
            match self.step()? {
                Step::Batch(batch) => {
                    row_count += batch.num_rows();
                    batches.push(batch);
                }
                Step::End => break,
                Step::Waiting => {}
            }
        }
        Ok(batches)
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        (self.stop)();
    }
}

/// Wakes a thread that waits for a batch.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A reader for consumers that request batches through the C interface, on their own threads.
#[derive(Debug)]
pub struct Reader {
    running: Running,
    ended: bool,
    watcher: Option<Watcher>,
    /// The thread that created this.
    maker: ThreadId,
}

impl Reader {
    /// A reader of the remaining batches, and the watcher that is told their progress.
    pub fn new(running: Running, watcher: Option<Watcher>) -> Self {
        Self { running, ended: false, watcher, maker: thread::current().id() }
    }

    /// Reports the progress to the watcher. Only the thread that created this may wait for the GIL: a thread that waits
    /// for other threads may hold it.
    fn tell(&mut self, is_end: bool) -> Result<(), Failure> {
        let is_due = self.watcher.as_ref().is_some_and(|watcher| is_end || watcher.is_due());
        if !is_due || thread::current().id() != self.maker {
            return Ok(());
        }
        let position = (self.running.position)();
        let told = Python::try_attach(|py| match &mut self.watcher {
            Some(_) if is_end => self.watcher.take().map_or(Ok(()), |watcher| watcher.finish(py, Some(position))),
            Some(watcher) => watcher.tell(py, position),
            None => Ok(()),
        });
        // The C interface takes only the message of an exception.
        told.unwrap_or(Ok(())).map_err(|raised| Failure::invalid(format!("progress: {raised}")))
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, Failure> {
        loop {
            let step = self.running.step()?;
            self.tell(matches!(step, Step::End))?;
            match step {
                Step::Batch(batch) => return Ok(Some(batch)),
                Step::End => return Ok(None),
                // Other threads might wait for the GIL that the thread waiting for them holds.
                Step::Waiting if is_main_thread() => {
                    if Python::try_attach(|py| py.check_signals().is_err()) == Some(true) {
                        return Err(Failure::interrupted());
                    }
                }
                Step::Waiting => {}
            }
        }
    }
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let batch = self.next_batch().map_err(|failure| ArrowError::ExternalError(failure.message().into()));
        self.ended = !matches!(batch, Ok(Some(_)));
        batch.transpose()
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.running.schema.clone()
    }
}

/// A Python iterator over batches.
pub struct Iteration {
    running: Mutex<Option<Running>>,
    origin: Origin,
    schema: SchemaRef,
    position: PositionOf,
    watcher: Mutex<Option<Watcher>>,
    name: &'static str,
}

impl Iteration {
    /// Iterates over the remaining batches, and tells the watcher their progress.
    pub fn new(running: Running, watcher: Option<Watcher>) -> Self {
        let (schema, position, name) = (running.schema.clone(), Arc::clone(&running.position), running.name);
        let (running, watcher) = (Mutex::new(Some(running)), Mutex::new(watcher));
        Self { running, origin: Origin::here(), schema, position, watcher, name }
    }

    /// The names and types of the columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The next batch; `None` at the end.
    ///
    /// # Errors
    /// The failure of the work, or an exception of a signal handler or the watcher, which ends the iteration.
    pub fn next(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        self.origin.check(self.name)?;
        loop {
            let step = py.detach(|| {
                let mut running = self.lock();
                let step = running.as_mut().map_or(Ok(Step::End), Running::step);
                if matches!(step, Ok(Step::End) | Err(_)) {
                    *running = None;
                }
                step
            });
            let told = match &step {
                Ok(Step::Batch(_)) => self.tell(py),
                Ok(Step::End) => {
                    self.take_watcher().map_or(Ok(()), |watcher| watcher.finish(py, Some((self.position)())))
                }
                Ok(Step::Waiting) => py.check_signals().and_then(|()| self.tell(py)),
                Err(_) => self.take_watcher().map_or(Ok(()), |watcher| watcher.finish(py, None)),
            };
            let step = step?;
            if let Err(raised) = told {
                // The exception matters more than whether a bar could be removed.
                let _ = self.close(py);
                return Err(raised);
            }
            match step {
                Step::Batch(batch) => return Ok(Some(batch)),
                Step::End => return Ok(None),
                Step::Waiting => {}
            }
        }
    }

    /// Stops the work.
    ///
    /// # Errors
    /// An exception of the watcher.
    pub fn close(&self, py: Python<'_>) -> PyResult<()> {
        // In a forked process, the lock might be held forever.
        if self.origin != Origin::here() {
            return Ok(());
        }
        py.detach(|| drop(self.lock().take()));
        self.take_watcher().map_or(Ok(()), |watcher| watcher.finish(py, None))
    }

    /// Takes the remaining batches, for another library.
    ///
    /// # Errors
    /// If they were already taken.
    pub fn take(&self, py: Python<'_>) -> PyResult<capsule::Reader> {
        self.origin.check(self.name)?;
        let running = py.detach(|| self.lock().take());
        let running = running.ok_or_else(|| Failure::invalid("these batches were taken already: scan again"))?;
        running.into_reader(py, self.take_watcher())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the watcher for a call, during which other threads may request batches.
    fn take_watcher(&self) -> Option<Watcher> {
        self.watcher.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Reports the progress to the watcher.
    fn tell(&self, py: Python<'_>) -> PyResult<()> {
        let Some(mut watcher) = self.take_watcher() else { return Ok(()) };
        let told = if watcher.is_due() { watcher.tell(py, (self.position)()) } else { Ok(()) };
        *self.watcher.lock().unwrap_or_else(PoisonError::into_inner) = Some(watcher);
        told
    }
}

impl Drop for Iteration {
    /// Without the GIL, because threads that are waited for may wait for it.
    fn drop(&mut self) {
        let running = self.running.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(running) = running.filter(|running| running.calls_python) {
            Python::try_attach(|py| py.detach(|| drop(running)));
        }
    }
}

impl fmt::Debug for Iteration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iteration").field("schema", &self.schema).finish_non_exhaustive()
    }
}
