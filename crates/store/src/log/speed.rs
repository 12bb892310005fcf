//! Measures how many commits a second the log makes durable.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Log;
use crate::storage::{FileStorage, Storage};

/// The length of the log at which a store makes a checkpoint.
const CHECKPOINT_BYTES: u64 = 32 << 20;

/// Commits and syncs a second by this many threads, which share nothing but the log and the writer lock.
fn commits_per_second(storage: &dyn Storage, payload: &[u8], threads: usize) -> f64 {
    let log = Log::open(storage, 0, 1).unwrap();
    log.replay(0, |_, _| Ok(())).unwrap();
    let next = Mutex::new(1);
    let start = Instant::now();
    let end = Duration::from_secs(3);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while start.elapsed() < end {
                    let position = {
                        let mut next = next.lock().unwrap();
                        if log.size_bytes() > CHECKPOINT_BYTES {
                            log.switch().unwrap();
                            log.retire(*next - 1).unwrap();
                        }
                        *next += 1;
                        log.append(*next - 1, &[payload]).unwrap()
                    };
                    log.sync(position).unwrap();
                }
            });
        }
    });
    let elapsed = start.elapsed().as_secs_f64();
    let commits = *next.lock().unwrap() - 1;
    let mut found = 0;
    let log = Log::open(storage, 0, 1).unwrap();
    let last = log.replay(commits.saturating_sub(1), |_, bytes| {
        assert_eq!(bytes, payload);
        found += 1;
        Ok(())
    });
    assert_eq!((last.unwrap(), found), (commits, 1));
    commits as f64 / elapsed
}

#[test]
#[ignore = "measures for half a minute; run it alone, in release, with LATH_BENCH_DIR on the disk to measure"]
fn durable_commits_per_second() {
    let folder = std::env::var_os("LATH_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    for payload_bytes in [48, 512, 12 << 10] {
        for threads in [1, 2, 8] {
            let folder = tempfile::tempdir_in(&folder).unwrap();
            let storage = FileStorage::new(folder.path().join("store")).unwrap();
            let commits = commits_per_second(&storage, &vec![0x5a; payload_bytes], threads);
            println!("{payload_bytes:6} bytes, {threads} threads: {commits:8.0} commits/s");
        }
    }
}
