//! Snapshots, and the names that keep them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::Result;
use crate::json::{Object, ObjectBuilder};

/// A state of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Its number.
    pub snapshot_id: i64,
    /// The number of the state before it.
    pub parent_snapshot_id: Option<i64>,
    /// Its place in the order of changes; 0 in version 1.
    pub sequence_number: i64,
    /// When it was made, in milliseconds since 1970.
    pub timestamp_ms: i64,
    /// Its manifests.
    pub manifests: ManifestLocation,
    /// Summary of the change: `operation`, and counts.
    pub summary: BTreeMap<String, String>,
    /// The schema of its time.
    pub schema_id: Option<i32>,
    /// The first number of a row that it added.
    pub first_row_id: Option<i64>,
    /// An upper bound of how many rows it gave numbers.
    pub added_rows: Option<i64>,
}

/// The place of the list of a snapshot's manifests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManifestLocation {
    /// In a manifest list at this location.
    List(String),
    /// In the metadata itself, by their locations: version 1 alone.
    Inline(Vec<String>),
}

impl Snapshot {
    /// A snapshot with a manifest list at this location.
    pub fn new(snapshot_id: i64, sequence_number: i64, timestamp_ms: i64, manifest_list: impl Into<String>) -> Self {
        Self {
            snapshot_id,
            parent_snapshot_id: None,
            sequence_number,
            timestamp_ms,
            manifests: ManifestLocation::List(manifest_list.into()),
            summary: BTreeMap::new(),
            schema_id: None,
            first_row_id: None,
            added_rows: None,
        }
    }

    pub(super) fn from_json(value: &Value) -> Result<Self> {
        let snapshot = Object::new(value, "snapshot")?;
        let manifests = match snapshot.text_if_any("manifest-list")? {
            Some(list) => ManifestLocation::List(list.to_owned()),
            None => {
                let text = |value: &Value| value.as_str().map(str::to_owned);
                let manifests = snapshot.list("manifests")?.iter().map(text).collect::<Option<_>>();
                let error = || snapshot.error("manifests", "is not a list of locations");
                ManifestLocation::Inline(manifests.ok_or_else(error)?)
            }
        };
        Ok(Self {
            snapshot_id: snapshot.long("snapshot-id")?,
            parent_snapshot_id: snapshot.long_if_any("parent-snapshot-id")?,
            sequence_number: snapshot.long_if_any("sequence-number")?.unwrap_or(0),
            timestamp_ms: snapshot.long("timestamp-ms")?,
            manifests,
            summary: snapshot.texts_or_empty("summary")?.into_iter().collect(),
            schema_id: snapshot.int_if_any("schema-id")?,
            first_row_id: snapshot.long_if_any("first-row-id")?,
            added_rows: snapshot.long_if_any("added-rows")?,
        })
    }

    pub(super) fn to_json(&self) -> Value {
        let object = ObjectBuilder::default()
            .put("snapshot-id", self.snapshot_id)
            .put_if_any("parent-snapshot-id", self.parent_snapshot_id)
            .put("sequence-number", self.sequence_number)
            .put("timestamp-ms", self.timestamp_ms)
            .put("summary", texts(&self.summary))
            .put_if_any("schema-id", self.schema_id)
            .put_if_any("first-row-id", self.first_row_id)
            .put_if_any("added-rows", self.added_rows);
        let object = match &self.manifests {
            ManifestLocation::List(list) => object.put("manifest-list", list.as_str()),
            ManifestLocation::Inline(manifests) => object.put("manifests", manifests.clone()),
        };
        object.finish()
    }
}

/// A branch or a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotReference {
    /// The snapshot that it names.
    pub snapshot_id: i64,
    /// Whether it is a branch.
    pub is_branch: bool,
    /// A branch keeps at least this many snapshots.
    pub min_snapshots_to_keep: Option<i32>,
    /// A branch keeps snapshots up to this age.
    pub max_snapshot_age_ms: Option<i64>,
    /// The name is kept up to this age.
    pub max_ref_age_ms: Option<i64>,
}

impl SnapshotReference {
    /// A branch that ends with a snapshot.
    pub fn branch(snapshot_id: i64) -> Self {
        Self {
            snapshot_id,
            is_branch: true,
            min_snapshots_to_keep: None,
            max_snapshot_age_ms: None,
            max_ref_age_ms: None,
        }
    }

    pub(super) fn from_json(value: &Value) -> Result<Self> {
        let reference = Object::new(value, "reference")?;
        let is_branch = match reference.text("type")? {
            "branch" => true,
            "tag" => false,
            _ => return Err(reference.error("type", "is neither branch nor tag")),
        };
        Ok(Self {
            snapshot_id: reference.long("snapshot-id")?,
            is_branch,
            min_snapshots_to_keep: reference.int_if_any("min-snapshots-to-keep")?,
            max_snapshot_age_ms: reference.long_if_any("max-snapshot-age-ms")?,
            max_ref_age_ms: reference.long_if_any("max-ref-age-ms")?,
        })
    }

    pub(super) fn to_json(&self) -> Value {
        ObjectBuilder::default()
            .put("snapshot-id", self.snapshot_id)
            .put("type", if self.is_branch { "branch" } else { "tag" })
            .put_if_any("min-snapshots-to-keep", self.min_snapshots_to_keep)
            .put_if_any("max-snapshot-age-ms", self.max_snapshot_age_ms)
            .put_if_any("max-ref-age-ms", self.max_ref_age_ms)
            .finish()
    }
}

/// An object of texts.
pub(super) fn texts(texts: &BTreeMap<String, String>) -> Value {
    texts.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
}
