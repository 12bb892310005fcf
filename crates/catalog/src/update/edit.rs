//! Changes a catalog in one transaction.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use arrow_schema::{FieldRef, Schema, SchemaRef};
use lath_parquet::unite_schemas;
use lath_store::Transaction;

use crate::error::{Error, Result};
use crate::file::{
    ColumnFilters, ContentOptions, Entry, Facts, Filter, KeptFilter, ReadEntry, ReadFacts, State, StoredAt,
};
use crate::records::{
    BLOCKS, BlockKind, COLUMNS, ColumnKind, ENDS, FILES, FORMAT, FORMAT_KEY, FORMAT_WITH_TABLE, META, NAMES,
    PAGE_INDEXES, PARTITIONS_KEY, PlanningColumn, SCHEMAS, SEGMENTS, STATE_KEY, StoredSchema, TABLE_KEY, UNITED_KEY,
    ipc, name_key, number_in, number_key,
};
use crate::slots::{Bitmap, BlockBuffer, Bounds, Class, SegmentBuffer};

/// Bounds are kept for this many first columns of a schema, and for key columns.
const MAX_BOUNDED_COLUMNS: usize = 64;

/// A transaction that changes a catalog.
pub(crate) struct Edit<'t> {
    pub(crate) transaction: &'t mut Transaction,
    pub(crate) state: State,
    pub(crate) columns: Vec<PlanningColumn>,
    pub(crate) blocks: BlockBuffer,
    schemas: BTreeMap<u32, SchemaUse>,
    segments: SegmentBuffer,
    /// Columns for which some file can have filters.
    filtered: BTreeSet<u32>,
    /// Slots without a file, in descending order.
    free: Vec<u32>,
    /// Whether the path of some file can have a partition column.
    pub(crate) may_have_partitions: bool,
}

/// A schema of files.
struct SchemaUse {
    stored: StoredSchema,
    /// The planning column of each field.
    columns: Vec<Option<u32>>,
    is_changed: bool,
}

impl<'t> Edit<'t> {
    /// Starts a change. An empty store becomes an empty catalog.
    pub(crate) fn new(transaction: &'t mut Transaction) -> Result<Self> {
        let state = match transaction.tree(META)?.as_tree()? {
            meta if meta.is_empty() => State::new(),
            meta => State::read(meta)?,
        };
        let columns = PlanningColumn::read_all(transaction.tree(COLUMNS)?.as_tree()?)?;
        let known = |stored: StoredSchema| (stored.id, SchemaUse { stored, columns: Vec::new(), is_changed: false });
        let schemas = StoredSchema::read_all(transaction.tree(SCHEMAS)?.as_tree()?)?.into_iter().map(known).collect();
        let mut filtered = BTreeSet::new();
        for entry in transaction.tree(BLOCKS)?.as_tree()?.prefix(&[BlockKind::Filtered as u8]) {
            filtered.extend(entry?.0.get(1..5).and_then(number_in));
        }
        let may_have_partitions = columns.iter().any(|column| column.kind == ColumnKind::Partition);
        let mut free = Vec::new();
        if state.files < state.slots {
            let live = Bitmap::read(Some(transaction.tree(BLOCKS)?.as_tree()?), BlockKind::Live, 0, state.slots)?;
            free.extend((0..state.slots).rev().filter(|&slot| !live.contains(slot)));
        }
        let mut edit = Self {
            transaction,
            state,
            columns,
            schemas,
            filtered,
            free,
            may_have_partitions,
            blocks: BlockBuffer::default(),
            segments: SegmentBuffer::default(),
        };
        edit.set_content(edit.state.content.clone())?;
        Ok(edit)
    }

    /// Sets the contents that are read of files from now on.
    pub(crate) fn set_content(&mut self, content: ContentOptions) -> Result<()> {
        self.state.content = content;
        let ids: Vec<u32> = self.schemas.keys().copied().collect();
        ids.into_iter().try_for_each(|id| self.map_columns(id))
    }

    /// The slot of a file.
    pub(crate) fn slot(&mut self, root: u32, name: &str) -> Result<Option<u32>> {
        let slot = self.transaction.tree(NAMES)?.get(&name_key(root, name))?.and_then(number_in);
        Ok(slot)
    }

    /// The record of the file in a slot.
    pub(crate) fn entry(&mut self, slot: u32) -> Result<Entry> {
        let mut files = self.transaction.tree(FILES)?;
        let record = files.get(&number_key(slot))?.ok_or_else(|| Error::corrupt(format!("slot {slot} has no file")))?;
        Entry::from_record(record)
    }

    /// Adds a file, or replaces its metadata.
    pub(crate) fn put(&mut self, root: u32, name: &str, facts: Facts) -> Result<()> {
        self.may_have_partitions |= name.contains('=');
        let slot = match self.slot(root, name)? {
            Some(slot) => {
                self.forget(slot)?;
                slot
            }
            None => {
                let slot = self.free.pop().unwrap_or(self.state.slots);
                if slot == u32::MAX - 1 {
                    return Err(Error::invalid(format!(
                        "a catalog has at most {slot} files; divide the files among several catalogs"
                    )));
                }
                self.state.slots = self.state.slots.max(slot + 1);
                self.state.files += 1;
                self.transaction.tree(NAMES)?.put(&name_key(root, name), &number_key(slot))?;
                slot
            }
        };
        self.blocks.set_bit(self.transaction, BlockKind::Live, 0, slot, true)?;
        let Facts { version, read } = facts;
        let read = match read {
            Ok(read) => Some(self.put_read(slot, read)?),
            Err(_) => {
                self.set_bounds(slot, &[], &[])?;
                self.set_filtered(slot, &BTreeSet::new())?;
                None
            }
        };
        let entry = Entry { root, name: name.to_owned(), version, read };
        self.transaction.tree(FILES)?.put(&number_key(slot), &entry.to_record())?;
        Ok(())
    }

    fn put_read(&mut self, slot: u32, read: ReadFacts) -> Result<ReadEntry> {
        let schema = self.schema_id(&read.schema)?;
        let ids = self.schemas.get(&schema).map_or_else(Vec::new, |known| known.columns.clone());
        self.set_bounds(slot, &ids, &read.bounds)?;
        let mut filters = Vec::new();
        let mut complete = BTreeSet::new();
        for ColumnFilters { fields, kind, hash, filters: column_filters } in &read.filters {
            let Some(column) = self.filter_column(*kind, fields)? else { continue };
            complete.insert(column);
            for filter in column_filters {
                let bitset = filter.bitset();
                let class = Class { column, hash: *hash, blocks: (bitset.len() / 32) as u32 };
                let place = self.segments.add(self.transaction, class, slot, bitset)?;
                let stored = match filter {
                    Filter::Stored(stored) => {
                        Some(StoredAt { offset: stored.offset, header: stored.bytes[..stored.header_len].to_vec() })
                    }
                    Filter::Made(_) => None,
                };
                filters.push(KeptFilter { class, place, stored });
            }
        }
        self.set_filtered(slot, &complete)?;
        self.transaction.tree(ENDS)?.put(&number_key(slot), &read.end)?;
        if let Some((offset, bytes)) = &read.page_index {
            let value = [&offset.to_le_bytes()[..], bytes].concat();
            self.transaction.tree(PAGE_INDEXES)?.put(&number_key(slot), &value)?;
        }
        Ok(ReadEntry { rows: read.rows, row_groups: read.row_groups, schema, filters })
    }

    /// Sets the bounds of a slot in all columns of files. Columns without given bounds become unknown.
    fn set_bounds(&mut self, slot: u32, ids: &[Option<u32>], bounds: &[(FieldRef, Bounds)]) -> Result<()> {
        let known: BTreeMap<u32, Bounds> =
            ids.iter().zip(bounds).filter_map(|(id, (_, bounds))| Some(((*id)?, *bounds))).collect();
        for column in self.columns.iter().filter(|column| column.kind == ColumnKind::File) {
            let bounds = known.get(&column.id).copied().unwrap_or(Bounds::UNKNOWN);
            self.blocks.set_bounds(self.transaction, column.id, slot, bounds)?;
        }
        Ok(())
    }

    /// Records the columns whose filters cover all rows of the file in a slot.
    fn set_filtered(&mut self, slot: u32, complete: &BTreeSet<u32>) -> Result<()> {
        self.filtered.extend(complete);
        for &column in &self.filtered {
            let is_complete = complete.contains(&column);
            self.blocks.set_bit(self.transaction, BlockKind::Filtered, column, slot, is_complete)?;
        }
        Ok(())
    }

    /// The planning column for filters of these fields, with the same kind and types. For filters that the catalog made, it is added if there
    /// is none.
    fn filter_column(&mut self, kind: ColumnKind, fields: &[FieldRef]) -> Result<Option<u32>> {
        let schema = Arc::new(Schema::new(fields.to_vec()));
        if let Some(found) = self.columns.iter().find(|column| column.is_like(kind, &schema)) {
            return Ok(Some(found.id));
        }
        // If files have a key column in several types, only the first type has a planning column.
        let names = |schema: &Schema| schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
        let has_name = |column: &PlanningColumn| column.kind == kind && names(&column.schema) == names(&schema);
        if kind == ColumnKind::File || self.columns.iter().any(has_name) {
            return Ok(None);
        }
        self.add_column(kind, schema).map(Some)
    }

    pub(crate) fn add_column(&mut self, kind: ColumnKind, schema: SchemaRef) -> Result<u32> {
        let column = PlanningColumn { id: self.state.next_column, kind, schema };
        self.state.next_column += 1;
        self.transaction.tree(COLUMNS)?.put(&number_key(column.id), &column.to_record()?)?;
        self.columns.push(column);
        Ok(self.state.next_column - 1)
    }

    /// The number of a schema, which gains a file.
    fn schema_id(&mut self, schema: &SchemaRef) -> Result<u32> {
        let same = |known: &SchemaUse| known.stored.schema.fields() == schema.fields();
        let found = self.schemas.iter().find(|(_, known)| same(known)).map(|(id, _)| *id);
        let id = match found {
            Some(id) => id,
            None => {
                let id = self.state.next_schema;
                self.state.next_schema += 1;
                let schema = Arc::new(Schema::new(schema.fields().clone()));
                let stored = StoredSchema { id, files: 0, schema };
                self.schemas.insert(id, SchemaUse { stored, columns: Vec::new(), is_changed: true });
                self.map_columns(id)?;
                id
            }
        };
        if let Some(known) = self.schemas.get_mut(&id) {
            known.stored.files += 1;
            known.is_changed = true;
        }
        Ok(id)
    }

    /// Finds the planning columns of the fields of a schema, and adds missing ones.
    fn map_columns(&mut self, id: u32) -> Result<()> {
        let Some(known) = self.schemas.get(&id) else { return Ok(()) };
        let schema = Arc::clone(&known.stored.schema);
        let mut ids = Vec::with_capacity(schema.fields().len());
        for (at, field) in schema.fields().iter().enumerate() {
            let own = Arc::new(Schema::new(vec![Arc::clone(field)]));
            let is_key = self.state.content.keys.iter().flatten().any(|key| key == field.name());
            let named =
                self.columns.iter().find(|column| column.kind == ColumnKind::File && column.name() == field.name());
            ids.push(match named {
                Some(column) => column.is_like(ColumnKind::File, &own).then_some(column.id),
                None if field.data_type().is_nested() || !(at < MAX_BOUNDED_COLUMNS || is_key) => None,
                None => Some(self.add_column(ColumnKind::File, own)?),
            });
        }
        if let Some(known) = self.schemas.get_mut(&id) {
            known.columns = ids;
        }
        Ok(())
    }

    /// Removes a file.
    pub(crate) fn remove(&mut self, slot: u32) -> Result<()> {
        let entry = self.entry(slot)?;
        self.forget(slot)?;
        self.transaction.tree(NAMES)?.remove(&name_key(entry.root, &entry.name))?;
        self.transaction.tree(FILES)?.remove(&number_key(slot))?;
        self.blocks.set_bit(self.transaction, BlockKind::Live, 0, slot, false)?;
        self.state.files = self.state.files.saturating_sub(1);
        self.free.push(slot);
        Ok(())
    }

    /// Removes the metadata of the file in a slot.
    fn forget(&mut self, slot: u32) -> Result<()> {
        if let Some(read) = self.entry(slot)?.read {
            for filter in read.filters {
                self.segments.remove(self.transaction, filter.class, filter.place)?;
            }
            if let Some(known) = self.schemas.get_mut(&read.schema) {
                known.stored.files = known.stored.files.saturating_sub(1);
                known.is_changed = true;
            }
        }
        self.transaction.tree(ENDS)?.remove(&number_key(slot))?;
        self.transaction.tree(PAGE_INDEXES)?.remove(&number_key(slot))?;
        Ok(())
    }

    /// Removes all files and the metadata of all files, and returns the names of the files.
    pub(crate) fn clear(&mut self) -> Result<HashSet<String>> {
        let mut names = HashSet::new();
        for entry in self.transaction.tree(FILES)?.as_tree()?.iter() {
            names.insert(Entry::from_record(entry?.1)?.name);
        }
        for tree in [NAMES, FILES, ENDS, PAGE_INDEXES, SCHEMAS, COLUMNS, BLOCKS, SEGMENTS] {
            self.transaction.drop_tree(tree)?;
        }
        let mut meta = self.transaction.tree(META)?;
        [UNITED_KEY, PARTITIONS_KEY].into_iter().try_for_each(|key| meta.remove(key).map(drop))?;
        let content = self.state.content.clone();
        self.state = State { next_root: self.state.next_root, content, ..State::new() };
        self.columns.clear();
        self.schemas.clear();
        self.filtered.clear();
        self.free.clear();
        (self.blocks, self.segments) = (BlockBuffer::default(), SegmentBuffer::default());
        self.may_have_partitions = false;
        Ok(names)
    }

    /// Writes all buffered changes. The transaction is not committed.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.write_schemas()?;
        self.blocks.write(self.transaction)?;
        self.segments.write(self.transaction)?;
        let mut meta = self.transaction.tree(META)?;
        let format = if meta.get(TABLE_KEY)?.is_some() { FORMAT_WITH_TABLE } else { FORMAT };
        meta.put(FORMAT_KEY, &format.to_le_bytes())?;
        meta.put(STATE_KEY, &self.state.to_record())?;
        Ok(())
    }

    fn write_schemas(&mut self) -> Result<()> {
        if !self.schemas.values().any(|known| known.is_changed) {
            return Ok(());
        }
        let mut tree = self.transaction.tree(SCHEMAS)?;
        for (id, known) in self.schemas.iter().filter(|(_, known)| known.is_changed) {
            match known.stored.files {
                0 => drop(tree.remove(&number_key(*id))?),
                _ => tree.put(&number_key(*id), &known.stored.to_record()?)?,
            }
        }
        let in_order = self.schemas_in_order()?;
        let united = unite_schemas(in_order.iter());
        let mut meta = self.transaction.tree(META)?;
        match united {
            Ok(united) => meta.put(UNITED_KEY, &ipc::schema_to_bytes(&united)?)?,
            Err(_) => drop(meta.remove(UNITED_KEY)?),
        }
        Ok(())
    }

    /// The schemas of files, in the order of the files.
    fn schemas_in_order(&mut self) -> Result<Vec<SchemaRef>> {
        let used: Vec<u32> =
            self.schemas.iter().filter(|(_, known)| known.stored.files > 0).map(|(id, _)| *id).collect();
        let mut order: Vec<u32> = Vec::new();
        if let [only] = used.as_slice() {
            order.push(*only);
        } else {
            let slots: Vec<u32> = {
                let mut names = self.transaction.tree(NAMES)?;
                names.as_tree()?.iter().map(|entry| Ok(number_in(entry?.1))).collect::<Result<Vec<_>>>()?
            }
            .into_iter()
            .flatten()
            .collect();
            for slot in slots {
                if order.len() == used.len() {
                    break;
                }
                if let Some(read) = self.entry(slot)?.read.filter(|read| !order.contains(&read.schema)) {
                    order.push(read.schema);
                }
            }
        }
        Ok(order.iter().filter_map(|id| self.schemas.get(id)).map(|known| Arc::clone(&known.stored.schema)).collect())
    }
}

/// The slots of the files of a location.
pub(super) fn root_slots(edit: &mut Edit<'_>, root: u32) -> Result<Vec<u32>> {
    let mut slots = Vec::new();
    for entry in edit.transaction.tree(NAMES)?.as_tree()?.prefix(&root.to_be_bytes()) {
        slots.extend(number_in(entry?.1));
    }
    Ok(slots)
}
