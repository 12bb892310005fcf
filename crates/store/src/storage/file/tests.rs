use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;

use lath_testkit::Seeded;

use super::FileStorage;
use super::data::{SLICE_BYTES, slices};
use super::lock::{self, Kind, LockedFile};
use crate::error::Error;
use crate::storage::tests::{read, set_len, write};
use crate::storage::{Lengths, Storage};

#[test]
fn reader_sees_growth_of_file_by_writer() {
    let folder = tempfile::tempdir().unwrap();
    let writer = FileStorage::new(folder.path().join("store")).unwrap();
    let data = writer.data().unwrap();
    set_len(&*data, 4096).unwrap();
    let reader = writer.clone().read_only(true).data().unwrap();
    set_len(&*data, 1 << 20).unwrap();
    write(&*data, (1 << 20) - 4, b"last");
    assert_eq!(reader.len(), 1 << 20);
    assert_eq!(read(&*reader, (1 << 20) - 4, 4), b"last");
    assert!(matches!(set_len(&*reader, 0), Err(Error::ReadOnly)));
}

#[test]
fn grown_file_has_allocated_disk_space() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let storage = FileStorage::new(&path).unwrap();
    let data = storage.data().unwrap();
    set_len(&*data, 3 << 20).unwrap();
    assert!(fs::metadata(&path).unwrap().blocks() * 512 >= 3 << 20);
    drop(data);
    // A copy with holes is filled before anything is written to it.
    fs::File::options().write(true).open(&path).unwrap().set_len(8 << 20).unwrap();
    let data = storage.data().unwrap();
    assert_eq!(data.len(), 8 << 20);
    if cfg!(target_os = "linux") {
        assert!(fs::metadata(&path).unwrap().blocks() * 512 >= 8 << 20);
    }
}

#[test]
fn pieces_cover_all_ranges_and_are_few_and_short() {
    let mut random = Seeded::new("pieces cover all ranges");
    for _ in 0..1000 {
        let (mut ranges, mut end) = (Vec::new(), 0);
        for _ in 0..random.usize(..20) {
            let start = end + (1 << random.u32(..23));
            end = start + (1 << random.u32(..24));
            ranges.push(start..end);
        }
        let pieces = slices(&ranges);
        let mut rest = ranges.clone();
        for piece in &pieces {
            assert!(piece.end - piece.start <= SLICE_BYTES);
            for range in rest.iter_mut().filter(|range| (piece.start..piece.end).contains(&range.start)) {
                range.start = piece.end.min(range.end);
            }
        }
        assert!(rest.iter().all(Range::is_empty), "{ranges:?} by {pieces:?}");
        assert!(pieces.is_sorted_by(|a, b| a.end <= b.start) && pieces.len() as u64 <= 1 + end / SLICE_BYTES);
    }
}

#[test]
fn capacity_beyond_address_space_is_halved() {
    let folder = tempfile::tempdir().unwrap();
    let storage = FileStorage::new(folder.path().join("store")).unwrap().capacity_bytes(1 << 60);
    let capacity = storage.data().unwrap().capacity();
    assert!((1 << 24..1 << 60).contains(&capacity), "{capacity}");
    let short = FileStorage::new(folder.path().join("store")).unwrap().capacity_bytes(1);
    set_len(&*storage.data().unwrap(), 5 << 20).unwrap();
    assert_eq!(short.data().unwrap().capacity(), 5 << 20, "what is there can be reached whatever the option says");
}

#[test]
fn reading_creates_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let reader = FileStorage::new(&path).unwrap().read_only(true);
    assert!(matches!(reader.data(), Err(Error::Io { .. })));
    let log = reader.log(1).unwrap();
    assert_eq!(log.len().unwrap(), 0);
    assert!(matches!(log.write_at(0, b"x"), Err(Error::ReadOnly)));
    assert!(matches!(log.sync(), Err(Error::ReadOnly)));
    assert!(matches!(FileStorage::new(&path).unwrap().create(false).data(), Err(Error::Io { .. })));
    assert!(reader.shared_with_others(64).unwrap().is_none());
    assert!(matches!(reader.private(), Err(Error::Io { .. })));
    assert_eq!(reader.lengths().unwrap(), Lengths { data: 0, logs: [0, 0] });
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn unused_shared_memory_is_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("store-lock");
    fs::write(&lock, vec![9; 100]).unwrap();
    let storage = FileStorage::new(folder.path().join("store")).unwrap();
    assert!(storage.shared_with_others(4096).unwrap().is_none());
    assert_eq!(fs::read(&lock).unwrap(), vec![9; 100]);
    let shared = storage.shared(4096).unwrap();
    assert_eq!(storage.shared_with_others(4096).unwrap().map(|shared| shared.len()), Some(4096));
    drop(shared);
    assert!(storage.shared_with_others(4096).unwrap().is_none());
}

#[test]
fn private_view_is_isolated_and_excludes_writers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    fs::write(&path, vec![7; 5000]).unwrap();
    let storage = FileStorage::new(&path).unwrap();
    let views = [0, 1].map(|_| storage.private().unwrap().data().unwrap());
    assert!(matches!(storage.data(), Err(Error::Busy)));
    for (mark, data) in [1, 2].into_iter().zip(&views) {
        assert_eq!(read(&**data, 0, 5000), vec![7; 5000]);
        set_len(&**data, 1 << 20).unwrap();
        assert_eq!(read(&**data, 5000, (1 << 20) - 5000), vec![0; (1 << 20) - 5000]);
        write(&**data, 100, &[mark; 100_000]);
        set_len(&**data, 50_000).unwrap();
        set_len(&**data, 100_000).unwrap();
    }
    for (mark, data) in [1, 2].into_iter().zip(&views) {
        assert_eq!(read(&**data, 100, 49_900), vec![mark; 49_900]);
        assert_eq!(read(&**data, 50_000, 50_000), vec![0; 50_000]);
    }
    assert_eq!(fs::read(&path).unwrap(), vec![7; 5000]);
    drop(views);
    let data = storage.data().unwrap();
    assert!(matches!(storage.private(), Err(Error::Busy)));
    assert!(matches!(storage.data(), Err(Error::Busy)));
    assert_eq!(data.len(), 5000);
}

#[test]
fn links_and_paths_of_a_store_share_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    FileStorage::new(&path).unwrap().data().unwrap();
    std::os::unix::fs::symlink(&path, folder.path().join("alias")).unwrap();
    let alias = FileStorage::new(folder.path().join("alias")).unwrap();
    let locked = FileStorage::new(&path).unwrap().shared(64).unwrap();
    assert!(locked.try_lock_writer().unwrap());
    assert!(!alias.shared(64).unwrap().try_lock_writer().unwrap());
    assert!(matches!(FileStorage::new(folder.path().join("nowhere/store")), Err(Error::Io { .. })));
    assert!(FileStorage::new("/").unwrap().data().is_err(), "a folder is no store");
}

#[test]
fn locks_are_released_despite_open_duplicate_descriptor() {
    let folder = tempfile::tempdir().unwrap();
    let open = || LockedFile::new(fs::File::create(folder.path().join("locked")).unwrap());
    let (locked, other) = (open(), open());
    assert!([3, 1024].iter().all(|&byte| lock::try_lock(&locked, byte, Kind::Exclusive).unwrap()));
    assert!(!lock::try_lock(&other, 1024, Kind::Exclusive).unwrap());
    // The copy that a child process has between `fork` and `exec`.
    let copy = locked.try_clone().unwrap();
    drop(locked);
    assert!([3, 1024].iter().all(|&byte| lock::try_lock(&other, byte, Kind::Exclusive).unwrap()));
    drop(copy);
}

#[test]
fn lock_file_with_old_length_or_contents_is_zeroed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    fs::write(folder.path().join("store-lock"), vec![9; 100_000]).unwrap();
    let storage = FileStorage::new(&path).unwrap();
    let shared = storage.shared(4096).unwrap();
    assert_eq!(fs::read(folder.path().join("store-lock")).unwrap(), vec![0; 4096]);
    let longer = storage.shared(8192).unwrap();
    assert_eq!((shared.len(), longer.len()), (4096, 8192));
    assert_eq!(fs::metadata(folder.path().join("store-lock")).unwrap().len(), 8192);
}
