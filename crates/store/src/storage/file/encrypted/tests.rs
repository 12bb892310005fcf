use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lath_testkit::Seeded;

use super::cipher::{KEYS_LEN, SECTOR, SectorCipher};
use super::envelope::ENVELOPE_AREA;
use super::log::EncryptedLog;
use super::{EncryptedStorage, EncryptionKey, FileStorage};
use crate::storage::{LogFile, MemoryStorage, Storage};
use crate::{Durability, Error, Options, Store};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn key(byte: u8) -> EncryptionKey {
    EncryptionKey::new([byte; EncryptionKey::LEN])
}

fn options() -> Options {
    // A checkpoint in the background between the copies of two files would make no state that a crash leaves.
    Options::new().encryption_key(key(7)).background_checkpoints(false)
}

fn contents(store: &Store) -> Model {
    let snapshot = store.snapshot().unwrap();
    let Some(tree) = snapshot.tree("t").unwrap() else { return Model::new() };
    tree.iter().map(|entry| entry.unwrap()).map(|(key, value)| (key, value.to_vec())).collect()
}

fn put(store: &Store, key: &[u8], value: &[u8]) {
    let mut transaction = store.begin().unwrap();
    transaction.tree("t").unwrap().put(key, value).unwrap();
    transaction.commit().unwrap();
}

/// The files as they are, as after a crash of the process.
fn copy(from: &Path, to: &Path) {
    for suffix in ["", "-log0", "-log1"] {
        let name = |path: &Path| format!("{}{suffix}", path.display());
        if Path::new(&name(from)).exists() {
            std::fs::copy(name(from), name(to)).unwrap();
        } else {
            let _ = std::fs::remove_file(name(to));
        }
    }
}

#[test]
fn nothing_is_plain_in_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let secret = b"a value that has to stay secret";
    let store = options().open(&path).unwrap();
    for number in 0..200_u32 {
        put(&store, format!("secret key {number}").as_bytes(), secret);
    }
    let check = || {
        for suffix in ["", "-log0", "-log1"] {
            let bytes = std::fs::read(format!("{}{suffix}", path.display())).unwrap_or_default();
            for text in [&secret[..12], b"secret key", b"LATHKV\r\n"] {
                assert!(!bytes.windows(text.len()).any(|window| window == text), "{suffix}");
            }
        }
    };
    check();
    store.checkpoint().unwrap();
    check();
    let before = contents(&store);
    drop(store);
    check();
    assert_eq!(before.len(), 200);
    assert_eq!(contents(&options().open(&path).unwrap()), before);
    assert_eq!(contents(&options().read_only(true).open(&path).unwrap()), before);
}

#[test]
fn other_keys_and_stores_are_told_apart_from_damage() {
    let folder = tempfile::tempdir().unwrap();
    let (path, plain) = (folder.path().join("store"), folder.path().join("plain"));
    put(&options().open(&path).unwrap(), b"k", b"v");
    put(&Store::open(&plain).unwrap(), b"k", b"v");
    for read_only in [false, true] {
        let fails = |options: Options, path: &Path| match options.read_only(read_only).open(path) {
            Err(Error::Key(what)) => what,
            other => panic!("{other:?}"),
        };
        assert!(fails(Options::new().encryption_key(key(8)), &path).contains("another key"));
        assert!(fails(Options::new(), &path).contains("its key was not given"));
        assert!(fails(options(), &plain).contains("not encrypted"));
    }
    let kinds = [&path, &plain, &folder.path().join("missing")].map(|path| crate::is_encrypted(path).unwrap());
    assert_eq!(kinds, [Some(true), Some(false), None]);
    assert!(matches!(crate::repair(&path, folder.path().join("repaired")), Err(Error::Key(_))));
    assert_eq!(contents(&options().open(&path).unwrap()).len(), 1);
    assert_eq!(contents(&Store::open(&plain).unwrap()).len(), 1);

    let bytes = std::fs::read(&path).unwrap();
    for place in [0, 7, 40, 127, 2048, 2088] {
        let mut changed = bytes.clone();
        changed[place] ^= 1;
        std::fs::write(&path, changed).unwrap();
        assert_eq!(crate::is_encrypted(&path).unwrap(), Some(true));
        for read_only in [true, false] {
            let without = Options::new().read_only(read_only).open(&path);
            assert!(matches!(without, Err(Error::Key(_))), "{place}: {without:?}");
            assert_eq!(contents(&options().read_only(read_only).open(&path).unwrap()).len(), 1);
        }
        // The writer has mended it.
        assert_eq!(std::fs::read(&path).unwrap()[..4096], bytes[..4096]);
    }
    for (damaged, is_readable) in [(vec![40], true), (vec![40, 2088], false)] {
        let mut changed = bytes.clone();
        for at in damaged {
            changed[at] ^= 1;
        }
        std::fs::write(&path, changed).unwrap();
        let opened = options().open(&path);
        assert_eq!(opened.is_ok(), is_readable);
        assert!(is_readable || matches!(opened, Err(Error::Corrupt { .. })), "{opened:?}");
    }
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(contents(&options().open(&path).unwrap()).len(), 1);
}

#[test]
fn what_was_committed_survives_a_kill_at_any_moment() {
    let mut random = Seeded::new("what_was_committed_survives_a_kill_at_any_moment");
    let folder = tempfile::tempdir().unwrap();
    let (path, killed) = (folder.path().join("store"), folder.path().join("killed"));
    let mut model = Model::new();
    let mut store = options().open(&path).unwrap();
    for _ in 0..150 {
        let mut transaction = store.begin().unwrap();
        let mut tree = transaction.tree("t").unwrap();
        for _ in 0..random.usize(1..20) {
            let key = vec![random.u8(..20), random.u8(..20)];
            if random.u8(..4) == 0 {
                assert_eq!(tree.remove(&key).unwrap(), model.remove(&key).is_some());
            } else {
                let longest = if random.u8(..10) == 0 { 100_000 } else { 300 };
                let value = vec![random.u8(..); random.usize(..longest)];
                tree.put(&key, &value).unwrap();
                model.insert(key, value);
            }
        }
        transaction.commit_with(if random.bool() { Durability::Sync } else { Durability::Deferred }).unwrap();
        match random.u8(..20) {
            0 => store.checkpoint().unwrap(),
            1 => {
                store.compact().unwrap();
            }
            2 => {
                drop(store);
                store = options().open(&path).unwrap();
            }
            3 => {
                // From here on with the files of a killed process.
                copy(&path, &killed);
                drop(store);
                copy(&killed, &path);
                store = options().open(&path).unwrap();
            }
            4..7 => {
                copy(&path, &killed);
                let reader = options().read_only(true).open(&killed).unwrap();
                assert_eq!(contents(&reader), model);
                let copy = options().open(&killed).unwrap();
                assert_eq!(contents(&copy), model);
                assert!(copy.check().unwrap().problems.is_empty());
            }
            _ => {}
        }
        assert_eq!(contents(&store), model);
    }
}

#[test]
fn copies_keep_the_key_unless_another_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let store = options().open(place("store")).unwrap();
    put(&store, b"k", b"v");
    let snapshot = store.snapshot().unwrap();
    snapshot.backup(place("same")).unwrap();
    let go_on = |_: &crate::CopyProgress| std::ops::ControlFlow::Continue(());
    snapshot.backup_with_key(place("other"), Some(&key(9)), go_on).unwrap();
    snapshot.backup_with_key(place("plain"), None, go_on).unwrap();
    let open = |name: &str, key: Option<EncryptionKey>| {
        contents(&key.into_iter().fold(Options::new(), Options::encryption_key).open(place(name)).unwrap())
    };
    let expected = contents(&store);
    assert_eq!(open("same", Some(key(7))), expected);
    assert_eq!(open("other", Some(key(9))), expected);
    assert_eq!(open("plain", None), expected);

    drop((snapshot, store));
    let mut bytes = std::fs::read(place("store")).unwrap();
    // Both headers of the plain data.
    for at in [ENVELOPE_AREA as usize, ENVELOPE_AREA as usize + 4096] {
        bytes[at..at + 64].fill(1);
    }
    std::fs::write(place("store"), bytes).unwrap();
    assert!(matches!(options().open(place("store")), Err(Error::Corrupt { .. })));
    let report = crate::repair_with_key(place("store"), place("repaired"), Some(&key(7)), go_on).unwrap();
    assert_eq!(report.keys, 1);
    assert_eq!(open("repaired", Some(key(7))), expected);
}

#[test]
fn one_process_has_it_open_and_readers_keep_what_they_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let writer = options().busy_timeout(Duration::from_millis(20)).open(&path).unwrap();
    put(&writer, b"k", b"1");
    let second = options().busy_timeout(Duration::from_millis(20)).open(&path);
    assert!(matches!(second, Err(Error::Busy | Error::BusyTimeout { .. })), "{second:?}");
    let reader = options().read_only(true).open(&path);
    assert!(matches!(reader, Err(Error::Busy)), "{reader:?}");
    drop(writer);
    let readers = [0, 1].map(|_| options().read_only(true).open(&path).unwrap());
    assert!(matches!(readers[0].begin(), Err(Error::ReadOnly)));
    let before = contents(&readers[0]);
    let writer = options().open(&path).unwrap();
    put(&writer, b"k", b"2");
    writer.checkpoint().unwrap();
    assert!(readers.iter().all(|reader| contents(reader) == before));
    assert_ne!(contents(&writer), before);
    assert!(readers[0].check().unwrap().problems.is_empty());
    assert_eq!(writer.stats().unwrap().oldest_reader, Some(0));
    drop(readers);
    assert_eq!(writer.stats().unwrap().oldest_reader, None);
}

#[test]
fn a_store_whose_first_write_was_lost_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    for len in [0, 100, ENVELOPE_AREA as usize] {
        std::fs::write(&path, vec![0; len]).unwrap();
        let reader = options().read_only(true).open(&path);
        assert!(matches!(reader, Err(Error::Corrupt { .. })), "{reader:?}");
        put(&options().open(&path).unwrap(), b"k", b"v");
        assert_eq!(contents(&options().open(&path).unwrap()).len(), 1);
    }
    // A log without its data is no new store.
    put(&options().open(&path).unwrap(), b"k", b"v");
    let store = options().open(&path).unwrap();
    put(&store, b"k", b"w");
    let killed = folder.path().join("killed");
    copy(&path, &killed);
    std::fs::write(&killed, b"").unwrap();
    assert!(matches!(options().open(&killed), Err(Error::Corrupt { .. })));
}

#[test]
fn logs_read_what_was_written_at_any_offset() {
    let mut random = Seeded::new("logs_read_what_was_written_at_any_offset");
    let cipher = Arc::new(SectorCipher::new(&[3; KEYS_LEN]));
    let file = MemoryStorage::new(0).unwrap().log(0).unwrap();
    let log = EncryptedLog::new(Arc::clone(&file), cipher, 0);
    let mut model: Vec<u8> = Vec::new();
    for _ in 0..2_000 {
        let (offset, len) = (random.usize(..=model.len().min(5_000)), random.usize(..1_500));
        match random.u8(..10) {
            0 => {
                let len = random.usize(..6_000) / SECTOR * SECTOR;
                log.set_len(len as u64).unwrap();
                model.resize(len, 0);
            }
            1..6 => {
                let bytes: Vec<u8> = (0..len).map(|_| random.u8(..)).collect();
                log.write_at(offset as u64, &bytes).unwrap();
                model.resize(model.len().max(offset + len), 0);
                model[offset..offset + len].copy_from_slice(&bytes);
                model.resize(model.len().next_multiple_of(SECTOR), 0);
            }
            _ => {
                let mut bytes = vec![0; len];
                let read = log.read_at(offset as u64, &mut bytes);
                match model.get(offset..offset + len) {
                    Some(expected) => {
                        read.unwrap();
                        assert_eq!(bytes, expected);
                    }
                    None => assert!(matches!(read, Err(Error::Io { .. }))),
                }
            }
        }
        assert_eq!(log.len().unwrap(), model.len() as u64);
    }
}

#[test]
fn equal_sectors_differ_by_their_places() {
    let cipher = SectorCipher::new(&[3; KEYS_LEN]);
    let mut sectors = vec![1; 4 * SECTOR];
    cipher.encrypt(0, 0, &mut sectors);
    let mut other = vec![1; 4 * SECTOR];
    cipher.encrypt(1, 0, &mut other);
    let all: std::collections::BTreeSet<&[u8]> = sectors.chunks(SECTOR).chain(other.chunks(SECTOR)).collect();
    assert_eq!(all.len(), 8);
}

#[test]
fn storage_of_files_is_described_without_its_key() {
    let storage = EncryptedStorage::new(FileStorage::new(std::env::temp_dir().join("x")).unwrap(), key(201)).unwrap();
    assert!(!format!("{storage:?} {:?}", key(201)).contains("201"));
}
