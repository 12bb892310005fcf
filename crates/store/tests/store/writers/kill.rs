//! Two processes that write by turns, one of which is killed again and again, at any time: in the middle of a transaction, of
//! a commit, of a checkpoint, or while the lock passes. All that it reported is there, and the other one goes on.
//!
//! `LATH_FULL=1` kills three hundred processes instead of thirty; `LATH_KILLS` sets the number.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use lath_store::{Durability, Options, Store};
use lath_testkit::{Seeded, lines_until_killed, say};

use crate::history::assert_sound;

const PATH: &str = "LATH_TEST_WRITERS_KILL_PATH";
const KEYS: u64 = 400;

pub(super) fn options() -> Options {
    let timeout = Duration::from_secs(600);
    Options::new().capacity_bytes(1 << 30).log_limit_bytes(1 << 16).busy_timeout(timeout)
}

/// Writes the number of the commit to many keys, and returns it.
pub(super) fn commit(store: &Store, durability: Durability) -> u64 {
    let mut transaction = store.begin().unwrap();
    let mut tree = transaction.tree("data").unwrap();
    let number = 1 + tree.get(b"number").unwrap().map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
    tree.put(b"number", &number.to_le_bytes()).unwrap();
    // Each key has the number of the last commit that wrote it.
    for key in (number % 7..KEYS).step_by(7) {
        let value: Vec<u8> = number.to_le_bytes().into_iter().cycle().take(8 + (number * key % 300) as usize).collect();
        tree.put(&key.to_be_bytes(), &value).unwrap();
    }
    transaction.commit_with(durability).unwrap();
    number
}

/// Checks all keys, and returns the number of the last commit.
pub(super) fn verify(store: &Store) -> u64 {
    let snapshot = store.snapshot().unwrap();
    let Some(tree) = snapshot.tree("data").unwrap() else { return 0 };
    let Some(number) = tree.get(b"number").unwrap() else { return 0 };
    let number = u64::from_le_bytes(number.try_into().unwrap());
    for key in 0..KEYS {
        let last = (number.saturating_sub(6)..=number).find(|last| *last > 0 && last % 7 == key % 7);
        let found =
            tree.get(&key.to_be_bytes()).unwrap().map(|value| u64::from_le_bytes(*value.first_chunk().unwrap()));
        assert_eq!(found, last, "key {key} after commit {number}");
    }
    number
}

/// Not a test: the program of the processes that are killed.
#[test]
fn child() {
    let Ok(path) = std::env::var(PATH) else { return };
    let store = options().open(path).unwrap();
    for round in 0_u64.. {
        let durability = if round % 3 == 0 { Durability::Sync } else { Durability::Deferred };
        say(&format!("commit {}", commit(&store, durability)));
        if round % 50 == 49 {
            store.compact().unwrap();
        }
    }
}

/// The last commit that the killed process has reported.
fn run_and_kill(path: &Path, delay: Duration) -> u64 {
    let environment: [(&str, &OsStr); 1] = [(PATH, path.as_os_str())];
    let lines = lines_until_killed("writers::kill::child", &environment, delay);
    lines.iter().filter_map(|line| line.strip_prefix("commit ")?.parse().ok()).max().unwrap_or(0)
}

/// The number of processes to kill.
pub(super) fn kill_count() -> u64 {
    match std::env::var("LATH_KILLS") {
        Ok(kills) => kills.parse().unwrap(),
        Err(_) if std::env::var_os("LATH_FULL").is_some() => 300,
        Err(_) => 30,
    }
}

#[test]
fn commits_of_killed_process_survive_another_writer() {
    let kills = kill_count();
    let mut random = Seeded::new("a killed writer frees the lock");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut store = options().open(&path).unwrap();
    let mut last = 0;
    for kill in 0..kills {
        let delay = Duration::from_micros(random.u64(2_000..60_000));
        let (is_over, goes_on) = (std::sync::atomic::AtomicBool::new(false), random.bool());
        let (reported, own) = std::thread::scope(|scope| {
            let writes = scope.spawn(|| {
                let mut own = 0;
                while goes_on && !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    own = commit(&store, Durability::Deferred);
                }
                own
            });
            let reported = run_and_kill(&path, delay);
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            (reported, writes.join().unwrap())
        });
        let what = format!("kill {kill} after {delay:?}");
        assert!(verify(&store) >= reported.max(own).max(last), "{what}");
        last = commit(&store, Durability::Sync);
        assert!(last > reported, "{what}");
        assert_sound(&store, &what);
        if random.u8(..4) == 0 {
            drop(store);
            store = options().open(&path).unwrap();
            assert_eq!(verify(&store), last, "{what}, opened again");
        }
    }
    println!("{kills} kills, {last} commits survived");
}
