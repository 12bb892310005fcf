//! The table format of [Iceberg], versions 1 to 3, both ways: the metadata of a table, manifest lists and manifests, deletion vectors in Puffin
//! files, schemas, values, and transforms of partitions.
//!
//! Bytes come in as slices and go out as vectors: which file is read or written is the caller's. Bytes that are not what the [specification]
//! says are an error.
//!
//! ```
//! use lath_iceberg::{Field, PrimitiveType, Schema, TableMetadata};
//!
//! let columns = vec![Field::new(1, "id", true, PrimitiveType::Long), Field::new(2, "name", false, PrimitiveType::String)];
//! let metadata = TableMetadata::new("9c12d441-03fe-4693-9a96-a0705ddf69c1", "/lake/people", Schema::new(0, columns, vec![1])?, 0);
//! let read = TableMetadata::from_bytes(&metadata.to_bytes()?)?;
//! assert_eq!(read, metadata);
//! assert_eq!(read.current_schema().and_then(|schema| schema.field(2)).map(|field| &field.name[..]), Some("name"));
//! # Ok::<(), lath_iceberg::Error>(())
//! ```
//!
//! [Iceberg]: https://iceberg.apache.org
//! [specification]: https://iceberg.apache.org/spec/

mod avro;
mod deletion_vector;
mod error;
mod json;
mod manifest;
mod metadata;
mod partition;
mod puffin;
mod schema;
mod transform;

pub use deletion_vector::{read_deletion_vector, write_deletion_vector};
pub use error::{Error, Result};
pub use manifest::{
    DataFile, EntryStatus, FileContent, ManifestContent, ManifestEntry, ManifestFile, ManifestSettings,
    PartitionSummary, read_manifest, read_manifest_list, visit_manifest, write_manifest, write_manifest_list,
};
pub use metadata::{ManifestLocation, NEWEST_FORMAT_VERSION, Snapshot, SnapshotReference, TableMetadata};
pub use partition::{PartitionField, PartitionSpec, SortField, SortOrder};
pub use puffin::{DELETION_VECTOR, PuffinBlob, PuffinWriter, read_puffin_footer};
pub use schema::{FIELD_ID_KEY, Field, Literal, PrimitiveType, Schema, Type};
pub use transform::Transform;
