//! Threads for connections apart from the threads that compute.
//!
//! A thread that computes or waits for a file answers no one meanwhile; connections would seem lost.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::{Error, Result};

/// Threads of connections. They end when this is dropped.
#[derive(Debug)]
pub struct NetworkThreads {
    handle: Handle,
    /// `None` once the threads end.
    runtime: Option<Runtime>,
}

impl NetworkThreads {
    /// Starts one thread.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start() -> Result<Self> {
        let runtime = threads("lath-network", 1)?;
        Ok(Self { handle: runtime.handle().clone(), runtime: Some(runtime) })
    }

    /// Starts tasks on the threads.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Runs a future on this thread.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.handle.block_on(future)
    }

    /// Closes all connections.
    pub fn end(mut self, patience: Duration) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(patience);
        }
    }
}

impl Drop for NetworkThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Starts a runtime with a number of threads.
///
/// # Errors
/// If they cannot be started.
pub fn threads(name: &str, count: usize) -> Result<Runtime> {
    let started = Builder::new_multi_thread().worker_threads(count).thread_name(name).enable_all().build();
    started.map_err(|error| Error::Io(format!("cannot start threads: {error}")))
}
