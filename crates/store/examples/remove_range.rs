//! Removes half of the keys of a store and measures the commit, and then how the space becomes free.
//!
//! `cargo run --release -p lath-store --example remove_range -- 20000000`

use std::error::Error;
use std::time::Instant;

use lath_store::{Durability, Options, Store};

const KEYS_PER_COMMIT: u64 = 4096;

/// The commits after the removal whose longest one is printed.
const COMMITS: u64 = 2000;

fn load(store: &Store, keys: u64) -> lath_store::Result<()> {
    for start in (0..keys).step_by(KEYS_PER_COMMIT as usize) {
        let mut transaction = store.begin()?;
        let numbers = start..keys.min(start + KEYS_PER_COMMIT);
        transaction.tree("data")?.append(numbers.map(|number| (number.to_be_bytes(), number.to_le_bytes())))?;
        transaction.commit_with(Durability::Off)?;
    }
    store.checkpoint()
}

fn print_space(store: &Store, when: &str) -> lath_store::Result<u64> {
    let stats = store.stats()?;
    println!(
        "{when}: file {} MiB, {} free, {} dead, {} subtrees not visited",
        stats.file_bytes >> 20,
        stats.free_bytes >> 20,
        stats.dead_bytes >> 20,
        stats.removed_subtrees
    );
    Ok(stats.removed_subtrees)
}

fn main() -> Result<(), Box<dyn Error>> {
    let keys: u64 = std::env::args().nth(1).map_or(Ok(20_000_000), |argument| argument.parse())?;
    let folder = tempfile::tempdir_in(".")?;
    let store = Options::new().open(folder.path().join("store"))?;
    load(&store, keys)?;
    print_space(&store, "loaded")?;

    let start = Instant::now();
    let mut transaction = store.begin()?;
    let (low, high) = ((keys / 4).to_be_bytes(), (keys / 4 + keys / 2).to_be_bytes());
    let removed = transaction.tree("data")?.remove_range(&low, Some(&high))?;
    let removal = start.elapsed();
    transaction.commit_with(Durability::Deferred)?;
    let commit = start.elapsed();
    println!(
        "removed {removed} of {keys} keys in {:.0} µs, with its commit {:.0} µs",
        removal.as_secs_f64() * 1e6,
        commit.as_secs_f64() * 1e6
    );
    print_space(&store, "after the commit")?;

    let mut latencies = Vec::new();
    for number in 0..COMMITS {
        let start = Instant::now();
        let mut transaction = store.begin()?;
        transaction.tree("data")?.put(&number.to_be_bytes(), b"changed.")?;
        transaction.commit_with(Durability::Deferred)?;
        latencies.push(start.elapsed());
    }
    latencies.sort_unstable();
    let micros = |part: f64| latencies[(latencies.len() as f64 * part) as usize].as_secs_f64() * 1e6;
    println!("small commits meanwhile: median {:.0} µs, 99 % within {:.0} µs", micros(0.5), micros(0.99));
    let start = Instant::now();
    while print_space(&store, "while the thread visits nodes")? > 0 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    println!("all nodes were visited {:.2} s later", start.elapsed().as_secs_f64());
    store.checkpoint()?;
    print_space(&store, "after a checkpoint")?;

    let snapshot = store.snapshot()?;
    let tree = snapshot.tree("data")?.ok_or("the tree is gone")?;
    if removed != keys / 2 || tree.len()? != keys - removed || tree.iter().count() as u64 != keys - removed {
        return Err(format!("{removed} keys were removed, and {} are left", tree.len()?).into());
    }
    let report = store.check()?;
    if !report.is_sound() {
        return Err(format!("{:?}", report.problems).into());
    }
    Ok(())
}
