//! Compares the metadata of a file with its data.

mod bloom;
mod bound;
mod leaf;
mod leaf_check;
mod observed;
mod size_statistics;
mod sorting;
mod task;

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use lath_format::FileMetaData;
use lath_parquet::ParquetFile;

pub(crate) use bloom::FilterSource;

use crate::console::progress::Progress;
use crate::failure::Result;
use crate::input::scan::Scan;
use crate::metadata::page_index::FileInfo;

/// A problem in a file.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) kind: Kind,
    place: String,
    what: String,
}

/// The kind of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Data and metadata disagree.
    Mismatch,
    /// Data is encrypted and its key was not given.
    Encrypted,
    /// Data cannot be decoded.
    Corrupt,
    /// A bug in Lath.
    Internal,
}

impl Finding {
    /// A problem that concerns a whole file, from a message that begins with its name.
    pub(crate) fn corrupt(name: &str, message: &str) -> Self {
        let what = message.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(message);
        Self { kind: Kind::Corrupt, place: String::new(), what: what.to_owned() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() { f.write_str(&self.what) } else { write!(f, "{}: {}", self.place, self.what) }
    }
}

/// Decodes the leaf `columns` of `file`, and returns all problems in file order. Bloom filters are checked if there are `bytes`.
pub(crate) fn check(
    file: &ParquetFile,
    name: &str,
    metadata: FileInfo<'_>,
    columns: &[usize],
    bytes: Option<&FilterSource>,
    scan: &Scan,
    progress: &mut Progress,
) -> Result<Vec<Finding>> {
    let mut findings = check_row_counts(metadata.metadata);
    let tasks = task::tasks(metadata.metadata, columns, scan.batch_size);
    progress.grow(tasks.iter().map(|task| task.len() as u64).sum());
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<Vec<Finding>>>>> = Mutex::new(tasks.iter().map(|_| None).collect());
    let (done, finished) = mpsc::channel();
    let threads = scan.threads;
    // Each worker decodes a few columns at a time: the parallelism is here, not below.
    let scan = Scan { threads: 1, ..scan.clone() };
    thread::scope(|scope| {
        for _ in 0..threads.min(tasks.len()) {
            let (done, tasks, results, next, scan) = (done.clone(), &tasks, &results, &next, &scan);
            scope.spawn(move || {
                let subject = task::CheckInput { file, name, metadata, bytes, scan };
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(task) = tasks.get(index) else { break };
                    let result = task.run(&subject);
                    if let Ok(mut results) = results.lock() {
                        results[index] = Some(result);
                    }
                    // The receiver is gone if the check was stopped.
                    let _ = done.send(task.len() as u64);
                }
            });
        }
        drop(done);
        for count in finished {
            progress.advance(count);
        }
    });
    let results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    for result in results.into_iter().flatten() {
        findings.extend(result?);
    }
    findings.extend(sorting::check(file, columns, &scan));
    Ok(findings)
}

fn check_row_counts(metadata: &FileMetaData) -> Vec<Finding> {
    let claimed = metadata.num_rows();
    // Their sum is below 2⁶³.
    let total = metadata.row_counts().iter().sum::<u64>().cast_signed();
    if claimed == total {
        return Vec::new();
    }
    let what = format!("{claimed} rows in the file's metadata, {total} in its row groups together");
    vec![Finding { kind: Kind::Mismatch, place: String::new(), what }]
}
