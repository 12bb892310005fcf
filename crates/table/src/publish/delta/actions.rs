//! Actions of commits and checkpoints.

use serde_json::{Map, Value, json};

use super::schema::{READER_FEATURES, WRITER_FEATURES};
use super::vectors::{VectorPlace, vector_file};
use crate::error::{Error, Result};

/// A file of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Add {
    pub(super) path: String,
    pub(super) size: u64,
    pub(super) time_ms: i64,
    /// Statistics of all its rows, deleted ones too, as JSON without `tightBounds`.
    pub(super) stats: Value,
    pub(super) vector: Option<VectorPlace>,
}

/// An action of a commit.
#[derive(Debug, Clone)]
pub(super) enum Action {
    Info(Value),
    Protocol,
    Metadata { id: String, schema: String, created_ms: i64 },
    Add(Add),
    Remove(Add),
}

impl Action {
    /// `is_change` is false for checkpoints.
    pub(super) fn to_json(&self, now_ms: i64, is_change: bool) -> Value {
        match self {
            Self::Info(info) => action("commitInfo", info.clone()),
            Self::Protocol => action(
                "protocol",
                json!({
                    "minReaderVersion": 3,
                    "minWriterVersion": 7,
                    "readerFeatures": READER_FEATURES,
                    "writerFeatures": WRITER_FEATURES,
                }),
            ),
            Self::Metadata { id, schema, created_ms } => action(
                "metaData",
                json!({
                    "id": id,
                    "format": { "provider": "parquet", "options": {} },
                    "schemaString": schema,
                    "partitionColumns": [],
                    "configuration": { "delta.enableDeletionVectors": "true" },
                    "createdTime": created_ms,
                }),
            ),
            Self::Add(add) => {
                let mut fields = add.shared_fields(is_change);
                fields.insert("modificationTime".to_owned(), add.time_ms.into());
                let mut stats = add.stats.clone();
                if let Some(stats) = stats.as_object_mut() {
                    stats.insert("tightBounds".to_owned(), add.vector.is_none().into());
                }
                fields.insert("stats".to_owned(), stats.to_string().into());
                action("add", fields.into())
            }
            Self::Remove(add) => {
                let mut fields = add.shared_fields(is_change);
                fields.insert("deletionTimestamp".to_owned(), now_ms.into());
                fields.insert("extendedFileMetadata".to_owned(), true.into());
                action("remove", fields.into())
            }
        }
    }
}

/// An object of one action.
fn action(name: &str, fields: Value) -> Value {
    json!({ name: fields })
}

impl Add {
    pub(super) fn deleted_count(&self) -> u64 {
        self.vector.as_ref().map_or(0, |vector| vector.cardinality)
    }

    /// The name of the file with its deletion vector.
    pub(super) fn vector_file(&self) -> Option<String> {
        vector_file(&self.vector.as_ref()?.path)
    }

    fn shared_fields(&self, is_change: bool) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("path".to_owned(), self.path.as_str().into());
        fields.insert("partitionValues".to_owned(), json!({}));
        fields.insert("size".to_owned(), self.size.into());
        fields.insert("dataChange".to_owned(), is_change.into());
        if let Some(vector) = &self.vector {
            let place = json!({
                "storageType": "u",
                "pathOrInlineDv": vector.path,
                "offset": vector.offset,
                "sizeInBytes": vector.len,
                "cardinality": vector.cardinality,
            });
            fields.insert("deletionVector".to_owned(), place);
        }
        fields
    }

    /// The file of an `add` or a `remove`.
    pub(super) fn from_json(fields: &Value) -> Result<Self> {
        let error = || Error::corrupt("the log of Delta Lake has an action that Lath has not written");
        let number = |fields: &Value, name: &str| fields.get(name).and_then(Value::as_u64).ok_or_else(error);
        let text = |fields: &Value, name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let vector = match fields.get("deletionVector") {
            None | Some(Value::Null) => None,
            Some(vector) => Some(VectorPlace {
                path: text(vector, "pathOrInlineDv").ok_or_else(error)?,
                offset: number(vector, "offset")?,
                len: number(vector, "sizeInBytes")?,
                cardinality: number(vector, "cardinality")?,
            }),
        };
        let stats = match fields.get("stats").and_then(Value::as_str) {
            Some(stats) => serde_json::from_str(stats).map_err(|_| error())?,
            None => Value::Null,
        };
        Ok(Self {
            path: text(fields, "path").ok_or_else(error)?,
            size: number(fields, "size")?,
            time_ms: fields.get("modificationTime").and_then(Value::as_i64).unwrap_or(0),
            stats,
            vector,
        })
    }
}
