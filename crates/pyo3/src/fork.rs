//! Keeps a forked process from using resources of its parent: it has no copies of the threads and file locks, and
//! whatever it removes or unlocks is removed or unlocked for its parent too.
//!
//! Python calls `note_fork` in the new process. Objects that were opened before return an error from then on, and are
//! never dropped.

use std::array;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, OnceLock};

use lath::Runtime;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::Failure;
use crate::work;

/// The number of forks between the first process that imported the module and this one.
static GENERATION: AtomicUsize = AtomicUsize::new(0);

/// The maximum number of nested forks that can read files: each has a slot for its runtime that no process before it
/// has touched.
const MAX_GENERATION: usize = 64;

/// Makes Python call `note_fork` in forked processes.
///
/// # Errors
/// An exception of Python.
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
/// In a process with too many forks before it.
pub fn runtime() -> Result<Runtime, Failure> {
    forked_runtime().map(|runtime| runtime.unwrap_or_else(Runtime::global))
}

/// The runtime of a forked process. The runtime of its parent may be locked forever.
///
/// # Errors
/// The same as [`runtime`].
pub fn forked_runtime() -> Result<Option<Runtime>, Failure> {
    static RUNTIMES: LazyLock<[OnceLock<Runtime>; MAX_GENERATION]> =
        LazyLock::new(|| array::from_fn(|_| OnceLock::new()));
    let Some(place) = generation().checked_sub(1) else { return Ok(None) };
    let runtime = RUNTIMES.get(place).ok_or_else(|| {
        Failure::invalid(format!("a process that is {} forks away from the first cannot open files", place + 1))
    })?;
    Ok(Some(runtime.get_or_init(|| Runtime::builder().build()).clone()))
}

/// The process that created an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin(usize);

impl Origin {
    /// This process.
    pub fn here() -> Self {
        Self(generation())
    }

    /// Fails in any other process, which may not use the object. Errors call it `what`.
    ///
    /// # Errors
    /// If this is another process.
    pub fn check(self, what: &str) -> Result<(), Failure> {
        if self == Self::here() {
            return Ok(());
        }
        Err(Failure::invalid(format!("{what} belongs to the process that this one was forked from: open it anew here")))
    }
}

/// A value that only the process that created it uses and drops.
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

    /// The value. Errors call it `what`.
    ///
    /// # Errors
    /// In another process.
    pub fn get(&self, what: &str) -> Result<&T, Failure> {
        self.origin.check(what)?;
        self.value.as_ref().ok_or_else(|| taken(what))
    }

    /// The value, mutably.
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
