//! The open write transaction of a table.

use std::collections::BTreeMap;
use std::sync::Arc;

use lath_parquet::DeleteMask;
use lath_store::{Durability, RecordWriter, Tree};

use super::pending_rows::{PendingBatch, PendingRows};
use super::sorted_files::{NewFile, NewFiles};
use super::touched_values::{StatementValues, TouchedValues};
use crate::error::{Error, Result};
use crate::file::keys_of_rows;
use crate::records::{
    DroppedFile, Feed, FileEntry, ForeignKey, ForeignKeys, Index, MASK_ROWS, Manifest, PUBLISHING_KEY, Publishing,
    STATE_KEY, State, TreeName, file_key, history, mask_key, put_file_place, schema_key,
};
use crate::row::{ByteList, Categories, TableSchema, value_codec};
use crate::view::{Catalog, Commit, Engine, Expiry, View, checksums_to_bytes, parse_mask, read_mask};

/// The next commit in preparation. Dropped without [`commit`](Self::commit), it changes nothing.
#[derive(Debug)]
pub(crate) struct OpenWrite {
    engine: Arc<Engine>,
    transaction: StoreTransaction,
    /// The state of the last commit, with the stamp of this one.
    state: State,
    /// The number that the commit has in the store.
    commit: u64,
    committed_stamp: u64,
    committed_generation: u64,
    committed_schema: u32,
    schema: Arc<TableSchema>,
    manifest: Arc<Manifest>,
    indexes: Arc<Vec<Index>>,
    /// The greatest number that an index has had. Numbers of dropped indexes are not used again here, as `touched` may have them.
    last_index: u64,
    foreign_keys: Arc<ForeignKeys>,
    /// Values that foreign keys may forbid, which are checked at the commit.
    touched: TouchedValues,
    /// The time at which it began, in microseconds since 1970.
    clock: i64,
    /// The rows that had expired then.
    expiry: Option<Expiry>,
    has_changed: bool,
    /// Rows that are not written yet.
    pending: PendingRows,
    /// Files that are removed if the transaction does not commit.
    files: Vec<NewFiles>,
    /// Other tables that the commit of this one changes by actions of foreign keys.
    others: BTreeMap<u64, OpenWrite>,
}

impl OpenWrite {
    /// Waits until another open transaction has ended.
    pub(crate) fn begin(engine: &Arc<Engine>) -> Result<Self> {
        let transaction = StoreTransaction::Own(engine.store.begin()?);
        Self::new(engine, transaction, engine.options.clock.now_micros())
    }

    /// A table's part of an open transaction, which is [lent](Self::lend) to the table before it is used. Rows expire by `clock`.
    pub(crate) fn part(engine: &Arc<Engine>, clock: i64) -> Result<Self> {
        Self::new(engine, StoreTransaction::Elsewhere, clock)
    }

    /// The first commit of a table, in a transaction of its store.
    pub(crate) fn create(
        engine: &Arc<Engine>,
        mut transaction: lath_store::Transaction,
        schema: TableSchema,
        cluster: Vec<u32>,
    ) -> Result<Self> {
        let clock = engine.options.clock.now_micros();
        let created = Self::create_part(engine, &mut transaction, schema, cluster, clock)?;
        Ok(Self { transaction: StoreTransaction::Own(transaction), ..created })
    }

    /// A new table's part of an open transaction, which is [lent](Self::lend) to the table before it is used.
    pub(crate) fn create_part(
        engine: &Arc<Engine>,
        transaction: &mut lath_store::Transaction,
        schema: TableSchema,
        cluster: Vec<u32>,
        clock: i64,
    ) -> Result<Self> {
        let commit = engine.store.snapshot()?.sequence() + 1;
        let state = put_empty_table(engine, transaction, &schema, cluster, commit)?;
        Ok(Self {
            engine: Arc::clone(engine),
            transaction: StoreTransaction::Elsewhere,
            state,
            commit,
            committed_stamp: commit - 1,
            committed_generation: 0,
            committed_schema: 0,
            clock,
            expiry: Expiry::new(&schema, clock),
            schema: Arc::new(schema),
            manifest: Arc::default(),
            indexes: Arc::default(),
            last_index: 0,
            foreign_keys: Arc::default(),
            touched: TouchedValues::default(),
            has_changed: true,
            pending: PendingRows::default(),
            files: Vec::new(),
            others: BTreeMap::new(),
        })
    }

    fn new(engine: &Arc<Engine>, transaction: StoreTransaction, clock: i64) -> Result<Self> {
        // While the transaction is open, this stays the newest commit.
        let pinned = Commit::newest(engine)?;
        let mut state = pinned.state().clone();
        let commit = pinned.snapshot().sequence() + 1;
        // The store of a backup may have counted its commits from the start again, but stamps continue.
        state.stamp = commit.max(state.stamp + 1);
        Ok(Self {
            engine: Arc::clone(engine),
            transaction,
            state,
            commit,
            committed_stamp: pinned.stamp(),
            committed_generation: pinned.snapshot().generation(),
            committed_schema: View::schema(&pinned).version(),
            schema: Arc::clone(View::schema(&pinned)),
            manifest: Arc::clone(pinned.manifest()),
            last_index: pinned.indexes().iter().map(Index::number).max().unwrap_or(0),
            indexes: Arc::clone(pinned.indexes()),
            foreign_keys: Arc::clone(pinned.foreign_keys()),
            touched: TouchedValues::default(),
            clock,
            expiry: Expiry::new(View::schema(&pinned), clock),
            has_changed: false,
            pending: PendingRows::default(),
            files: Vec::new(),
            others: BTreeMap::new(),
        })
    }

    /// Writes pending rows and gives the readable state that contains them.
    pub(crate) fn view(&mut self) -> Result<WriteView<'_>> {
        self.write_pending()?;
        Ok(WriteView { write: self })
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    pub(crate) fn indexes(&self) -> &Arc<Vec<Index>> {
        &self.indexes
    }

    pub(crate) fn foreign_keys(&self) -> &Arc<ForeignKeys> {
        &self.foreign_keys
    }

    pub(crate) fn touched(&self) -> &TouchedValues {
        &self.touched
    }

    pub(crate) fn touched_mut(&mut self) -> &mut TouchedValues {
        &mut self.touched
    }

    /// The state with the stamp of this write.
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    pub(crate) fn schema(&self) -> &Arc<TableSchema> {
        &self.schema
    }

    pub(crate) fn manifest(&self) -> &Arc<Manifest> {
        &self.manifest
    }

    /// The time at which this began, in microseconds since 1970.
    pub(crate) fn clock(&self) -> i64 {
        self.clock
    }

    /// The rows that had expired when this began; `None` if rows do not expire.
    pub(crate) fn expiry(&self) -> Option<&Expiry> {
        self.expiry.as_ref()
    }

    /// The tree of files that were dropped from the list.
    pub(crate) fn dropped_tree(&mut self) -> Result<lath_store::TreeMut<'_>> {
        self.has_changed = true;
        self.transaction.tree(self.engine.trees.get(TreeName::Dropped))
    }

    /// The tree of changes.
    pub(crate) fn changes_tree(&mut self) -> Result<lath_store::TreeMut<'_>> {
        self.transaction.tree(self.engine.trees.get(TreeName::Changes))
    }

    /// The tree of an index, to be changed.
    pub(crate) fn index_tree_mut(&mut self, number: u64) -> Result<lath_store::TreeMut<'_>> {
        self.has_changed = true;
        self.transaction.tree(&self.engine.trees.index(number))
    }

    /// The number of the next index.
    pub(crate) fn next_index(&self) -> u64 {
        self.last_index + 1
    }

    /// Adds an index without entries.
    pub(crate) fn add_index(&mut self, index: Index) -> Result<()> {
        self.transaction.tree(self.engine.trees.get(TreeName::Meta))?.put(&index.meta_key(), &index.to_bytes())?;
        self.last_index = self.last_index.max(index.number());
        Arc::make_mut(&mut self.indexes).push(index);
        self.files_changed();
        Ok(())
    }

    /// Drops an index with its entries.
    pub(crate) fn drop_index(&mut self, index: &Index) -> Result<()> {
        self.transaction.tree(self.engine.trees.get(TreeName::Meta))?.remove(&index.meta_key())?;
        self.transaction.drop_tree(&self.engine.trees.index(index.number()))?;
        Arc::make_mut(&mut self.indexes).retain(|other| other.number() != index.number());
        self.files_changed();
        Ok(())
    }

    /// Adds a foreign key of this table, or one that refers to it, or both.
    pub(crate) fn add_foreign_key(&mut self, key: &ForeignKey) -> Result<()> {
        if self.schema.ttl().is_some() {
            return Err(Error::schema(format!(
                "rows of the foreign key {:?} would refer to missing ones, because rows of one of its tables expire: drop the TTL first",
                key.name
            )));
        }
        let number = self.engine.trees.number();
        let mut meta = self.transaction.tree(self.engine.trees.get(TreeName::Meta))?;
        let all = Arc::make_mut(&mut self.foreign_keys);
        if number == Some(key.table) {
            meta.put(&key.own_key(), &key.to_bytes())?;
            all.own.push(key.clone());
        }
        if number == Some(key.referred) {
            meta.put(&key.referring_key(), &key.to_bytes())?;
            all.referring.push(key.clone());
        }
        self.foreign_keys_changed();
        Ok(())
    }

    /// Drops a foreign key of this table, or one that refers to it, or both.
    pub(crate) fn drop_foreign_key(&mut self, key: &ForeignKey) -> Result<()> {
        let number = self.engine.trees.number();
        let mut meta = self.transaction.tree(self.engine.trees.get(TreeName::Meta))?;
        let all = Arc::make_mut(&mut self.foreign_keys);
        if number == Some(key.table) {
            meta.remove(&key.own_key())?;
            all.own.retain(|other| other != key);
        }
        if number == Some(key.referred) {
            meta.remove(&key.referring_key())?;
            all.referring.retain(|other| other != key);
        }
        self.foreign_keys_changed();
        Ok(())
    }

    fn foreign_keys_changed(&mut self) {
        self.state.has_references = !self.foreign_keys.is_empty();
        self.files_changed();
    }

    /// Makes this the table's schema: the version after the one that it has, in which pending rows are written before.
    pub(crate) fn set_schema(&mut self, schema: TableSchema) -> Result<()> {
        self.write_pending()?;
        let indexes = self.indexes.iter().map(|index| index.in_schema(&schema)).collect::<Result<Vec<_>>>()?;
        let mut meta = self.transaction.tree(self.engine.trees.get(TreeName::Meta))?;
        meta.put(&schema_key(schema.version()), &schema.to_bytes()?)?;
        schema.categories().write(&mut meta, self.schema.categories())?;
        self.state.schema = schema.version();
        self.state.is_constrained = !schema.constraints().is_empty();
        self.state.is_expiring = schema.ttl().is_some();
        self.expiry = Expiry::new(&schema, self.clock);
        self.schema = Arc::new(schema);
        self.indexes = Arc::new(indexes);
        self.files_changed();
        Ok(())
    }

    /// Replaces the categories of columns, in the same version of the schema.
    pub(crate) fn set_categories(&mut self, categories: Arc<Categories>) -> Result<()> {
        let mut meta = self.transaction.tree(self.engine.trees.get(TreeName::Meta))?;
        categories.write(&mut meta, self.schema.categories())?;
        self.schema = Arc::new(self.schema.with_categories(categories)?);
        self.files_changed();
        Ok(())
    }

    /// Marks the changes so far, to return to.
    pub(crate) fn savepoint(&mut self) -> Result<Savepoint> {
        let write = self.mark()?;
        Ok(Savepoint { store: self.transaction.get()?.savepoint()?, write })
    }

    /// Undoes the changes since a savepoint.
    pub(crate) fn rollback(&mut self, savepoint: &Savepoint) -> Result<()> {
        self.transaction.get()?.rollback(&savepoint.store)?;
        self.restore(&savepoint.write);
        Ok(())
    }

    /// The state of this in memory, once pending rows are written.
    pub(crate) fn mark(&mut self) -> Result<WriteMark> {
        self.write_pending()?;
        Ok(self.unread_mark())
    }

    /// The state of this in memory, without pending rows.
    pub(crate) fn unread_mark(&self) -> WriteMark {
        WriteMark {
            state: self.state.clone(),
            schema: Arc::clone(&self.schema),
            manifest: Arc::clone(&self.manifest),
            indexes: Arc::clone(&self.indexes),
            foreign_keys: Arc::clone(&self.foreign_keys),
            statement: Arc::clone(&self.touched.statement),
            has_changed: self.has_changed,
            file_count: self.files.len(),
        }
    }

    /// Returns to what this held in memory. The store's transaction returns separately.
    pub(crate) fn restore(&mut self, mark: &WriteMark) {
        self.state = mark.state.clone();
        self.schema = Arc::clone(&mark.schema);
        self.expiry = Expiry::new(&self.schema, self.clock);
        self.manifest = Arc::clone(&mark.manifest);
        self.indexes = Arc::clone(&mark.indexes);
        self.foreign_keys = Arc::clone(&mark.foreign_keys);
        self.touched.statement = Arc::clone(&mark.statement);
        self.has_changed = mark.has_changed;
        self.pending = PendingRows::default();
        self.files.truncate(mark.file_count);
    }

    /// The changes so far as a commit that others do not see; `None` if there are none. Pending rows are written before.
    pub(crate) fn commit_so_far(&self, snapshot: &Arc<lath_store::Snapshot>) -> Option<Arc<Commit>> {
        let catalog = || Catalog {
            schema: Arc::clone(&self.schema),
            manifest: Arc::clone(&self.manifest),
            indexes: Arc::clone(&self.indexes),
            foreign_keys: Arc::clone(&self.foreign_keys),
        };
        let commit = || {
            let state = self.state.clone();
            Commit::in_transaction(&self.engine, snapshot, state, catalog(), self.committed_stamp, self.clock)
        };
        self.has_changed.then(commit)
    }

    /// Sets the columns by which new files are sorted before the key, by their numbers.
    pub(crate) fn set_cluster(&mut self, ids: Vec<u32>) {
        self.state.cluster = ids;
        self.has_changed = true;
    }

    /// Sets which changes are kept.
    pub(crate) fn set_feed(&mut self, feed: Option<Feed>) {
        self.state.feed = feed;
        self.has_changed = true;
    }

    /// Sets whether and how the table is published.
    pub(crate) fn set_publishing(&mut self, publishing: Option<Publishing>) -> Result<()> {
        let mut meta = self.transaction.tree(self.engine.trees.get(TreeName::Meta))?;
        match publishing {
            Some(publishing) => meta.put(PUBLISHING_KEY, &publishing.to_bytes())?,
            None => drop(meta.remove(PUBLISHING_KEY)?),
        }
        self.has_changed = true;
        Ok(())
    }

    /// Takes the store's transaction out of this, so that another table can be changed in it.
    pub(crate) fn take_own(&mut self) -> Result<lath_store::Transaction> {
        match std::mem::replace(&mut self.transaction, StoreTransaction::Elsewhere) {
            StoreTransaction::Own(transaction) => Ok(transaction),
            other => {
                self.transaction = other;
                Err(Error::PartOfTransaction)
            }
        }
    }

    /// Puts it back.
    pub(crate) fn put_back_own(&mut self, transaction: lath_store::Transaction) {
        self.transaction = StoreTransaction::Own(transaction);
    }

    /// Lends the transaction of which this is a part.
    pub(crate) fn lend(&mut self, transaction: lath_store::Transaction) {
        self.transaction = StoreTransaction::Lent(transaction);
    }

    /// Gives back the transaction that was lent.
    pub(crate) fn give_back(&mut self) -> Option<lath_store::Transaction> {
        match std::mem::replace(&mut self.transaction, StoreTransaction::Elsewhere) {
            StoreTransaction::Lent(transaction) => Some(transaction),
            own => {
                self.transaction = own;
                None
            }
        }
    }

    /// Rows that were put and are not written yet.
    pub(crate) fn pending_mut(&mut self) -> &mut PendingRows {
        &mut self.pending
    }

    /// Files that are removed again if the transaction does not commit.
    pub(crate) fn keep_on_commit(&mut self, files: NewFiles) {
        self.files.push(files);
    }

    /// Keeps the files from now on, because a commit that returns an error may still have been made.
    pub(crate) fn keep_files(&mut self) {
        self.files.iter_mut().for_each(NewFiles::keep);
    }

    /// Puts rows into the hot tree.
    pub(crate) fn put_hot(&mut self, PendingBatch { keys, columns, .. }: &PendingBatch) -> Result<()> {
        let values = self.schema.values().encode(columns)?;
        self.remove_tombstones(keys)?;
        let (stamp, version) = (self.state.stamp, self.schema.version());
        let mut hot = self.transaction.tree(self.engine.trees.get(TreeName::Hot))?;
        let mut value = Vec::new();
        let mut bytes = 0;
        for (at, key) in keys.iter().enumerate() {
            let row = values.as_ref().map_or(&[][..], |values| values.row(at).data());
            value_codec::write(&mut value, key, stamp, version, row);
            hot.put(key, &value)?;
            bytes += (key.len() + value.len()) as u64;
        }
        self.state.hot_bytes += bytes;
        self.hot_changed();
        Ok(())
    }

    fn remove_tombstones(&mut self, keys: &ByteList) -> Result<()> {
        let mut tombstones = self.transaction.tree(self.engine.trees.get(TreeName::Tombstones))?;
        if tombstones.is_empty() {
            return Ok(());
        }
        let slices: Vec<&[u8]> = keys.iter().collect();
        let found = tombstones.as_tree()?.get_many(&slices)?;
        let found: Vec<&[u8]> =
            slices.iter().zip(found).filter(|(_, value)| value.is_some()).map(|(key, _)| *key).collect();
        for key in found {
            tombstones.remove(key)?;
        }
        Ok(())
    }

    /// Deletes rows with these keys, whether or not there are any.
    pub(crate) fn delete_keys(&mut self, keys: &ByteList) -> Result<()> {
        self.write_pending()?;
        self.record_deletes(keys)?;
        self.unindex_keys(keys)?;
        self.touch_keys(keys.iter());
        let mut hot = self.transaction.tree(self.engine.trees.get(TreeName::Hot))?;
        let mut has_changed = false;
        if !hot.is_empty() {
            for key in keys.iter() {
                has_changed |= hot.remove(key)?;
            }
        }
        let stamp = self.state.stamp.to_le_bytes();
        let mut tombstones = self.transaction.tree(self.engine.trees.get(TreeName::Tombstones))?;
        for key in keys.iter().filter(|key| self.manifest.may_have(key)) {
            tombstones.put(key, &stamp)?;
            self.state.hot_bytes += (key.len() + stamp.len()) as u64;
            has_changed = true;
        }
        if has_changed {
            self.hot_changed();
        }
        Ok(())
    }

    /// Deletes rows of a file. Their keys are read once for the changes and all indexes.
    pub(crate) fn delete_rows(&mut self, file: u64, rows: &DeleteMask) -> Result<()> {
        self.write_pending()?;
        let reads_keys = self.state.feed.is_some() || !self.indexes.is_empty() || self.foreign_keys.refer_to_key();
        if !rows.is_empty() && reads_keys {
            let entry = Arc::clone(self.manifest.file(file)?);
            let cold = Arc::clone(&self.engine).cold(&mut self.view()?, &entry)?;
            let numbers: Vec<u64> = rows.iter().collect();
            let keys = keys_of_rows(&cold, &numbers)?;
            self.record_deletes_of_rows(&keys)?;
            self.unindex_rows(&cold, &numbers, &keys)?;
            self.touch_keys(keys.iter().map(Vec::as_slice));
        }
        self.add_to_mask(file, rows)
    }

    fn hot_changed(&mut self) {
        self.state.hot_stamp = self.state.stamp;
        self.has_changed = true;
    }

    fn files_changed(&mut self) {
        self.state.files_stamp = self.state.stamp;
        self.has_changed = true;
    }

    /// Adds rows to the mask of a file.
    pub(crate) fn add_to_mask(&mut self, number: u64, rows: &DeleteMask) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut entry = FileEntry::clone(self.manifest.file(number)?);
        let mut masks = self.transaction.tree(self.engine.trees.get(TreeName::Masks))?;
        let mut rows = rows.iter().peekable();
        while let Some(&row) = rows.peek() {
            let key = mask_key(number, row);
            let mut mask = masks.get(&key)?.map(parse_mask).transpose()?.unwrap_or_default();
            let before = mask.len();
            let piece = row / MASK_ROWS;
            while let Some(row) = rows.next_if(|row| row / MASK_ROWS == piece) {
                mask.insert(row);
            }
            entry.masked += mask.len() - before;
            masks.put(&key, &RecordWriter::default().bytes(&mask.to_bytes()).finish())?;
        }
        entry.mask_stamp = self.state.stamp;
        self.transaction.tree(self.engine.trees.get(TreeName::Files))?.put(&file_key(number), &entry.to_bytes())?;
        Arc::make_mut(&mut self.manifest).replace(entry);
        self.files_changed();
        Ok(())
    }

    /// Adds a file, which has its name and is on the disk.
    pub(crate) fn add_file(&mut self, file: &NewFile) -> Result<()> {
        let (entry, keys) = (file.entry.clone(), &file.keys.to_bytes());
        let key = file_key(entry.number);
        let checksums = checksums_to_bytes(&file.checksums);
        self.transaction.tree(self.engine.trees.get(TreeName::Checksums))?.put(&key, &checksums)?;
        self.transaction.tree(self.engine.trees.get(TreeName::Files))?.put(&key, &entry.to_bytes())?;
        self.transaction.tree(self.engine.trees.get(TreeName::BlockIndex))?.put(&key, keys)?;
        self.state.next_file = self.state.next_file.max(entry.number + 1);
        Arc::make_mut(&mut self.manifest).push(entry);
        self.files_changed();
        Ok(())
    }

    /// Replaces a file by one with the same contents, which has its name and is on the disk.
    pub(crate) fn move_file(&mut self, entry: &FileEntry, number: u64, name: String) -> Result<()> {
        let mask = read_mask(&mut self.view()?, entry.number)?;
        let mut moved = Vec::new();
        for tree in [TreeName::BlockIndex, TreeName::Checksums] {
            let mut tree = self.transaction.tree(self.engine.trees.get(tree))?;
            moved.push(tree.get(&file_key(entry.number))?.map(<[u8]>::to_vec));
        }
        self.drop_file(entry)?;
        let key = file_key(number);
        for (tree, record) in [TreeName::BlockIndex, TreeName::Checksums].into_iter().zip(moved) {
            if let Some(record) = record {
                self.transaction.tree(self.engine.trees.get(tree))?.put(&key, &record)?;
            }
        }
        let entry = FileEntry { number, name, masked: 0, mask_stamp: 0, ..entry.clone() };
        self.transaction.tree(self.engine.trees.get(TreeName::Files))?.put(&key, &entry.to_bytes())?;
        self.state.next_file = self.state.next_file.max(number + 1);
        Arc::make_mut(&mut self.manifest).push(entry);
        self.files_changed();
        self.add_to_mask(number, &mask)
    }

    /// Replaces the entry of a file and the keys of its blocks.
    pub(crate) fn replace_file(&mut self, entry: FileEntry, keys: &[u8]) -> Result<()> {
        let key = file_key(entry.number);
        self.transaction.tree(self.engine.trees.get(TreeName::Files))?.put(&key, &entry.to_bytes())?;
        self.transaction.tree(self.engine.trees.get(TreeName::BlockIndex))?.put(&key, keys)?;
        Arc::make_mut(&mut self.manifest).replace(entry);
        self.files_changed();
        Ok(())
    }

    /// Removes keys from the hot tree or the tombstones.
    pub(crate) fn remove_keys(&mut self, name: TreeName, keys: &ByteList) -> Result<()> {
        let mut tree = self.transaction.tree(self.engine.trees.get(name))?;
        for key in keys.iter() {
            tree.remove(key)?;
        }
        self.hot_changed();
        Ok(())
    }

    /// Drops a file from the list. It is removed once no reader needs it.
    pub(crate) fn drop_file(&mut self, entry: &FileEntry) -> Result<()> {
        let key = file_key(entry.number);
        self.transaction.tree(self.engine.trees.get(TreeName::Files))?.remove(&key)?;
        self.transaction.tree(self.engine.trees.get(TreeName::BlockIndex))?.remove(&key)?;
        self.transaction.tree(self.engine.trees.get(TreeName::Checksums))?.remove(&key)?;
        let next = file_key(entry.number + 1);
        self.transaction.tree(self.engine.trees.get(TreeName::Masks))?.remove_range(&key, Some(&next))?;
        let dropped = DroppedFile { name: entry.name.clone(), stamp: self.commit, dropped: self.commit };
        self.transaction.tree(self.engine.trees.get(TreeName::Dropped))?.put(&key, &dropped.to_bytes())?;
        Arc::make_mut(&mut self.manifest).remove(entry.number);
        self.files_changed();
        Ok(())
    }

    /// Leaves in the hot tree or the tombstones only these entries, and returns their bytes.
    pub(crate) fn replace_hot(&mut self, name: TreeName, entries: &[(Vec<u8>, Vec<u8>)]) -> Result<u64> {
        let mut tree = self.transaction.tree(self.engine.trees.get(name))?;
        tree.remove_range(&[], None)?;
        let mut bytes = 0;
        for (key, value) in entries {
            bytes += (key.len() + value.len()) as u64;
            tree.put(key, value)?;
        }
        self.hot_changed();
        Ok(bytes)
    }

    pub(crate) fn set_hot_bytes(&mut self, bytes: u64) {
        self.state.hot_bytes = bytes;
    }

    /// Makes the changes visible to others.
    pub(crate) fn commit(mut self, durability: Durability) -> Result<()> {
        self.check_foreign_keys()?;
        let has_work = self.write_state()?;
        let mut others = std::mem::take(&mut self.others);
        let mut due = Vec::new();
        for other in others.values_mut() {
            other.lend(self.take_own()?);
            let is_due = other.write_state();
            if let Some(transaction) = other.give_back() {
                self.put_back_own(transaction);
            }
            if is_due? {
                due.push(Arc::clone(&other.engine));
            }
            self.has_changed |= other.has_changed;
            other.keep_files();
        }
        let Self { transaction: StoreTransaction::Own(mut transaction), engine, has_changed, mut files, .. } = self
        else {
            return Err(Error::PartOfTransaction);
        };
        files.iter_mut().for_each(NewFiles::keep);
        if has_changed {
            history::keep_commit_before(&mut transaction, &engine.store.snapshot()?)?;
            transaction.commit_with(durability)?;
        }
        if has_work {
            engine.signal.notify();
        }
        due.iter().for_each(|engine| engine.signal.notify());
        Ok(())
    }

    /// Other tables that the commit of this one changes, by their numbers.
    pub(crate) fn others_mut(&mut self) -> &mut BTreeMap<u64, Self> {
        &mut self.others
    }

    /// Writes the state, if anything has changed. Returns whether there is work for the background thread.
    pub(crate) fn write_state(&mut self) -> Result<bool> {
        self.write_pending()?;
        if !self.has_changed {
            return Ok(false);
        }
        self.state.incarnation = self.engine.incarnation;
        self.forget_old_changes()?;
        let trees = &self.engine.trees;
        self.transaction.tree(trees.get(TreeName::Meta))?.put(STATE_KEY, &self.state.to_bytes())?;
        let hot_rows = self.transaction.tree(trees.get(TreeName::Hot))?.len()?;
        let tombstones = self.transaction.tree(trees.get(TreeName::Tombstones))?.len()?;
        // New files may be due to be merged.
        Ok(!self.files.is_empty() || self.engine.options.is_flush_due(hot_rows + tombstones, self.state.hot_bytes))
    }

    /// Whether the table has another version of its schema than the last commit.
    pub(crate) fn has_new_schema(&self) -> bool {
        self.committed_schema != self.schema.version()
    }

    /// Whether there is anything to commit, once the state is written.
    pub(crate) fn has_changed(&self) -> bool {
        self.has_changed
    }
}

/// Puts a table without rows into the store, and returns its state. Its files are sorted by the columns with the numbers `cluster` before the key.
pub(crate) fn put_empty_table(
    engine: &Engine,
    transaction: &mut lath_store::Transaction,
    schema: &TableSchema,
    cluster: Vec<u32>,
    stamp: u64,
) -> Result<State> {
    let (incarnation, version) = (engine.incarnation, schema.version());
    let state = State {
        incarnation,
        stamp,
        hot_stamp: 0,
        files_stamp: 0,
        next_file: 1,
        schema: version,
        hot_bytes: 0,
        feed: None,
        cluster,
        is_in_bucket: engine.files.url().is_some(),
        is_constrained: !schema.constraints().is_empty(),
        has_references: false,
        is_expiring: schema.ttl().is_some(),
    };
    if let Some(url) = engine.files.url() {
        engine.files.prepare()?;
        put_file_place(transaction, engine.trees.number(), url)?;
    }
    let mut meta = transaction.tree(engine.trees.get(TreeName::Meta))?;
    meta.put(&schema_key(version), &schema.to_bytes()?)?;
    schema.categories().write(&mut meta, &Categories::default())?;
    meta.put(STATE_KEY, &state.to_bytes())?;
    Ok(state)
}

/// The changes of a transaction up to some time.
#[derive(Debug)]
pub(crate) struct Savepoint {
    store: lath_store::Savepoint,
    write: WriteMark,
}

/// The state of an open write in memory at some time.
#[derive(Debug)]
pub(crate) struct WriteMark {
    state: State,
    schema: Arc<TableSchema>,
    manifest: Arc<Manifest>,
    indexes: Arc<Vec<Index>>,
    foreign_keys: Arc<ForeignKeys>,
    statement: Arc<StatementValues>,
    has_changed: bool,
    file_count: usize,
}

/// The transaction of the store in which a table is changed.
#[derive(Debug)]
enum StoreTransaction {
    /// It changes this table alone.
    Own(lath_store::Transaction),
    /// It changes several tables, this one at the moment.
    Lent(lath_store::Transaction),
    /// It changes another table at the moment, or has ended.
    Elsewhere,
}

impl StoreTransaction {
    fn get(&mut self) -> Result<&mut lath_store::Transaction> {
        match self {
            Self::Own(transaction) | Self::Lent(transaction) => Ok(transaction),
            Self::Elsewhere => Err(Error::PartOfTransaction),
        }
    }

    fn tree(&mut self, name: &str) -> Result<lath_store::TreeMut<'_>> {
        Ok(self.get()?.tree(name)?)
    }

    fn drop_tree(&mut self, name: &str) -> Result<bool> {
        Ok(self.get()?.drop_tree(name)?)
    }

    fn existing_tree(&mut self, name: &str) -> Result<Option<lath_store::TreeMut<'_>>> {
        Ok(self.get()?.existing_tree(name)?)
    }
}

/// An open write without pending rows, which can be read.
#[derive(Debug)]
pub(crate) struct WriteView<'w> {
    write: &'w mut OpenWrite,
}

impl View for WriteView<'_> {
    fn tree(&mut self, name: TreeName) -> Result<Option<Tree<'_>>> {
        let tree = self.write.transaction.existing_tree(self.write.engine.trees.get(name))?;
        Ok(tree.map(lath_store::TreeMut::into_tree).transpose()?)
    }

    fn index_tree(&mut self, number: u64) -> Result<Option<Tree<'_>>> {
        let tree = self.write.transaction.existing_tree(&self.write.engine.trees.index(number))?;
        Ok(tree.map(lath_store::TreeMut::into_tree).transpose()?)
    }

    fn indexes(&self) -> &Arc<Vec<Index>> {
        &self.write.indexes
    }

    fn state(&self) -> &State {
        &self.write.state
    }

    fn committed_stamp(&self) -> u64 {
        self.write.committed_stamp
    }

    fn generation(&self) -> u64 {
        self.write.committed_generation
    }

    fn schema(&self) -> &Arc<TableSchema> {
        &self.write.schema
    }

    fn manifest(&self) -> &Arc<Manifest> {
        &self.write.manifest
    }

    fn expiry(&self) -> Option<&Expiry> {
        self.write.expiry.as_ref()
    }
}
