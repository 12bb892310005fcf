//! Processes that are killed while they write to a store: every reported commit is there, and none is there in part.
//!
//! `LATH_FULL=1` kills five hundred processes instead of forty.

#![cfg(unix)]
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use fastrand::Rng;
use lath_store::{Durability, Options, Store, Transaction};
use lath_testkit::{Seeded, lines_until_killed, say};

const PATH: &str = "LATH_TEST_KILL_PATH";
const KIND: &str = "LATH_TEST_KILL_KIND";
const SEED: &str = "LATH_TEST_KILL_SEED";

/// Ways for a child to commit: name, durability, threads.
const KINDS: [(&str, Durability, usize); 4] = [
    ("sync", Durability::Sync, 1),
    ("sync by four threads", Durability::Sync, 4),
    ("deferred", Durability::Deferred, 1),
    ("off", Durability::Off, 1),
];

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// The changes of commit `number`: entries put, or removed if there is no value.
fn changes(seed: u64, number: u64) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let mut random = Rng::with_seed(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let count = 1 + random.usize(..8);
    std::iter::repeat_with(|| {
        let key = format!("key {}", random.u32(..500)).into_bytes();
        let len = if random.u8(..40) == 0 { random.usize(..9000) } else { random.usize(..200) };
        (key, (random.u8(..4) > 0).then(|| vec![number as u8; len]))
    })
    .take(count)
    .collect()
}

fn apply(entries: &mut Entries, seed: u64, number: u64) {
    for (key, value) in changes(seed, number) {
        match value {
            Some(value) => entries.insert(key, value),
            None => entries.remove(&key),
        };
    }
}

/// Applies the next commit's changes, and returns its number.
fn write_next(transaction: &mut Transaction, seed: u64) -> u64 {
    let number = 1 + count(transaction.tree("count").unwrap().get(b"").unwrap());
    transaction.tree("count").unwrap().upsert(b"", &number.to_le_bytes()).unwrap();
    let mut tree = transaction.tree("data").unwrap();
    for (key, value) in changes(seed, number) {
        match value {
            Some(value) => tree.upsert(&key, &value).unwrap(),
            None => tree.remove(&key).unwrap(),
        };
    }
    number
}

fn count(value: Option<&[u8]>) -> u64 {
    value.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
}

fn options() -> Options {
    Options::new().log_limit_bytes(1 << 16).capacity_bytes(1 << 30)
}

/// Not a test: the program of the children.
#[test]
fn child() {
    let Ok(path) = std::env::var(PATH) else { return };
    let (_, durability, threads) = KINDS[std::env::var(KIND).unwrap().parse::<usize>().unwrap()];
    let seed = std::env::var(SEED).unwrap().parse().unwrap();
    loop {
        let store = options().open(&path).unwrap();
        say("open");
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| commit_often(&store, durability, seed));
            }
        });
    }
}

fn commit_often(store: &Store, durability: Durability, seed: u64) {
    for _ in 0..100 {
        let mut transaction = store.begin().unwrap();
        let mut number = write_next(&mut transaction, seed);
        if number.is_multiple_of(13) {
            // Undone, and repeated by the next transaction.
            drop(transaction);
            transaction = store.begin().unwrap();
            number = write_next(&mut transaction, seed);
        }
        transaction.commit_with(durability).unwrap();
        say(&format!("commit {number}"));
        if number.is_multiple_of(40) {
            store.checkpoint().unwrap();
            say(&format!("checkpoint {number}"));
        }
        if number.is_multiple_of(25) {
            store.compact().unwrap();
            say(&format!("checkpoint {number}"));
        }
    }
}

/// Runs a child for a while and kills it. Returns the last commit that it reported, and the last that it reported in a
/// checkpoint.
fn run_and_kill(path: &Path, kind: usize, seed: u64, delay: Duration) -> (u64, u64) {
    let (kind, seed) = (kind.to_string(), seed.to_string());
    let environment = [(PATH, path.as_os_str()), (KIND, OsStr::new(&kind)), (SEED, OsStr::new(&seed))];
    let lines = lines_until_killed("kill::child", &environment, delay);
    let last = |prefix: &str| {
        let numbers = lines.iter().filter_map(|line| line.strip_prefix(prefix)?.parse().ok());
        numbers.max().unwrap_or(0)
    };
    (last("commit "), last("checkpoint "))
}

/// Copies the store's files in their current state.
fn copy_store(from: &Path, to: &Path) {
    for suffix in ["", "-log0", "-log1"] {
        let name = |path: &Path| format!("{}{suffix}", path.display());
        // A child that was killed early may have created none of them.
        if Path::new(&name(from)).exists() {
            std::fs::copy(name(from), name(to)).unwrap();
        }
    }
}

#[test]
fn commits_acknowledged_by_killed_process_survive() {
    let kills = if std::env::var_os("LATH_FULL").is_some() { 500 } else { 40 };
    let mut random = Seeded::new("what a killed process said was committed is there");
    let (start, mut commits) = (Instant::now(), 0);
    for (kind, (name, durability, _)) in KINDS.into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let seed = random.u64(..);
        let (mut entries, mut number) = (Entries::new(), 0);
        for round in 0..kills / KINDS.len() {
            let delay = Duration::from_micros(random.u64(2_000..80_000));
            let (committed, checkpoint) = run_and_kill(&path, kind, seed, delay);
            let at_least = if durability == Durability::Off { checkpoint } else { committed };
            // Sometimes the next child recovers the store, instead of this process.
            let copy = folder.path().join("copy");
            let is_copy = random.bool();
            if is_copy {
                copy_store(&path, &copy);
            }
            let what = format!("{name}, round {round}, killed after {delay:?}");
            let store =
                options().open(if is_copy { &copy } else { &path }).unwrap_or_else(|error| panic!("{what}: {error}"));
            let before = number;
            number = verify(&store, &mut entries, number, seed, &what);
            assert!(number >= at_least, "{what}: {at_least} was committed, and {number} is there");
            assert!(number >= before, "{what}: {before} was there before, and {number} is now");
            commits += number - before;
        }
    }
    println!("{kills} kills, {commits} commits survived, {:.1?}", start.elapsed());
}

/// Brings `entries` from commit `number` to the commit that the store has, compares them, and returns that commit's
/// number.
fn verify(store: &Store, entries: &mut Entries, number: u64, seed: u64, what: &str) -> u64 {
    let snapshot = store.snapshot().unwrap();
    let there = match snapshot.tree("count").unwrap() {
        Some(tree) => count(tree.get(b"").unwrap()),
        None => 0,
    };
    for number in number + 1..=there {
        apply(entries, seed, number);
    }
    let mut found = Entries::new();
    if let Some(tree) = snapshot.tree("data").unwrap() {
        let mut cursor = tree.cursor();
        while cursor.next().unwrap() {
            found.insert(cursor.key().unwrap().to_vec(), cursor.value().unwrap().unwrap().to_vec());
        }
        assert_eq!(tree.len().unwrap(), found.len() as u64, "{what}: number of keys");
    }
    assert!(found == *entries, "{what}: commit {there} is not whole");
    there
}
