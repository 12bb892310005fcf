//! Readers of a store to which two processes write by turns and are killed again and again: at any time they see every commit that a
//! process has reported, and no commit older than one that another reader has seen.
//!
//! `LATH_FULL=1` and `LATH_KILLS` set the number of kills, as in [`kill`](super::kill).

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use lath_store::{Durability, Store};
use lath_testkit::{Seeded, say};

use super::kill::{commit, kill_count, options, verify};
use crate::history::assert_sound;

const PATH: &str = "LATH_TEST_MONOTONIC_PATH";

/// Not a test: the program of the processes that are killed. Their commits are in the log before readers see them.
#[test]
fn child() {
    let Ok(path) = std::env::var(PATH) else { return };
    // Replays of a log that is longer than in other tests take as long as some kills.
    let store = options().log_limit_bytes(1 << 20).open(path).unwrap();
    for round in 1_u64.. {
        say(&format!("commit {}", commit(&store, Durability::Deferred)));
        if round % 100 == 0 {
            store.compact().unwrap();
        }
    }
}

#[derive(Default)]
struct Progress {
    /// The last commit that a process has reported, or a reader has seen.
    last: AtomicU64,
    reads: AtomicU64,
    is_over: AtomicBool,
}

/// Runs the program, and kills it.
fn run_and_kill(path: &Path, delay: Duration, progress: &Progress) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["writers::monotonic::child", "--exact", "--nocapture", "--test-threads=1"])
        .env(PATH, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    thread::scope(|scope| {
        scope.spawn(|| {
            for line in lines {
                let number = line.unwrap().split_once("commit ").and_then(|(_, number)| number.parse().ok());
                progress.last.fetch_max(number.unwrap_or(0), Ordering::SeqCst);
            }
        });
        thread::sleep(delay);
        assert!(child.try_wait().unwrap().is_none(), "the child has ended by itself");
        child.kill().unwrap();
        child.wait().unwrap();
    });
}

/// Ends the readers, even if a writer fails.
struct End<'a>(&'a Progress);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

/// Reads until the test is over: through one handle, or through a new one each time.
fn read(path: &Path, progress: &Progress, keeps_open: bool) {
    let reader = options().read_only(true).wait(Duration::from_secs(600));
    let mut kept: Option<Store> = None;
    while !progress.is_over.load(Ordering::Relaxed) {
        let last = progress.last.load(Ordering::SeqCst);
        let store = kept.take().unwrap_or_else(|| reader.open(path).unwrap());
        let found = verify(&store);
        assert!(found >= last, "commit {last} is missing, there is {found}; kept open: {keeps_open}");
        progress.last.fetch_max(found, Ordering::SeqCst);
        progress.reads.fetch_add(1, Ordering::Relaxed);
        // A handle that has found no writer stays at what it has found.
        kept = Some(store).filter(|_| keeps_open);
    }
}

fn run(kills: u64, keeps_open: bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut first = Some(options().open(&path).unwrap());
    commit(first.as_ref().unwrap(), Durability::Deferred);
    let progress = Progress::default();
    thread::scope(|scope| {
        let _end = End(&progress);
        for reader in 0..2 {
            let (path, progress) = (&path, &progress);
            scope.spawn(move || read(path, progress, keeps_open && reader == 0));
        }
        // The reader that stays has found a writer.
        while progress.reads.load(Ordering::Relaxed) < 10 {
            thread::yield_now();
        }
        drop(first.take());
        let writers = [0_u64, 1].map(|writer| {
            let (path, progress) = (&path, &progress);
            scope.spawn(move || {
                let mut random = Seeded::with_seed("snapshots never go back", lath_testkit::seed() ^ writer);
                for _ in 0..kills / 2 {
                    run_and_kill(path, Duration::from_micros(random.u64(2_000..60_000)), progress);
                }
            })
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    let store = options().open(&path).unwrap();
    assert!(verify(&store) >= progress.last.load(Ordering::SeqCst));
    assert_sound(&store, "the end");
    let (last, reads) = (progress.last.into_inner(), progress.reads.into_inner());
    println!("{kills} kills, {last} commits, {reads} reads, kept open: {keeps_open}");
}

#[test]
fn snapshots_never_go_back_while_writers_are_killed() {
    run(kill_count(), true);
}

#[test]
fn new_readers_never_go_back_while_writers_are_killed() {
    run(kill_count(), false);
}
