//! What a process that `fork` made may not use: threads and locks of files did not come along, and what is removed or unlocked there is
//! removed or unlocked for the other process too.
//!
//! Python calls `note_fork` in the new process. What was opened before answers with an error from then on, and is never dropped.

use std::array;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, OnceLock};

use lath::Runtime;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::Failure;
use crate::work;

/// How many forks lead from the first process that imported the module to this one.
static GENERATION: AtomicUsize = AtomicUsize::new(0);

/// Forks of forks that can read files: each has a place for its runtime that none before it has touched.
const MAX_GENERATION: usize = 64;

/// Has Python call `note_fork` in processes that it forks.
///
/// # Errors
/// What Python raises.
pub fn watch(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Not all systems have it.
    if let Some(register) = module.py().import("os")?.getattr_opt("register_at_fork")? {
        let arguments = PyDict::new(module.py());
        arguments.set_item("after_in_child", wrap_pyfunction!(note_fork, module)?)?;
        register.call((), Some(&arguments))?;
    }
    Ok(())
}

#[pyfunction]
fn note_fork() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    work::forget_drops();
}

fn generation() -> usize {
    GENERATION.load(Ordering::Relaxed)
}

/// The caches, files and connections of this process.
///
/// # Errors
/// For a fork of too many forks.
pub fn runtime() -> Result<Runtime, Failure> {
    forked_runtime().map(|runtime| runtime.unwrap_or_else(Runtime::of_process))
}

/// The runtime of a forked process: that of the process it was forked from may be locked for ever.
///
/// # Errors
/// As [`runtime`].
pub fn forked_runtime() -> Result<Option<Runtime>, Failure> {
    static RUNTIMES: LazyLock<[OnceLock<Runtime>; MAX_GENERATION]> =
        LazyLock::new(|| array::from_fn(|_| OnceLock::new()));
    let Some(place) = generation().checked_sub(1) else { return Ok(None) };
    let runtime = RUNTIMES.get(place).ok_or_else(|| {
        Failure::invalid(format!("a process that is {} forks away from the first cannot open files", place + 1))
    })?;
    Ok(Some(runtime.get_or_init(|| Runtime::builder().build()).clone()))
}

/// The process in which something was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin(usize);

impl Origin {
    /// This process.
    pub fn here() -> Self {
        Self(generation())
    }

    /// Fails in another process than this one, which may not use what is called `what`.
    ///
    /// # Errors
    /// If this is not the process.
    pub fn check(self, what: &str) -> Result<(), Failure> {
        if self == Self::here() {
            return Ok(());
        }
        Err(Failure::invalid(format!("{what} belongs to the process that this one was forked from: open it anew here")))
    }
}

/// A value that only the process that made it uses and drops.
#[derive(Debug)]
pub struct OfProcess<T> {
    value: Option<T>,
    origin: Origin,
}

impl<T> OfProcess<T> {
    /// A value of this process.
    pub fn new(value: T) -> Self {
        Self { value: Some(value), origin: Origin::here() }
    }

    /// The value, which is called `what` in an error.
    ///
    /// # Errors
    /// In another process.
    pub fn get(&self, what: &str) -> Result<&T, Failure> {
        self.origin.check(what)?;
        self.value.as_ref().ok_or_else(|| taken(what))
    }

    /// The value to be changed.
    ///
    /// # Errors
    /// In another process.
    pub fn get_mut(&mut self, what: &str) -> Result<&mut T, Failure> {
        self.origin.check(what)?;
        self.value.as_mut().ok_or_else(|| taken(what))
    }

    /// The value itself.
    ///
    /// # Errors
    /// In another process.
    pub fn into_inner(mut self, what: &str) -> Result<T, Failure> {
        self.origin.check(what)?;
        self.value.take().ok_or_else(|| taken(what))
    }
}

fn taken(what: &str) -> Failure {
    Failure::bug(format!("{what} was taken already"))
}

impl<T> Drop for OfProcess<T> {
    fn drop(&mut self) {
        if self.origin != Origin::here() {
            mem::forget(self.value.take());
        }
    }
}
