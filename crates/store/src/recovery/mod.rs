#![expect(unsafe_code, reason = "makes the one object that may write to the data area")]
//! Opens a store: finds the newest header and the free space, and then replays the log.

mod first_state;
mod replay;
#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use self::first_state::first_state;
use self::replay::{explain_full, replay};
use crate::arena::{Arena, FIRST_UNIT, WriteArena};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::extent::{FIRST_LEN, UNIT};
use crate::handover::Image;
use crate::idle_view::IdleView;
use crate::log::Log;
use crate::options::Options;
use crate::process_lock::ProcessLock;
use crate::readers::{self, LockWords, Readers};
use crate::records::{Header, VERSION, newest_header};
use crate::root::Root;
use crate::storage::{DEFAULT_CAPACITY_BYTES, EncryptedStorage, FileStorage, MemoryStorage, Storage, is_encrypted};
use crate::store::Store;

/// The interval at which opening checks whether other processes have released the store.
const WAIT_INTERVAL: Duration = Duration::from_millis(10);

impl Options {
    /// Opens the store at `path`. Its log and lock files are next to it.
    ///
    /// # Errors
    /// [`Error::Busy`](crate::Error::Busy) if another process has it open in a way that excludes this one,
    /// [`Error::Corrupt`](crate::Error::Corrupt) if it is damaged, or if its data file is missing or empty although its log has
    /// commits, [`Error::Io`](crate::Error::Io), [`Error::Invalid`](crate::Error::Invalid) for a URL.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Store> {
        let path = path.as_ref();
        // As a path, a URL is in a folder named `s3:`, which `create` would make.
        let scheme = path.to_str().and_then(|text| text.split_once("://")).map(|(scheme, _)| scheme);
        if scheme.is_some_and(|scheme| !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())) {
            return Err(Error::Invalid(format!(
                "{}: a store is a file of this machine, not an object",
                path.display()
            )));
        }
        let storage = FileStorage::new(path)?.read_only(self.read_only).create(self.create);
        let storage = storage.capacity_bytes(self.capacity_bytes);
        // Before the lock file is made.
        if self.encryption_key.is_none() && is_encrypted(path)? == Some(true) {
            return Err(no_key());
        }
        let storage: Arc<dyn Storage> = match &self.encryption_key {
            Some(key) => Arc::new(EncryptedStorage::new(storage, key.clone())?),
            None => Arc::new(storage),
        };
        let started = Instant::now();
        loop {
            match self.open_storage(Arc::clone(&storage)) {
                Err(Error::Busy) if started.elapsed() < self.opening_timeout() => {
                    thread::sleep(WAIT_INTERVAL.min(self.opening_timeout().saturating_sub(started.elapsed())));
                }
                Err(Error::Corrupt { .. })
                    if self.encryption_key.is_none() && is_encrypted(path).is_ok_and(|kind| kind == Some(true)) =>
                {
                    return Err(no_key());
                }
                opened => return opened,
            }
        }
    }

    /// Opens a new store in memory, which is dropped with its last handle.
    ///
    /// # [`Error::Io`](crate::Error::Io) if there is not enough memory.
    /// [`Error::Io`](crate::Error::Io) if there is not enough memory.
    pub fn open_in_memory(&self) -> Result<Store> {
        self.open_storage(Arc::new(MemoryStorage::new(self.capacity_bytes.min(DEFAULT_CAPACITY_BYTES))?))
    }

    /// Opens the store in `storage`.
    ///
    /// # Errors
    /// The same as [`open`](Self::open).
    pub fn open_storage(&self, storage: Arc<dyn Storage>) -> Result<Store> {
        Store::open_with(storage, self.clone())
    }
}

impl Store {
    /// Opens the store at `path` with the default options, and creates it if it does not exist.
    ///
    /// # Errors
    /// The same as [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Options::new().open(path)
    }

    fn open_with(storage: Arc<dyn Storage>, options: Options) -> Result<Self> {
        let lengths = storage.lengths()?;
        if lengths.data == 0 && lengths.has_log() {
            // If processes have it open, that is the better message.
            storage.shared_with_others(readers::SHARED_LEN)?;
            return Err(lost_data());
        }
        if !options.read_only && storage.has_other_name()? {
            return Err(other_name(storage.as_ref()));
        }
        if !options.read_only {
            return Self::recover(storage.as_ref(), options, lengths.has_log());
        }
        if let Some(store) = Self::follow(storage.as_ref(), &options)? {
            return Ok(store);
        }
        match storage.private() {
            Ok(private) => Self::open_idle(storage.as_ref(), private, options, lengths.has_log()),
            // Another process has opened the store for writing, and may have published a commit by now.
            Err(Error::Busy) => Self::follow(storage.as_ref(), &options)?.ok_or(Error::Busy),
            Err(error) => Err(error),
        }
    }

    /// Opens a private view of the store, and lets writers in once the log is replayed.
    fn open_idle(storage: &dyn Storage, private: Arc<dyn Storage>, options: Options, has_log: bool) -> Result<Self> {
        let file_bytes = private.lengths()?.data;
        let store = Self::recover(private.as_ref(), options, has_log)?;
        if let Some(view) = IdleView::new(storage, private, &store.engine.arena, file_bytes)? {
            store.engine.idle_view.get_or_init(|| view);
        }
        Ok(store)
    }

    /// Opens the store to read the commits that another process publishes, or published before it ended if other
    /// readers remain.
    fn follow(storage: &dyn Storage, options: &Options) -> Result<Option<Self>> {
        let Some(shared) = storage.shared_with_others(readers::SHARED_LEN)? else { return Ok(None) };
        let words = LockWords::new(Arc::clone(&shared))?;
        let readers = Readers::new(shared)?;
        if readers.current().is_none() {
            return Ok(None);
        }
        let arena = Arc::new(Arena::new(storage.data()?));
        let header = newest_header(&arena)?;
        if options.verify_nodes {
            arena.verify_nodes(header.root.generation);
        }
        let log = Log::open(storage, header.identity, header.version)?;
        // The logs may be missing, which a reader of published commits does not need.
        readers.attach(storage, arena.data().file_number(), [0; 2])?;
        readers.check_place()?;
        let mut engine = Engine::new(arena, readers, log, options.clone(), header.identity, header.number);
        engine.is_follower = true;
        engine.lock_words = Some(words);
        Ok(Some(Self::new(Arc::new(engine))))
    }

    /// Finds the newest commit. `has_log`: whether a log was not empty before the data area was opened.
    fn recover(storage: &dyn Storage, options: Options, has_log: bool) -> Result<Self> {
        let shared = storage.shared(readers::SHARED_LEN)?;
        let words = Arc::new(LockWords::new(Arc::clone(&shared))?);
        if !words.acquire(options.opening_timeout())? {
            return Err(Error::busy(options.busy_timeout.unwrap_or_default(), words.holder()));
        }
        let taken = words.taken();
        let image = if options.read_only { None } else { Some(shared.read_state()?) };
        let readers = Readers::new(shared)?;
        let arena = Arc::new(Arena::new(storage.data()?));
        if !is_new(&arena)
            && let Some(image) = image
        {
            let header = newest_header(&arena)?;
            if let Some(image) = Image::parse(image, taken, header.identity) {
                return Self::join(storage, options, words, (arena, readers, header), image);
            }
        }
        let taken = words.take();
        // SAFETY: the writer lock was just taken, and `readers` keeps the shared memory, and with it the lock, until
        // the store is closed. The state gets this object, and is dropped with the store. Its free space contains
        // nothing that the newest commit, a named snapshot or a pinned commit reaches, and its generation is later than
        // theirs.
        let mut write_arena = unsafe { WriteArena::new(Arc::clone(&arena)) };
        if is_new(&arena) {
            if has_log {
                return Err(lost_data());
            }
            if options.read_only || !options.create {
                return Err(Error::corrupt("the data file is empty"));
            }
            make(&mut write_arena)?;
        } else {
            // A killed process may have written the newest header without syncing it. From here on, data and log records that only
            // older headers need are overwritten.
            arena.data().sync()?;
        }
        let header = checked_header(&arena)?;
        if options.verify_nodes {
            arena.verify_nodes(header.root.generation);
        }
        let log = open_log(storage, &header, &readers, &arena)?;
        // The logs have the other name.
        if options.read_only && log.file_numbers() == [0; 2] && storage.has_other_name()? {
            return Err(other_name(storage));
        }
        let state = first_state(write_arena, &readers, &header)?;
        let mut engine = Engine::new(arena, readers, log, options, header.identity, header.number);
        engine.process_lock = engine.options.busy_timeout.map(|timeout| ProcessLock::new(words, timeout, taken));
        let engine = Arc::new(engine);
        replay(&engine, state).map_err(explain_full)?;
        Ok(Self::new(engine))
    }

    /// Opens a store that another process has open, with the state that the last writer has left.
    fn join(
        storage: &dyn Storage,
        options: Options,
        words: Arc<LockWords>,
        (arena, readers, header): (Arc<Arena>, Readers, Header),
        image: Image,
    ) -> Result<Self> {
        if options.verify_nodes {
            arena.verify_nodes(header.root.generation);
        }
        let log = open_log(storage, &header, &readers, &arena)?;
        let taken = words.take();
        let mut engine = Engine::new(arena, readers, log, options, header.identity, header.number);
        engine.process_lock = engine.options.busy_timeout.map(|timeout| ProcessLock::new(words, timeout, taken));
        let (state, checkpoint) = engine.restore_image(image)?;
        *engine.checkpoints.get_mut().unwrap_or_else(PoisonError::into_inner) = checkpoint;
        engine.unlock_state(state);
        Ok(Self::new(Arc::new(engine)))
    }
}

/// Opens the log for a process that has the writer lock, and makes sure that all processes mean the same files.
fn open_log(storage: &dyn Storage, header: &Header, readers: &Readers, arena: &Arena) -> Result<Log> {
    let log = Log::open(storage, header.identity, header.version)?;
    readers.attach(storage, arena.data().file_number(), log.file_numbers())?;
    readers.check_place()?;
    Ok(log)
}

fn no_key() -> Error {
    Error::Key("the store is encrypted, and its key was not given".to_owned())
}

/// The error of a store whose data file has two names. Each of them has its own log and its own lock.
fn other_name(storage: &dyn Storage) -> Error {
    let path = storage.file_name(0);
    Error::Invalid(format!(
        "{} has another name (a hard link), and a process that uses that name finds another log: remove one of the names, or copy \
         the file",
        path.display()
    ))
}

/// Finds the newest commit of a store that is open, after another process had the writer lock and has left no state.
pub(crate) fn recover_again(engine: &Arc<Engine>) -> Result<()> {
    let arena = &engine.arena;
    // As at an opening.
    arena.data().sync()?;
    arena.set_len(u64::MAX);
    let header = checked_header(arena)?;
    if header.identity != engine.identity {
        return Err(Error::corrupt("another store has taken the place of this one"));
    }
    // SAFETY: as at an opening: the writer lock was just taken, and this process has dropped the state that it had.
    let write_arena = unsafe { WriteArena::new(Arc::clone(arena)) };
    let state = first_state(write_arena, &engine.readers, &header)?;
    *engine.checkpoints.lock().unwrap_or_else(PoisonError::into_inner) = header.number;
    replay(engine, state).map_err(explain_full)
}

/// The newest header, whose commit the file is long enough for.
fn checked_header(arena: &Arena) -> Result<Header> {
    let header = newest_header(arena)?;
    if header.end * UNIT > arena.len() || header.end < FIRST_UNIT {
        let what = format!("the file has {} bytes, and {} are in use", arena.len(), header.end.saturating_mul(UNIT));
        return Err(Error::corrupt(what));
    }
    Ok(header)
}

/// The error of an empty data area with a log. The data area is synced before the log gets its first record, so it was
/// emptied.
fn lost_data() -> Error {
    Error::corrupt(
        "the data file is missing or empty, and the log beside it has commits; put the data file back from a backup, save \
         what the log has with `lath kv repair`, or remove the files that end in -log0 and -log1 to begin anew",
    )
}

/// Returns whether nothing was ever written to the area.
fn is_new(arena: &Arena) -> bool {
    arena.len() == 0 || (arena.len() <= FIRST_LEN && arena.is_zero())
}

fn make(write_arena: &mut WriteArena) -> Result<()> {
    write_arena.grow_file(FIRST_LEN)?;
    let arena = write_arena.shared();
    arena.set_len(FIRST_LEN);
    let identity = RandomState::new().hash_one(std::process::id());
    let header = Header {
        version: VERSION,
        identity,
        number: 0,
        root: Root::EMPTY,
        end: FIRST_LEN / UNIT,
        free_map: None,
        is_clean: false,
    };
    arena.write_header(0, &header.to_bytes())?;
    arena.data().sync()
}
