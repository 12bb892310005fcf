//! The batches of a scan, as they come.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread, ThreadId};

use futures_core::Stream;
use lath::arrow::array::{RecordBatch, RecordBatchReader};
use lath::arrow::schema::{ArrowError, SchemaRef};
use lath::{Cancel, ScanProgress, ScanStream};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::batch::PyBatch;
use crate::capsule;
use crate::error::Failure;
use crate::fork::{OfProcess, Origin};
use crate::progress::{Watcher, of_scan};
use crate::scan::SCAN;
use crate::schema::PySchema;
use crate::work::{SIGNAL_PERIOD, guard, is_main_thread};

/// A scan that runs: threads of its own decode ahead of whoever asks for batches.
pub(crate) struct Running {
    scanning: OfProcess<Scanning>,
    schema: SchemaRef,
    progress: ScanProgress,
}

struct Scanning {
    stream: ScanStream,
    cancel: Cancel,
}

/// What there was after at most [`SIGNAL_PERIOD`].
enum Step {
    Batch(RecordBatch),
    End,
    Waiting,
}

impl Running {
    pub(crate) fn new(stream: ScanStream, cancel: Cancel) -> Self {
        let (schema, progress) = (stream.schema(), stream.progress());
        Self { scanning: OfProcess::new(Scanning { stream, cancel }), schema, progress }
    }

    fn step(&mut self) -> Result<Step, Failure> {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        let scanning = self.scanning.get_mut(SCAN)?;
        guard(|| {
            for wait in [true, false] {
                match Pin::new(&mut scanning.stream).poll_next(&mut context) {
                    Poll::Ready(Some(batch)) => return Ok(Step::Batch(batch?)),
                    Poll::Ready(None) => return Ok(Step::End),
                    Poll::Pending if wait => thread::park_timeout(SIGNAL_PERIOD),
                    Poll::Pending => {}
                }
            }
            Ok(Step::Waiting)
        })
    }
}

impl Drop for Scanning {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Wakes a thread that waits for a batch.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// For consumers that ask through the C interface, on threads of theirs.
pub(crate) struct Reader {
    running: Running,
    schema: SchemaRef,
    ended: bool,
    watcher: Option<Watcher>,
    /// The thread that has made this.
    maker: ThreadId,
}

impl Reader {
    pub(crate) fn new(running: Running, watcher: Option<Watcher>) -> Self {
        let schema = running.schema.clone();
        Self { running, schema, ended: false, watcher, maker: thread::current().id() }
    }

    /// Tells the watcher how far the scan is. Only the thread that has made this may wait for the GIL: whoever waits for others may
    /// have it.
    fn tell(&mut self, is_end: bool) -> Result<(), Failure> {
        let is_due = self.watcher.as_ref().is_some_and(|watcher| is_end || watcher.is_due());
        if !is_due || thread::current().id() != self.maker {
            return Ok(());
        }
        let position = of_scan(&self.running.progress);
        let told = Python::try_attach(|py| match &mut self.watcher {
            Some(_) if is_end => self.watcher.take().map_or(Ok(()), |watcher| watcher.finish(py, Some(position))),
            Some(watcher) => watcher.tell(py, position),
            None => Ok(()),
        });
        // Of an exception, the C interface takes the message.
        told.unwrap_or(Ok(())).map_err(|raised| Failure::invalid(format!("progress: {raised}")))
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, Failure> {
        loop {
            let step = self.running.step()?;
            self.tell(matches!(step, Step::End))?;
            match step {
                Step::Batch(batch) => return Ok(Some(batch)),
                Step::End => return Ok(None),
                // Other threads might wait for the GIL that who waits for them has.
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
        self.schema.clone()
    }
}

/// An iterator of the batches of a scan. What is left of it can be taken by its `__arrow_c_stream__`, once.
#[pyclass(name = "Batches", module = "lath", frozen)]
pub(crate) struct PyBatches {
    running: Mutex<Option<Running>>,
    origin: Origin,
    schema: SchemaRef,
    progress: ScanProgress,
    watcher: Mutex<Option<Watcher>>,
}

impl PyBatches {
    pub(crate) fn new(running: Running, watcher: Option<Watcher>) -> Self {
        let (schema, progress) = (running.schema.clone(), running.progress.clone());
        let (running, watcher) = (Mutex::new(Some(running)), Mutex::new(watcher));
        Self { running, origin: Origin::here(), schema, progress, watcher }
    }

    /// Takes the watcher for a call, during which other threads may ask for batches.
    fn take_watcher(&self) -> Option<Watcher> {
        self.watcher.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Tells the watcher how far the scan is.
    fn tell(&self, py: Python<'_>) -> PyResult<()> {
        let Some(mut watcher) = self.take_watcher() else { return Ok(()) };
        let told = if watcher.is_due() { watcher.tell(py, of_scan(&self.progress)) } else { Ok(()) };
        *self.watcher.lock().unwrap_or_else(PoisonError::into_inner) = Some(watcher);
        told
    }
}

#[pymethods]
impl PyBatches {
    /// Names and types of the columns.
    #[getter]
    fn schema(&self) -> PySchema {
        PySchema::new(self.schema.clone())
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyBatch>> {
        self.origin.check(SCAN)?;
        loop {
            let step = py.detach(|| {
                let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
                let step = running.as_mut().map_or(Ok(Step::End), Running::step);
                if matches!(step, Ok(Step::End) | Err(_)) {
                    *running = None;
                }
                step
            });
            let told = match &step {
                Ok(Step::Batch(_)) => self.tell(py),
                Ok(Step::End) => {
                    self.take_watcher().map_or(Ok(()), |watcher| watcher.finish(py, Some(of_scan(&self.progress))))
                }
                Ok(Step::Waiting) => py.check_signals().and_then(|()| self.tell(py)),
                Err(_) => self.take_watcher().map_or(Ok(()), |watcher| watcher.finish(py, None)),
            };
            let step = step?;
            if let Err(raised) = told {
                // The exception says more than whether a bar could be removed.
                let _ = self.close(py);
                return Err(raised);
            }
            match step {
                Step::Batch(batch) => return Ok(Some(PyBatch::new(batch))),
                Step::End => return Ok(None),
                Step::Waiting => {}
            }
        }
    }

    /// Stops the scan.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        // In a forked process, the lock might be held for ever.
        if self.origin != Origin::here() {
            return Ok(());
        }
        py.detach(|| drop(self.running.lock().unwrap_or_else(PoisonError::into_inner).take()));
        self.take_watcher().map_or(Ok(()), |watcher| watcher.finish(py, None))
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        self.origin.check(SCAN)?;
        let running = py.detach(|| self.running.lock().unwrap_or_else(PoisonError::into_inner).take());
        let Some(running) = running else {
            return Err(Failure::invalid("these batches were taken already: scan again").into());
        };
        capsule::stream_out(py, Box::new(Reader::new(running, self.take_watcher())))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema_out(py, &self.schema)
    }
}
