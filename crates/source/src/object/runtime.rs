//! The threads that requests run on.

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::{Mutex, PoisonError, mpsc};

use tokio::runtime::{Builder, Handle, Runtime};

/// The number of threads. Two are enough, because requests wait far more than they compute.
const THREADS: usize = 2;

/// Threads that are started when the first request is made.
#[derive(Default)]
pub(super) struct RequestThreads {
    runtime: Mutex<Option<Runtime>>,
}

impl RequestThreads {
    /// Runs `work` and waits for its result. The work runs on separate threads, so the caller may be on a thread of another runtime.
    pub(super) fn wait<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> io::Result<T> {
        let receiver = self.start(work)?;
        receiver.recv().map_err(|_| io::Error::other("the thread that made the request has ended"))
    }

    /// As [`wait`](Self::wait), but returns where the result will be received.
    pub(super) fn start<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> io::Result<mpsc::Receiver<T>> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.handle()?.spawn(async move {
            // This fails if the caller has stopped waiting.
            let _ = sender.send(work.await);
        });
        Ok(receiver)
    }

    fn handle(&self) -> io::Result<Handle> {
        let mut runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(runtime) = &*runtime {
            return Ok(runtime.handle().clone());
        }
        let built = Builder::new_multi_thread().worker_threads(THREADS).thread_name("lath-io").enable_all().build()?;
        Ok(runtime.insert(built).handle().clone())
    }
}

/// The last handle may be dropped on a thread of another runtime, which must not block.
impl Drop for RequestThreads {
    fn drop(&mut self) {
        let runtime = self.runtime.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(runtime) = runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for RequestThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestThreads").finish_non_exhaustive()
    }
}
