//! Something of every file, several of which are opened at a time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::file::DatasetFile;
use crate::error::Result;
use crate::file::ParquetFile;

/// What `look` says of each file, or why that could not be opened.
pub(super) fn of_each<T: Send>(
    files: &[DatasetFile],
    concurrency: usize,
    look: impl Fn(&ParquetFile) -> Result<T> + Sync,
) -> Vec<Result<T>> {
    let threads = thread::available_parallelism().map_or(1, usize::from).max(concurrency).min(files.len());
    let open = |file: &DatasetFile| file.open().and_then(|open| look(&open));
    if threads < 2 {
        return files.iter().map(open).collect();
    }
    let next = AtomicUsize::new(0);
    let seen = Mutex::new(Vec::with_capacity(files.len()));
    let work = || {
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(file) = files.get(at)
        {
            let of_file = open(file);
            seen.lock().unwrap_or_else(PoisonError::into_inner).push((at, of_file));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // A thread that cannot be had is done without.
            let _ = thread::Builder::new().name("lath-open".into()).spawn_scoped(scope, work);
        }
        work();
    });
    let mut seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    seen.sort_unstable_by_key(|(at, _)| *at);
    seen.into_iter().map(|(_, of_file)| of_file).collect()
}
