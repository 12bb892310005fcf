//! Two processes whose threads run optimistic transactions, one of which is killed again and again. Everything that it reported is there, and
//! nothing is there in part.
//!
//! `LATH_FULL=1` kills five hundred processes instead of twenty; `LATH_KILLS` sets the number.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lath_store::{Durability, Error, OptimisticTransaction, Options, Result, Snapshot, Store};
use lath_testkit::{Seeded, lines_until_killed, say};

use crate::history::assert_sound;

const PATH: &str = "LATH_TEST_OPTIMISTIC_KILL_PATH";
const SHARED: &str = "LATH_TEST_OPTIMISTIC_KILL_SHARED";
const ACCOUNTS: u64 = 50;

fn options(is_shared: bool) -> Options {
    let options = Options::new().capacity_bytes(1 << 30).log_limit_bytes(1 << 16);
    if is_shared { options.busy_timeout(Duration::from_secs(600)) } else { options }
}

fn number(value: Option<&[u8]>) -> u64 {
    value.map_or(0, |bytes| u64::from_be_bytes(*bytes.first_chunk().unwrap()))
}

/// Moves an amount from one account to another, and adds an entry after the last one of the thread's list. Returns the length of the list.
fn transfer(transaction: &mut OptimisticTransaction, list: u8, random: u64) -> Result<u64> {
    let mut accounts = transaction.tree("accounts")?;
    for (account, is_from) in [(random % ACCOUNTS, true), (random / 64 % ACCOUNTS, false)] {
        let old = number(accounts.get(&account.to_be_bytes())?);
        let new = if is_from { old.wrapping_sub(random % 9) } else { old.wrapping_add(random % 9) };
        // Values of several lengths: long ones are in separate nodes.
        let value: Vec<u8> = new.to_be_bytes().into_iter().chain(vec![1; (new % 7) as usize * 150]).collect();
        accounts.put(&account.to_be_bytes(), &value)?;
    }
    let mut entries = transaction.tree("entries")?;
    let last = entries.as_tree()?.prefix(&[list]).next_back().transpose()?;
    let next = last.map_or(0, |(key, _)| number(key.get(1..))) + 1;
    entries.put(&[&[list][..], &next.to_be_bytes()].concat(), b"")?;
    // The list is cut at its front, and its length is kept elsewhere.
    if next % 16 == 0 {
        entries.remove_range(&[list], Some(&[&[list][..], &(next - 8).to_be_bytes()].concat()));
    }
    transaction.tree("lengths")?.put(&[list], &next.to_be_bytes())?;
    Ok(next)
}

/// Checks a commit, and returns the length of each list.
fn verify(snapshot: &Snapshot, what: &str) -> [u64; 256] {
    let mut lengths = [0; 256];
    let Some(accounts) = snapshot.tree("accounts").unwrap() else { return lengths };
    let sum = accounts.iter().fold(0_u64, |sum, entry| sum.wrapping_add(number(Some(entry.unwrap().1))));
    assert_eq!(sum, 0, "{what}: an amount was moved in part");
    let entries = snapshot.tree("entries").unwrap().unwrap();
    for entry in snapshot.tree("lengths").unwrap().unwrap().iter() {
        let (list, length) = entry.unwrap();
        let length = number(Some(length));
        let first = length - length % 16 - if length >= 16 { 8 } else { length - length % 16 };
        let expected: Vec<u64> = (first.max(1)..=length).collect();
        let found: Vec<u64> = entries.prefix(&list).map(|entry| number(entry.unwrap().0.get(1..))).collect();
        assert_eq!(found, expected, "{what}: list {list:?}");
        lengths[usize::from(list[0])] = length;
    }
    lengths
}

fn transfer_once(store: &Store, list: u8, random: &mut fastrand::Rng) -> u64 {
    let durability = if random.u8(..3) == 0 { Durability::Sync } else { Durability::Deferred };
    if random.u8(..4) == 0 {
        return store.transact(|transaction| transfer(transaction, list, random.u64(..))).unwrap();
    }
    loop {
        let mut transaction = match random.bool() {
            true => store.begin_on(&["accounts", "entries", "lengths"]).unwrap(),
            false => store.begin_optimistic().unwrap(),
        };
        let next = transfer(&mut transaction, list, random.u64(..)).unwrap();
        match transaction.commit_with(durability) {
            Ok(()) => return next,
            Err(Error::Conflict { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Not a test: the program of the processes that are killed.
#[test]
fn child() {
    let Ok(path) = std::env::var(PATH) else { return };
    let store = options(std::env::var_os(SHARED).is_some_and(|shared| shared == "yes")).open(path).unwrap();
    std::thread::scope(|scope| {
        for list in 0..3 {
            let store = store.clone();
            scope.spawn(move || {
                let mut random = fastrand::Rng::new();
                loop {
                    say(&format!("{list} {}", transfer_once(&store, list, &mut random)));
                }
            });
        }
    });
}

/// The last length that the killed process has reported for each list.
fn run_and_kill(path: &Path, is_shared: bool, delay: Duration) -> [u64; 256] {
    let shared = if is_shared { "yes" } else { "no" };
    let environment: [(&str, &OsStr); 2] = [(PATH, path.as_os_str()), (SHARED, OsStr::new(shared))];
    let mut reported = [0; 256];
    for line in lines_until_killed("optimistic::kill::child", &environment, delay) {
        if let Some((list, length)) = line.split_once(' ')
            && let (Ok(list), Ok(length)) = (list.parse::<usize>(), length.parse())
            && list < 3
        {
            reported[list] = length;
        }
    }
    reported
}

fn kill_count() -> u64 {
    match std::env::var("LATH_KILLS") {
        Ok(kills) => kills.parse().unwrap(),
        Err(_) if std::env::var_os("LATH_FULL").is_some() => 500,
        Err(_) => 20,
    }
}

#[test]
fn commits_of_killed_processes_are_there_in_full() {
    let mut random = Seeded::new("optimistic transactions of killed processes");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let (mut last, kills) = ([0; 256], kill_count());
    for kill in 0..kills {
        let is_shared = kill % 2 == 0;
        let delay = Duration::from_micros(random.u64(2_000..60_000));
        let what = format!("kill {kill} after {delay:?}");
        let reported = if is_shared {
            // This process writes meanwhile, and goes on after the other was killed.
            let store = options(true).open(&path).unwrap();
            let is_over = AtomicBool::new(false);
            std::thread::scope(|scope| {
                for list in 100..102 {
                    let (store, is_over, mut random) = (store.clone(), &is_over, random.fork());
                    scope.spawn(move || {
                        while !is_over.load(Ordering::Relaxed) {
                            transfer_once(&store, list, &mut random);
                            verify(&store.snapshot().unwrap(), "between");
                        }
                    });
                }
                let reported = run_and_kill(&path, true, delay);
                is_over.store(true, Ordering::Relaxed);
                reported
            })
        } else {
            run_and_kill(&path, false, delay)
        };
        let store = options(false).open(&path).unwrap();
        let lengths = verify(&store.snapshot().unwrap(), &what);
        for (list, length) in lengths.iter().enumerate() {
            assert!(
                *length >= reported[list].max(last[list]),
                "{what}: list {list} has {length} entries: {reported:?} {last:?}"
            );
        }
        assert_sound(&store, &what);
        last = lengths;
    }
    println!("{kills} kills, {} transactions survived", last.iter().sum::<u64>());
}

/// A process that is killed loses its commits without durability. A transaction that has read one of them cannot commit, and others can.
#[test]
fn reads_of_commits_that_are_lost_conflict() {
    const KEYS: [&[u8]; 2] = [b"kept", b"lost"];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = options(true).open(&path).unwrap();
    let mut transaction = store.begin().unwrap();
    for key in 0..500_u64 {
        transaction.tree("data").unwrap().put(&key.to_be_bytes(), b"").unwrap();
    }
    KEYS.iter().for_each(|key| transaction.tree("data").unwrap().put(key, b"1").unwrap());
    transaction.commit().unwrap();
    store.checkpoint().unwrap();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["optimistic::kill::child_without_durability", "--exact", "--nocapture", "--test-threads=1"])
        .env(LOST, &path)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut lines = std::io::BufRead::lines(out);
    assert!(lines.any(|line| line.unwrap().ends_with("committed")));
    let transactions = KEYS.map(|key| {
        let mut transaction = store.begin_optimistic().unwrap();
        let tree = transaction.tree("data").unwrap();
        // Ranges are compared by the generations of nodes, which say nothing after a recovery.
        let seen = tree.as_tree().unwrap().prefix(key).last().unwrap().unwrap().1.to_vec();
        assert_eq!(seen, if key == b"lost" { b"2" } else { b"1" });
        // In another tree, so that no node of this one is newer.
        transaction.tree("seen").unwrap().put(key, &seen).unwrap();
        transaction
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let [kept, lost] = transactions;
    kept.commit().unwrap();
    assert!(matches!(lost.commit(), Err(Error::Conflict { key: Some(key), .. }) if key == b"lost"));
    assert_eq!(store.snapshot().unwrap().tree("data").unwrap().unwrap().get(b"lost").unwrap(), Some(&b"1"[..]));
    assert_sound(&store, "the end");
}

const LOST: &str = "LATH_TEST_OPTIMISTIC_LOST_PATH";

/// Not a test: the program of the process whose commit is lost.
#[test]
fn child_without_durability() {
    let Ok(path) = std::env::var(LOST) else { return };
    let store = options(true).open(path).unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.tree("data").unwrap().put(b"lost", b"2").unwrap();
    transaction.commit_with(Durability::Off).unwrap();
    say("committed");
    loop {
        std::thread::park();
    }
}
