//! Datasets of a catalog's files, planned from what it has.

mod scan_source;
mod select;
mod shared_columns;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use bytes::Bytes;
use lath_parquet::{
    Dataset, DatasetDescription, DatasetFile, DatasetOptions, FileVersion, ParquetFile, Predicate, on_threads,
};
use lath_predicate::{BindContext, Leaf};
use lath_store::{Snapshot, Tree};

use self::scan_source::KnownFiles;
use self::select::Selection;
use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::file::Entry;
use crate::records::{
    BLOCK_SLOTS, BLOCKS, BlockKey, BlockKind, COLUMNS, ColumnKind, ENDS, FILES, META, NAMES, PlanningColumn, SCHEMAS,
    StoredSchema, UNITED_KEY, ipc, len_bytes, name_key, number_key, number_of,
};
use crate::slots::{KnownPartition, partitions};

/// A file that is part of a dataset.
struct Chosen {
    slot: u32,
    order: Vec<u8>,
    location: String,
    version: FileVersion,
}

impl Catalog {
    /// All files as one dataset, in the order that [`Dataset::open`] gives them, which knows their footers, page indexes and
    /// filters. No file is listed or opened; whether each is there and what state it is in is looked at.
    ///
    /// `options` say how files are opened, whether schemas are united and whether there are partition columns, whose types are
    /// those that the catalog found. Footers that the catalog has are taken where the file is in the state that the catalog has;
    /// another one is read as it is now. Files that are gone are left out, as a new listing leaves them out. Files that came
    /// since are found by [`Catalog::refresh`] alone.
    ///
    /// # Errors
    /// [`Error::Invalid`] for options with keys or types of partition columns; [`Error::Parquet`] for schemas that cannot be
    /// united, and where the storage cannot be asked.
    pub fn dataset(&self, options: &DatasetOptions) -> Result<Dataset> {
        self.planned(None, options)
    }

    /// As [`Catalog::dataset`], of those files alone that may have rows for which `predicate` is true, by the bounds and Bloom
    /// filters that the catalog has. Nothing is asked of the storage for the others.
    ///
    /// So a file that has changed since the catalog read it, and that had no such row then, is not looked at: rows that it has
    /// now are found after [`Catalog::refresh`]. Every row that is found is in a file now.
    ///
    /// The dataset is to be scanned with the predicate.
    ///
    /// # Errors
    /// As [`Catalog::dataset`], and [`Error::Predicate`] for a predicate that does not fit the columns.
    pub fn select(&self, predicate: &Predicate, options: &DatasetOptions) -> Result<Dataset> {
        self.planned(Some(predicate), options)
    }

    /// The columns of [`Catalog::dataset`].
    ///
    /// # Errors
    /// As [`Catalog::dataset`].
    pub fn schema(&self, options: &DatasetOptions) -> Result<SchemaRef> {
        let snapshot = self.store.snapshot()?;
        let files = self.state(&snapshot)?.files;
        let partitions = known_partitions(&snapshot, options)?;
        Ok(Arc::clone(self.description(&snapshot, files, &partitions, options)?.dataset(Vec::new()).schema()))
    }

    fn planned(&self, predicate: Option<&Predicate>, options: &DatasetOptions) -> Result<Dataset> {
        if options.has_decryption_keys() || options.chooses_partition_types() {
            let what = "a catalog has no files that need keys, and has types of partition columns of its own";
            return Err(Error::invalid(format!("{what}; open the files without it")));
        }
        let snapshot = Arc::new(self.store.snapshot()?);
        let state = self.state(&snapshot)?;
        let partitions = known_partitions(&snapshot, options)?;
        let description = self.description(&snapshot, state.files, &partitions, options)?;
        let columns = snapshot.tree(COLUMNS)?.map(PlanningColumn::read_all).transpose()?.unwrap_or_default();
        let selection = Selection::new(&snapshot, state.slots, &columns)?;
        let selected = match predicate {
            None => selection.live()?,
            Some(predicate) => {
                let whole = description.clone().dataset(Vec::new());
                let leaf = |path: &[usize]| planning_leaf(path, &whole, &columns);
                let bound = predicate.bind(&BindContext::new(whole.schema()).with_leaves(&leaf))?;
                selection.select(&bound)?
            }
        };
        let chosen = self.chosen(&snapshot, selected.iter())?;
        let current = current_versions(&chosen, options)?;
        let slots = chosen.iter().map(|file| (file.location.clone(), file.slot)).collect::<HashMap<_, _>>();
        let known = KnownFiles::new(Arc::clone(&snapshot), slots, Arc::clone(&self.stale));
        let options = Arc::new(options.clone().known_footers(Arc::new(known)));
        let blocks = snapshot.tree(BLOCKS)?;
        let mut files = Vec::with_capacity(chosen.len());
        for (file, version) in chosen.iter().zip(current) {
            if version.as_ref() != Some(&file.version) {
                self.stale.add(file.slot);
            }
            let Some(version) = version else { continue };
            let rows = partition_rows(blocks, &partitions, file.slot)?;
            files.push(DatasetFile::known(&file.location, version, rows, &options)?);
        }
        Ok(description.dataset(files))
    }

    /// Schema and partition columns.
    fn description(
        &self,
        snapshot: &Snapshot,
        files: u32,
        partitions: &[KnownPartition],
        options: &DatasetOptions,
    ) -> Result<DatasetDescription> {
        let partitions = partitions.iter().map(|partition| partition.column.clone()).collect();
        let files = files as usize;
        let first = self.first_file(snapshot, options)?;
        let Some(first) = first else {
            return Ok(DatasetDescription::united(Arc::new(Schema::empty()), partitions, files));
        };
        if !options.unites_schemas() {
            return Ok(DatasetDescription::of_first(&first, partitions, files));
        }
        let united = match snapshot.tree(META)? {
            Some(meta) => meta.get(UNITED_KEY)?.map(ipc::schema_from_bytes).transpose()?,
            None => None,
        };
        let united = match united {
            Some(united) => united,
            // They cannot be, and the error says why.
            None => {
                let schemas = snapshot.tree(SCHEMAS)?.map(StoredSchema::read_all).transpose()?.unwrap_or_default();
                lath_parquet::unite_schemas(schemas.iter().map(|stored| &stored.schema))?
            }
        };
        let united = Schema::new_with_metadata(united.fields().clone(), first.schema().metadata().clone());
        Ok(DatasetDescription::united(Arc::new(united), partitions, files))
    }

    /// The first file, of which the footer alone is known; as it is where the catalog could not read it.
    fn first_file(&self, snapshot: &Snapshot, options: &DatasetOptions) -> Result<Option<ParquetFile>> {
        let (Some(names), Some(files)) = (snapshot.tree(NAMES)?, snapshot.tree(FILES)?) else { return Ok(None) };
        let Some(slot) = names.first()?.and_then(|(_, slot)| number_of(slot)) else { return Ok(None) };
        let record = files.get(&number_key(slot))?.ok_or_else(|| Error::corrupt("a name without a file"))?;
        let entry = Entry::from_record(record)?;
        let location = self.folder.location_of(&entry.name)?;
        let end = match snapshot.tree(ENDS)? {
            Some(ends) => ends.get(&number_key(slot))?,
            None => None,
        };
        Ok(Some(match end {
            Some(end) => options.open_end(&location, len_bytes(&entry.version), Bytes::copy_from_slice(end))?,
            None => DatasetFile::known(&location, entry.version, [], &Arc::new(options.clone()))?.open()?,
        }))
    }

    /// The files of some slots, in the order of a listing.
    fn chosen(&self, snapshot: &Snapshot, slots: impl Iterator<Item = u32>) -> Result<Vec<Chosen>> {
        let Some(files) = snapshot.tree(FILES)? else { return Ok(Vec::new()) };
        let mut chosen = Vec::new();
        for slot in slots {
            let record = files.get(&number_key(slot))?;
            let record = record.ok_or_else(|| Error::corrupt(format!("slot {slot} has no file")))?;
            let Entry { root, name, version, .. } = Entry::from_record(record)?;
            chosen.push(Chosen {
                slot,
                order: name_key(root, &name),
                location: self.folder.location_of(&name)?,
                version,
            });
        }
        chosen.sort_unstable_by(|one, other| one.order.cmp(&other.order));
        Ok(chosen)
    }
}

/// The states of files now, in their order; `None` for those that are gone. Stores are asked for several at a time.
fn current_versions(chosen: &[Chosen], options: &DatasetOptions) -> Result<Vec<Option<FileVersion>>> {
    let options = Arc::new(options.clone());
    let version = |file: &Chosen| -> Result<Option<FileVersion>> {
        Ok(DatasetFile::known(&file.location, file.version.clone(), [], &options)?.current_version()?)
    };
    let is_remote = |file: &Chosen| !matches!(file.version, FileVersion::Local { .. });
    let threads = if chosen.iter().any(is_remote) { DatasetOptions::DEFAULT_REQUESTS_IN_FLIGHT } else { 1 };
    let versions = on_threads::each(chosen.len(), threads, "lath-look", |at| version(&chosen[at]));
    versions.into_iter().collect()
}

/// The number of the planning column of a column of the dataset, if it has the same type.
fn planning_leaf(path: &[usize], whole: &Dataset, columns: &[PlanningColumn]) -> Option<Leaf> {
    let [at] = path else { return None };
    let field = whole.schema().fields().get(*at)?;
    let is_partition = whole.partitions().iter().any(|column| column.field().name() == field.name());
    let kind = if is_partition { ColumnKind::Partition } else { ColumnKind::File };
    let is_like = |column: &&PlanningColumn| {
        let own = column.schema.fields();
        column.kind == kind && column.name() == field.name() && own[0].data_type() == field.data_type()
    };
    let column = columns.iter().find(is_like)?;
    Some(Leaf { index: column.id as usize, repeated: false, may_overflow: false })
}

fn known_partitions(snapshot: &Snapshot, options: &DatasetOptions) -> Result<Vec<KnownPartition>> {
    match snapshot.tree(META)?.filter(|_| options.finds_partitions()) {
        Some(meta) => partitions::read(meta),
        None => Ok(Vec::new()),
    }
}

/// The rows of the partition columns' values that the file of a slot has.
fn partition_rows(blocks: Option<Tree<'_>>, partitions: &[KnownPartition], slot: u32) -> Result<Vec<u32>> {
    let row = |partition: &KnownPartition| {
        let key = BlockKey { kind: BlockKind::Partition, column: partition.id, block: slot / BLOCK_SLOTS };
        let block = blocks.map(|blocks| blocks.get(&key.to_bytes())).transpose()?.flatten().unwrap_or_default();
        let row = block.as_chunks().0.get((slot % BLOCK_SLOTS) as usize).map(|row| u32::from_le_bytes(*row));
        let row = row.filter(|row| (*row as usize) < partition.column.values().len());
        row.ok_or_else(|| Error::corrupt(format!("slot {slot} has no partition")))
    };
    partitions.iter().map(row).collect()
}
