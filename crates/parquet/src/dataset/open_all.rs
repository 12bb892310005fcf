//! Calls a function for every file, with several files open at a time.

use std::thread;

use super::file::DatasetFile;
use crate::error::Result;
use crate::file::ParquetFile;
use crate::on_threads;

/// The results of `read` for each file, or errors of opening it; files after one that fails may be left out.
pub(super) fn read_each<T: Send>(
    files: &[DatasetFile],
    concurrency: usize,
    look: impl Fn(&ParquetFile) -> Result<T> + Sync,
) -> Vec<Result<T>> {
    let threads = thread::available_parallelism().map_or(1, usize::from).max(concurrency);
    on_threads::each(files.len(), threads, "lath-open", |file| files[file].open().and_then(|open| look(&open)))
}
