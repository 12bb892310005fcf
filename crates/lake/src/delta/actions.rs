//! The actions of a log that readers need.

use std::collections::HashMap;

use serde::Deserialize;

/// A line of a commit: one action, or one that readers do not need.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Action {
    pub(super) add: Option<Add>,
    pub(super) remove: Option<Remove>,
    #[serde(rename = "metaData")]
    pub(super) metadata: Option<Metadata>,
    pub(super) protocol: Option<Protocol>,
    #[serde(rename = "commitInfo")]
    pub(super) commit_info: Option<CommitInfo>,
    pub(super) sidecar: Option<Sidecar>,
}

/// A file that belongs to the table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Add {
    /// A URI, relative to the table's folder or absolute.
    pub(super) path: String,
    pub(super) partition_values: Option<HashMap<String, Option<String>>>,
    pub(super) size: Option<u64>,
    pub(super) deletion_vector: Option<DeletionVector>,
    /// Statistics, as JSON.
    pub(super) stats: Option<String>,
}

impl Add {
    /// Calls `each` with the file.
    pub(super) fn with_file<E>(self, each: impl FnOnce(FileAction<'_>) -> Result<(), E>) -> Result<(), E> {
        let value = |name: &str| self.partition_values.as_ref()?.get(name)?.as_deref();
        each(FileAction {
            path: &self.path,
            size: self.size,
            deletion_vector: self.deletion_vector.clone(),
            stats: self.stats.as_deref(),
            partition_value: &value,
        })
    }
}

/// A file of the table, as an action describes it.
pub(super) struct FileAction<'a> {
    pub(super) path: &'a str,
    pub(super) size: Option<u64>,
    pub(super) deletion_vector: Option<DeletionVector>,
    /// Statistics, as JSON.
    pub(super) stats: Option<&'a str>,
    /// The text of the value of a partition column, by the column's physical name.
    pub(super) partition_value: &'a dyn Fn(&str) -> Option<&'a str>,
}

/// The newest protocol and metadata of a log.
#[derive(Debug, Default)]
pub(super) struct Settings {
    pub(super) protocol: Option<Protocol>,
    pub(super) metadata: Option<Metadata>,
}

impl Settings {
    pub(super) fn are_complete(&self) -> bool {
        self.protocol.is_some() && self.metadata.is_some()
    }

    /// Adds what was not found in a newer action.
    pub(super) fn add(&mut self, protocol: Option<Protocol>, metadata: Option<Metadata>) {
        self.protocol = self.protocol.take().or(protocol);
        self.metadata = self.metadata.take().or(metadata);
    }
}

/// A file that no longer belongs to the table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Remove {
    pub(super) path: String,
    pub(super) deletion_vector: Option<DeletionVector>,
}

/// Names the record of the deleted rows of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeletionVector {
    pub(super) storage_type: String,
    pub(super) path_or_inline_dv: String,
    pub(super) offset: Option<u64>,
    pub(super) size_in_bytes: u64,
    pub(super) cardinality: u64,
}

impl DeletionVector {
    /// Identifies the vector within the table.
    pub(super) fn id(&self) -> (&str, &str, Option<u64>) {
        (&self.storage_type, &self.path_or_inline_dv, self.offset)
    }
}

/// The schema and the properties of the table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    /// The identity of the table.
    pub(super) id: Option<String>,
    /// Absent in the first commit of some tables, whose columns come later.
    pub(super) schema_string: Option<String>,
    #[serde(default)]
    pub(super) partition_columns: Vec<String>,
    pub(super) configuration: Option<HashMap<String, Option<String>>>,
    pub(super) format: Option<Format>,
}

impl Metadata {
    /// A property of the table.
    pub(super) fn property(&self, name: &str) -> Option<&str> {
        self.configuration.as_ref()?.get(name)?.as_deref()
    }
}

/// The format of the files.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Format {
    pub(super) provider: Option<String>,
}

/// The versions and features that a reader has to support.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Protocol {
    pub(super) min_reader_version: i32,
    pub(super) reader_features: Option<Vec<String>>,
}

/// How a commit came about.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CommitInfo {
    /// Milliseconds since 1970.
    pub(super) in_commit_timestamp: Option<i64>,
}

/// A file with a part of a checkpoint.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Sidecar {
    /// A name in the folder of sidecars, or an absolute URI.
    pub(super) path: String,
}
