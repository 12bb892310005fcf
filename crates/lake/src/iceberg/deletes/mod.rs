//! The deleted rows of data files.
//!
//! A snapshot deletes rows in three ways: by a deletion vector for one data file, by files of positions, and by files of keys
//! (equality deletes). Which of them apply to a data file is decided by sequence numbers and partitions when the table is opened;
//! they are read when rows of the data file are.
//!
//! <https://iceberg.apache.org/spec/#scan-planning>

mod equality;
mod positions;
mod vector;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use lath_iceberg::{FileContent, TableMetadata};
use lath_parquet::{DatasetOptions, DeleteMask, DeletedRows, Error, Result};

use self::equality::KeyGroups;
use self::positions::PositionFile;
use self::vector::Vector;
use super::columns::StoredNames;
use super::manifests::Entry;
use super::partitions::value_key;
use super::paths::{Locations, plain};

/// The delete files of a snapshot.
pub(super) struct Deletes {
    locations: Arc<Locations>,
    options: DatasetOptions,
    /// By data file.
    vectors: HashMap<String, Arc<Vector>>,
    /// Files with positions in one data file, by that file.
    of_files: HashMap<String, Vec<Arc<PositionFile>>>,
    /// Files whose paths have the same lower and upper bound, by that bound.
    of_bounds: HashMap<String, Vec<Arc<PositionFile>>>,
    /// The lengths of these bounds.
    bound_lens: BTreeSet<usize>,
    /// Other files with positions, by partition.
    of_partitions: HashMap<Partition, Vec<Arc<PositionFile>>>,
    keys: KeyGroups,
}

/// A partition of a spec.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Partition {
    spec: i32,
    values: Vec<Vec<u8>>,
}

impl Partition {
    fn of(entry: &Entry) -> Self {
        let value = |field: &lath_iceberg::PartitionField| {
            let found = entry.file.partition.iter().find(|(id, _)| *id == field.field_id);
            value_key(found.and_then(|(_, value)| value.as_ref()))
        };
        Self { spec: entry.spec.spec_id, values: entry.spec.fields.iter().map(value).collect() }
    }
}

impl Deletes {
    pub(super) fn new(locations: &Arc<Locations>, metadata: &TableMetadata, names: &StoredNames) -> Self {
        let options = locations.folder().options().clone();
        Self {
            keys: KeyGroups::new(metadata, names, &options),
            locations: Arc::clone(locations),
            options,
            vectors: HashMap::new(),
            of_files: HashMap::new(),
            of_bounds: HashMap::new(),
            bound_lens: BTreeSet::new(),
            of_partitions: HashMap::new(),
        }
    }

    /// Adds a delete file.
    pub(super) fn add(&mut self, entry: &Entry) -> Result<()> {
        let file = &entry.file;
        let location = self.locations.find(&file.file_path)?;
        if file.content == FileContent::EqualityDeletes {
            return self.keys.add(entry, &location);
        }
        if file.file_format == "PUFFIN" {
            let vector = Vector::new(entry, location)?;
            let data_file = self.locations.find(vector.data_file())?;
            return match self.vectors.insert(data_file, Arc::new(vector)) {
                None => Ok(()),
                Some(first) => Err(Error::corrupt(format!("{} has two deletion vectors", first.data_file()))),
            };
        }
        let positions = Arc::new(PositionFile::new(entry, location, &self.locations, &self.options)?);
        if let Some(data_file) = &file.referenced_data_file {
            self.of_files.entry(self.locations.find(data_file)?).or_default().push(positions);
        } else if let Some(bound) = PositionFile::equal_bounds(file) {
            self.of_files.entry(self.locations.find(&bound)?).or_default().push(Arc::clone(&positions));
            let bound = plain(&bound);
            self.bound_lens.insert(bound.len());
            self.of_bounds.entry(bound).or_default().push(positions);
        } else {
            self.of_partitions.entry(Partition::of(entry)).or_default().push(positions);
        }
        Ok(())
    }

    /// The files whose bounds are the beginning of the path of a data file. If another file was meant, they lack the path.
    fn with_cut_bounds(&self, data_file: &str) -> impl Iterator<Item = &Arc<PositionFile>> {
        let named = plain(data_file);
        let bounds = self.bound_lens.range(..named.len());
        bounds.filter_map(move |len| self.of_bounds.get(named.get(..*len)?)).flatten()
    }

    /// The deleted rows of the data file at `path`; `None` if no delete file applies to it.
    pub(super) fn of(&self, entry: &Entry, path: &str) -> Result<Option<DeletedRows>> {
        let partition = Partition::of(entry);
        let sequence_number = entry.sequence_number;
        let vector = self.vectors.get(path).filter(|vector| vector.sequence_number() >= sequence_number).cloned();
        // A vector has the positions of older files too.
        let positions = if vector.is_some() {
            Vec::new()
        } else {
            let of_file = self.of_files.get(path).into_iter().flatten();
            let all = of_file.chain(self.of_partitions.get(&partition).into_iter().flatten());
            let all = all.chain(self.with_cut_bounds(&entry.file.file_path));
            all.filter(|positions| positions.sequence_number() >= sequence_number).cloned().collect()
        };
        let keys = self.keys.of(entry, path, &partition)?;
        if vector.is_none() && positions.is_empty() && keys.is_empty() {
            return Ok(None);
        }
        // Other files may delete a row twice.
        let count = vector.as_ref().filter(|_| keys.is_empty()).map(|vector| vector.row_count());
        let (locations, data_file, row_count) = (Arc::clone(&self.locations), path.to_owned(), entry.file.record_count);
        let read = move || {
            let mut mask = match &vector {
                Some(vector) => vector.read(&locations)?,
                None => DeleteMask::new(),
            };
            for positions in &positions {
                positions.delete(&data_file, &mut mask)?;
            }
            if mask.count_within(&(0..row_count)) != mask.len() {
                return Err(Error::corrupt(format!(
                    "rows are deleted that {data_file} does not have: it has {row_count} rows"
                )));
            }
            for keys in &keys {
                keys.delete(&mut mask)?;
            }
            Ok(mask)
        };
        Ok(Some(DeletedRows::new(count, read)))
    }
}
