//! Whole files: every reader and writer runs in a separate process, so that memory can be attributed and no reader
//! warms another's allocator; times are measured inside the process, around one pass over the file.

pub mod checksum;
pub mod columns;
pub mod lineitem;
pub mod memory;
pub mod race;
pub mod readers;
pub mod write;
pub mod writers;

use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use serde_json::json;

use crate::machine;
use readers::{Library, Reader, Way};

/// The process of one reader: decodes `path` repeatedly, and prints one line of JSON.
pub fn decode(reader: Reader, path: &Path, threads: usize, repetitions: usize) {
    let mut rows = 0;
    let (mut seconds, mut cpu_seconds) = (Vec::new(), Vec::new());
    for _ in 0..repetitions {
        let (start, cpu_start) = (Instant::now(), machine::cpu_seconds());
        rows = reader.read(path, threads, drop);
        seconds.push(start.elapsed().as_secs_f64());
        cpu_seconds.push(machine::cpu_seconds() - cpu_start);
    }
    let version = match reader.library {
        Library::Lath => machine::locked_version("lath-parquet"),
        Library::Parquet => machine::parquet_version(),
    };
    println!("{}", json!({ "version": version, "rows": rows, "seconds": seconds, "cpu_seconds": cpu_seconds }));
}

/// Digests of every column as the `parquet` crate reads it. An error if Lath's differ in either string form.
pub fn verify(path: &Path) -> Result<Vec<checksum::Digest>, String> {
    let digests = |library, views, batch_rows| {
        let digests = Mutex::default();
        Reader { library, way: Way { views, batch_rows, mapped: false } }.read(path, 1, |batch| {
            checksum::add(&mut digests.lock().expect("no reader panicked"), &batch);
        });
        digests.into_inner().expect("no reader panicked")
    };
    let expected: Vec<checksum::Digest> = digests(Library::Parquet, false, 8_192);
    for views in [true, false] {
        let found = digests(Library::Lath, views, 65_536);
        if found != expected {
            let columns: Vec<usize> = (0..expected.len()).filter(|&at| found.get(at) != Some(&expected[at])).collect();
            return Err(format!("{}: columns {columns:?} differ (views: {views})", path.display()));
        }
    }
    Ok(expected)
}
