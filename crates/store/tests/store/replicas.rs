//! Copies of a store whose commits have the numbers of the original.

use lath_store::{Durability, Error, Options, Store};

fn put(store: &Store, key: &[u8]) {
    let mut transaction = store.begin().unwrap();
    transaction.tree("data").unwrap().put(key, b"value").unwrap();
    transaction.commit().unwrap();
}

fn keep(store: &Store, name: &str) {
    let mut transaction = store.begin().unwrap();
    transaction.keep_snapshot(name).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn replica_has_the_numbers_of_commits_and_snapshots() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store")).unwrap();
    for key in 0..40_u8 {
        put(&store, &[key]);
        if key == 10 || key == 30 {
            keep(&store, &format!("after {key}"));
        }
    }
    let path = folder.path().join("replica");
    store.snapshot().unwrap().replicate(&path).unwrap();

    let replica = Store::open(&path).unwrap();
    assert_ne!(replica.identity(), store.identity());
    let (here, there) = (store.snapshot().unwrap(), replica.snapshot().unwrap());
    assert_eq!(there.sequence(), here.sequence());
    for name in ["after 10", "after 30"] {
        let (here, there) = (here.snapshot(name).unwrap().unwrap(), there.snapshot(name).unwrap().unwrap());
        assert_eq!(there.sequence(), here.sequence());
        let len = |snapshot: &lath_store::Snapshot| snapshot.tree("data").unwrap().unwrap().len().unwrap();
        assert_eq!(len(&there), len(&here));
    }
    assert!(replica.check().unwrap().problems.is_empty());
}

#[test]
fn numbered_commits_survive_with_the_next_checkpoint_and_logged_ones_follow_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = Store::open(&path).unwrap();
    put(&store, b"first");
    let mut transaction = store.begin().unwrap();
    transaction.tree("data").unwrap().put(b"second", b"").unwrap();
    transaction.commit_numbered(500).unwrap();
    // A commit without changes has its number, too.
    store.begin().unwrap().commit_numbered(600).unwrap();
    assert_eq!(store.snapshot().unwrap().sequence(), 600);
    for number in [600, 1] {
        let refused = store.begin().unwrap().commit_numbered(number);
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    }
    store.checkpoint().unwrap();
    // As a process that is killed leaves the files.
    let copy = |name: &str| {
        for suffix in ["", "-log0", "-log1"] {
            let from = folder.path().join(format!("store{suffix}"));
            std::fs::copy(from, folder.path().join(format!("{name}{suffix}"))).unwrap();
        }
        Options::new().open(folder.path().join(name)).unwrap()
    };
    let killed = copy("killed");
    assert_eq!(killed.snapshot().unwrap().sequence(), 600);
    assert_eq!(killed.snapshot().unwrap().tree("data").unwrap().unwrap().len().unwrap(), 2);

    put(&store, b"third");
    let killed = copy("killed later");
    assert_eq!(killed.snapshot().unwrap().sequence(), 601);
    assert_eq!(killed.snapshot().unwrap().tree("data").unwrap().unwrap().len().unwrap(), 3);
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.snapshot().unwrap().sequence(), 601);
    assert!(store.check().unwrap().problems.is_empty());
}

#[test]
fn logged_commit_after_a_numbered_one_is_durable() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store")).unwrap();
    put(&store, b"first");
    let mut transaction = store.begin().unwrap();
    transaction.tree("data").unwrap().put(b"second", b"").unwrap();
    transaction.commit_numbered(500).unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.tree("data").unwrap().put(b"third", b"").unwrap();
    transaction.commit_with(Durability::Sync).unwrap();
    for suffix in ["", "-log0", "-log1"] {
        let from = folder.path().join(format!("store{suffix}"));
        std::fs::copy(from, folder.path().join(format!("killed{suffix}"))).unwrap();
    }
    let killed = Store::open(folder.path().join("killed")).unwrap();
    assert_eq!(killed.snapshot().unwrap().sequence(), 501);
    assert_eq!(killed.snapshot().unwrap().tree("data").unwrap().unwrap().len().unwrap(), 3);
}

#[test]
fn reader_learns_that_another_process_began_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let writer = Store::open(&path).unwrap();
    assert_eq!(writer.writer_turns(), None);
    put(&writer, b"first");
    let reader = Options::new().read_only(true).open(&path).unwrap();
    let before = reader.writer_turns().unwrap();
    put(&writer, b"second");
    assert_eq!(reader.writer_turns(), Some(before));
    drop(writer);
    let writer = Store::open(&path).unwrap();
    assert_ne!(reader.writer_turns(), Some(before));
    put(&writer, b"third");
    assert_eq!(reader.snapshot().unwrap().tree("data").unwrap().unwrap().len().unwrap(), 3);
}
