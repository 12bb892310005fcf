//! The metadata of a table: `vN.metadata.json`.

mod snapshot;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::Value;

use self::snapshot::texts;
use crate::error::{Error, Result};
use crate::json::{Object, ObjectBuilder};
use crate::partition::{PartitionSpec, SortOrder};
use crate::schema::Schema;

pub use self::snapshot::{ManifestLocation, Snapshot, SnapshotReference};

const METADATA: &str = "table metadata";

/// The newest version of the format that is read and written.
pub const NEWEST_FORMAT_VERSION: u8 = 3;

/// Metadata that was compressed to a part of this number is not read.
const MAX_RATIO: u64 = 1100;

/// The metadata of a table, whichever version of the format it has.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TableMetadata {
    /// 1, 2 or 3.
    pub format_version: u8,
    /// A number that no other table has; version 1 may lack it.
    pub table_uuid: Option<String>,
    /// The folder of the table.
    pub location: String,
    /// The highest sequence number of a snapshot; 0 in version 1.
    pub last_sequence_number: i64,
    /// When it was written, in milliseconds since 1970.
    pub last_updated_ms: i64,
    /// The highest number of a field.
    pub last_column_id: i32,
    /// All schemas.
    pub schemas: Vec<Schema>,
    /// The number of the schema of new rows.
    pub current_schema_id: i32,
    /// All partition specs.
    pub partition_specs: Vec<PartitionSpec>,
    /// The number of the spec of new rows.
    pub default_spec_id: i32,
    /// The highest number of a field of a partition spec.
    pub last_partition_id: i32,
    /// All sort orders.
    pub sort_orders: Vec<SortOrder>,
    /// The number of the order of new files.
    pub default_sort_order_id: i32,
    /// Settings.
    pub properties: BTreeMap<String, String>,
    /// The number of the newest state; `None` if the table has none.
    pub current_snapshot_id: Option<i64>,
    /// The states that are kept.
    pub snapshots: Vec<Snapshot>,
    /// When which snapshot became the newest one: milliseconds since 1970, and its number.
    pub snapshot_log: Vec<(i64, i64)>,
    /// When which metadata file was written: milliseconds since 1970, and its location.
    pub metadata_log: Vec<(i64, String)>,
    /// Branches and tags.
    pub refs: BTreeMap<String, SnapshotReference>,
    /// The number of the next row; in version 3 alone.
    pub next_row_id: Option<i64>,
}

impl TableMetadata {
    /// Metadata of version 3 of a table without partitions and snapshots.
    pub fn new(table_uuid: impl Into<String>, location: impl Into<String>, schema: Schema, now_ms: i64) -> Self {
        Self {
            format_version: NEWEST_FORMAT_VERSION,
            table_uuid: Some(table_uuid.into()),
            location: location.into(),
            last_sequence_number: 0,
            last_updated_ms: now_ms,
            last_column_id: schema.highest_field_id(),
            current_schema_id: schema.schema_id,
            schemas: vec![schema],
            partition_specs: vec![PartitionSpec::unpartitioned()],
            default_spec_id: 0,
            last_partition_id: 999,
            sort_orders: vec![SortOrder::unsorted()],
            default_sort_order_id: 0,
            properties: BTreeMap::new(),
            current_snapshot_id: None,
            snapshots: Vec::new(),
            snapshot_log: Vec::new(),
            metadata_log: Vec::new(),
            refs: BTreeMap::new(),
            next_row_id: Some(0),
        }
    }

    /// Reads a metadata file of version 1, 2 or 3, compressed with gzip or not. Fields that are not known are skipped.
    ///
    /// # Errors
    /// [`Error::Corrupt`], also if a number that it refers to is missing; [`Error::Unsupported`] for later versions and types.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        if bytes.starts_with(&[0x1f, 0x8b]) {
            let limit = (bytes.len() as u64).saturating_mul(MAX_RATIO);
            let mut text = Vec::new();
            let read = GzDecoder::new(bytes).take(limit).read_to_end(&mut text);
            read.map_err(|error| Error::corrupt(METADATA, error.to_string()))?;
            return Self::from_json(&text);
        }
        Self::from_json(bytes)
    }

    fn from_json(text: &[u8]) -> Result<Self> {
        let value: Value = serde_json::from_slice(text).map_err(|error| Error::corrupt(METADATA, error.to_string()))?;
        let object = Object::new(&value, METADATA)?;
        let version = object.int("format-version")?;
        let format_version = match version {
            1..=3 => version as u8,
            _ => return Err(Error::unsupported(format!("version {version} of Iceberg's format"))),
        };
        let (schemas, current_schema_id) = read_schemas(&object)?;
        let (partition_specs, default_spec_id) = read_specs(&object)?;
        let sort_orders: Vec<SortOrder> =
            object.list_or_empty("sort-orders")?.iter().map(SortOrder::from_json).collect::<Result<_>>()?;
        let snapshots: Vec<Snapshot> =
            object.list_or_empty("snapshots")?.iter().map(Snapshot::from_json).collect::<Result<_>>()?;
        // Writers of version 1 and 2 say -1 for none.
        let current_snapshot_id = object.long_if_any("current-snapshot-id")?.filter(|id| *id != -1);
        let mut refs = BTreeMap::new();
        if let Some(value) = object.get("refs") {
            let names = value.as_object().ok_or_else(|| object.error("refs", "is not an object"))?;
            for (name, value) in names {
                refs.insert(name.clone(), SnapshotReference::from_json(value)?);
            }
        }
        let last_column_id = schemas.iter().map(Schema::highest_field_id).max().unwrap_or(0);
        let partition_ids = partition_specs.iter().flat_map(|spec| &spec.fields).map(|field| field.field_id);
        let last_partition_id = partition_ids.max().unwrap_or(999);
        let metadata = Self {
            format_version,
            table_uuid: object.text_if_any("table-uuid")?.map(str::to_owned),
            location: object.text("location")?.to_owned(),
            last_sequence_number: object.long_if_any("last-sequence-number")?.unwrap_or(0),
            last_updated_ms: object.long("last-updated-ms")?,
            last_column_id: object.int_if_any("last-column-id")?.unwrap_or(last_column_id),
            schemas,
            current_schema_id,
            partition_specs,
            default_spec_id,
            last_partition_id: object.int_if_any("last-partition-id")?.unwrap_or(last_partition_id),
            sort_orders,
            default_sort_order_id: object.int_if_any("default-sort-order-id")?.unwrap_or(0),
            properties: object.texts_or_empty("properties")?.into_iter().collect(),
            current_snapshot_id,
            snapshots,
            snapshot_log: read_log(&object, "snapshot-log", |entry| entry.long("snapshot-id"))?,
            metadata_log: read_log(&object, "metadata-log", |entry| entry.text("metadata-file").map(str::to_owned))?,
            refs,
            next_row_id: object.long_if_any("next-row-id")?,
        };
        metadata.check()?;
        Ok(metadata)
    }

    /// The bytes of a metadata file.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a number that it refers to is missing, [`Error::Unsupported`] for version 1, which is only read.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.check()?;
        if self.format_version < 2 {
            return Err(Error::unsupported("writing version 1 of Iceberg's format"));
        }
        let snapshot_log = self
            .snapshot_log
            .iter()
            .map(|(time, id)| ObjectBuilder::default().put("timestamp-ms", *time).put("snapshot-id", *id).finish());
        let metadata_log = self.metadata_log.iter().map(|(time, file)| {
            ObjectBuilder::default().put("timestamp-ms", *time).put("metadata-file", file.as_str()).finish()
        });
        let refs: Value = self.refs.iter().map(|(name, reference)| (name.clone(), reference.to_json())).collect();
        let value = ObjectBuilder::default()
            .put("format-version", self.format_version)
            .put_if_any("table-uuid", self.table_uuid.as_deref())
            .put("location", self.location.as_str())
            .put("last-sequence-number", self.last_sequence_number)
            .put("last-updated-ms", self.last_updated_ms)
            .put("last-column-id", self.last_column_id)
            .put("schemas", self.schemas.iter().map(Schema::to_json).collect::<Value>())
            .put("current-schema-id", self.current_schema_id)
            .put("partition-specs", self.partition_specs.iter().map(PartitionSpec::to_json).collect::<Value>())
            .put("default-spec-id", self.default_spec_id)
            .put("last-partition-id", self.last_partition_id)
            .put("sort-orders", self.sort_orders.iter().map(SortOrder::to_json).collect::<Value>())
            .put("default-sort-order-id", self.default_sort_order_id)
            .put("properties", texts(&self.properties))
            .put_if_any("current-snapshot-id", self.current_snapshot_id)
            .put("snapshots", self.snapshots.iter().map(Snapshot::to_json).collect::<Value>())
            .put("snapshot-log", snapshot_log.collect::<Value>())
            .put("metadata-log", metadata_log.collect::<Value>())
            .put("refs", refs)
            .put_if_any("next-row-id", self.next_row_id)
            .finish();
        Ok(value.to_string().into_bytes())
    }

    /// The schema of new rows.
    pub fn current_schema(&self) -> Option<&Schema> {
        self.schema(self.current_schema_id)
    }

    /// The schema with this number.
    pub fn schema(&self, id: i32) -> Option<&Schema> {
        self.schemas.iter().find(|schema| schema.schema_id == id)
    }

    /// The partition spec with this number.
    pub fn partition_spec(&self, id: i32) -> Option<&PartitionSpec> {
        self.partition_specs.iter().find(|spec| spec.spec_id == id)
    }

    /// The newest state.
    pub fn current_snapshot(&self) -> Option<&Snapshot> {
        self.snapshot(self.current_snapshot_id?)
    }

    /// The snapshot with this number.
    pub fn snapshot(&self, id: i64) -> Option<&Snapshot> {
        self.snapshots.iter().find(|snapshot| snapshot.snapshot_id == id)
    }

    /// Checks that numbers are unique, and that no reference is broken.
    fn check(&self) -> Result<()> {
        let missing = |what: String| Err(Error::corrupt(METADATA, what));
        is_unique("schemas", self.schemas.iter().map(|schema| schema.schema_id.into()))?;
        is_unique("partition specs", self.partition_specs.iter().map(|spec| spec.spec_id.into()))?;
        is_unique("sort orders", self.sort_orders.iter().map(|order| order.order_id.into()))?;
        is_unique("snapshots", self.snapshots.iter().map(|snapshot| snapshot.snapshot_id))?;
        if self.current_schema().is_none() {
            return missing(format!("the current schema {} is missing", self.current_schema_id));
        }
        if self.partition_spec(self.default_spec_id).is_none() {
            return missing(format!("the partition spec {} is missing", self.default_spec_id));
        }
        if let Some(id) = self.current_snapshot_id
            && self.snapshot(id).is_none()
        {
            return missing(format!("the current snapshot {id} is missing"));
        }
        Ok(())
    }
}

fn is_unique(what: &str, ids: impl Iterator<Item = i64>) -> Result<()> {
    let mut seen = BTreeSet::new();
    for id in ids {
        if !seen.insert(id) {
            return Err(Error::corrupt(METADATA, format!("two {what} have the number {id}")));
        }
    }
    Ok(())
}

/// The schemas, and the number of the current one. Version 1 may have a single one.
fn read_schemas(object: &Object<'_>) -> Result<(Vec<Schema>, i32)> {
    let schemas = object.list_or_empty("schemas")?;
    if schemas.is_empty() {
        let schema = Schema::from_json(object.require("schema")?)?;
        let id = schema.schema_id;
        return Ok((vec![schema], id));
    }
    let schemas = schemas.iter().map(Schema::from_json).collect::<Result<_>>()?;
    Ok((schemas, object.int("current-schema-id")?))
}

/// The partition specs, and the number of the default one. Version 1 may have the fields of a single one.
fn read_specs(object: &Object<'_>) -> Result<(Vec<PartitionSpec>, i32)> {
    let specs = object.list_or_empty("partition-specs")?;
    if specs.is_empty() {
        return Ok((vec![PartitionSpec::from_fields(0, object.list("partition-spec")?)?], 0));
    }
    let specs = specs.iter().map(PartitionSpec::from_json).collect::<Result<_>>()?;
    Ok((specs, object.int("default-spec-id")?))
}

fn read_log<T>(object: &Object<'_>, name: &str, read: impl Fn(&Object<'_>) -> Result<T>) -> Result<Vec<(i64, T)>> {
    let entry = |value: &Value| {
        let entry = Object::new(value, "log of table metadata")?;
        Ok((entry.long("timestamp-ms")?, read(&entry)?))
    };
    object.list_or_empty(name)?.iter().map(entry).collect()
}
