//! Plans the files of a table of Delta Lake or Iceberg.
//!
//! Results are always of the table's version at that time. If the catalog has read this version, the log is not read: the catalog has
//! columns, files and partitions. Otherwise the log says which files there are, and the catalog rules out the files that it knows: files
//! of a table never change.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::Schema;
use lath_lake::{At, Lake, LakeOptions, LogFile};
use lath_parquet::{ColumnMapping, Dataset, DatasetFile, DatasetOptions, FileVersion, Predicate};
use lath_predicate::{BindContext, Leaf};
use lath_store::Snapshot;

use super::file_selector::FileSelector;
use super::scan_source::KnownFiles;
use super::{SelectedFile, current_versions, partition_rows};
use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::file::{Entry, State};
use crate::records::{
    BLOCKS, BlockKind, COLUMNS, ColumnKind, FILES, META, NAMES, PlanningColumn, TableRecord, len_bytes, name_key,
    number_in, number_key, roots,
};
use crate::slots::{Bitmap, partitions};

/// How columns are found in files, from the record of a table.
pub(crate) fn columns_from_json(text: &str) -> Result<ColumnMapping> {
    serde_json::from_str(text).map_err(|error| Error::corrupt(format!("the columns of the table: {error}")))
}

/// How columns are found in files, for the record of a table.
pub(crate) fn columns_to_json(columns: &ColumnMapping) -> Result<String> {
    serde_json::to_string(columns).map_err(|error| Error::invalid(format!("the columns of the table: {error}")))
}

impl Catalog {
    /// A handle that reads an earlier version of the table whose files the catalog has. The catalog rules out the files that it knows.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a catalog of plain files, which have no versions.
    pub fn at(mut self, at: At) -> Result<Self> {
        if TableRecord::read(self.store.snapshot()?.tree(META)?)?.is_none() {
            let path = self.path().display();
            return Err(Error::invalid(format!("{path} is a catalog of plain files, which have no versions")));
        }
        self.at = Some(at);
        Ok(self)
    }

    /// The number and the location of the table.
    pub(crate) fn table_location(&self, snapshot: &Snapshot) -> Result<(u32, String)> {
        match roots::read(snapshot)?.as_slice() {
            [root] => Ok((root.number, self.folder.location(&root.name)?)),
            roots => Err(Error::corrupt(format!("a catalog of a table: expected one location, found {}", roots.len()))),
        }
    }

    /// The table at a location, at the version that this handle reads.
    pub(crate) fn open_table(&self, location: &str, options: &DatasetOptions) -> Result<Lake> {
        let options = LakeOptions::new().dataset(options.clone());
        self.find_table(location, &self.at.iter().cloned().fold(options, LakeOptions::at))
    }

    /// The table at a location of the catalog.
    pub(crate) fn find_table(&self, location: &str, options: &LakeOptions) -> Result<Lake> {
        lath_lake::find(location, options)?.ok_or_else(|| {
            let path = self.path().display();
            Error::invalid(format!(
                "there is no table of Delta Lake or Iceberg at {location} any more: if it was moved, move it back, or remove it from the \
                 catalog (lath catalog remove {path} {location}) and add it where it is now"
            ))
        })
    }

    /// Whether this handle reads the version that the catalog has.
    pub(crate) fn has_latest(&self, location: &str, table: &TableRecord, options: &DatasetOptions) -> Result<bool> {
        let (None, Some((name, version))) = (&self.at, &table.log) else { return Ok(false) };
        let log = LogFile { name: name.clone(), version: version.clone() };
        Ok(lath_lake::is_latest(location, &log, options)?)
    }

    pub(super) fn table_schema(
        &self,
        snapshot: &Snapshot,
        table: &TableRecord,
        options: &DatasetOptions,
    ) -> Result<arrow_schema::SchemaRef> {
        let (_, location) = self.table_location(snapshot)?;
        match self.has_latest(&location, table, options)? {
            true => Ok(Arc::clone(&table.schema)),
            false => Ok(Arc::clone(self.open_table(&location, options)?.schema())),
        }
    }

    /// The files of the table that can have rows for which `predicate` is true.
    pub(super) fn plan_table(
        &self,
        snapshot: &Arc<Snapshot>,
        state: &State,
        table: &TableRecord,
        predicate: &Predicate,
        options: &DatasetOptions,
    ) -> Result<Dataset> {
        if !options.finds_partitions() {
            return Err(Error::invalid("the partition columns of a table belong to it; they cannot be left out"));
        }
        let (root, location) = self.table_location(snapshot)?;
        let columns = snapshot.tree(COLUMNS)?.map(PlanningColumn::read_all).transpose()?.unwrap_or_default();
        let plan = TablePlan { catalog: self, snapshot, state, table, predicate, columns };
        let known = Arc::new(KnownFiles::new(Arc::clone(snapshot), Arc::clone(&self.stale)));
        let options = options.clone().known_footers(Arc::clone(&known) as _);
        if self.has_latest(&location, table, &options)?
            && let Some(dataset) = plan.by_record(&known, &options)?
        {
            return Ok(dataset);
        }
        plan.by_log(&self.open_table(&location, &options)?, root, &known, &options)
    }
}

/// The parts of a plan that do not depend on where the list of files is from.
struct TablePlan<'a> {
    catalog: &'a Catalog,
    snapshot: &'a Arc<Snapshot>,
    state: &'a State,
    table: &'a TableRecord,
    predicate: &'a Predicate,
    columns: Vec<PlanningColumn>,
}

impl TablePlan<'_> {
    /// The files in the catalog; `None` if one of them has deleted rows, which only the log describes.
    fn by_record(&self, known: &KnownFiles, options: &DatasetOptions) -> Result<Option<Dataset>> {
        let meta = self.snapshot.tree(META)?;
        let partitions = meta.map(partitions::read).transpose()?.unwrap_or_default();
        let kind = |name: &str| match partitions.iter().any(|partition| partition.column.field().name() == name) {
            true => Some(ColumnKind::Partition),
            false => Some(ColumnKind::File),
        };
        let selected = self.select(&self.table.schema, kind)?;
        let blocks = self.snapshot.tree(BLOCKS)?;
        let mut deleted = Bitmap::read(blocks, BlockKind::Deleted, 0, self.state.slots)?;
        deleted.intersect(&selected);
        if !deleted.is_empty() {
            return Ok(None);
        }
        let chosen = self.catalog.selected_files(self.snapshot, selected.iter())?;
        let columns = Arc::new(columns_from_json(&self.table.columns)?);
        let file_options = Arc::new(options.clone().columns(columns));
        let mut files = Vec::with_capacity(chosen.len());
        for file in &chosen {
            let rows = partition_rows(blocks, &partitions, file.slot)?;
            files.push(DatasetFile::at(&file.location, Some(len_bytes(&file.version)), rows, &file_options)?);
        }
        let files = self.with_versions(files, &chosen, options)?;
        known.set(chosen.into_iter().map(|file| (file.location, file.slot)).collect());
        let partitions = partitions.into_iter().map(|partition| partition.column).collect();
        Ok(Some(Dataset::with_schema(Arc::clone(&self.table.schema), partitions, files)?))
    }

    /// The files in the log, without the files that the catalog rules out.
    fn by_log(&self, lake: &Lake, root: u32, known: &KnownFiles, options: &DatasetOptions) -> Result<Dataset> {
        let dataset = lake.dataset();
        // Another table in the same place may have files of the same names.
        if lake.id() != self.table.id {
            return Ok(dataset.clone());
        }
        let (then, now) =
            (columns_from_json(&self.table.columns)?, columns_from_json(&columns_to_json(lake.columns())?)?);
        // A column that was renamed, or dropped and added again, has other values in the files than the catalog has read by its name.
        let kind = |name: &str| {
            let is_partition = dataset.partitions().iter().any(|partition| partition.field().name() == name);
            let column = then.column(name).filter(|column| now.column(name) == Some(column) && !is_partition);
            column.map(|_| ColumnKind::File)
        };
        let selected = self.select(dataset.schema(), kind)?;
        let (Some(names), Some(entries)) = (self.snapshot.tree(NAMES)?, self.snapshot.tree(FILES)?) else {
            return Ok(dataset.clone());
        };
        let (mut files, mut chosen) = (Vec::new(), Vec::new());
        for file in dataset.files() {
            let order = name_key(root, &self.catalog.folder.name(file.location())?);
            let Some(slot) = names.get(&order)?.and_then(number_in) else {
                files.push(file.clone());
                continue;
            };
            let record = entries.get(&number_key(slot))?.ok_or_else(|| Error::corrupt("a name without a file"))?;
            let Entry { version, .. } = Entry::from_record(record)?;
            if file.size().is_some_and(|len| len != len_bytes(&version)) {
                files.push(file.clone());
            } else if selected.contains(slot) {
                files.push(file.clone());
                chosen.push(SelectedFile { slot, order, location: file.location().to_owned(), version });
            }
        }
        let files = self.with_versions(files, &chosen, options)?;
        known.set(chosen.into_iter().map(|file| (file.location, file.slot)).collect());
        Ok(Dataset::with_schema(Arc::clone(dataset.schema()), dataset.partitions().to_vec(), files)?)
    }

    /// The slots that can have rows for which the predicate is true, by columns of the kinds that `kind` returns for their names.
    fn select(&self, schema: &Schema, kind: impl Fn(&str) -> Option<ColumnKind>) -> Result<Bitmap> {
        let leaf = |path: &[usize]| {
            let [at] = path else { return None };
            let field = schema.fields().get(*at)?;
            let kind = kind(field.name())?;
            let is_like = |column: &&PlanningColumn| {
                let own = column.schema.fields();
                column.kind == kind && column.name() == field.name() && own[0].data_type() == field.data_type()
            };
            let column = self.columns.iter().find(is_like)?;
            Some(Leaf { index: column.id as usize, repeated: false, may_overflow: false })
        };
        let bound = self.predicate.bind(&BindContext::new(schema).with_leaves(&leaf))?;
        FileSelector::new(self.snapshot, self.state.slots, &self.columns)?.select(&bound)
    }

    /// The files with the states of objects, by which their metadata in the catalog is found. A file that is gone stays: reading it is
    /// an error.
    fn with_versions(
        &self,
        files: Vec<DatasetFile>,
        chosen: &[SelectedFile],
        options: &DatasetOptions,
    ) -> Result<Vec<DatasetFile>> {
        if chosen.iter().all(|file| matches!(file.version, FileVersion::Local { .. })) {
            return Ok(files);
        }
        let current = current_versions(chosen, options)?;
        let mut versions: HashMap<&str, FileVersion> = HashMap::with_capacity(chosen.len());
        for (file, current) in chosen.iter().zip(current) {
            if current.as_ref().is_some_and(|current| *current != file.version) {
                self.catalog.stale.add(file.slot);
            }
            versions.extend(current.map(|current| (file.location.as_str(), current)));
        }
        let with_version = |file: DatasetFile| match versions.remove(file.location()) {
            Some(version) => file.with_version(version),
            None => file,
        };
        Ok(files.into_iter().map(with_version).collect())
    }
}
