#![expect(unsafe_code, reason = "makes the one object that may write to the data area")]
//! Opens a store: finds the newest header and the free space, and then replays the log.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::arena::{Arena, FIRST_LEN, FIRST_UNIT, WriteArena};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::extent::{Extent, UNIT};
use crate::handover::Image;
use crate::idle_view::IdleView;
use crate::log::Log;
use crate::node::Word;
use crate::options::{Durability, Options};
use crate::process_lock::ProcessLock;
use crate::readers::{self, LockWords, Readers};
use crate::records::{Header, VERSION, newest_header, record};
use crate::root::Root;
use crate::space::Space;
use crate::space::reclaim::{Reclaimer, RetiredNode};
use crate::storage::{DEFAULT_CAPACITY_BYTES, FileStorage, MemoryStorage, Storage};
use crate::store::Store;
use crate::transaction::Transaction;
use crate::trie::Writer;
use crate::trie::walk::walk;
use crate::writer::{NamedSnapshot, PublishedCommit, RemovedSubtrees, State, sorted, walk_root, write_record_at};

/// The interval at which opening checks whether other processes have released the store.
const WAIT_INTERVAL: Duration = Duration::from_millis(10);

/// The number of commits of the log that are replayed in one transaction.
const REPLAY_BATCH: u64 = 256;

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
        let storage = Arc::new(storage.capacity_bytes(self.capacity_bytes));
        let started = Instant::now();
        loop {
            match self.open_storage(Arc::<FileStorage>::clone(&storage)) {
                Err(Error::Busy) if started.elapsed() < self.opening_timeout() => {
                    thread::sleep(WAIT_INTERVAL.min(self.opening_timeout().saturating_sub(started.elapsed())));
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
            return Err(lost_data());
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
        let mut engine = Engine::new(arena, readers, log, options.clone(), header.identity, header.number);
        engine.is_follower = true;
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
        let log = Log::open(storage, header.identity, header.version)?;
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
        let log = Log::open(storage, header.identity, header.version)?;
        let taken = words.take();
        let mut engine = Engine::new(arena, readers, log, options, header.identity, header.number);
        engine.process_lock = engine.options.busy_timeout.map(|timeout| ProcessLock::new(words, timeout, taken));
        let (state, checkpoint) = engine.restore_image(image)?;
        *engine.checkpoints.get_mut().unwrap_or_else(PoisonError::into_inner) = checkpoint;
        engine.unlock_state(state);
        Ok(Self::new(Arc::new(engine)))
    }
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

/// The state of the checkpoint that the header describes.
fn first_state(write_arena: WriteArena, readers: &Readers, header: &Header) -> Result<Box<State>> {
    let arena = &Arc::clone(write_arena.shared());
    let root = header.root;
    let mut roots: Vec<Root> = root.named(arena)?.into_iter().map(|(_, root)| root).collect();
    roots.sort_unstable_by_key(|root| root.generation);
    let named = roots.chunk_by(|a, b| a.generation == b.generation).map(|same| NamedSnapshot {
        root: same[0],
        names: same.len(),
        created: same[0].generation,
        dropped: None,
    });
    let named: Vec<NamedSnapshot> = named.collect();
    // Readers of other processes may hold commits of a writer that has ended.
    readers.take_over()?;
    let mut held = Vec::new();
    readers.pinned(&mut held);
    let mut published = Vec::new();
    for value in sorted(held) {
        let root = match readers.held_root(value) {
            Some(root) => root,
            None => Root::read(arena.node(PublishedCommit::reference(value))?)?,
        };
        published.push(PublishedCommit { value, root });
    }
    // Nodes that several of these commits reach are parked under the newest, the last one to need them.
    published.sort_unstable_by_key(|published| std::cmp::Reverse(published.root.generation));
    let newest = published.iter().map(|published| published.root.generation).max();
    let generation = root.generation.max(newest.unwrap_or(0)) + 1;

    let map = header.free_map.filter(|_| header.is_clean);
    let free_map = map.map(|reference| arena.extent(reference)).transpose()?;
    let (mut reclaimer, mut records) = (Reclaimer::new(), Reclaimer::new());
    // The map includes the nodes of the header's commit, and no root records.
    let is_in_map = |published: &PublishedCommit| published.record().is_none() && published.root == root;
    let mut space = match map {
        Some(reference) => Space::lazy(MappedValue::new(arena, reference)?)?,
        None => find_free(arena, header, &root, &named)?,
    };
    if map.is_none() || !published.iter().all(is_in_map) {
        // A killed writer may have made the file longer, and readers may hold its last commits.
        space.grow(arena.len() / UNIT);
        hold_published(arena, &published, &mut space, [&mut reclaimer, &mut records])?;
    }
    let mut writer = Writer::new(write_arena, space, generation);
    // Opening a store without writing to it does not make its file longer, however dense it is.
    let extent = writer.allocate_tightly(1)?;
    let record = write_record_at(&mut writer, extent, &root)?;
    published.push(PublishedCommit { value: PublishedCommit::table_value(record, root.sequence), root });
    Ok(Box::new(State {
        writer,
        reclaimer,
        records,
        removed_subtrees: RemovedSubtrees::default(),
        root,
        record,
        durable: root,
        checkpointing: None,
        named,
        published,
        opened: generation,
        free_map,
        gap: None,
        has_copies: false,
        held: Vec::new(),
        views: Arc::default(),
    }))
}

/// Finds the free space by visiting all nodes that the header's commit and its named snapshots reach.
fn find_free(arena: &Arc<Arena>, header: &Header, root: &Root, named: &[NamedSnapshot]) -> Result<Space> {
    let end = (arena.len() / UNIT).max(header.end);
    let mut space = Space::new(FIRST_UNIT, end);
    for root in [root].into_iter().chain(named.iter().map(|named| &named.root)) {
        walk_root(arena, root, 0, &mut |extent| Ok(space.mark_used(extent)))?;
    }
    Ok(space)
}

/// Marks the nodes as used that only readers of other processes hold, and parks them, so that they become free when the
/// readers release them. Visits no node below one that is used already: the commit that reaches it reaches all below.
///
/// No named snapshot reaches the records of commits and the tree of named snapshots, so these are parked with `records`.
///
/// The nodes count as created by the oldest of the commits that reach them. Compaction has given copies the generations of
/// the nodes that they were copied from, and by these a named snapshot would seem to need a copy that it does not reach.
fn hold_published(
    arena: &Arc<Arena>,
    published: &[PublishedCommit],
    space: &mut Space,
    [reclaimer, records]: [&mut Reclaimer; 2],
) -> Result<()> {
    let mut births = HashMap::new();
    let mut groups = Vec::new();
    for published in published {
        let mut held = [Vec::new(), Vec::new()];
        walk_published(arena, published, &mut |extent, is_record| {
            let is_new = space.mark_used(extent);
            if is_new {
                births.insert(extent.start, None);
                held[usize::from(is_record)].push(extent);
            }
            Ok(is_new)
        })?;
        groups.push((published.root.generation, held));
    }
    for published in published.iter().rev() {
        walk_published(arena, published, &mut |extent, _| {
            // All nodes below one that an older commit or the last checkpoint reaches are known.
            let Some(birth @ None) = births.get_mut(&extent.start) else { return Ok(false) };
            *birth = Some(published.root.generation);
            Ok(true)
        })?;
    }
    for (generation, held) in groups {
        for (list, nodes) in [&mut *reclaimer, &mut *records].into_iter().zip(held) {
            let born = |extent: Extent| births.get(&extent.start).copied().flatten().unwrap_or(generation);
            list.park(nodes.into_iter().map(|extent| RetiredNode { extent, birth: born(extent) }), generation);
        }
    }
    Ok(())
}

/// Calls `visit` with the nodes that a commit reaches, and whether no named snapshot can reach the node. It returns whether
/// to visit the nodes below.
fn walk_published(
    arena: &Arc<Arena>,
    published: &PublishedCommit,
    visit: &mut dyn FnMut(Extent, bool) -> Result<bool>,
) -> Result<()> {
    let root = published.root;
    if let Some(record) = published.record() {
        visit(arena.extent(record)?, true)?;
    }
    walk(arena, root.snapshots, 0, &mut |reference, _| visit(arena.extent(reference)?, true))?;
    let trees = [Root { snapshots: Word::NONE, ..root }];
    for root in trees.into_iter().chain(root.named(arena)?.into_iter().map(|(_, named)| named)) {
        walk_root(arena, &root, 0, &mut |extent| visit(extent, false))?;
    }
    Ok(())
}

/// Replays the commits of the log, and publishes the last of them.
///
/// Nothing else is published. Until the end, readers get the last commit of the writer that was killed, whose nodes
/// [`first_state`] holds. If no process was left to keep the table of readers, there is none, and readers wait.
fn replay(engine: &Arc<Engine>, state: Box<State>) -> Result<()> {
    let durable = state.durable.sequence;
    let mut idle = Some(state);
    let mut open: Option<Transaction> = None;
    let mut done = durable;
    let last = engine.log.replay(durable, |sequence, bytes| {
        // A named snapshot keeps the commit before, so that commit must be the last one of its transaction.
        let mut keeps = false;
        record::replay(bytes, |operation| {
            keeps |= matches!(operation, record::Operation::KeepSnapshot(_));
            Ok(())
        })?;
        if (keeps || sequence.is_multiple_of(REPLAY_BATCH))
            && let Some(transaction) = open.take()
        {
            idle = Some(transaction.commit_replayed(done)?);
        }
        let mut transaction = match (open.take(), idle.take()) {
            (Some(transaction), _) => transaction,
            (None, Some(state)) => Transaction::new(Arc::clone(engine), state, Durability::Off),
            (None, None) => return Err(Error::internal("the writer's state is lost during a replay")),
        };
        record::replay(bytes, |operation| transaction.apply(operation))?;
        done = sequence;
        open = Some(transaction);
        Ok(())
    })?;
    debug_assert_eq!(last, done);
    let mut state = match (open, idle) {
        (Some(transaction), _) => transaction.commit_replayed(done)?,
        (None, Some(state)) => state,
        (None, None) => return Err(Error::internal("the writer's state is lost during a replay")),
    };
    state.writer.end_replay();
    engine.publish_newest(&mut state);
    engine.unlock_state(state);
    Ok(())
}

/// Makes the error of a full disk say what the space is needed for.
fn explain_full(error: Error) -> Error {
    match error {
        Error::Io { path, source, .. } if source.kind() == ErrorKind::StorageFull => {
            Error::Io { op: "make room to replay the log in", path, source }
        }
        error => error,
    }
}

/// The bytes of a value node, kept mapped.
#[derive(Debug)]
struct MappedValue {
    arena: Arc<Arena>,
    reference: u64,
}

impl MappedValue {
    fn new(arena: &Arc<Arena>, reference: u64) -> Result<Self> {
        arena.value(reference)?;
        Ok(Self { arena: Arc::clone(arena), reference })
    }
}

impl AsRef<[u8]> for MappedValue {
    fn as_ref(&self) -> &[u8] {
        self.arena.value(self.reference).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::storage::MemoryStorage;

    #[test]
    fn clean_store_is_opened_by_its_free_map_although_reader_holds_older_commit() {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new(1 << 28).unwrap());
        let options = Options::new().background_checkpoints(false);
        let put = |store: &Store, keys: std::ops::Range<u32>, value: u8| {
            let mut transaction = store.begin().unwrap();
            let mut tree = transaction.tree("data").unwrap();
            keys.for_each(|key| tree.put(&key.to_be_bytes(), &[value; 200]).unwrap());
            transaction.commit().unwrap();
        };
        let store = options.open_storage(Arc::clone(&storage)).unwrap();
        put(&store, 0..100_000, 1);
        store.checkpoint().unwrap();
        let reader = options.clone().read_only(true).open_storage(Arc::clone(&storage)).unwrap();
        let snapshot = reader.snapshot().unwrap();
        put(&store, 500..510, 2);
        drop(store);

        let store = options.open_storage(storage).unwrap();
        let state = store.engine.lock_state().unwrap();
        // Most of the map was not read: no tree was visited as a whole.
        assert!(!state.writer.space.is_loaded());
        let held: usize = state.reclaimer.parked_nodes().map(|(_, nodes)| nodes.len()).sum();
        assert!((1..50).contains(&held), "{held}");
        store.engine.unlock_state(state);
        for round in 3..20 {
            put(&store, 0..20_000, round);
            assert!(store.check().unwrap().is_sound());
        }
        let tree = snapshot.tree("data").unwrap().unwrap();
        assert!(tree.iter().all(|entry| entry.unwrap().1 == [1; 200]) && tree.len().unwrap() == 100_000);
        drop((snapshot, reader));
        store.checkpoint().unwrap();
        put(&store, 0..1, 3);
        assert!(store.check().unwrap().is_sound());
        assert!(store.stats().unwrap().oldest_reader.is_none());
    }

    #[test]
    fn snapshot_dropped_while_reader_sees_it_leaks_no_space_at_reopening() {
        for ends_before_reopening in [false, true] {
            let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new(1 << 26).unwrap());
            let options = Options::new().background_checkpoints(false);
            let change = |store: &Store, change: &dyn Fn(&mut Transaction)| {
                let mut transaction = store.begin().unwrap();
                change(&mut transaction);
                transaction.commit().unwrap();
            };
            let store = options.open_storage(Arc::clone(&storage)).unwrap();
            change(&store, &|transaction| {
                transaction
                    .tree("data")
                    .unwrap()
                    .append((0..5000_u32).map(|key| (key.to_be_bytes(), [7; 40])))
                    .unwrap();
            });
            change(&store, &|transaction| transaction.keep_snapshot("before").unwrap());
            change(&store, &|transaction| assert!(transaction.drop_tree("data").unwrap()));
            drop(store);
            let store = options.open_storage(Arc::clone(&storage)).unwrap();
            let reader = options.clone().read_only(true).open_storage(Arc::clone(&storage)).unwrap();
            let snapshot = reader.snapshot().unwrap();
            change(&store, &|transaction| assert!(transaction.drop_snapshot("before").unwrap()));
            drop(store);
            let mut held = Some((snapshot, reader)).filter(|_| !ends_before_reopening);
            let store = options.open_storage(storage).unwrap();
            for _ in 0..2 {
                let report = store.check().unwrap();
                assert!(report.is_sound(), "{report:?}");
                if let Some((snapshot, _)) = held.take() {
                    let before = snapshot.snapshot("before").unwrap().unwrap();
                    assert_eq!(before.tree("data").unwrap().unwrap().len().unwrap(), 5000);
                }
                change(&store, &|transaction| transaction.tree("more").unwrap().put(b"key", b"").unwrap());
                store.checkpoint().unwrap();
            }
            let stats = store.stats().unwrap();
            assert!(stats.file_bytes - stats.free_bytes < 1 << 16, "{stats:?}");
        }
    }

    #[test]
    fn copies_of_killed_compaction_are_freed_although_named_snapshot_is_older() {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new(1 << 26).unwrap());
        let options = Options::new().background_checkpoints(false);
        let store = options.open_storage(Arc::clone(&storage)).unwrap();
        let change = |store: &Store, change: &dyn Fn(&mut Transaction)| {
            let mut transaction = store.begin().unwrap();
            change(&mut transaction);
            transaction.commit().unwrap();
        };
        let fill = |transaction: &mut Transaction, tree: &str| {
            let entries = (0..5000_u32).map(|key| (key.to_be_bytes(), [7; 40]));
            transaction.tree(tree).unwrap().append(entries).unwrap();
        };
        change(&store, &|transaction| fill(transaction, "before"));
        change(&store, &|transaction| fill(transaction, "data"));
        change(&store, &|transaction| assert!(transaction.drop_tree("before").unwrap()));
        change(&store, &|transaction| transaction.keep_snapshot("kept").unwrap());
        let reader = options.clone().read_only(true).open_storage(Arc::clone(&storage)).unwrap();
        // The process is killed before the checkpoint that has the copies.
        let killed = store.compact_with(|progress| {
            if progress.moved_bytes > 0 {
                store.engine.poison();
            }
            std::ops::ControlFlow::Continue(())
        });
        assert!(matches!(killed, Err(Error::Poisoned)), "{killed:?}");
        drop(store);

        let store = options.open_storage(Arc::clone(&storage)).unwrap();
        assert!(store.check().unwrap().is_sound());
        drop(reader);
        change(&store, &|transaction| transaction.tree("more").unwrap().put(b"key", b"").unwrap());
        drop(store);
        let store = options.open_storage(storage).unwrap();
        let report = store.check().unwrap();
        assert!(report.is_sound(), "{report:?}");
    }

    #[test]
    fn record_that_reader_held_is_freed_although_its_commit_is_named() {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new(1 << 26).unwrap());
        let options = Options::new().background_checkpoints(false);
        let store = options.open_storage(Arc::clone(&storage)).unwrap();
        let mut transaction = store.begin().unwrap();
        transaction.tree("data").unwrap().upsert(b"key", b"value").unwrap();
        transaction.commit().unwrap();
        let reader = options.clone().read_only(true).open_storage(Arc::clone(&storage)).unwrap();
        let snapshot = reader.snapshot().unwrap();
        drop(store);
        let store = options.open_storage(Arc::clone(&storage)).unwrap();
        let mut transaction = store.begin().unwrap();
        transaction.keep_snapshot("read by another").unwrap();
        transaction.commit().unwrap();
        drop((snapshot, reader, store));
        let store = options.open_storage(storage).unwrap();
        let report = store.check().unwrap();
        assert!(report.is_sound(), "{report:?}");
    }

    #[test]
    fn opening_fails_on_record_that_cannot_be_replayed() {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new(1 << 24).unwrap());
        let options = Options::new().background_checkpoints(false);
        let store = options.open_storage(Arc::clone(&storage)).unwrap();
        let mut transaction = store.begin().unwrap();
        transaction.tree("data").unwrap().upsert(b"a", b"1").unwrap();
        transaction.commit().unwrap();
        store.checkpoint().unwrap();
        // The checksum of the first record is right, but no operation has this number.
        store.engine.log.append(2, &[&[0xee; 20]]).unwrap();
        store.engine.poison();
        drop(store);
        let (sender, opened) = mpsc::channel();
        thread::spawn(move || sender.send(options.open_storage(storage).map(drop)));
        let Ok(Err(error)) = opened.recv_timeout(Duration::from_secs(20)) else { panic!("it opens, or never ends") };
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    }
}
