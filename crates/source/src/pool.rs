//! Files of the local file system that share a bounded number of descriptors.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;

use super::local_file::read_exact_at;
use super::{ByteRanges, Version, check_range, descriptor_table};

/// A bounded number of file descriptors that files share. A file without a descriptor opens one when it is read. A full pool evicts the
/// descriptor of a random file: with least-recently-used eviction, repeated scans of more files than descriptors would find none open.
#[derive(Debug)]
pub struct FilePool {
    max_open: usize,
    open: Mutex<OpenFiles>,
    /// The number of descriptors for which the process's table has room.
    room: AtomicUsize,
}

#[derive(Debug)]
struct OpenFiles {
    slots: Vec<Weak<Slot>>,
    /// The number of insertions until the slots of dropped files are removed.
    until_sweep: usize,
    random: u64,
}

/// A file of the local file system, whose descriptor may be closed and opened again. It is an error if the file was replaced meanwhile.
#[derive(Debug)]
pub struct PooledFile {
    slot: Arc<Slot>,
    pool: Arc<FilePool>,
}

#[derive(Debug)]
struct Slot {
    path: PathBuf,
    len: u64,
    version: Version,
    file: Mutex<Option<Arc<File>>>,
}

impl FilePool {
    /// A pool of at most `max_open` descriptors, and at least one.
    pub fn new(max_open: usize) -> Self {
        let max_open = max_open.max(1);
        let open = OpenFiles { slots: Vec::new(), until_sweep: max_open, random: 0x9e37_79b9_7f4a_7c15 };
        Self { max_open, open: Mutex::new(open), room: AtomicUsize::new(Self::MIN_ROOM) }
    }

    /// The descriptors for which a new process has room. Fewer are open for other purposes.
    const MIN_ROOM: usize = 64;

    /// Makes room in the process's table for the descriptors of `files` files before threads open them.
    pub fn make_room(&self, files: usize) {
        let count = files.min(self.max_open).saturating_add(Self::MIN_ROOM);
        if files >= Self::MIN_ROOM && self.room.fetch_max(count, Ordering::Relaxed) < count {
            // This only saves time: if the limit does not allow it, the table grows as files are opened.
            let _ = descriptor_table::make_room(count);
        }
    }

    /// Three quarters of the descriptors that the process may open.
    pub fn default_size() -> usize {
        descriptor_limit() / 4 * 3
    }

    /// Records that the file of `slot` is open, and closes another if the pool is full.
    fn add(&self, slot: &Arc<Slot>) {
        let mut open = lock(&self.open);
        if open.slots.len() < self.max_open {
            open.slots.push(Arc::downgrade(slot));
            return;
        }
        open.until_sweep -= 1;
        if open.until_sweep == 0 {
            open.until_sweep = self.max_open;
            open.slots.retain(|slot| slot.strong_count() > 0);
            if open.slots.len() < self.max_open {
                open.slots.push(Arc::downgrade(slot));
                return;
            }
        }
        // A file that another thread is opening cannot be closed. It is unlikely to draw several of these in a row.
        for _ in 0..8 {
            let at = open.draw();
            let is_closed = match open.slots[at].upgrade() {
                None => true,
                Some(slot) => slot.file.try_lock().is_ok_and(|mut file| {
                    *file = None;
                    true
                }),
            };
            if is_closed {
                open.slots[at] = Arc::downgrade(slot);
                return;
            }
        }
        open.slots.push(Arc::downgrade(slot));
    }

    /// Opens the file at `path`. If the process has no descriptor left, half of the pool's are closed first.
    fn open_file(&self, path: &Path) -> io::Result<File> {
        match File::open(path) {
            Err(error) if is_out_of_descriptors(&error) => {
                let mut open = lock(&self.open);
                let half = open.slots.len().div_ceil(2);
                for slot in open.slots.drain(..half).filter_map(|slot| slot.upgrade()) {
                    if let Ok(mut file) = slot.file.try_lock() {
                        *file = None;
                    }
                }
                drop(open);
                File::open(path)
            }
            opened => opened,
        }
    }
}

impl OpenFiles {
    /// The index of a random slot (xorshift).
    fn draw(&mut self) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        // Fits: the remainder is below a length.
        (self.random % self.slots.len() as u64) as usize
    }
}

impl PooledFile {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// If it cannot be opened, or is a directory.
    pub fn open(path: &Path, pool: &Arc<FilePool>) -> io::Result<Self> {
        let file = pool.open_file(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        let (len, version) = (metadata.len(), Version::from_metadata(&metadata));
        let slot = Slot { path: path.to_owned(), len, version, file: Mutex::new(Some(Arc::new(file))) };
        let slot = Arc::new(slot);
        pool.add(&slot);
        Ok(Self { slot, pool: Arc::clone(pool) })
    }

    /// The state of the file when it was first opened.
    pub fn version(&self) -> &Version {
        &self.slot.version
    }

    /// The open file.
    fn file(&self) -> io::Result<Arc<File>> {
        let slot = &*self.slot;
        let mut held = lock(&slot.file);
        if let Some(file) = &*held {
            return Ok(Arc::clone(file));
        }
        let file = self.pool.open_file(&slot.path)?;
        if !Version::from_metadata(&file.metadata()?).has_same_contents(&slot.version) {
            return Err(io::Error::other("the file has been replaced or changed since it was opened; open it again"));
        }
        let file = Arc::new(file);
        *held = Some(Arc::clone(&file));
        // The pool locks files while it holds its own lock, so this lock is released first.
        drop(held);
        self.pool.add(&self.slot);
        Ok(file)
    }
}

impl ByteRanges for PooledFile {
    fn len(&self) -> u64 {
        self.slot.len
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.read_reusing(range, Vec::new())
    }

    fn read_reusing(&self, range: Range<u64>, mut buffer: Vec<u8>) -> io::Result<Bytes> {
        let len = check_range(&range, self.slot.len)?;
        if buffer.len() < len {
            buffer = vec![0; len];
        }
        read_exact_at(&*self.file()?, &mut buffer[..len], range.start)?;
        Ok(Bytes::from(buffer))
    }

    fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        let file = self.file()?;
        let read = |range: &Range<u64>| {
            let mut buffer = vec![0; check_range(range, self.slot.len)?];
            read_exact_at(&file, &mut buffer, range.start)?;
            Ok(Bytes::from(buffer))
        };
        ranges.iter().map(read).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
fn is_out_of_descriptors(error: &io::Error) -> bool {
    // EMFILE and ENFILE, which are the same numbers on every Unix.
    matches!(error.raw_os_error(), Some(24 | 23))
}

#[cfg(not(unix))]
fn is_out_of_descriptors(_: &io::Error) -> bool {
    false
}

/// The number of descriptors that the process may open; 256, the lowest default of common systems, if the system does not tell.
fn descriptor_limit() -> usize {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next());
    match soft {
        Some("unlimited") => 1 << 16,
        Some(number) => number.parse().map_or(256, |number: usize| number.min(1 << 16)),
        None => 256,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str, files: usize) -> (tempfile::TempDir, Vec<PathBuf>) {
        let directory = tempfile::Builder::new().prefix(name).tempdir().expect("a directory");
        let paths: Vec<PathBuf> = (0..files).map(|file| directory.path().join(format!("{file}"))).collect();
        for (file, path) in paths.iter().enumerate() {
            fs::write(path, format!("this is file {file}")).expect("a file");
        }
        (directory, paths)
    }

    fn open_count(pool: &FilePool, files: &[PooledFile]) -> (usize, usize) {
        (lock(&pool.open).slots.len(), files.iter().filter(|file| lock(&file.slot.file).is_some()).count())
    }

    #[test]
    fn more_files_than_descriptors_are_read_again_and_again() {
        let (_directory, paths) = directory("pool", 50);
        let pool = Arc::new(FilePool::new(7));
        let files: Vec<PooledFile> =
            paths.iter().map(|path| PooledFile::open(path, &pool).expect("a file just written")).collect();
        for _ in 0..5 {
            for (at, file) in files.iter().enumerate() {
                assert_eq!(file.read(0..file.len()).expect("the whole file"), format!("this is file {at}"));
                assert_eq!(open_count(&pool, &files), (7, 7));
            }
        }
    }

    #[test]
    fn threads_share_a_pool_of_one_descriptor() {
        let (_directory, paths) = directory("pool-threads", 8);
        let pool = Arc::new(FilePool::new(1));
        let files: Vec<PooledFile> =
            paths.iter().map(|path| PooledFile::open(path, &pool).expect("a file just written")).collect();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for at in (0..8).cycle().take(400) {
                        assert_eq!(files[at].read(13..14).expect("a byte of the file"), format!("{at}"));
                    }
                });
            }
        });
    }

    #[test]
    fn descriptors_of_dropped_files_are_given_back() {
        let (_directory, paths) = directory("pool-dropped", 20);
        let pool = Arc::new(FilePool::new(4));
        for path in &paths {
            drop(PooledFile::open(path, &pool));
        }
        let kept = PooledFile::open(&paths[0], &pool).expect("a file just written");
        assert!(open_count(&pool, &[kept]).0 <= 4);
    }

    #[test]
    fn a_file_that_was_replaced_is_refused_when_it_has_to_be_opened_again() {
        let (_directory, paths) = directory("pool-replaced", 2);
        let pool = Arc::new(FilePool::new(1));
        let first = PooledFile::open(&paths[0], &pool).expect("a file just written");
        let second = PooledFile::open(&paths[1], &pool).expect("a file just written");
        fs::write(paths[0].with_extension("new"), b"something else").expect("a file");
        fs::rename(paths[0].with_extension("new"), &paths[0]).expect("a file just written");
        let error = first.read(0..4).expect_err("a file that is another");
        assert!(error.to_string().contains("replaced or changed"), "{error}");
        assert_eq!(second.read(0..4).expect("a file as it was"), "this");
    }

    #[test]
    fn a_file_that_got_another_name_is_opened_again() {
        let (_directory, paths) = directory("pool-linked", 2);
        let pool = Arc::new(FilePool::new(1));
        let first = PooledFile::open(&paths[0], &pool).expect("a file just written");
        let _second = PooledFile::open(&paths[1], &pool).expect("a file just written");
        // Times are coarse: the link has to have a later one.
        while Version::from_metadata(&fs::metadata(&paths[0]).expect("a file")) == *first.version() {
            fs::hard_link(&paths[0], paths[0].with_extension("link")).expect("a link");
            fs::remove_file(paths[0].with_extension("link")).expect("the link");
        }
        assert_eq!(first.read(0..4).expect("the same bytes"), "this");
    }

    #[test]
    fn the_limit_of_the_process_is_at_least_64() {
        assert!(descriptor_limit() >= 64);
    }
}
