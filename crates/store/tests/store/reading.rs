//! Opening a store read-only: the commit it finds, that it changes none of the store's files, and that it does not
//! exclude writers.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lath_store::{Durability, Error, Options, Snapshot, Store, repair};

const SUFFIXES: [&str; 4] = ["", "-log0", "-log1", "-lock"];

fn file(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

fn put(store: &Store, round: u32) {
    let mut transaction = store.begin().unwrap();
    let mut tree = transaction.tree("main").unwrap();
    for key in 0..500_u32 {
        tree.upsert(&(key * 7 % (round + 400)).to_be_bytes(), &[round as u8; 50]).unwrap();
    }
    transaction.commit().unwrap();
}

fn entries(store: &Store) -> Vec<(Vec<u8>, Vec<u8>)> {
    read_entries(&store.snapshot().unwrap())
}

fn read_entries(snapshot: &Snapshot) -> Vec<(Vec<u8>, Vec<u8>)> {
    let tree = snapshot.tree("main").unwrap().unwrap();
    tree.iter().map(|entry| entry.unwrap()).map(|(key, value)| (key, value.to_vec())).collect()
}

/// Names, contents and times of all files in a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths
        .map(|path| (path.clone(), (std::fs::read(&path).unwrap(), path.metadata().unwrap().modified().unwrap())))
        .collect()
}

fn options() -> Options {
    Options::new().background_checkpoints(false)
}

/// A store in the state that a killed process leaves: three commits in the log, and two before them in a checkpoint if
/// `with_checkpoint`.
fn killed(path: &Path, with_checkpoint: bool) -> Vec<(Vec<u8>, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    let original = folder.path().join("original");
    let store = options().durability(Durability::Deferred).open(&original).unwrap();
    if with_checkpoint {
        put(&store, 1);
        put(&store, 2);
        store.checkpoint().unwrap();
    }
    (3..6).for_each(|round| put(&store, round));
    for suffix in SUFFIXES {
        std::fs::copy(file(&original, suffix), file(path, suffix)).unwrap();
    }
    entries(&store)
}

#[test]
fn idle_store_is_read_without_changes_to_its_files() {
    for (is_closed, with_checkpoint) in [(true, true), (false, true), (false, false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let expected = killed(&path, with_checkpoint);
        if is_closed {
            drop(options().open(&path).unwrap());
        }
        for lock_is_there in [true, false] {
            if !lock_is_there {
                std::fs::remove_file(file(&path, "-lock")).unwrap();
            }
            // Readers register in the lock file, which holds no data.
            let files = || {
                let mut files = files(folder.path());
                files.remove(&file(&path, "-lock"));
                files
            };
            let before = files();
            // Two at once, each with its own view.
            let readers = [0, 1].map(|_| Options::new().read_only(true).open(&path).unwrap());
            for reader in &readers {
                assert_eq!(entries(reader), expected);
                let report = reader.check().unwrap();
                assert!(report.is_sound() && report.keys == expected.len() as u64, "{report:?}");
                assert_eq!(reader.stats().unwrap().sequence, if with_checkpoint { 5 } else { 3 });
                assert!(matches!(reader.begin(), Err(Error::ReadOnly)));
                assert!(matches!(reader.checkpoint(), Err(Error::ReadOnly)));
                assert!(matches!(reader.compact(), Err(Error::ReadOnly)));
            }
            drop(readers);
            assert_eq!(files(), before);
        }
        assert_eq!(entries(&options().open(&path).unwrap()), expected);
    }
}

#[test]
fn writers_joining_reader_of_idle_store_keep_its_snapshot() {
    for (is_closed, with_checkpoint) in [(true, true), (false, true), (false, false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let expected = killed(&path, with_checkpoint);
        if is_closed {
            drop(options().open(&path).unwrap());
        }
        let reader = Options::new().read_only(true).verify_nodes(true).open(&path).unwrap();
        let snapshot = reader.snapshot().unwrap();
        for session in 0..3 {
            let writer = options().open(&path).unwrap();
            for round in 0..8 {
                put(&writer, 100 * session + round);
                writer.checkpoint().unwrap();
            }
            writer.compact().unwrap();
            assert!(writer.check().unwrap().is_sound());
            // The commit of the header, on which the reader has replayed the log.
            let held = match (is_closed, with_checkpoint) {
                (true, _) => 5,
                (false, true) => 2,
                (false, false) => 0,
            };
            assert_eq!(writer.stats().unwrap().oldest_reader, Some(held));
            // Another reader opens next to the writer, and sees its commits.
            let other = Options::new().read_only(true).open(&path).unwrap();
            assert_eq!(entries(&other), entries(&writer));
            assert_eq!(entries(&reader), expected);
        }
        let report = reader.check().unwrap();
        assert!(report.is_sound() && report.keys == expected.len() as u64, "{report:?}");
        assert!(matches!(reader.stats(), Err(Error::ReadOnly)));
        drop(reader);
        assert_eq!(snapshot.tree("main").unwrap().unwrap().len().unwrap(), expected.len() as u64);
        let writer = options().open(&path).unwrap();
        drop(snapshot);
        put(&writer, 1);
        assert_eq!(writer.stats().unwrap().oldest_reader, None);
    }
}

/// Keys and values, in the order of the keys.
type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// Random sessions of writers, with readers that open between two of them or, if `beside`, while one has the store
/// open.
fn keep_commits_through_sessions(seed: u64, beside: bool) {
    let mut random = fastrand::Rng::with_seed(seed);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut expected = killed(&path, random.bool());
    let mut readers: Vec<(Snapshot, Entries)> = Vec::new();
    let mut done = Vec::new();
    for session in 0..12 {
        let opened = |what: &str, done: &Vec<String>| {
            options()
                .open(&path)
                .unwrap_or_else(|error| panic!("seed {seed}, session {session}, {what}: {error}: {done:?}"))
        };
        let early = beside.then(|| opened("beside", &done));
        for _ in 0..random.usize(0..3) {
            let reader = Options::new().read_only(true).verify_nodes(random.bool()).open(&path).unwrap();
            assert!(entries(&reader) == expected, "seed {seed}, session {session}");
            // A reader that opens while others still hold a writer's commits sees commits of later writers, too: its
            // snapshot does not.
            readers.push((reader.snapshot().unwrap(), expected.clone()));
            done.push(format!("reader follows: {}", reader.stats().is_err()));
        }
        drop(early);
        let writer = opened("alone", &done);
        done.push("writer".to_owned());
        for _ in 0..random.u32(0..6) {
            put(&writer, random.u32(0..400));
            match random.u8(..6) {
                0 => {
                    done.push("checkpoint".to_owned());
                    writer.checkpoint().unwrap();
                }
                1 => {
                    done.push("compact".to_owned());
                    writer.compact().unwrap();
                }
                2 => {
                    done.push("remove".to_owned());
                    let mut transaction = writer.begin().unwrap();
                    let mut tree = transaction.tree("main").unwrap();
                    tree.remove_range(b"", Some(&random.u32(0..300).to_be_bytes())).unwrap();
                    transaction.commit().unwrap();
                }
                _ => done.push("put".to_owned()),
            }
        }
        expected = entries(&writer);
        assert!(writer.check().unwrap().is_sound(), "seed {seed}, session {session}");
        drop(writer);
        for (snapshot, expected) in &readers {
            assert!(read_entries(snapshot) == *expected, "seed {seed}, session {session}");
        }
        if !readers.is_empty() && random.bool() {
            done.push("drop".to_owned());
            drop(readers.swap_remove(random.usize(..readers.len())));
        }
    }
}

#[test]
fn readers_of_idle_stores_keep_their_commits_through_any_history() {
    (0..6).for_each(|seed| keep_commits_through_sessions(seed, false));
}

#[test]
fn readers_next_to_writers_keep_their_commits_through_any_history() {
    (0..6).for_each(|seed| keep_commits_through_sessions(seed, true));
}

#[test]
fn reader_without_write_access_to_lock_file_excludes_writers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    killed(&path, true);
    let lock = file(&path, "-lock");
    std::fs::remove_file(&lock).unwrap();
    // A link into a missing folder cannot be opened or created, not even by root.
    std::os::unix::fs::symlink(folder.path().join("nowhere/lock"), &lock).unwrap();
    let reader = Options::new().read_only(true).open(&path).unwrap();
    std::fs::remove_file(&lock).unwrap();
    assert!(matches!(options().open(&path), Err(Error::Busy)));
    drop(reader);
    drop(options().open(&path).unwrap());
}

#[test]
fn missing_store_is_not_created() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    for options in [Options::new().read_only(true), Options::new().create(false).read_only(true)] {
        assert!(matches!(options.open(&path), Err(Error::Io { .. })));
    }
    assert!(files(folder.path()).is_empty());
    for contents in [vec![], vec![0; 5000]] {
        std::fs::write(&path, contents).unwrap();
        let before = files(folder.path());
        assert!(matches!(Options::new().read_only(true).open(&path), Err(Error::Corrupt { .. })));
        assert_eq!(files(folder.path()), before);
        assert!(matches!(Options::new().create(false).open(&path), Err(Error::Corrupt { .. })));
    }
}

#[test]
fn store_with_log_but_no_data_file_is_damaged_and_left_unchanged() {
    for contents in [None, Some(vec![]), Some(vec![0; 1 << 16])] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        killed(&path, true);
        match &contents {
            None => std::fs::remove_file(&path).unwrap(),
            Some(contents) => std::fs::write(&path, contents).unwrap(),
        }
        let before = files(folder.path());
        for options in [Options::new(), Options::new().create(false), Options::new().read_only(true)] {
            let Err(error) = options.open(&path) else { panic!("it opens") };
            assert!(matches!(&error, Error::Corrupt { .. }), "{error}");
            let text = error.to_string();
            assert!(text.contains("backup") && text.contains("lath kv repair"), "{text}");
        }
        let after = files(folder.path());
        for suffix in ["", "-log0", "-log1"] {
            let path = file(&path, suffix);
            assert_eq!(after.get(&path), before.get(&path), "{}", path.display());
        }
        assert_eq!(after.len(), before.len());
    }
}

#[test]
fn complete_log_repairs_store_without_data_file() {
    for is_removed in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let (path, target) = (folder.path().join("store"), folder.path().join("repaired"));
        let expected = killed(&path, false);
        if is_removed {
            std::fs::remove_file(&path).unwrap();
        } else {
            std::fs::write(&path, b"").unwrap();
        }
        let before = files(folder.path());
        let report = repair(&path, &target).unwrap();
        assert_eq!((report.keys, report.commits, report.problems.len()), (0, 3, 1), "{report:?}");
        let store = Store::open(&target).unwrap();
        assert!(store.check().unwrap().is_sound());
        assert_eq!(entries(&store), expected);
        drop(store);
        let mut after = files(folder.path());
        after.retain(|path, _| before.contains_key(path));
        assert_eq!(after, before);
    }
}

#[test]
fn log_without_first_commits_restores_the_rest_and_reports_it() {
    let folder = tempfile::tempdir().unwrap();
    let (path, target) = (folder.path().join("store"), folder.path().join("repaired"));
    let store = options().open(folder.path().join("original")).unwrap();
    for round in 1..9 {
        let mut transaction = store.begin().unwrap();
        transaction.tree("main").unwrap().upsert(&[round], b"value").unwrap();
        transaction.commit().unwrap();
        if round == 2 || round == 5 {
            // From here on, the other log file is used.
            store.checkpoint().unwrap();
        }
    }
    for suffix in ["-log0", "-log1"] {
        std::fs::copy(file(&folder.path().join("original"), suffix), file(&path, suffix)).unwrap();
    }
    let report = repair(&path, &target).unwrap();
    assert_eq!(report.commits, 6, "{report:?}");
    assert!(report.problems.iter().any(|problem| problem.what.contains("commits 1 to 2")), "{report:?}");
    let keys: Vec<Vec<u8>> = entries(&Store::open(&target).unwrap()).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, (3..9).map(|key| vec![key]).collect::<Vec<_>>());
}

#[test]
fn copy_refuses_path_with_log_of_another_store() {
    let folder = tempfile::tempdir().unwrap();
    let (path, target) = (folder.path().join("store"), folder.path().join("target"));
    killed(&path, true);
    std::fs::write(file(&target, "-log1"), b"commits").unwrap();
    let snapshot = Options::new().read_only(true).open(&path).unwrap().snapshot().unwrap();
    assert!(matches!(snapshot.backup(&target), Err(Error::Exists(_))));
    drop(snapshot);
    assert!(matches!(repair(&path, &target), Err(Error::Exists(_))));
    assert_eq!(std::fs::read(file(&target, "-log1")).unwrap(), b"commits");
    assert!(!target.exists());
}
