use std::sync::Arc;
use std::time::Duration;

use crate::options::{Durability, Options};
use crate::readers::{Readers, SHARED_LEN};
use crate::records::newest_header;
use crate::storage::{MemoryStorage, Storage};
use crate::store::Store;
use crate::tree::Tree;

fn options() -> Options {
    Options::new().background_checkpoints(false).busy_timeout(Duration::from_secs(600))
}

fn change(store: &Store, change: impl FnOnce(&mut crate::transaction::Transaction)) {
    let mut transaction = store.begin().unwrap();
    change(&mut transaction);
    transaction.commit().unwrap();
}

fn put_all(store: &Store, value: u8) {
    change(store, |transaction| {
        let mut tree = transaction.tree("data").unwrap();
        for key in 0..3000_u32 {
            tree.put(&key.to_be_bytes(), &[value; 20]).unwrap();
        }
    });
}

/// The image that the last holder has left, and whether it is valid.
fn image(storage: &MemoryStorage, store: &Store) -> (Vec<u8>, bool) {
    let shared = storage.shared(SHARED_LEN).unwrap();
    let words = crate::readers::LockWords::new(Arc::clone(&shared)).unwrap();
    let bytes = shared.read_state().unwrap();
    let is_valid = super::Image::parse(bytes.clone(), words.taken(), store.engine.identity).is_some();
    (bytes, is_valid)
}

#[test]
fn checkpoint_that_reader_holds_is_kept_after_the_lock_has_passed() {
    let storage = Arc::new(MemoryStorage::new(1 << 26).unwrap());
    let [here, there] = [0, 1].map(|_| options().open_storage(storage.clone()).unwrap());
    put_all(&here, 1);
    here.checkpoint().unwrap();
    change(&there, |transaction| assert!(transaction.tree("other").unwrap().is_empty()));
    // As a reader does that has found no writer: the last checkpoint is the header's.
    let held = newest_header(&there.engine.arena).unwrap().root;
    let reader = Readers::new(storage.shared(SHARED_LEN).unwrap()).unwrap();
    let pin = reader.hold(&held, 1 << 20).unwrap();
    for value in 2..6 {
        for store in [&here, &there] {
            put_all(store, value);
            store.checkpoint().unwrap();
            let arena = &store.engine.arena;
            let tree = Tree::new(arena, held.tree(arena, "data").unwrap().unwrap());
            assert_eq!(tree.iter().filter(|entry| entry.as_ref().unwrap().1 == [1; 20]).count(), 3000);
            assert!(store.check().unwrap().is_sound());
        }
    }
    drop(pin);
    put_all(&here, 7);
    assert!(here.check().unwrap().is_sound());
}

#[test]
fn image_with_a_changed_or_missing_byte_is_refused() {
    let storage = Arc::new(MemoryStorage::new(1 << 26).unwrap());
    let [here, there] = [0, 1].map(|_| options().open_storage(storage.clone()).unwrap());
    put_all(&here, 1);
    drop(there.begin().unwrap());
    let (bytes, _) = image(&storage, &here);
    let words = crate::readers::LockWords::new(storage.shared(SHARED_LEN).unwrap()).unwrap();
    let (taken, identity) = (words.taken() - 1, here.engine.identity);
    assert!(super::Image::parse(bytes.clone(), taken, identity).is_some());
    assert!(super::Image::parse(bytes.clone(), taken, identity ^ 1).is_none());
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(super::Image::parse(changed, taken, identity).is_none(), "byte {at}");
        assert!(super::Image::parse(bytes[..at].to_vec(), taken, identity).is_none(), "length {at}");
    }
}

#[test]
fn old_image_is_not_used() {
    let storage = Arc::new(MemoryStorage::new(1 << 26).unwrap());
    let [here, there] = [0, 1].map(|_| options().open_storage(storage.clone()).unwrap());
    for round in 0..20_u8 {
        put_all(&here, 2 * round);
        // This makes the other handle give the lock away, and is a transaction that changes nothing.
        drop(there.begin().unwrap());
        assert!(!image(&storage, &here).1, "the holder of the lock may have changed the store");
        put_all(&there, 2 * round + 1);
        if round % 2 == 1 {
            // The holder is about to go: the next one finds no image, as after a kill.
            assert!(there.engine.process_lock.as_ref().unwrap().words.take() > 1);
        }
        let before = there.snapshot().unwrap();
        drop(here.begin().unwrap());
        let after = here.snapshot().unwrap();
        assert_eq!(before.sequence(), after.sequence());
        assert_eq!(after.tree("data").unwrap().unwrap().get(&[0; 4]).unwrap(), Some(&[2 * round + 1; 20][..]));
        assert!(here.check().unwrap().is_sound());
    }
}

#[test]
fn commits_that_are_not_in_the_log_pass_with_the_lock() {
    let storage = Arc::new(MemoryStorage::new(1 << 26).unwrap());
    let [here, there] = [0, 1].map(|_| options().durability(Durability::Off).open_storage(storage.clone()).unwrap());
    for round in 0..10_u8 {
        let store = if round % 2 == 0 { &here } else { &there };
        change(store, |transaction| transaction.tree("data").unwrap().put(&[round], b"").unwrap());
        assert_eq!(store.snapshot().unwrap().tree("data").unwrap().unwrap().len().unwrap(), u64::from(round) + 1);
    }
    assert!(here.check().unwrap().is_sound() && there.check().unwrap().is_sound());
}
