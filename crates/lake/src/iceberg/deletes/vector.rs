//! Deletion vectors: the deleted rows of one data file, in a blob of a Puffin file.

use lath_iceberg::read_deletion_vector;
use lath_parquet::{DeleteMask, Error, Result};

use crate::iceberg::located;
use crate::iceberg::manifests::Entry;
use crate::iceberg::paths::Locations;
use crate::storage::read_failure;

/// The place of a deletion vector.
#[derive(Debug)]
pub(super) struct Vector {
    /// The Puffin file, as metadata names it and where it is.
    named: String,
    location: String,
    data_file: String,
    offset: u64,
    len: u64,
    row_count: u64,
    sequence_number: i64,
}

impl Vector {
    pub(super) fn new(entry: &Entry, location: String) -> Result<Self> {
        let file = &entry.file;
        let place = (&file.referenced_data_file, file.content_offset, file.content_size_in_bytes);
        let (Some(data_file), Some(offset), Some(len)) = place else {
            let path = &file.file_path;
            return Err(Error::corrupt(format!(
                "{path}: the entry of a deletion vector lacks its place or its data file"
            )));
        };
        Ok(Self {
            named: file.file_path.clone(),
            location,
            data_file: data_file.clone(),
            offset,
            len,
            row_count: file.record_count,
            sequence_number: entry.sequence_number,
        })
    }

    /// The data file, as metadata names it.
    pub(super) fn data_file(&self) -> &str {
        &self.data_file
    }

    pub(super) fn sequence_number(&self) -> i64 {
        self.sequence_number
    }

    /// Number of deleted rows.
    pub(super) fn row_count(&self) -> u64 {
        self.row_count
    }

    pub(super) fn read(&self, locations: &Locations) -> Result<DeleteMask> {
        let Self { location, offset, len, row_count, .. } = self;
        let source = locations.folder().source(location);
        let source = source.map_err(|error| locations.explain(error, &self.named, location))?;
        let end = offset.checked_add(*len).filter(|end| *end <= source.len());
        let end = end.ok_or_else(|| {
            Error::corrupt(format!("{location} ends before the deletion vector at {offset} of {len} bytes"))
        })?;
        let bytes = source.read(*offset..end).map_err(|error| read_failure(location, error))?;
        let bitmap = read_deletion_vector(&bytes).map_err(|error| located(error, location))?;
        let mask = DeleteMask::from_bytes(bitmap).map_err(|error| Error::corrupt(format!("{location}: {error}")))?;
        if mask.len() != *row_count {
            let found = mask.len();
            return Err(Error::corrupt(format!(
                "{location}: a deletion vector has {found} rows; its manifest says {row_count}"
            )));
        }
        Ok(mask)
    }
}
