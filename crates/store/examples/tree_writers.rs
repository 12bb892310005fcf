//! Measures threads that each write to their own tree at the same time, each commit synced: `just tree-writers SECONDS`.
//!
//! Each thread adds 1 to a counter of its tree with [`Store::begin_on`], as often as it can. The counters have to
//! be the numbers of commits.

use std::thread;
use std::time::{Duration, Instant};

use lath_store::{Durability, Options, Store};

type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// The keys of a tree beside its counters.
const KEYS: u64 = 250_000;

fn main() -> Result<()> {
    let seconds = std::env::args().nth(1).map_or(Ok(3.0), |text| text.parse())?;
    println!("{:>7} {:>8} {:>12} {:>8} {:>8} {:>8}", "writers", "changes", "commits/s", "times", "p50 µs", "p99 µs");
    for changes in [1, 100, 1000] {
        let mut alone = 0.0;
        for writers in [1, 2, 4, 8] {
            let (rate, mut latencies) = measure(writers, changes, seconds)?;
            if writers == 1 {
                alone = rate;
            }
            latencies.sort_unstable();
            let micros = |part: f64| latencies[((latencies.len() - 1) as f64 * part) as usize].as_micros();
            let (median, slow) = (micros(0.5), micros(0.99));
            println!("{writers:>7} {changes:>8} {rate:>12.0} {:>8.2} {median:>8} {slow:>8}", rate / alone);
        }
    }
    Ok(())
}

/// Commits a second of all writers, and how long each commit took.
fn measure(writers: usize, changes: u64, seconds: f64) -> Result<(f64, Vec<Duration>)> {
    let folder = tempfile::tempdir_in(".")?;
    let store = Options::new().durability(Durability::Sync).open(folder.path().join("store"))?;
    for writer in 0..writers {
        let mut transaction = store.begin()?;
        let name = writer.to_string();
        let mut tree = transaction.tree(&name)?;
        for key in 0..KEYS {
            tree.put(&spread(key), &[7; 100])?;
        }
        transaction.commit()?;
    }
    store.checkpoint()?;
    let start = Instant::now();
    let latencies = thread::scope(|scope| {
        let store = &store;
        let threads: Vec<_> =
            (0..writers).map(|writer| scope.spawn(move || commit(store, writer, changes, start, seconds))).collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| "a writer failed")?).collect::<Result<Vec<_>>>()
    })?;
    let elapsed = start.elapsed().as_secs_f64();
    let snapshot = store.snapshot()?;
    for (writer, latencies) in latencies.iter().enumerate() {
        let tree = snapshot.tree(&writer.to_string())?.ok_or("a tree is missing")?;
        let counted = tree.get(b"commits")?.map(<[u8]>::to_vec);
        if counted != Some((latencies.len() as u64).to_be_bytes().to_vec()) {
            return Err(format!("writer {writer} made {} commits, and {counted:?} are there", latencies.len()).into());
        }
    }
    let latencies = latencies.concat();
    Ok((latencies.len() as f64 / elapsed, latencies))
}

fn commit(store: &Store, writer: usize, changes: u64, start: Instant, seconds: f64) -> Result<Vec<Duration>> {
    let name = writer.to_string();
    let mut latencies = Vec::new();
    let mut key = 0;
    while start.elapsed().as_secs_f64() < seconds {
        let begin = Instant::now();
        let mut transaction = store.begin_on(&[&name])?;
        let mut tree = transaction.tree(&name)?;
        for _ in 0..changes {
            key = (key + 7919) % KEYS;
            tree.put(&spread(key), &key.to_be_bytes())?;
        }
        tree.put(b"commits", &(latencies.len() as u64 + 1).to_be_bytes())?;
        transaction.commit()?;
        latencies.push(begin.elapsed());
    }
    Ok(latencies)
}

/// Keys in a random order.
fn spread(key: u64) -> [u8; 8] {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}
