//! The behaviour that all kinds of storage share.
#![allow(unsafe_code, reason = "storage gives out addresses")]

use std::sync::atomic::{AtomicU64, Ordering};

use lath_testkit::Seeded;

use super::{Data, MAX_PROCESSES, MemoryStorage, SharedMemory, SimulatedStorage, Storage};
use crate::error::{Error, Result};

/// Calls `check` with an empty store of each kind.
fn for_each_storage(check: impl Fn(&dyn Storage)) {
    check(&MemoryStorage::new(1 << 24).unwrap());
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        let folder = tempfile::tempdir().unwrap();
        check(&super::FileStorage::new(folder.path().join("store")).unwrap().capacity_bytes(1 << 24));
    }
}

pub(super) fn read(data: &dyn Data, offset: u64, len: usize) -> Vec<u8> {
    assert!(offset + len as u64 <= data.len());
    let from = data.base().as_ptr().wrapping_add(offset as usize);
    let mut bytes = vec![0; len];
    // SAFETY: the range is inside the area, and tests write to it from one thread at a time; the vector does not
    // overlap it.
    unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), len) };
    bytes
}

pub(super) fn set_len(data: &dyn Data, len: u64) -> Result<()> {
    // SAFETY: tests change an area from one thread at a time, and keep no reference to its bytes.
    unsafe { data.set_len(len) }
}

pub(super) fn write(data: &dyn Data, offset: u64, bytes: &[u8]) {
    assert!(offset + bytes.len() as u64 <= data.len());
    let to = data.base().as_ptr().wrapping_add(offset as usize);
    // SAFETY: the range is inside the area, and no reference to it is alive; `bytes` does not overlap it.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
}

fn word(shared: &dyn SharedMemory, index: usize) -> &AtomicU64 {
    assert!(index * 8 + 8 <= shared.len());
    let word = shared.base().as_ptr().cast::<u64>().wrapping_add(index);
    // SAFETY: the memory is aligned to 64 bytes, long enough, lives as long as `shared` and is accessed only as
    // atomics.
    unsafe { AtomicU64::from_ptr(word) }
}

#[test]
fn data_grows_in_place_and_keeps_contents() {
    for_each_storage(|storage| {
        let data = storage.data().unwrap();
        assert_eq!(data.len(), 0);
        assert_eq!(data.capacity(), 1 << 24);
        let base = data.base();
        set_len(&*data, 10_000).unwrap();
        assert_eq!(read(&*data, 0, 10_000), vec![0; 10_000]);
        write(&*data, 9_000, b"here");
        set_len(&*data, 1 << 20).unwrap();
        assert_eq!((data.base(), data.len()), (base, 1 << 20));
        assert_eq!(read(&*data, 9_000, 4), b"here");
        data.sync().unwrap();
        data.sync_ranges(&[0..8192, (1 << 20) - 65_536..1 << 20, 1 << 20..2 << 20]).unwrap();
        drop(data);
        let data = storage.data().unwrap();
        assert_eq!(data.len(), 1 << 20);
        assert_eq!(read(&*data, 9_000, 4), b"here");
    });
}

#[test]
fn power_loss_keeps_synced_ranges() {
    let mut random = Seeded::new("a loss of power leaves the ranges that were synced");
    let mut lost = 0;
    for _ in 0..100 {
        let storage = SimulatedStorage::new(1 << 20).unwrap();
        let data = storage.data().unwrap();
        set_len(&*data, 1 << 18).unwrap();
        data.sync().unwrap();
        write(&*data, 0, &vec![1; 1 << 18]);
        data.sync_ranges(&[0..4096, 65_536..131_072]).unwrap();
        let crashed = storage.crash(&mut random).unwrap().data().unwrap();
        assert_eq!(read(&*crashed, 0, 4096), vec![1; 4096]);
        assert_eq!(read(&*crashed, 65_536, 65_536), vec![1; 65_536]);
        lost += usize::from(read(&*crashed, 0, 1 << 18).contains(&0));
    }
    assert!(lost > 50, "{lost} of 100 losses of power lost what was not synced");
}

#[test]
fn shortened_data_grows_by_zeros() {
    for_each_storage(|storage| {
        let data = storage.data().unwrap();
        set_len(&*data, 100_000).unwrap();
        write(&*data, 0, &[7; 100_000]);
        set_len(&*data, 5_000).unwrap();
        assert_eq!(data.len(), 5_000);
        set_len(&*data, 100_000).unwrap();
        assert_eq!(read(&*data, 0, 5_000), vec![7; 5_000]);
        assert_eq!(read(&*data, 5_000, 95_000), vec![0; 95_000]);
    });
}

#[test]
fn data_never_grows_past_capacity() {
    for_each_storage(|storage| {
        let data = storage.data().unwrap();
        set_len(&*data, 4096).unwrap();
        let refused = set_len(&*data, data.capacity() + 1);
        assert!(matches!(refused, Err(Error::Limit { limit, .. }) if limit == data.capacity()));
        assert_eq!(data.len(), 4096);
    });
}

#[test]
fn log_contents_round_trip_at_any_offset() {
    for_each_storage(|storage| {
        for index in 0..2 {
            let log = storage.log(index).unwrap();
            assert_eq!(log.len().unwrap(), 0);
            log.write_at(10, b"later").unwrap();
            log.write_at(0, b"first").unwrap();
            assert_eq!(log.len().unwrap(), 15);
            log.sync().unwrap();
            let mut bytes = [1; 15];
            log.read_at(0, &mut bytes).unwrap();
            assert_eq!(&bytes, b"first\0\0\0\0\0later");
            assert!(matches!(log.read_at(1, &mut bytes), Err(Error::Io { .. })));
            log.set_len(3).unwrap();
            log.set_len(6).unwrap();
            let log = storage.log(index).unwrap();
            let mut bytes = [1; 6];
            log.read_at(0, &mut bytes).unwrap();
            assert_eq!(&bytes, b"fir\0\0\0");
        }
    });
}

#[test]
fn shared_memory_is_shared_and_starts_zeroed() {
    for_each_storage(|storage| {
        for _ in 0..2 {
            let first = storage.shared(8192).unwrap();
            assert!(first.len() >= 8192 && first.base().as_ptr().addr().is_multiple_of(64));
            assert!((0..1024).all(|index| word(&*first, index).load(Ordering::Relaxed) == 0));
            let second = storage.shared(8192).unwrap();
            word(&*first, 1023).store(17, Ordering::Relaxed);
            assert_eq!(word(&*second, 1023).load(Ordering::Relaxed), 17);
            drop(first);
            let third = storage.shared(8192).unwrap();
            assert_eq!(word(&*third, 1023).load(Ordering::Relaxed), 17);
        }
    });
}

#[test]
fn writer_lock_is_held_until_handle_is_dropped() {
    for_each_storage(|storage| {
        let first = storage.shared(64).unwrap();
        let second = storage.shared(64).unwrap();
        assert!(first.try_lock_writer().unwrap());
        assert!(!second.try_lock_writer().unwrap());
        assert!(!first.try_lock_writer().unwrap(), "a handle that has the lock does not get it again");
        drop(first);
        assert!(second.try_lock_writer().unwrap());
    });
}

#[test]
fn process_counts_as_alive_until_its_handle_is_dropped() {
    for_each_storage(|storage| {
        let first = storage.shared(64).unwrap();
        let second = storage.shared(64).unwrap();
        assert!(!first.is_process_alive(3).unwrap());
        assert!(first.lock_process(3).unwrap());
        assert!(first.is_process_alive(3).unwrap() && second.is_process_alive(3).unwrap());
        assert!(!second.lock_process(3).unwrap());
        assert!(second.lock_process(MAX_PROCESSES - 1).unwrap());
        assert!(matches!(second.lock_process(MAX_PROCESSES), Err(Error::Limit { .. })));
        drop(first);
        assert!(!second.is_process_alive(3).unwrap());
        assert!(second.is_process_alive(MAX_PROCESSES - 1).unwrap());
        assert!(second.lock_process(3).unwrap());
    });
}
