//! The snapshots of readers while a process replays the log of another one that was killed.
#![expect(unsafe_code, reason = "implements storage that calls a test while a log is read")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lath_store::{Data, Error, FileStorage, LogFile, Options, Result, SharedMemory, Snapshot, Storage, Store};

use super::processes::Process;
use crate::history::assert_sound;

/// Commits whose records take several reads of the log, and several transactions of the replay.
const COMMITS: u64 = 2000;

/// The options of a process whose commits are all in the log, and which waits as long as any machine takes.
pub(super) fn options() -> Options {
    Options::new().capacity_bytes(1 << 30).background_checkpoints(false).busy_timeout(Duration::from_secs(600))
}

fn reader() -> Options {
    Options::new().capacity_bytes(1 << 30).read_only(true)
}

/// The files of a store, whose logs call a function before each read.
struct WatchedLogs {
    files: FileStorage,
    watch: Arc<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for WatchedLogs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.files.fmt(f)
    }
}

// SAFETY: everything is as in `files`, but for a call before logs are read.
unsafe impl Storage for WatchedLogs {
    fn data(&self) -> Result<Arc<dyn Data>> {
        self.files.data()
    }

    fn log(&self, index: usize) -> Result<Arc<dyn LogFile>> {
        Ok(Arc::new(WatchedLog { log: self.files.log(index)?, watch: Arc::clone(&self.watch) }))
    }

    fn shared(&self, len: usize) -> Result<Arc<dyn SharedMemory>> {
        self.files.shared(len)
    }

    fn lengths(&self) -> Result<lath_store::Lengths> {
        self.files.lengths()
    }
}

struct WatchedLog {
    log: Arc<dyn LogFile>,
    watch: Arc<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for WatchedLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.log.fmt(f)
    }
}

impl LogFile for WatchedLog {
    fn len(&self) -> Result<u64> {
        self.log.len()
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        (self.watch)();
        self.log.read_at(offset, bytes)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.log.write_at(offset, bytes)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.log.set_len(len)
    }

    fn sync(&self) -> Result<()> {
        self.log.sync()
    }
}

/// Opens the store as the next writer, and calls `watch` with the number of each read of the log.
fn open_watched(path: &Path, watch: impl Fn(usize) + Send + Sync + 'static) -> Store {
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reads);
    let watch = Arc::new(move || watch(counted.fetch_add(1, Ordering::Relaxed)));
    let files = FileStorage::new(path).unwrap().capacity_bytes(1 << 30);
    let store = options().open_storage(Arc::new(WatchedLogs { files, watch })).unwrap();
    assert!(reads.load(Ordering::Relaxed) > 4, "the log was not read while it was replayed");
    store
}

/// Checks that a snapshot has this commit, and all before.
fn assert_has(snapshot: &Snapshot, commit: u64, what: &str) {
    assert_eq!(snapshot.sequence(), commit, "{what}");
    assert_counts(snapshot, commit, what);
}

/// Checks the contents alone: the commits of a copy have other numbers.
fn assert_counts(snapshot: &Snapshot, commit: u64, what: &str) {
    let tree = snapshot.tree("accounts").unwrap().unwrap();
    let count = tree.get(b"count").unwrap().unwrap();
    assert_eq!(u64::from_le_bytes(*count.first_chunk().unwrap()), commit, "{what}");
    let amounts = tree.prefix(&[0]).map(|entry| i64::from_le_bytes(*entry.unwrap().1.first_chunk().unwrap()));
    assert_eq!(amounts.sum::<i64>(), 0, "{what}");
}

/// A process commits often, and is killed. `before` is called before it is killed.
fn kill_writer<T>(before: impl FnOnce(&Path) -> T) -> (tempfile::TempDir, PathBuf, T) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut process = Process::start(&path, &format!("fill {COMMITS}"));
    process.expect("filled");
    let value = before(&path);
    process.kill();
    (folder, path, value)
}

#[test]
fn readers_get_last_commit_of_killed_writer_while_its_log_is_replayed() {
    let (folder, path, store) = kill_writer(|path| reader().open(path).unwrap());
    let held = store.snapshot().unwrap();
    assert_has(&held, COMMITS, "after the kill");
    let (old, watched, copy) = (store.clone(), path.clone(), folder.path().join("copy"));
    let next = open_watched(&path, move |read| {
        assert_has(&old.snapshot().unwrap(), COMMITS, &format!("a reader at read {read} of the log"));
        let new = reader().open(&watched).unwrap();
        assert_has(&new.snapshot().unwrap(), COMMITS, &format!("a new reader at read {read} of the log"));
        if read % 4 == 3 {
            let copy = copy.with_extension(read.to_string());
            new.snapshot().unwrap().backup(&copy).unwrap();
            let copy = reader().open(copy).unwrap();
            assert_counts(&copy.snapshot().unwrap(), COMMITS, &format!("a backup at read {read} of the log"));
        }
    });
    assert_has(&next.snapshot().unwrap(), COMMITS, "the next writer");
    assert_has(&store.snapshot().unwrap(), COMMITS, "a reader after the replay");
    assert_has(&held, COMMITS, "a snapshot from before the replay");
    drop((held, store));
    let mut transaction = next.begin().unwrap();
    transaction.tree("more").unwrap().put(b"key", b"").unwrap();
    transaction.commit().unwrap();
    assert_sound(&next, "the end");
}

#[test]
fn other_writer_goes_on_from_last_commit_of_killed_one() {
    let (_folder, path, other) = kill_writer(|path| options().open(path).unwrap());
    let threads = other.clone();
    // The threads of the process that replays the log take snapshots meanwhile.
    std::thread::scope(|scope| {
        let reads = scope.spawn(move || {
            while threads.snapshot().unwrap().sequence() == COMMITS {
                std::thread::yield_now();
            }
            threads.snapshot().unwrap().sequence()
        });
        let mut transaction = other.begin().unwrap();
        transaction.tree("more").unwrap().put(b"key", b"").unwrap();
        transaction.commit().unwrap();
        assert_eq!(reads.join().unwrap(), COMMITS + 1);
    });
    drop(path);
    assert_sound(&other, "the end");
}

#[test]
fn readers_are_busy_while_log_is_replayed_and_no_process_knows_newest_commit() {
    let (_folder, path, ()) = kill_writer(|_| ());
    // Without a writer, a reader replays the log itself.
    assert_has(&reader().open(&path).unwrap().snapshot().unwrap(), COMMITS, "without a writer");
    let watched = path.clone();
    let next = open_watched(&path, move |read| match reader().open(&watched) {
        Err(Error::Busy) => {}
        Err(error) => panic!("read {read} of the log: {error}"),
        Ok(store) => assert_has(&store.snapshot().unwrap(), COMMITS, &format!("read {read} of the log")),
    });
    assert_has(&next.snapshot().unwrap(), COMMITS, "the next writer");
    assert_has(&reader().open(&path).unwrap().snapshot().unwrap(), COMMITS, "a reader after the replay");
    assert_sound(&next, "the end");
}
