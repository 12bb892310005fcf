//! Files of a store that are removed or replaced while processes have the store open: no process goes on in files that no other
//! one finds, and what was committed before is there.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lath_store::{Durability, Error, Options, Store};

use super::processes::Process;
use crate::history::assert_sound;

/// Long enough for any machine. Errors come after a second at most.
const TIMEOUT: Duration = Duration::from_secs(600);

fn options() -> Options {
    Options::new().capacity_bytes(1 << 30).busy_timeout(TIMEOUT)
}

fn reader() -> Options {
    Options::new().capacity_bytes(1 << 30).read_only(true)
}

fn put(store: &Store, number: u64) -> lath_store::Result<()> {
    let mut transaction = store.begin()?;
    transaction.tree("data")?.put(&number.to_be_bytes(), &[7; 100])?;
    transaction.commit_with(Durability::Deferred)
}

/// The number of commits, whose keys are the numbers before it.
fn count(store: &Store) -> u64 {
    let snapshot = store.snapshot().unwrap();
    let Some(tree) = snapshot.tree("data").unwrap() else { return 0 };
    let count = tree.len().unwrap();
    assert!((0..count).all(|key| tree.get(&key.to_be_bytes()).unwrap().is_some()));
    count
}

fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Moves a file away, and puts a copy in its place.
fn replace(path: &Path) {
    let away = sibling(path, "-away");
    fs::rename(path, &away).unwrap();
    fs::copy(&away, path).unwrap();
}

fn assert_replaced<T>(result: lath_store::Result<T>, path: &Path, what: &str) {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match result.map(drop) {
        Err(Error::Replaced { path: found }) if found == path => {}
        other => panic!("{what}: {other:?}"),
    }
}

/// Commits until that fails, and returns the number of commits and the error.
fn commit_until_error(store: &Store, from: u64) -> (u64, Error) {
    let started = Instant::now();
    for number in from.. {
        if let Err(error) = put(store, number) {
            return (number, error);
        }
        assert!(started.elapsed() < TIMEOUT, "the process goes on in a file that no other one finds");
        std::thread::sleep(Duration::from_millis(1));
    }
    unreachable!("numbers do not end")
}

/// The files whose loss is noticed, and whether the store has everything afterwards.
const CASES: [(&str, bool, bool); 6] = [
    ("", false, false),
    ("", true, false),
    ("-lock", false, true),
    ("-lock", true, true),
    ("-log0", false, true),
    ("-log0", true, true),
];

#[test]
fn process_that_takes_its_turn_notices_lost_files() {
    for (suffix, replaces, keeps_all) in CASES {
        let what = format!("store{suffix}, replaced: {replaces}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("store");
        let stores = [0, 1].map(|_| options().open(&path).unwrap());
        (0..20).for_each(|number| put(&stores[number as usize % 2], number).unwrap());
        let lost = sibling(&path, suffix);
        if replaces {
            replace(&lost);
        } else {
            fs::remove_file(&lost).unwrap();
        }
        // The first one has given the lock away. It compares the files with their names at most once a millisecond.
        std::thread::sleep(Duration::from_millis(2));
        for _ in 0..2 {
            assert_replaced(put(&stores[0], 20), &lost, &what);
        }
        assert_eq!(count(&stores[0]), 20, "{what}: it is read all the same");
        assert!(options().open(&path).is_err(), "{what}");
        let copy = folder.path().join("copy");
        stores[0].snapshot().unwrap().backup(&copy).unwrap();
        assert_eq!(count(&reader().open(&copy).unwrap()), 20, "{what}: a backup");
        drop(stores);
        if !keeps_all {
            // The data file is put back, and its logs are as they were.
            if replaces {
                fs::rename(sibling(&path, "-away"), &path).unwrap();
            } else {
                assert!(matches!(options().open(&path), Err(Error::Corrupt { .. })), "{what}");
                continue;
            }
        }
        let store = options().open(&path).unwrap();
        assert_eq!(count(&store), 20, "{what}");
        assert_sound(&store, &what);
    }
}

#[test]
fn process_that_keeps_its_turn_notices_lost_files() {
    for (suffix, replaces, keeps_all) in CASES {
        for shares in [false, true] {
            let what = format!("store{suffix}, replaced: {replaces}, shared: {shares}");
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().canonicalize().unwrap().join("store");
            let alone = Options::new().capacity_bytes(1 << 30);
            let store = if shares { options().open(&path).unwrap() } else { alone.open(&path).unwrap() };
            (0..20).for_each(|number| put(&store, number).unwrap());
            let lost = sibling(&path, suffix);
            if replaces {
                replace(&lost);
            } else {
                fs::remove_file(&lost).unwrap();
            }
            let (commits, error) = commit_until_error(&store, 20);
            assert_replaced::<()>(Err(error), &lost, &what);
            assert_replaced(store.checkpoint(), &lost, &what);
            assert_eq!(count(&store), commits, "{what}: it is read all the same");
            drop(store);
            if keeps_all {
                let store = options().open(&path).unwrap();
                assert_eq!(count(&store), commits, "{what}");
                assert_sound(&store, &what);
            }
        }
    }
}

#[test]
fn lock_file_of_living_process_cannot_be_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("store");
    let mut other = Process::start(&path, "fill 30");
    other.expect("filled");
    let lock = sibling(&path, "-lock");
    fs::remove_file(&lock).unwrap();
    for _ in 0..2 {
        assert_replaced(options().open(&path), &lock, "a writer with another lock file");
        assert_replaced(Options::new().open(&path), &lock, "a writer that does not share");
    }
    assert!(matches!(reader().open(&path), Err(Error::Busy)), "a reader finds a writer");
    other.kill();
    let store = options().open(&path).unwrap();
    assert_eq!(store.snapshot().unwrap().sequence(), 30);
    assert_sound(&store, "after the kill");
}

#[test]
fn reader_that_only_reads_is_no_reason_to_lose_its_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("store");
    (0..10).for_each(|number| put(&options().open(&path).unwrap(), number).unwrap());
    // It found no writer, and is registered in the lock file.
    let idle = reader().open(&path).unwrap();
    let lock = sibling(&path, "-lock");
    fs::remove_file(&lock).unwrap();
    assert_replaced(options().open(&path), &lock, "a writer that would not know the reader");
    assert_eq!(count(&idle), 10);
    drop(idle);
    put(&options().open(&path).unwrap(), 10).unwrap();
}

#[test]
fn reader_does_not_mix_old_table_and_new_data() {
    for replaces in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("store");
        let store = options().open(&path).unwrap();
        (0..10).for_each(|number| put(&store, number).unwrap());
        store.checkpoint().unwrap();
        if replaces {
            replace(&path);
        } else {
            fs::remove_file(&path).unwrap();
        }
        assert_replaced(reader().open(&path), &path, "a reader");
        assert_replaced(options().open(&path), &path, "a writer");
        assert_eq!(path.exists(), replaces, "nothing is created");
    }
}

#[test]
fn logs_of_killed_process_that_are_gone_are_no_empty_logs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("store");
    let store = options().open(&path).unwrap();
    let mut other = Process::start(&path, "fill 30");
    other.expect("filled");
    let log = sibling(&path, "-log0");
    fs::rename(&log, sibling(&path, "-away")).unwrap();
    other.kill();
    assert_eq!(store.snapshot().unwrap().sequence(), 30);
    for _ in 0..2 {
        assert_replaced(put(&store, 0), &log, "the next writer");
    }
    fs::rename(sibling(&path, "-away"), &log).unwrap();
    put(&store, 0).unwrap();
    assert_eq!(store.snapshot().unwrap().sequence(), 31);
    assert_sound(&store, "with the logs");
}
