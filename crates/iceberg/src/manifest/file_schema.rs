//! The Avro schemas of manifests and manifest lists.

use serde_json::{Value, json};

use crate::partition::PartitionField;
use crate::schema::{PrimitiveType, decimal_to_bytes};

/// A field of partitions with the type of its values.
#[derive(Debug)]
pub(super) struct PartitionFieldType<'s> {
    pub(super) field: &'s PartitionField,
    pub(super) primitive: &'s PrimitiveType,
}

fn field(id: i32, name: &str, avro: impl Into<Value>) -> Value {
    json!({"name": name, "type": avro.into(), "field-id": id})
}

fn optional(id: i32, name: &str, avro: impl Into<Value>) -> Value {
    json!({"name": name, "type": ["null", avro.into()], "default": null, "field-id": id})
}

fn map(key_id: i32, value_id: i32, value: &str) -> Value {
    let name = format!("k{key_id}_v{value_id}");
    let fields = vec![field(key_id, "key", "int"), field(value_id, "value", value)];
    json!({"type": "array", "logicalType": "map", "items": {"type": "record", "name": name, "fields": fields}})
}

fn list(element_id: i32, element: impl Into<Value>) -> Value {
    json!({"type": "array", "element-id": element_id, "items": element.into()})
}

/// The schema of manifests of version 3. Readers of version 2 skip the fields that it adds.
pub(super) fn manifest_schema(partition: &[PartitionFieldType<'_>]) -> Value {
    let partition: Vec<Value> = partition.iter().map(partition_field).collect();
    let file = vec![
        field(134, "content", "int"),
        field(100, "file_path", "string"),
        field(101, "file_format", "string"),
        field(102, "partition", json!({"type": "record", "name": "r102", "fields": partition})),
        field(103, "record_count", "long"),
        field(104, "file_size_in_bytes", "long"),
        optional(108, "column_sizes", map(117, 118, "long")),
        optional(109, "value_counts", map(119, 120, "long")),
        optional(110, "null_value_counts", map(121, 122, "long")),
        optional(137, "nan_value_counts", map(138, 139, "long")),
        optional(125, "lower_bounds", map(126, 127, "bytes")),
        optional(128, "upper_bounds", map(129, 130, "bytes")),
        optional(131, "key_metadata", "bytes"),
        optional(132, "split_offsets", list(133, "long")),
        optional(135, "equality_ids", list(136, "int")),
        optional(140, "sort_order_id", "int"),
        optional(142, "first_row_id", "long"),
        optional(143, "referenced_data_file", "string"),
        optional(144, "content_offset", "long"),
        optional(145, "content_size_in_bytes", "long"),
    ];
    let entry = vec![
        field(0, "status", "int"),
        optional(1, "snapshot_id", "long"),
        optional(3, "sequence_number", "long"),
        optional(4, "file_sequence_number", "long"),
        field(2, "data_file", json!({"type": "record", "name": "r2", "fields": file})),
    ];
    json!({"type": "record", "name": "manifest_entry", "fields": entry})
}

/// The schema of manifest lists of version 3.
pub(super) fn list_schema() -> Value {
    let summary = vec![
        field(509, "contains_null", "boolean"),
        optional(518, "contains_nan", "boolean"),
        optional(510, "lower_bound", "bytes"),
        optional(511, "upper_bound", "bytes"),
    ];
    let file = vec![
        field(500, "manifest_path", "string"),
        field(501, "manifest_length", "long"),
        field(502, "partition_spec_id", "int"),
        field(517, "content", "int"),
        field(515, "sequence_number", "long"),
        field(516, "min_sequence_number", "long"),
        field(503, "added_snapshot_id", "long"),
        field(504, "added_files_count", "int"),
        field(505, "existing_files_count", "int"),
        field(506, "deleted_files_count", "int"),
        field(512, "added_rows_count", "long"),
        field(513, "existing_rows_count", "long"),
        field(514, "deleted_rows_count", "long"),
        optional(507, "partitions", list(508, json!({"type": "record", "name": "r508", "fields": summary}))),
        optional(519, "key_metadata", "bytes"),
        optional(520, "first_row_id", "long"),
    ];
    json!({"type": "record", "name": "manifest_file", "fields": file})
}

fn partition_field(partition: &PartitionFieldType<'_>) -> Value {
    // Avro's names have letters, digits and `_`.
    let is_allowed = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let name = &partition.field.name;
    let mut avro_name: String = name.chars().map(|char| if is_allowed(char) { char } else { '_' }).collect();
    if !avro_name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_') {
        avro_name.insert(0, '_');
    }
    let mut avro = optional(partition.field.field_id, &avro_name, partition_type(partition));
    if avro_name != *name {
        avro["iceberg-field-name"] = name.as_str().into();
    }
    avro
}

fn partition_type(partition: &PartitionFieldType<'_>) -> Value {
    use PrimitiveType as P;
    let id = partition.field.field_id;
    let timestamp = |unit: &str, is_utc: bool| json!({"type": "long", "logicalType": unit, "adjust-to-utc": is_utc});
    match partition.primitive {
        P::Boolean => "boolean".into(),
        P::Int => "int".into(),
        P::Long => "long".into(),
        P::Float => "float".into(),
        P::Double => "double".into(),
        P::Date => json!({"type": "int", "logicalType": "date"}),
        P::Time => json!({"type": "long", "logicalType": "time-micros"}),
        P::Timestamp => timestamp("timestamp-micros", false),
        P::Timestamptz => timestamp("timestamp-micros", true),
        P::TimestampNs => timestamp("timestamp-nanos", false),
        P::TimestamptzNs => timestamp("timestamp-nanos", true),
        P::String => "string".into(),
        P::Uuid => json!({"type": "fixed", "name": format!("uuid_{id}"), "size": 16, "logicalType": "uuid"}),
        P::Fixed(length) => json!({"type": "fixed", "name": format!("fixed_{id}"), "size": length}),
        P::Decimal { precision, scale } => json!({
            "type": "fixed", "name": format!("decimal_{id}"), "size": decimal_length(*precision),
            "logicalType": "decimal", "precision": precision, "scale": scale,
        }),
        P::Binary | P::Unknown | P::Geometry(_) | P::Geography(_) => "bytes".into(),
    }
}

/// Number of bytes that hold every decimal of this precision.
pub(super) fn decimal_length(precision: u8) -> usize {
    10_i128.checked_pow(precision.into()).map_or(16, |power| decimal_to_bytes(-power + 1).len())
}
