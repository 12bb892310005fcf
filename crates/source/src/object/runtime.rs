//! The runtime that requests run on.

use std::future::Future;
use std::io;
use std::sync::{Mutex, PoisonError, mpsc};

use tokio::runtime::{Builder, Handle, Runtime};

/// Threads of the runtime: requests wait far more than they compute.
const THREADS: usize = 2;

/// Runs `work` and waits for what it gives. It runs on the runtime's threads, so that the caller may be on another runtime's.
pub(super) fn wait<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> io::Result<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    handle()?.spawn(async move {
        // Whoever waited has gone if this fails.
        let _ = sender.send(work.await);
    });
    receiver.recv().map_err(|_| io::Error::other("the thread that made the request has ended"))
}

fn handle() -> io::Result<Handle> {
    static RUNTIME: Mutex<Option<Runtime>> = Mutex::new(None);
    let mut runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = &*runtime {
        return Ok(runtime.handle().clone());
    }
    let built = Builder::new_multi_thread().worker_threads(THREADS).thread_name("lath-io").enable_all().build()?;
    Ok(runtime.insert(built).handle().clone())
}
