//! Rewrites all keys of a store, round after round, and prints the length of its file, which must not exceed twice its
//! contents.
//!
//! `cargo run --release -p lath-store --example overwrite -- 20000000 10`

use std::error::Error;
use std::time::Instant;

use lath_store::{Durability, Options, Store};

const KEYS_PER_COMMIT: u64 = 512;

/// A distinct key for each number, in random order.
fn key(number: u64) -> [u8; 8] {
    let mixed = (number ^ number >> 31).wrapping_mul(0x7fb5_d329_728e_a185);
    (mixed ^ mixed >> 27).wrapping_mul(0x81da_def4_bc2d_d44d).to_be_bytes()
}

/// The step from one number to the next in a round, which visits each number once.
fn step_size(keys: u64, round: u64) -> u64 {
    let mut step = keys * 5 / 8 + 97 * round + 1;
    while gcd(step, keys) != 1 {
        step += 1;
    }
    step
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn write_all(store: &Store, keys: u64, round: u64) -> lath_store::Result<()> {
    let step = step_size(keys, round);
    let mut number = round % keys;
    for start in (0..keys).step_by(KEYS_PER_COMMIT as usize) {
        let mut transaction = store.begin()?;
        let mut tree = transaction.tree("data")?;
        for _ in start..keys.min(start + KEYS_PER_COMMIT) {
            tree.put(&key(number), &(number ^ round).to_le_bytes())?;
            number = (number + step) % keys;
        }
        transaction.commit_with(Durability::Deferred)?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().map_or(Ok(default), |argument| argument.parse());
    let (keys, rounds) = (number(20_000_000)?.max(1), number(10)?);
    let folder = tempfile::tempdir_in(".")?;
    let path = folder.path().join("store");
    let store = Options::new().open(&path)?;
    let mut ratio = 0.0;
    for round in 0..=rounds {
        let start = Instant::now();
        write_all(&store, keys, round)?;
        let seconds = start.elapsed().as_secs_f64();
        let length = std::fs::metadata(&path)?.len();
        let stats = store.stats()?;
        let live = stats.file_bytes - stats.free_bytes - stats.dead_bytes;
        ratio = length as f64 / live as f64;
        println!(
            "round {round:2}: {:4.0} keys a ms, file {:5} MiB, {:4} live, {:4} dead, {ratio:.2} times as long",
            keys as f64 / seconds / 1e3,
            length >> 20,
            live >> 20,
            stats.dead_bytes >> 20,
        );
    }
    let snapshot = store.snapshot()?;
    let tree = snapshot.tree("data")?.ok_or("the tree is gone")?;
    for number in 0..keys {
        if tree.get(&key(number))? != Some(&(number ^ rounds).to_le_bytes()[..]) {
            return Err(format!("key {number} has another value").into());
        }
    }
    if tree.len()? != keys {
        return Err(format!("{} keys, and {keys} were written", tree.len()?).into());
    }
    let report = store.check()?;
    if !report.is_sound() {
        return Err(format!("{:?}", report.problems).into());
    }
    if ratio > 2.0 {
        return Err("the file is more than twice as long as what is in it".into());
    }
    Ok(())
}
