use std::path::Path;

use arrow_array::RecordBatch;
use lath_parquet::{OpenOptions, Strings};

use super::Way;

/// Reads all of a file, passes every batch to `take`, and returns the number of rows.
pub fn read(way: Way, path: &Path, threads: usize, take: impl Fn(RecordBatch) + Sync) -> u64 {
    // SAFETY: the benchmark's files are not written to while they are measured.
    let options = unsafe { OpenOptions::new().memory_map(way.mapped) };
    let file = options.open(path).expect("file is readable");
    let strings = if way.views { Strings::Views } else { Strings::Offsets };
    let batches = file.scan().batch_size(way.batch_rows).strings(strings).threads(threads).by_column(true).build();
    let mut rows = 0;
    for batch in batches.expect("file can be read") {
        let batch = batch.expect("batch decodes");
        rows += batch.num_rows() as u64;
        take(batch);
    }
    rows
}
