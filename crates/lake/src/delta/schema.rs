//! The columns of a table, from the JSON text of its schema.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use lath_parquet::{Error, MappedColumn, Result};
use serde_json::Value;

use super::actions::Metadata;
use super::statistics::StatisticsColumns;

/// The Arrow extension type of variants.
const VARIANT: &str = "arrow.parquet.variant";

/// The deepest nesting of types.
const MAX_DEPTH: usize = 64;

/// How columns of files map to columns of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mapping {
    /// By their names.
    None,
    /// By the physical names of the schema.
    Name,
    /// By field IDs.
    Id,
}

/// The columns of a table.
#[derive(Debug)]
pub(super) struct TableSchema {
    /// All columns in the table's order.
    pub(super) schema: SchemaRef,
    /// The columns of the files.
    pub(super) columns: Vec<MappedColumn>,
    /// The partition columns.
    pub(super) partitions: Vec<PartitionField>,
    /// The columns that may have statistics in the log.
    pub(super) statistics: StatisticsColumns,
}

/// A partition column, whose values are in the log.
#[derive(Debug, Clone)]
pub(super) struct PartitionField {
    pub(super) field: FieldRef,
    /// The name of its values in the log.
    pub(super) physical_name: String,
}

/// A column or a field within one.
struct Column {
    field: Field,
    mapped: MappedColumn,
    physical_name: String,
    leaves: Vec<Leaf>,
}

/// A field without fields, within structs alone.
struct Leaf {
    /// The names from the column down, last first.
    names: Vec<String>,
    physical_names: Vec<String>,
    data_type: DataType,
}

impl TableSchema {
    /// # Errors
    /// [`Error::Corrupt`] for a malformed schema, [`Error::Unsupported`] for a type that Lath does not have.
    pub(super) fn parse(metadata: &Metadata) -> Result<Self> {
        let text = metadata.schema_string.as_deref().ok_or_else(|| Error::corrupt("the table has no schema"))?;
        let json: Value =
            serde_json::from_str(text).map_err(|error| Error::corrupt(format!("the schema is not JSON: {error}")))?;
        let mapping = match metadata.property("delta.columnMapping.mode").unwrap_or("none") {
            "none" => Mapping::None,
            "name" => Mapping::Name,
            "id" => Mapping::Id,
            other => return Err(Error::unsupported(format!("the column mapping mode {other:?}"))),
        };
        let columns = struct_fields(&json, mapping, 0)?;
        let partition_place = |name: &String| {
            let alike = |column: &Column| column.field.name().eq_ignore_ascii_case(name);
            let at = columns.iter().position(|column| column.field.name() == name);
            at.or_else(|| columns.iter().position(alike))
                .ok_or_else(|| Error::corrupt(format!("the partition column {name:?} is not in the schema")))
        };
        let places = metadata.partition_columns.iter().map(partition_place).collect::<Result<Vec<_>>>()?;
        let mut table = Self {
            schema: Arc::new(Schema::empty()),
            columns: Vec::new(),
            partitions: Vec::new(),
            statistics: StatisticsColumns::default(),
        };
        let mut fields = Vec::with_capacity(columns.len());
        for (at, Column { field, mapped, physical_name, leaves }) in columns.into_iter().enumerate() {
            let field: FieldRef = Arc::new(field);
            if fields.iter().any(|other: &FieldRef| other.name() == field.name()) {
                return Err(Error::corrupt(format!("the schema has two columns {:?}", field.name())));
            }
            if places.contains(&at) {
                table.partitions.push(PartitionField { field: Arc::clone(&field), physical_name });
            } else {
                table.columns.push(mapped);
                for Leaf { mut names, mut physical_names, data_type } in leaves {
                    names.reverse();
                    physical_names.reverse();
                    table.statistics.insert(names, physical_names, data_type);
                }
            }
            fields.push(field);
        }
        table.schema = Arc::new(Schema::new(fields));
        Ok(table)
    }
}

/// The fields of a struct type, or of the schema itself.
fn struct_fields(json: &Value, mapping: Mapping, depth: usize) -> Result<Vec<Column>> {
    let fields = json.get("fields").and_then(Value::as_array);
    let fields = fields.filter(|_| json.get("type").and_then(Value::as_str) == Some("struct"));
    let fields = fields.ok_or_else(|| Error::corrupt("the schema has a struct without fields"))?;
    fields.iter().map(|field| column(field, mapping, depth)).collect()
}

fn column(json: &Value, mapping: Mapping, depth: usize) -> Result<Column> {
    let name =
        json.get("name").and_then(Value::as_str).ok_or_else(|| Error::corrupt("a field of the schema has no name"))?;
    let data_type = json.get("type").ok_or_else(|| Error::corrupt(format!("the field {name:?} has no type")))?;
    let FieldType { data_type, inner, mut leaves, is_variant } =
        typed(data_type, mapping, depth).map_err(|error| about(name, error))?;
    let property = |key: &str| json.get("metadata").and_then(|metadata| metadata.get(key));
    let lacks =
        |what: &str| Error::corrupt(format!("the field {name:?} has no {what}, which the column mapping needs"));
    let physical_name = match (mapping, property("delta.columnMapping.physicalName").and_then(Value::as_str)) {
        (Mapping::None, _) => name,
        (_, Some(physical)) => physical,
        (Mapping::Name | Mapping::Id, None) => return Err(lacks("physical name")),
    };
    let mut mapped = MappedColumn::new(name).stored_name(physical_name).fields(inner);
    if is_variant {
        mapped = mapped.variant();
    }
    if mapping == Mapping::Id {
        let id = property("delta.columnMapping.id").and_then(Value::as_i64).and_then(|id| i32::try_from(id).ok());
        mapped = mapped.id(id.ok_or_else(|| lacks("ID"))?);
    }
    if !data_type.is_nested() {
        leaves.push(Leaf { names: Vec::new(), physical_names: Vec::new(), data_type: data_type.clone() });
    }
    for leaf in &mut leaves {
        leaf.names.push(name.to_owned());
        leaf.physical_names.push(physical_name.to_owned());
    }
    // Nullable in any case: a constraint that was added later says nothing about a file without the column.
    let mut field = Field::new(name, data_type, true);
    if is_variant {
        field = field.with_metadata(HashMap::from([(EXTENSION_TYPE_NAME_KEY.to_owned(), VARIANT.to_owned())]));
    }
    Ok(Column { field, mapped, physical_name: physical_name.to_owned(), leaves })
}

/// A type, and how what it has inside is found in files.
struct FieldType {
    data_type: DataType,
    inner: Vec<MappedColumn>,
    leaves: Vec<Leaf>,
    is_variant: bool,
}

impl FieldType {
    /// A type without variants outside of its fields.
    fn new(data_type: DataType, inner: Vec<MappedColumn>, leaves: Vec<Leaf>) -> Self {
        Self { data_type, inner, leaves, is_variant: false }
    }

    /// The mapping of the element of a list, or of the key or the value of a map.
    fn within(self, name: &str) -> MappedColumn {
        let mapped = MappedColumn::new(name).fields(self.inner);
        if self.is_variant { mapped.variant() } else { mapped }
    }
}

fn typed(json: &Value, mapping: Mapping, depth: usize) -> Result<FieldType> {
    if depth > MAX_DEPTH {
        return Err(Error::limit("levels of nested types", MAX_DEPTH as u64, depth as u64));
    }
    if let Some(name) = json.as_str() {
        let is_variant = name == "variant";
        return Ok(FieldType { is_variant, ..FieldType::new(primitive(name)?, Vec::new(), Vec::new()) });
    }
    let inner = |key: &str| {
        let json = json.get(key).ok_or_else(|| Error::corrupt(format!("a type without {key}")))?;
        typed(json, mapping, depth + 1)
    };
    match json.get("type").and_then(Value::as_str) {
        Some("struct") => {
            let columns = struct_fields(json, mapping, depth + 1)?;
            let (mut fields, mut inner, mut leaves) = (Vec::new(), Vec::new(), Vec::new());
            for column in columns {
                fields.push(column.field);
                inner.push(column.mapped);
                leaves.extend(column.leaves);
            }
            Ok(FieldType::new(DataType::Struct(fields.into()), inner, leaves))
        }
        Some("array") => {
            let element = inner("elementType")?;
            let data_type = DataType::List(Arc::new(Field::new("element", element.data_type.clone(), true)));
            Ok(FieldType::new(data_type, vec![element.within("element")], Vec::new()))
        }
        Some("map") => {
            let (key, value) = (inner("keyType")?, inner("valueType")?);
            let fields = vec![
                Field::new("key", key.data_type.clone(), false),
                Field::new("value", value.data_type.clone(), true),
            ];
            let entries = Field::new("key_value", DataType::Struct(fields.into()), false);
            let data_type = DataType::Map(Arc::new(entries), false);
            Ok(FieldType::new(data_type, vec![key.within("key"), value.within("value")], Vec::new()))
        }
        _ => Err(Error::corrupt(format!("{json} is not a type"))),
    }
}

fn primitive(name: &str) -> Result<DataType> {
    Ok(match name {
        "string" => DataType::Utf8View,
        "long" => DataType::Int64,
        "integer" => DataType::Int32,
        "short" => DataType::Int16,
        "byte" => DataType::Int8,
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        "boolean" => DataType::Boolean,
        "binary" => DataType::BinaryView,
        "date" => DataType::Date32,
        "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        "timestamp_ntz" => DataType::Timestamp(TimeUnit::Microsecond, None),
        "void" => DataType::Null,
        "variant" => DataType::Struct(
            ["metadata", "value"].map(|name| Field::new(name, DataType::BinaryView, true)).into_iter().collect(),
        ),
        "decimal" => DataType::Decimal128(10, 0),
        _ if name.starts_with("char(") || name.starts_with("varchar(") => DataType::Utf8View,
        _ => return decimal(name).ok_or_else(|| Error::unsupported(format!("the type {name:?} of Delta Lake"))),
    })
}

/// `decimal(precision,scale)`.
fn decimal(name: &str) -> Option<DataType> {
    let (precision, scale) = name.strip_prefix("decimal(")?.strip_suffix(')')?.split_once(',')?;
    let (precision, scale): (u8, i8) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
    let is_valid = (1..=38).contains(&precision) && scale >= 0 && scale.unsigned_abs() <= precision;
    is_valid.then_some(DataType::Decimal128(precision, scale))
}

/// Adds the name of the field to an error of its type.
fn about(name: &str, error: Error) -> Error {
    match error {
        Error::Unsupported { feature, at } => {
            Error::Unsupported { feature: format!("{feature} (column {name:?})"), at }
        }
        Error::Corrupt { what, at } => Error::Corrupt { what: format!("{what} (column {name:?})"), at },
        other => other,
    }
}
