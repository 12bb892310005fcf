//! Files of keys: a row is deleted if its key is in a file that is newer than the row's own.
//!
//! The keys of all files with the same columns and partition are in one table of hashes, each with the newest sequence number of a
//! file that has it: a data file is searched once, whatever the number of delete files.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, make_array};
use arrow_buffer::NullBuffer;
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, Field as ArrowField, Schema, SchemaRef};
use lath_iceberg::{Field, TableMetadata, Transform};
use lath_parquet::{
    ColumnMapping, Dataset, DatasetFile, DatasetOptions, DeleteMask, Error, MappedColumn, PartitionColumn, Result,
};

use super::Partition;
use crate::iceberg::columns::{StoredNames, mapped};
use crate::iceberg::manifests::Entry;
use crate::iceberg::values::literal_array;

/// The files of keys of a snapshot.
pub(super) struct KeyGroups {
    fields: HashMap<i32, KeyField>,
    options: DatasetOptions,
    /// By partition, which is `None` for files that apply to all, and by the numbers of the columns.
    groups: HashMap<(Option<Partition>, Vec<i32>), Arc<KeyGroup>>,
}

/// A column of keys, or a field within one.
#[derive(Debug, Clone)]
struct KeyField {
    /// The column, called by its number: the names of old and new columns may be the same.
    root: MappedColumn,
    arrow: ArrowField,
    root_id: i32,
    /// The names of fields within structs that lead to the key.
    below: Vec<String>,
}

/// Files of keys with the same columns and partition.
#[derive(Debug)]
struct KeyGroup {
    columns: KeyColumns,
    /// Locations, sequence numbers, numbers of rows.
    files: Vec<(String, i64, u64)>,
    newest: i64,
    keys: OnceLock<Keys>,
}

/// The columns of keys.
#[derive(Debug, Clone)]
struct KeyColumns {
    fields: Arc<[KeyField]>,
    schema: SchemaRef,
    options: Arc<DatasetOptions>,
}

/// For each key, the sequence number of the newest file that has it.
#[derive(Debug)]
struct Keys {
    converter: RowConverter,
    newest: HashMap<Box<[u8]>, i64>,
}

/// The keys that may delete rows of one data file.
pub(super) struct FileKeys {
    group: Arc<KeyGroup>,
    location: String,
    sequence_number: i64,
    /// Values of columns that the file is partitioned by.
    constants: Vec<PartitionColumn>,
}

impl KeyGroups {
    pub(super) fn new(metadata: &TableMetadata, names: &StoredNames, options: &DatasetOptions) -> Self {
        // Columns may have been dropped since: the newest schema that has one counts.
        let mut fields = HashMap::new();
        let current = metadata.schemas.iter().filter(|schema| schema.schema_id != metadata.current_schema_id);
        for schema in current.chain(metadata.current_schema()) {
            for root in &schema.fields {
                let Some(key) = KeyField::root(root, names) else { continue };
                add_fields(root, &key, &mut fields);
            }
        }
        Self { fields, options: options.clone(), groups: HashMap::new() }
    }

    pub(super) fn add(&mut self, entry: &Entry, location: &str) -> Result<()> {
        let mut ids = entry.file.equality_ids.clone();
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() {
            return Err(Error::corrupt(format!("{location}: a file of keys without columns")));
        }
        // A field that was removed from the spec of a table of version 1 stays as `void`.
        let is_partitioned = entry.spec.fields.iter().any(|field| field.transform != Transform::Void);
        let partition = is_partitioned.then(|| Partition::of(entry));
        let columns = match self.groups.get(&(partition.clone(), ids.clone())) {
            Some(group) => group.columns.clone(),
            None => {
                let field = |id: &i32| {
                    let missing =
                        || Error::corrupt(format!("{location}: the table has no column with the number {id}"));
                    self.fields.get(id).cloned().ok_or_else(missing)
                };
                KeyColumns::new(ids.iter().map(field).collect::<Result<Vec<_>>>()?, &self.options)
            }
        };
        let key = (partition, ids);
        let group = self.groups.remove(&key).and_then(Arc::into_inner);
        let mut group =
            group.unwrap_or_else(|| KeyGroup { columns, files: Vec::new(), newest: i64::MIN, keys: OnceLock::new() });
        group.newest = group.newest.max(entry.sequence_number);
        group.files.push((location.to_owned(), entry.sequence_number, entry.file.record_count));
        self.groups.insert(key, Arc::new(group));
        Ok(())
    }

    /// The keys that may delete rows of a data file.
    pub(super) fn of(&self, entry: &Entry, path: &str, partition: &Partition) -> Result<Vec<FileKeys>> {
        let applies = |(scope, _): &(Option<Partition>, Vec<i32>), group: &KeyGroup| {
            scope.as_ref().is_none_or(|scope| scope == partition) && group.newest > entry.sequence_number
        };
        let groups = self.groups.iter().filter(|(scope, group)| applies(scope, group));
        let keys = groups.map(|(_, group)| {
            Ok(FileKeys {
                constants: group.columns.constants(entry)?,
                group: Arc::clone(group),
                location: path.to_owned(),
                sequence_number: entry.sequence_number,
            })
        });
        keys.collect()
    }
}

impl KeyField {
    fn root(root: &Field, names: &StoredNames) -> Option<Self> {
        let name = root.id.to_string();
        let mut renamed = root.clone();
        renamed.name.clone_from(&name);
        let arrow = renamed.to_arrow().ok()?.with_nullable(true);
        Some(Self { root: mapped(&renamed, names).ok()?, arrow, root_id: root.id, below: Vec::new() })
    }

    /// The values of the key's column in a batch; a field of a null struct is null.
    fn values(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let missing = || Error::internal("a column of keys is missing");
        let mut array = Arc::clone(batch.column_by_name(&self.root_id.to_string()).ok_or_else(missing)?);
        for name in &self.below {
            let parent = array.as_struct_opt().ok_or_else(missing)?;
            let child = parent.column_by_name(name).ok_or_else(missing)?;
            let nulls = NullBuffer::union(parent.nulls(), child.nulls());
            let data = child.to_data().into_builder().nulls(nulls).build();
            array = make_array(data.map_err(|error| Error::internal(error.to_string()))?);
        }
        Ok(array)
    }
}

/// Adds a column, and the fields within structs.
fn add_fields(field: &Field, key: &KeyField, fields: &mut HashMap<i32, KeyField>) {
    fields.insert(field.id, key.clone());
    if let lath_iceberg::Type::Struct(children) = &field.field_type {
        for child in children {
            let mut below = key.clone();
            below.below.push(child.name.clone());
            add_fields(child, &below, fields);
        }
    }
}

impl KeyColumns {
    fn new(fields: Vec<KeyField>, options: &DatasetOptions) -> Self {
        // Two keys may be fields of one column.
        let roots: BTreeMap<i32, &KeyField> = fields.iter().map(|field| (field.root_id, field)).collect();
        let schema = Schema::new(roots.values().map(|field| field.arrow.clone()).collect::<Vec<_>>());
        let mapping = ColumnMapping::new(roots.values().map(|field| field.root.clone()));
        let options = Arc::new(options.clone().columns(Arc::new(mapping)));
        Self { fields: fields.into(), schema: Arc::new(schema), options }
    }

    /// The columns that have one value in all rows of a data file.
    fn constants(&self, entry: &Entry) -> Result<Vec<PartitionColumn>> {
        let mut constants = Vec::new();
        for field in self.schema.fields() {
            let is_own = |own: &&lath_iceberg::PartitionField| {
                own.transform == Transform::Identity
                    && own.source_ids.len() == 1
                    && own.source_ids[0].to_string() == *field.name()
            };
            let own = entry.spec.fields.iter().find(is_own);
            let value = own.and_then(|own| entry.file.partition.iter().find(|(id, _)| *id == own.field_id));
            if let Some((_, Some(value))) = value {
                let value = literal_array(value, field.data_type())
                    .map_err(|error| Error::corrupt(format!("{}: {error}", entry.file.file_path)))?;
                constants.push(PartitionColumn::new(Arc::clone(field), value));
            }
        }
        Ok(constants)
    }

    /// The keys of all rows of a file, batch by batch.
    fn batches(
        &self,
        location: &str,
        constants: Vec<PartitionColumn>,
    ) -> Result<impl Iterator<Item = Result<(usize, Vec<ArrayRef>)>>> {
        let file = DatasetFile::at(location, None, vec![0; constants.len()], &self.options)?;
        let dataset = Dataset::with_schema(Arc::clone(&self.schema), constants, vec![file])?;
        let fields = Arc::clone(&self.fields);
        Ok(dataset.scan().build()?.map(move |batch| {
            let batch = batch?;
            let columns = fields.iter().map(|field| field.values(&batch)).collect::<Result<Vec<_>>>()?;
            Ok((batch.num_rows(), columns))
        }))
    }

    /// The types of the keys.
    fn types(&self) -> Result<Vec<DataType>> {
        let empty = RecordBatch::new_empty(Arc::clone(&self.schema));
        self.fields.iter().map(|field| Ok(field.values(&empty)?.data_type().clone())).collect()
    }
}

impl KeyGroup {
    fn keys(&self) -> Result<&Keys> {
        if let Some(keys) = self.keys.get() {
            return Ok(keys);
        }
        let types = self.columns.types()?;
        let fields = types.into_iter().map(SortField::new).collect();
        let failed = |error: arrow_schema::ArrowError| Error::unsupported(format!("keys of deleted rows: {error}"));
        let converter = RowConverter::new(fields).map_err(failed)?;
        let mut newest: HashMap<Box<[u8]>, i64> = HashMap::new();
        for (location, sequence_number, record_count) in &self.files {
            self.check_columns(location)?;
            let mut row_count = 0;
            for batch in self.columns.batches(location, Vec::new())? {
                let (rows_of_batch, columns) = batch?;
                row_count += rows_of_batch as u64;
                let rows = converter.convert_columns(&columns).map_err(failed)?;
                for row in &rows {
                    match newest.get_mut(row.as_ref()) {
                        Some(known) => *known = (*known).max(*sequence_number),
                        None => {
                            newest.insert(row.as_ref().into(), *sequence_number);
                        }
                    }
                }
            }
            if row_count != *record_count {
                return Err(Error::corrupt(format!(
                    "{location} has {row_count} rows; its manifest says {record_count}"
                )));
            }
        }
        Ok(self.keys.get_or_init(|| Keys { converter, newest }))
    }

    /// An error if a file of keys lacks a column: every row without a value would be deleted.
    fn check_columns(&self, location: &str) -> Result<()> {
        let file = DatasetFile::at(location, None, [], &self.columns.options)?.open()?;
        let missing =
            self.columns.schema.fields().iter().find(|field| file.schema().fields().find(field.name()).is_none());
        match missing {
            Some(field) => {
                let id = field.name();
                Err(Error::corrupt(format!("{location}: a file of keys lacks the column with the number {id}")))
            }
            None => Ok(()),
        }
    }
}

impl FileKeys {
    /// Adds the rows whose keys are deleted.
    pub(super) fn delete(&self, mask: &mut DeleteMask) -> Result<()> {
        let Keys { converter, newest } = self.group.keys()?;
        let mut first = 0;
        for batch in self.group.columns.batches(&self.location, self.constants.clone())? {
            let (row_count, columns) = batch?;
            let rows = converter.convert_columns(&columns);
            let rows = rows.map_err(|error| located_rows(&error, &self.location))?;
            for (row, number) in rows.iter().zip(first..) {
                if newest.get(row.as_ref()).is_some_and(|deleted| *deleted > self.sequence_number) {
                    mask.insert(number);
                }
            }
            first += row_count as u64;
        }
        Ok(())
    }
}

fn located_rows(error: &arrow_schema::ArrowError, location: &str) -> Error {
    Error::internal(format!("{location}: keys of rows: {error}"))
}
