//! Measures threads that write to one store: commits a second, and how long a thread that writes rarely waits for the writer.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lath_store::{Durability, Options, Store};

const SECONDS: f64 = 2.0;

/// The waits of the thread that writes rarely, and the commits a second of the others.
struct Figures {
    commits_per_second: f64,
    mean_wait: Duration,
    longest_wait: Duration,
}

fn measure(store: &Store, durability: Durability, threads: u64) -> Figures {
    let is_over = AtomicBool::new(false);
    let started = Instant::now();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..threads)
            .map(|thread| {
                let (store, is_over) = (store.clone(), &is_over);
                scope.spawn(move || {
                    let mut count = 0_u64;
                    while !is_over.load(Ordering::Relaxed) {
                        let mut transaction = store.begin().unwrap();
                        let mut tree = transaction.tree("data").unwrap();
                        let key = (count * threads + thread).wrapping_mul(0x9e37_79b9_7f4a_7c15) % 100_000;
                        tree.put(&key.to_be_bytes(), &[7; 100]).unwrap();
                        transaction.commit_with(durability).unwrap();
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        let mut waits = Vec::new();
        while started.elapsed().as_secs_f64() < SECONDS {
            std::thread::sleep(Duration::from_millis(10));
            let asked = Instant::now();
            let transaction = store.begin().unwrap();
            waits.push(asked.elapsed());
            drop(transaction);
        }
        is_over.store(true, Ordering::Relaxed);
        let elapsed = started.elapsed().as_secs_f64();
        let commits: u64 = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
        Figures {
            commits_per_second: commits as f64 / elapsed,
            mean_wait: waits.iter().sum::<Duration>() / waits.len() as u32,
            longest_wait: waits.into_iter().max().unwrap(),
        }
    })
}

#[test]
#[ignore = "measures for half a minute; run it alone, with LATH_BENCH_DIR on the disk to measure"]
fn commits_of_threads_per_second() {
    let folder = std::env::var_os("LATH_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    println!("{:<10} {:>8} {:>12} {:>12} {:>12}", "durability", "threads", "commits/s", "mean wait", "longest wait");
    for (name, durability) in [("off", Durability::Off), ("deferred", Durability::Deferred), ("sync", Durability::Sync)]
    {
        for threads in [1, 2, 4, 8] {
            let folder = tempfile::tempdir_in(&folder).unwrap();
            let store = Options::new().open(folder.path().join("store")).unwrap();
            let Figures { commits_per_second, mean_wait, longest_wait } = measure(&store, durability, threads);
            println!("{name:<10} {threads:>8} {commits_per_second:>12.0} {mean_wait:>12.1?} {longest_wait:>12.1?}");
        }
    }
}
