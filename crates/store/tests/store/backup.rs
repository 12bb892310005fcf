//! Backups of stores that are written to.
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use lath_store::{Durability, Error, Options, Snapshot, Store};

type Contents = BTreeMap<String, Vec<(Vec<u8>, Vec<u8>)>>;

fn contents(snapshot: &Snapshot) -> Contents {
    let entries = |name: &String| {
        let tree = snapshot.tree(name).unwrap().unwrap();
        tree.iter().map(|entry| entry.map(|(key, value)| (key, value.to_vec())).unwrap()).collect()
    };
    snapshot.tree_names().unwrap().into_iter().map(|name| (name.clone(), entries(&name))).collect()
}

fn change(store: &Store, rng: &mut fastrand::Rng) {
    let mut transaction = store.begin().unwrap();
    for _ in 0..300 {
        let mut tree = transaction.tree(["a", "b", "c"][rng.usize(..3)]).unwrap();
        let key = rng.u32(..1_000).to_be_bytes();
        if rng.u8(..3) == 0 {
            tree.remove(&key).unwrap();
        } else {
            let value = vec![rng.u8(..); [3, 100, 2000][rng.usize(..3)]];
            tree.upsert(&key, &value).unwrap();
        }
    }
    if rng.u8(..4) == 0 {
        transaction.drop_tree(["b", "c"][rng.usize(..2)]).unwrap();
    }
    transaction.commit_with(Durability::Off).unwrap();
}

#[test]
fn copy_equals_its_snapshot_despite_concurrent_writes() {
    let seed = lath_testkit::seed();
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let folder = tempfile::tempdir().unwrap();
    let store = Options::new().background_checkpoints(false).open_in_memory().unwrap();
    for round in 0..20 {
        change(&store, &mut rng);
        if round % 5 == 2 {
            let mut transaction = store.begin().unwrap();
            transaction.keep_snapshot(&format!("z{}", 20 - round)).unwrap();
            transaction.keep_snapshot(&format!("also {round}")).unwrap();
            transaction.commit().unwrap();
        }
    }
    let snapshot = store.snapshot().unwrap();
    let path = folder.path().join("copy");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = store.clone();
        let mut rng = rng.fork();
        let is_over = &is_over;
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                change(&writer, &mut rng);
            }
        });
        let result = snapshot.backup(&path);
        is_over.store(true, Ordering::Relaxed);
        result.unwrap();
    });
    assert!(matches!(snapshot.backup(&path), Err(Error::Exists(_))));
    let copy = Store::open(&path).unwrap();
    let report = copy.check().unwrap();
    assert!(report.is_sound(), "{:#?}", report.problems);
    let copied = copy.snapshot().unwrap();
    assert_eq!(contents(&copied), contents(&snapshot));
    let names = snapshot.snapshot_names().unwrap();
    assert_eq!((copied.snapshot_names().unwrap(), names.len()), (names.clone(), 8));
    for name in names {
        let [was, is] = [&snapshot, &copied].map(|snapshot| contents(&snapshot.snapshot(&name).unwrap().unwrap()));
        assert_eq!(is, was, "{name}");
    }
    assert_ne!(contents(&store.snapshot().unwrap()), contents(&snapshot), "nothing was written meanwhile");
}

#[test]
fn failed_copy_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = Store::open(&path).unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.tree("a").unwrap().append((0..400_000_u32).map(|i| (i.to_be_bytes(), [7; 60]))).unwrap();
    transaction.commit().unwrap();
    drop(store);
    let mut bytes = std::fs::read(&path).unwrap();
    // Damage leaves far after the first batch.
    let used = bytes.iter().rposition(|byte| *byte == 7).unwrap();
    bytes[used / 4 * 3..][..4096].fill(9);
    std::fs::write(&path, &bytes).unwrap();
    let names = || -> Vec<_> {
        let mut names: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let store = Options::new().background_checkpoints(false).open(&path).unwrap();
    let before = names();
    let result = store.snapshot().unwrap().backup(folder.path().join("copy"));
    assert!(matches!(result, Err(Error::Corrupt { .. })), "{result:?}");
    assert_eq!(names(), before);
    let result = store.snapshot().unwrap().backup(folder.path().join("no folder/copy"));
    assert!(matches!(result, Err(Error::Io { .. })), "{result:?}");
    assert_eq!(names(), before);
}

#[test]
fn cancelled_copy_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let store = Options::new().background_checkpoints(false).open_in_memory().unwrap();
    change(&store, &mut fastrand::Rng::with_seed(1));
    let path = folder.path().join("copy");
    let mut asked = 0;
    let result = store.snapshot().unwrap().backup_with(&path, |progress| {
        asked += 1;
        assert!(progress.written_bytes > 0);
        assert!(!std::fs::exists(&path).unwrap());
        ControlFlow::Break(())
    });
    assert!(matches!(result, Err(Error::Cancelled)), "{result:?}");
    assert_eq!(asked, 1);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn leftovers_of_killed_copy_are_removed_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let store = Options::new().background_checkpoints(false).open_in_memory().unwrap();
    change(&store, &mut fastrand::Rng::with_seed(1));
    let (path, leftover) = (folder.path().join("copy"), folder.path().join(".copy.lath-0.partial"));
    std::fs::create_dir(&leftover).unwrap();
    std::fs::write(leftover.join("copy"), "half").unwrap();
    // Another process is using this folder.
    let used = folder.path().join(".copy.lath-1.partial");
    std::fs::create_dir(&used).unwrap();
    let lock = std::fs::File::open(&used).unwrap();
    lock.lock().unwrap();
    store.snapshot().unwrap().backup(&path).unwrap();
    assert!(!leftover.exists() && used.exists());
    drop(lock);
    assert!(matches!(store.snapshot().unwrap().backup(&path), Err(Error::Exists(_))));
    let copy = Store::open(&path).unwrap();
    assert_eq!(contents(&copy.snapshot().unwrap()), contents(&store.snapshot().unwrap()));
}
