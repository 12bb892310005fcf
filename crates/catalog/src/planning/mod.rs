//! Opens the files of a catalog as datasets, without reading their metadata again.

mod file_selector;
mod scan_source;
mod selection;
mod shared_columns;
#[cfg(feature = "lake")]
mod table_files;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use bytes::Bytes;
use lath_parquet::{
    Dataset, DatasetDescription, DatasetFile, DatasetOptions, FileVersion, ParquetFile, Predicate, on_threads,
};
use lath_predicate::{BindContext, Leaf};
use lath_store::{Snapshot, Tree};

use self::file_selector::FileSelector;
use self::scan_source::KnownFiles;
pub use self::selection::Selection;
#[cfg(feature = "lake")]
pub(crate) use self::table_files::{columns_from_json, columns_to_json};
use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::file::Entry;
use crate::records::{
    BLOCK_SLOTS, BLOCKS, BlockKey, BlockKind, COLUMNS, ColumnKind, ENDS, FILES, META, NAMES, PlanningColumn, SCHEMAS,
    StoredSchema, TableRecord, UNITED_KEY, ipc, len_bytes, name_key, number_in, number_key, roots,
};
use crate::slots::{CatalogPartition, partitions};

/// A file that a dataset includes.
struct SelectedFile {
    slot: u32,
    order: Vec<u8>,
    location: String,
    version: FileVersion,
}

impl Catalog {
    /// All files as one dataset, in the order of [`Dataset::open`]. Footers, page indexes and Bloom filters come from the catalog.
    /// No folder is listed and no file opened, but the state of each file is checked.
    ///
    /// `options` say how files are opened, whether schemas are united, and whether there are partition columns. The catalog decides the
    /// types of partition columns. A file whose state has changed since the catalog read it is read as it is now. A file that was
    /// removed is left out, as a new listing would leave it out. Files added since are found only after [`Catalog::refresh`].
    ///
    /// # Errors
    /// [`Error::Invalid`] for options with keys or types of partition columns; [`Error::Parquet`] for schemas that cannot be
    /// united, and if the storage does not answer.
    pub fn dataset(&self, options: &DatasetOptions) -> Result<Dataset> {
        self.plan(&Predicate::TRUE, options)
    }

    /// The files that can have rows for which `predicate` is true. Bounds and Bloom filters in the catalog rule out the other files,
    /// which are not accessed at all. With [`Predicate::TRUE`] these are all files.
    ///
    /// A ruled-out file can have changed since the catalog read it: its new rows are found only after [`Catalog::refresh`]. Every row
    /// that is found is in a file now. Files of a table of Delta Lake or Iceberg are the files of its latest version: if the catalog has
    /// not read that version, the log of the table is read.
    ///
    /// # Errors
    /// As [`Catalog::dataset`], and [`Error::Predicate`] for a predicate that does not fit the columns.
    pub fn select(&self, predicate: &Predicate, options: &DatasetOptions) -> Result<Selection> {
        Ok(Selection::new(self.plan(predicate, options)?, predicate.clone()))
    }

    /// The columns of [`Catalog::dataset`].
    ///
    /// # Errors
    /// As [`Catalog::dataset`].
    pub fn schema(&self, options: &DatasetOptions) -> Result<SchemaRef> {
        let snapshot = self.store.snapshot()?;
        let files = self.state(&snapshot)?.files;
        if let Some(table) = TableRecord::read(snapshot.tree(META)?)? {
            return self.table_schema(&snapshot, &table, options);
        }
        self.check_locations(&roots::read(&snapshot)?)?;
        let partitions = known_partitions(&snapshot, options)?;
        Ok(Arc::clone(self.description(&snapshot, files, &partitions, options)?.dataset(Vec::new()).schema()))
    }

    fn plan(&self, predicate: &Predicate, options: &DatasetOptions) -> Result<Dataset> {
        if options.has_decryption_keys() || options.chooses_partition_types() {
            let what = "a catalog cannot read encrypted files, and decides the types of partition columns itself";
            return Err(Error::invalid(format!("{what}; open the files without it")));
        }
        let snapshot = Arc::new(self.store.snapshot()?);
        let state = self.state(&snapshot)?;
        if let Some(table) = TableRecord::read(snapshot.tree(META)?)? {
            return self.plan_table(&snapshot, &state, &table, predicate, options);
        }
        self.check_locations(&roots::read(&snapshot)?)?;
        let partitions = known_partitions(&snapshot, options)?;
        let description = self.description(&snapshot, state.files, &partitions, options)?;
        let columns = snapshot.tree(COLUMNS)?.map(PlanningColumn::read_all).transpose()?.unwrap_or_default();
        let whole = description.clone().dataset(Vec::new());
        let leaf = |path: &[usize]| planning_leaf(path, &whole, &columns);
        let bound = predicate.bind(&BindContext::new(whole.schema()).with_leaves(&leaf))?;
        let selected = FileSelector::new(&snapshot, state.slots, &columns)?.select(&bound)?;
        let chosen = self.selected_files(&snapshot, selected.iter())?;
        let current = current_versions(&chosen, options)?;
        let slots = chosen.iter().map(|file| (file.location.clone(), file.slot)).collect::<HashMap<_, _>>();
        let known = KnownFiles::new(Arc::clone(&snapshot), Arc::clone(&self.stale));
        known.set(slots);
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

    #[cfg(not(feature = "lake"))]
    fn table_schema(&self, _: &Snapshot, _: &TableRecord, _: &DatasetOptions) -> Result<SchemaRef> {
        Err(Error::without_lakes())
    }

    #[cfg(not(feature = "lake"))]
    fn plan_table(
        &self,
        _: &Arc<Snapshot>,
        _: &crate::file::State,
        _: &TableRecord,
        _: &Predicate,
        _: &DatasetOptions,
    ) -> Result<Dataset> {
        Err(Error::without_lakes())
    }

    /// Schema and partition columns.
    fn description(
        &self,
        snapshot: &Snapshot,
        files: u32,
        partitions: &[CatalogPartition],
        options: &DatasetOptions,
    ) -> Result<DatasetDescription> {
        let partitions = partitions.iter().map(|partition| partition.column.clone()).collect();
        let files = files as usize;
        let first = self.first_file(snapshot, options)?;
        let Some(first) = first else {
            return Ok(DatasetDescription::united(Arc::new(Schema::empty()), partitions, files));
        };
        if !options.unites_schemas() {
            return Ok(DatasetDescription::from_first(&first, partitions, files));
        }
        let united = match snapshot.tree(META)? {
            Some(meta) => meta.get(UNITED_KEY)?.map(ipc::schema_from_bytes).transpose()?,
            None => None,
        };
        let united = match united {
            Some(united) => united,
            // They cannot be united; uniting them again gives the error.
            None => {
                let schemas = snapshot.tree(SCHEMAS)?.map(StoredSchema::read_all).transpose()?.unwrap_or_default();
                lath_parquet::unite_schemas(schemas.iter().map(|stored| &stored.schema))?
            }
        };
        let united = Schema::new_with_metadata(united.fields().clone(), first.schema().metadata().clone());
        Ok(DatasetDescription::united(Arc::new(united), partitions, files))
    }

    /// The first file, by its footer in the catalog; by the file itself if the catalog could not read it.
    fn first_file(&self, snapshot: &Snapshot, options: &DatasetOptions) -> Result<Option<ParquetFile>> {
        let (Some(names), Some(files)) = (snapshot.tree(NAMES)?, snapshot.tree(FILES)?) else { return Ok(None) };
        let Some(slot) = names.first()?.and_then(|(_, slot)| number_in(slot)) else { return Ok(None) };
        let record = files.get(&number_key(slot))?.ok_or_else(|| Error::corrupt("a name without a file"))?;
        let entry = Entry::from_record(record)?;
        let location = self.folder.location(&entry.name)?;
        let end = match snapshot.tree(ENDS)? {
            Some(ends) => ends.get(&number_key(slot))?,
            None => None,
        };
        Ok(Some(match end {
            Some(end) => options.open_end(&location, len_bytes(&entry.version), Bytes::copy_from_slice(end))?,
            None => DatasetFile::known(&location, entry.version, [], &Arc::new(options.clone()))?.open()?,
        }))
    }

    /// The files in some slots, in the order of a listing.
    fn selected_files(&self, snapshot: &Snapshot, slots: impl Iterator<Item = u32>) -> Result<Vec<SelectedFile>> {
        let Some(files) = snapshot.tree(FILES)? else { return Ok(Vec::new()) };
        let mut chosen = Vec::new();
        for slot in slots {
            let record = files.get(&number_key(slot))?;
            let record = record.ok_or_else(|| Error::corrupt(format!("slot {slot} has no file")))?;
            let Entry { root, name, version, .. } = Entry::from_record(record)?;
            chosen.push(SelectedFile {
                slot,
                order: name_key(root, &name),
                location: self.folder.location(&name)?,
                version,
            });
        }
        chosen.sort_unstable_by(|one, other| one.order.cmp(&other.order));
        Ok(chosen)
    }
}

/// The current versions of files, in their order; `None` for removed files. Several requests to a store are in flight at a time.
fn current_versions(chosen: &[SelectedFile], options: &DatasetOptions) -> Result<Vec<Option<FileVersion>>> {
    let options = Arc::new(options.clone());
    let version = |file: &SelectedFile| -> Result<Option<FileVersion>> {
        Ok(DatasetFile::known(&file.location, file.version.clone(), [], &options)?.current_version()?)
    };
    let is_remote = |file: &SelectedFile| !matches!(file.version, FileVersion::Local { .. });
    let threads = if chosen.iter().any(is_remote) { DatasetOptions::DEFAULT_REQUESTS_IN_FLIGHT } else { 1 };
    let versions = on_threads::each(chosen.len(), threads, "lath-look", |at| version(&chosen[at]));
    versions.into_iter().collect()
}

/// The number of the planning column for a column of the dataset, if it has the same type.
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

fn known_partitions(snapshot: &Snapshot, options: &DatasetOptions) -> Result<Vec<CatalogPartition>> {
    match snapshot.tree(META)?.filter(|_| options.finds_partitions()) {
        Some(meta) => partitions::read(meta),
        None => Ok(Vec::new()),
    }
}

/// The indices of a file's values in the partition columns.
fn partition_rows(blocks: Option<Tree<'_>>, partitions: &[CatalogPartition], slot: u32) -> Result<Vec<u32>> {
    let row = |partition: &CatalogPartition| {
        let key = BlockKey { kind: BlockKind::Partition, column: partition.id, block: slot / BLOCK_SLOTS };
        let block = blocks.map(|blocks| blocks.get(&key.to_bytes())).transpose()?.flatten().unwrap_or_default();
        let row = block.as_chunks().0.get((slot % BLOCK_SLOTS) as usize).map(|row| u32::from_le_bytes(*row));
        let is_row = |row: &u32| *row == DatasetFile::NO_CONSTANT || (*row as usize) < partition.column.values().len();
        let row = row.filter(is_row);
        row.ok_or_else(|| Error::corrupt(format!("slot {slot} has no partition")))
    };
    partitions.iter().map(row).collect()
}
