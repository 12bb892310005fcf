//! The disk alone: writes at the end of a file's contents, each synced. A store that keeps a log and waits for it can
//! only be faster by sharing a sync among several commits.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::child::latencies_micros;

/// The file is overwritten from the start when the end is reached, so that it never grows.
const FILE_BYTES: u64 = 64 << 20;

/// Appends of this many bytes, each with `fdatasync`, into a file whose blocks were all written before.
pub fn appends(folder: &Path, bytes: usize, seconds: f64) -> Value {
    let path = folder.join("appended");
    let file =
        OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path).expect("a file is made");
    let zeros = vec![0; 1 << 20];
    for at in (0..FILE_BYTES).step_by(zeros.len()) {
        file.write_all_at(&zeros, at).expect("zeros are written");
    }
    file.sync_all().expect("zeros are synced");
    let record = vec![0x5a; bytes];
    let (mut at, mut latencies) = (0, Vec::new());
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < seconds {
        if at + bytes as u64 > FILE_BYTES {
            at = 0;
        }
        let append = Instant::now();
        file.write_all_at(&record, at).expect("a record is written");
        file.sync_data().expect("a record is synced");
        latencies.push(append.elapsed());
        at += bytes as u64;
    }
    let commits = latencies.len() as f64 / start.elapsed().as_secs_f64();
    json!({ "commits": commits, "commit_micros": latencies_micros(latencies) })
}
