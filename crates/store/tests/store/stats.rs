//! The holders of a store's space.
use lath_store::{Durability, Holder, Options, Stats, Store};
use std::time::{Duration, Instant};

fn rewrite(store: &Store, tree: &str, round: u8) {
    let mut transaction = store.begin().unwrap();
    let mut tree = transaction.tree(tree).unwrap();
    for key in 0..2_000u32 {
        tree.upsert(&key.to_be_bytes(), &[round; 40]).unwrap();
    }
    transaction.commit().unwrap();
}

fn held_by(stats: &Stats, by: &Holder) -> u64 {
    stats.held.iter().filter(|held| held.by == *by).map(|held| held.bytes).sum()
}

#[test]
fn transactions_undone_beside_views_do_not_make_the_file_longer() {
    let store = Options::new().background_checkpoints(false).open_in_memory().unwrap();
    rewrite(&store, "a", 0);
    let mut lengths = Vec::new();
    for round in 0..20 {
        let mut transaction = store.begin().unwrap();
        let mut tree = transaction.tree("b").unwrap();
        for key in 0..5_000_u32 {
            tree.put(&key.to_be_bytes(), &[round; 40]).unwrap();
        }
        let view = transaction.snapshot().unwrap();
        transaction.abort();
        assert_eq!(view.tree("b").unwrap().unwrap().len().unwrap(), 5_000);
        drop(view);
        lengths.push(store.stats().unwrap().file_bytes);
    }
    assert_eq!(lengths[19], lengths[2], "{lengths:?}");
    rewrite(&store, "a", 1);
    let report = store.check().unwrap();
    assert!(report.problems.is_empty(), "{report:?}");
}

#[test]
fn held_space_is_reported_by_holder() {
    let store = Options::new().background_checkpoints(false).open_in_memory().unwrap();
    rewrite(&store, "a", 0);
    store.checkpoint().unwrap();
    let stats = store.stats().unwrap();
    assert_eq!((stats.sequence, stats.oldest_reader), (1, None));
    let bytes = stats.file_bytes - stats.free_bytes - stats.dead_bytes;
    assert!(bytes > 80_000, "{stats:?}");

    // The last checkpoint holds the nodes of the first commit.
    rewrite(&store, "a", 1);
    let stats = store.stats().unwrap();
    assert!(held_by(&stats, &Holder::Checkpoint) > 80_000, "{stats:?}");
    assert_eq!(stats.held.iter().map(|held| held.bytes).sum::<u64>(), stats.dead_bytes);
    store.checkpoint().unwrap();
    assert!(held_by(&store.stats().unwrap(), &Holder::Checkpoint) < 1_000);

    // A reader, and then a named snapshot of a later commit.
    let reader = store.snapshot().unwrap();
    rewrite(&store, "a", 2);
    let mut transaction = store.begin().unwrap();
    transaction.keep_snapshot("third").unwrap();
    transaction.commit().unwrap();
    rewrite(&store, "a", 3);
    store.checkpoint().unwrap();
    let stats = store.stats().unwrap();
    assert_eq!((stats.sequence, stats.oldest_reader), (5, Some(2)));
    assert!(held_by(&stats, &Holder::Reader) > 80_000, "{stats:?}");
    assert!(held_by(&stats, &Holder::Snapshot("third".to_owned())) > 80_000, "{stats:?}");
    assert!(stats.held.is_sorted_by_key(|held| held.sequence));

    drop(reader);
    let mut transaction = store.begin().unwrap();
    assert!(transaction.drop_snapshot("third").unwrap());
    transaction.commit().unwrap();
    store.checkpoint().unwrap();
    let stats = store.stats().unwrap();
    assert_eq!(stats.oldest_reader, None);
    assert!(stats.dead_bytes < 1_000 && stats.trailing_free_bytes <= stats.free_bytes, "{stats:?}");
}

/// Waits for a checkpoint that has been due for some commits, so that no test depends on the speed of checkpoints.
fn wait_for_due_checkpoint(store: &Store, checkpoint_space_bytes: u64) {
    let start = Instant::now();
    loop {
        let stats = store.stats().unwrap();
        let (parked, used) = (held_by(&stats, &Holder::Checkpoint), stats.file_bytes - stats.free_bytes);
        // A checkpoint is due from a quarter on.
        if parked <= checkpoint_space_bytes.max(used / 3) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "no checkpoint: {stats:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn file_length_is_bounded_by_space_awaiting_checkpoints() {
    const KEYS: u64 = 300_000;
    let space_of = |checkpoint_space_bytes: u64| {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::new().durability(Durability::Off).checkpoint_space_bytes(checkpoint_space_bytes);
        let store = options.open(folder.path().join("store")).unwrap();
        for round in 0..4_u64 {
            for start in (0..KEYS).step_by(512) {
                let mut transaction = store.begin().unwrap();
                let mut tree = transaction.tree("data").unwrap();
                for number in start..KEYS.min(start + 512) {
                    let key = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
                    tree.put(&key, &round.to_le_bytes().repeat(4)).unwrap();
                }
                transaction.commit().unwrap();
                wait_for_due_checkpoint(&store, checkpoint_space_bytes);
            }
            store.checkpoint().unwrap();
        }
        let stats = store.stats().unwrap();
        stats.file_bytes as f64 / (stats.file_bytes - stats.free_bytes - stats.dead_bytes) as f64
    };
    // Without checkpoints other than one per round, the old and the new nodes of all data exist at once.
    let (short, long) = (space_of(1 << 20), space_of(1 << 30));
    assert!(short < 2.0 && long > short, "{short} {long}");
}
