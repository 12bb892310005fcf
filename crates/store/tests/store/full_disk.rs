//! A disk that is really full: a file system of a few megabytes without other writers. A write that does not fit
//! returns an error that says so, nothing committed is lost, and the store continues, also after a kill.
//!
//! The file system is a `tmpfs` mounted in a namespace of a child of the test; `LATH_SMALL_DISK` names a folder on
//! another small file system to use instead. On machines that do not allow mounting, the test reports that it did not
//! run.

#![cfg(target_os = "linux")]
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;
use std::process::{Command, Stdio};

use fastrand::Rng;
use lath_store::{Durability, Error, Options, Store};
use lath_testkit::Seeded;

const FOLDER: &str = "LATH_SMALL_DISK";
const SEED: &str = "LATH_SMALL_DISK_FILL";

/// The bytes of another file, which is removed to make room: more than the data file grows by at once.
const BALLAST_BYTES: usize = 3 << 19;

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

fn try_open(folder: &Path) -> lath_store::Result<Store> {
    // A log this short is overwritten before the disk is full.
    let options = Options::new().background_checkpoints(false).log_limit_bytes(1 << 20).capacity_bytes(1 << 30);
    options.open(folder.join("store"))
}

fn open(folder: &Path) -> Store {
    try_open(folder).unwrap()
}

/// Commits until the disk is full, and returns the error.
fn fill(
    store: &Store,
    entries: &mut Entries,
    random: &mut Rng,
    durability: Durability,
    mut done: impl FnMut(),
) -> Error {
    loop {
        let changes: Vec<_> = (0..random.usize(1..20)).map(|_| change(random)).collect();
        let commit = || {
            let mut transaction = store.begin()?;
            let mut tree = transaction.tree("data")?;
            for (key, value) in &changes {
                tree.upsert(key, value)?;
            }
            transaction.commit_with(durability)
        };
        if let Err(error) = commit() {
            return error;
        }
        entries.extend(changes);
        done();
        if random.u8(..100) == 0 {
            store.checkpoint().unwrap();
        }
    }
}

fn change(random: &mut Rng) -> (Vec<u8>, Vec<u8>) {
    let len = if random.u8(..20) == 0 { random.usize(..30_000) } else { random.usize(..300) };
    (random.u32(..100_000).to_be_bytes().to_vec(), vec![random.u8(..); len])
}

fn assert_whole(store: &Store, entries: &Entries, what: &str) {
    let snapshot = store.snapshot().unwrap();
    let tree = snapshot.tree("data").unwrap().unwrap();
    let found: Entries = tree.iter().map(|entry| entry.map(|(key, value)| (key, value.to_vec())).unwrap()).collect();
    assert!(found == *entries, "{what}: {} keys are there, and {} should be", found.len(), entries.len());
    let report = store.check().unwrap();
    assert!(report.is_sound(), "{what}: {:#?}", report.problems);
}

fn assert_full(error: &Error, folder: &Path) {
    let Error::Io { source, path, .. } = error else { panic!("{error:?}") };
    assert_eq!(source.kind(), ErrorKind::StorageFull, "{error}");
    assert!(path.starts_with(folder) && error.to_string().contains("No space left"), "{error}");
}

fn remove_files(folder: &Path) {
    for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).filter(|path| path.is_file()) {
        std::fs::remove_file(file).unwrap();
    }
}

fn run(folder: &Path) {
    let mut random = Seeded::new("a full disk");
    let mut entries = Entries::new();
    let mut store = open(folder);
    let (mut refused, mut removed, mut made_room) = (0, 0, 0);
    let ballast = folder.join("ballast");
    for round in 0..9 {
        let what = format!("round {round}");
        if !ballast.exists() {
            drop(store);
            remove_files(folder);
            std::fs::write(&ballast, vec![1; BALLAST_BYTES]).unwrap();
            entries.clear();
            store = open(folder);
        }
        let durability = [Durability::Sync, Durability::Deferred, Durability::Off][round % 3];
        let error = fill(&store, &mut entries, &mut random, durability, || ());
        assert_full(&error, folder);
        assert_whole(&store, &entries, &what);
        // Removals make room, once the previous checkpoint no longer needs the nodes.
        let keys: Vec<_> = entries.keys().filter(|_| random.u8(..3) > 0).cloned().collect();
        let mut durability = Durability::Sync;
        for (index, key) in keys.iter().enumerate() {
            let remove = |durability| {
                let mut transaction = store.begin()?;
                assert!(transaction.tree("data")?.remove(key)?);
                transaction.commit_with(durability)
            };
            if let Err(error) = remove(durability) {
                assert_full(&error, folder);
                refused += 1;
                // The nodes that removals copy take room until a checkpoint, and the log may have no room either: so
                // without a checkpoint, and then again after one.
                store.checkpoint().unwrap_or_else(|error| panic!("{what}: {error}"));
                durability = Durability::Off;
                if let Err(error) = remove(durability) {
                    assert_full(&error, folder);
                    assert!(ballast.exists(), "{what}: there is room, and no key can be removed: {error}");
                    std::fs::remove_file(&ballast).unwrap();
                    made_room += 1;
                    remove(durability).unwrap_or_else(|error| panic!("{what}, with room on the disk: {error}"));
                }
            }
            if index % 50 == 49 && durability == Durability::Off {
                store.checkpoint().unwrap_or_else(|error| panic!("{what}: {error}"));
                durability = Durability::Sync;
            }
            entries.remove(key);
            removed += 1;
        }
        store.checkpoint().unwrap();
        assert_whole(&store, &entries, &what);
        if round % 2 == 1 {
            drop(store);
            store = open(folder);
            assert_whole(&store, &entries, &format!("{what}, opened again"));
        }
    }
    println!("9 times full, {removed} keys removed, {refused} refused at first, {made_room} until there was room");
    drop(store);
    remove_files(folder);
    entries.clear();

    // Kill a process on a full disk. The replayed commits may then be laid out worse than before, but rarely need more
    // than the reserve.
    for round in 0..3 {
        std::fs::write(&ballast, vec![1; BALLAST_BYTES]).unwrap();
        let seed = random.u64(..);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "full_disk::full_disk_is_an_error_and_loses_nothing", "--nocapture"])
            .env(FOLDER, folder)
            .env(SEED, seed.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let commits = lines.map_while(Result::ok).filter(|line| line.contains("committed")).count();
        assert!(!child.wait().unwrap().success());
        let mut again = Rng::with_seed(seed);
        let mut left = commits;
        while left > 0 {
            let changes: Vec<_> = (0..again.usize(1..20)).map(|_| change(&mut again)).collect();
            entries.extend(changes);
            left -= 1;
            again.u8(..100);
        }
        let store = try_open(folder).unwrap_or_else(|error| {
            assert_full(&error, folder);
            assert!(error.to_string().contains("commits of the log"), "{error}");
            println!("killed when full, round {round}: opened once there was room");
            std::fs::remove_file(&ballast).unwrap();
            open(folder)
        });
        assert_whole(&store, &entries, &format!("killed when full, round {round}, after {commits} commits"));
        let mut transaction = store.begin().unwrap();
        transaction.tree("data").unwrap().remove_range(b"", None).unwrap();
        transaction.commit_with(Durability::Off).unwrap();
        store.checkpoint().unwrap();
        entries.clear();
    }
}

#[test]
fn full_disk_is_an_error_and_loses_nothing() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let folder = Path::new(&folder);
        let Ok(seed) = std::env::var(SEED) else { return run(folder) };
        let (store, mut entries) = (open(folder), Entries::new());
        let mut random = Rng::with_seed(seed.parse().unwrap());
        let error = fill(&store, &mut entries, &mut random, Durability::Sync, || println!("\ncommitted"));
        assert_full(&error, folder);
        std::process::abort();
    }
    let folder = tempfile::tempdir().unwrap();
    let script = r#"mount -t tmpfs -o size=8m none "$0" || exit 77; exec "$@""#;
    let child = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script])
        .arg(folder.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "full_disk::full_disk_is_an_error_and_loses_nothing", "--nocapture"])
        .env(FOLDER, folder.path())
        .status();
    match child {
        Ok(status) if status.success() => {}
        Ok(status) if ![Some(1), Some(77)].contains(&status.code()) => panic!("on a full disk: {status}"),
        outcome => eprintln!("NOT RUN: this machine lets nobody mount a small file system ({outcome:?})"),
    }
}
