//! Manifest lists and manifests: the files of a snapshot.

mod file_schema;
mod read;
mod read_list;
mod write;

use crate::schema::Literal;

pub use self::read::{read_manifest, visit_manifest};
pub use self::read_list::read_manifest_list;
pub use self::write::{ManifestSettings, write_manifest, write_manifest_list};

/// The kind of files that a manifest has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestContent {
    /// Data files.
    Data,
    /// Files of deleted rows.
    Deletes,
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileContent {
    /// Rows.
    Data,
    /// Deleted rows by their places in files: a deletion vector, or a file of places.
    PositionDeletes,
    /// Deleted rows by the values of columns.
    EqualityDeletes,
}

/// Whether a file is new in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryStatus {
    /// A snapshot before it had the file.
    Existing,
    /// It added the file.
    Added,
    /// It removed the file.
    Deleted,
}

/// An entry of a manifest list.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ManifestFile {
    /// The location of the manifest.
    pub manifest_path: String,
    /// Its length in bytes.
    pub manifest_length: u64,
    /// The number of the partition spec of its files.
    pub partition_spec_id: i32,
    /// The kind of its files.
    pub content: ManifestContent,
    /// The sequence number of the snapshot that added it; 0 in version 1.
    pub sequence_number: i64,
    /// The least sequence number of its files.
    pub min_sequence_number: i64,
    /// The snapshot that added it.
    pub added_snapshot_id: i64,
    /// Number of files that are new; `None` if it is not known.
    pub added_files: Option<u64>,
    /// Number of files that are not new.
    pub existing_files: Option<u64>,
    /// Number of files that were removed.
    pub deleted_files: Option<u64>,
    /// Number of rows of new files.
    pub added_rows: Option<u64>,
    /// Number of rows of files that are not new.
    pub existing_rows: Option<u64>,
    /// Number of rows of removed files.
    pub deleted_rows: Option<u64>,
    /// The values of partitions of its files, one for each field of the spec; empty if they are not known.
    pub partitions: Vec<PartitionSummary>,
    /// The key of an encrypted manifest.
    pub key_metadata: Option<Vec<u8>>,
    /// The number of the first row of its data files that have no numbers yet.
    pub first_row_id: Option<i64>,
}

impl ManifestFile {
    /// A manifest of version 1 that is listed in the table's metadata by its location alone.
    pub fn inline(manifest_path: impl Into<String>) -> Self {
        Self {
            manifest_path: manifest_path.into(),
            manifest_length: 0,
            partition_spec_id: 0,
            content: ManifestContent::Data,
            sequence_number: 0,
            min_sequence_number: 0,
            added_snapshot_id: 0,
            added_files: None,
            existing_files: None,
            deleted_files: None,
            added_rows: None,
            existing_rows: None,
            deleted_rows: None,
            partitions: Vec::new(),
            key_metadata: None,
            first_row_id: None,
        }
    }
}

/// The values of one field of the partitions of a manifest's files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PartitionSummary {
    /// Whether one is null.
    pub contains_null: bool,
    /// Whether one is NaN; `None` if it is not known.
    pub contains_nan: Option<bool>,
    /// A lower bound of the others, in the binary form of single values.
    pub lower_bound: Option<Vec<u8>>,
    /// An upper bound.
    pub upper_bound: Option<Vec<u8>>,
}

/// An entry of a manifest.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ManifestEntry {
    /// Whether the file is new.
    pub status: EntryStatus,
    /// The snapshot that added or removed the file.
    pub snapshot_id: Option<i64>,
    /// The sequence number of its rows.
    pub sequence_number: Option<i64>,
    /// The sequence number of the snapshot that added the file.
    pub file_sequence_number: Option<i64>,
    /// The file.
    pub data_file: DataFile,
}

impl ManifestEntry {
    /// A new file, whose sequence numbers are the snapshot's.
    pub fn added(data_file: DataFile) -> Self {
        Self {
            status: EntryStatus::Added,
            snapshot_id: None,
            sequence_number: None,
            file_sequence_number: None,
            data_file,
        }
    }

    /// A file that the snapshot with this number and sequence number added before.
    pub fn existing(snapshot_id: i64, sequence_number: i64, data_file: DataFile) -> Self {
        Self {
            status: EntryStatus::Existing,
            snapshot_id: Some(snapshot_id),
            sequence_number: Some(sequence_number),
            file_sequence_number: Some(sequence_number),
            data_file,
        }
    }
}

/// A file of rows or of deleted rows.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DataFile {
    /// Its kind.
    pub content: FileContent,
    /// Its location.
    pub file_path: String,
    /// Its format: `PARQUET`, `PUFFIN`, `AVRO` or `ORC`.
    pub file_format: String,
    /// The values of its partition: the number of each field of the spec, and its value.
    pub partition: Vec<(i32, Option<Literal>)>,
    /// Number of rows.
    pub record_count: u64,
    /// Length in bytes.
    pub file_size_in_bytes: u64,
    /// Bytes of columns, by their numbers.
    pub column_sizes: Vec<(i32, i64)>,
    /// Number of values of columns, nulls included.
    pub value_counts: Vec<(i32, i64)>,
    /// Number of nulls of columns.
    pub null_value_counts: Vec<(i32, i64)>,
    /// Number of NaNs of columns.
    pub nan_value_counts: Vec<(i32, i64)>,
    /// Lower bounds of columns, in the binary form of single values.
    pub lower_bounds: Vec<(i32, Vec<u8>)>,
    /// Upper bounds of columns.
    pub upper_bounds: Vec<(i32, Vec<u8>)>,
    /// The key of an encrypted file.
    pub key_metadata: Option<Vec<u8>>,
    /// Offsets of the row groups.
    pub split_offsets: Vec<i64>,
    /// The columns whose values say which rows are deleted.
    pub equality_ids: Vec<i32>,
    /// The number of the order of its rows.
    pub sort_order_id: Option<i32>,
    /// The number of its first row.
    pub first_row_id: Option<i64>,
    /// The data file that all its deleted rows are in.
    pub referenced_data_file: Option<String>,
    /// Offset of the deletion vector in the file.
    pub content_offset: Option<u64>,
    /// Length of the deletion vector in bytes.
    pub content_size_in_bytes: Option<u64>,
}

impl DataFile {
    /// A file in Parquet's format, without partition and metrics.
    pub fn new(content: FileContent, file_path: impl Into<String>, record_count: u64, file_size_in_bytes: u64) -> Self {
        Self {
            content,
            file_path: file_path.into(),
            file_format: "PARQUET".to_owned(),
            partition: Vec::new(),
            record_count,
            file_size_in_bytes,
            column_sizes: Vec::new(),
            value_counts: Vec::new(),
            null_value_counts: Vec::new(),
            nan_value_counts: Vec::new(),
            lower_bounds: Vec::new(),
            upper_bounds: Vec::new(),
            key_metadata: None,
            split_offsets: Vec::new(),
            equality_ids: Vec::new(),
            sort_order_id: None,
            first_row_id: None,
            referenced_data_file: None,
            content_offset: None,
            content_size_in_bytes: None,
        }
    }

    /// A deletion vector in a Puffin file: the rows of one data file that are deleted.
    pub fn deletion_vector(
        puffin_path: impl Into<String>,
        puffin_bytes: u64,
        data_file: impl Into<String>,
        deleted_rows: u64,
        offset: u64,
        length: u64,
    ) -> Self {
        let mut file = Self::new(FileContent::PositionDeletes, puffin_path, deleted_rows, puffin_bytes);
        file.file_format = "PUFFIN".to_owned();
        file.referenced_data_file = Some(data_file.into());
        file.content_offset = Some(offset);
        file.content_size_in_bytes = Some(length);
        file
    }
}
