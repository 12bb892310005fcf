//! Partition specs and sort orders.

use serde_json::Value;

use crate::error::{Error, Result};
use crate::json::{Object, ObjectBuilder};
use crate::transform::Transform;

/// The values that divide a table into partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartitionSpec {
    /// Its number within the table.
    pub spec_id: i32,
    /// The values; none in a table without partitions.
    pub fields: Vec<PartitionField>,
}

/// A value of partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartitionField {
    /// The numbers of the columns that it is made of: one, unless the transform has several arguments.
    pub source_ids: Vec<i32>,
    /// Its number, from 1000 on.
    pub field_id: i32,
    /// Its name.
    pub name: String,
    /// The function that makes it.
    pub transform: Transform,
}

/// The first number of fields of partitions; version 1 counts from it on.
const FIRST_FIELD_ID: i32 = 1000;

impl PartitionSpec {
    /// A spec of a table without partitions.
    pub fn unpartitioned() -> Self {
        Self { spec_id: 0, fields: Vec::new() }
    }

    pub(crate) fn from_json(value: &Value) -> Result<Self> {
        let spec = Object::new(value, "partition spec")?;
        Ok(Self { spec_id: spec.int("spec-id")?, fields: fields_from_json(spec.list("fields")?)? })
    }

    /// The spec of a list of fields alone, as version 1 has it.
    pub(crate) fn from_fields(spec_id: i32, fields: &[Value]) -> Result<Self> {
        Ok(Self { spec_id, fields: fields_from_json(fields)? })
    }

    pub(crate) fn to_json(&self) -> Value {
        ObjectBuilder::default().put("spec-id", self.spec_id).put("fields", self.fields_to_json()).finish()
    }

    pub(crate) fn fields_to_json(&self) -> Value {
        let field = |field: &PartitionField| {
            put_source_ids(ObjectBuilder::default(), &field.source_ids)
                .put("field-id", field.field_id)
                .put("name", field.name.as_str())
                .put("transform", field.transform.to_string())
                .finish()
        };
        self.fields.iter().map(field).collect()
    }
}

fn fields_from_json(fields: &[Value]) -> Result<Vec<PartitionField>> {
    let field = |(value, next_id): (&Value, i32)| {
        let field = Object::new(value, "field of a partition spec")?;
        Ok(PartitionField {
            source_ids: source_ids(&field)?,
            field_id: field.int_if_any("field-id")?.unwrap_or(next_id),
            name: field.text("name")?.to_owned(),
            transform: Transform::parse(field.text("transform")?),
        })
    };
    fields.iter().zip(FIRST_FIELD_ID..).map(field).collect()
}

/// One number, or several of a transform with several arguments.
fn source_ids(field: &Object<'_>) -> Result<Vec<i32>> {
    let several = field.ints_or_empty("source-ids")?;
    if several.is_empty() { Ok(vec![field.int("source-id")?]) } else { Ok(several) }
}

fn put_source_ids(object: ObjectBuilder, ids: &[i32]) -> ObjectBuilder {
    match ids {
        [id] => object.put("source-id", *id),
        _ => object.put("source-ids", ids.to_vec()),
    }
}

/// An order of the rows of files.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SortOrder {
    /// Its number within the table; 0 is no order.
    pub order_id: i32,
    /// The values by which rows are sorted, the most significant one first.
    pub fields: Vec<SortField>,
}

/// A value by which rows are sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SortField {
    /// The numbers of the columns that it is made of: one, unless the transform has several arguments.
    pub source_ids: Vec<i32>,
    /// The function that makes it.
    pub transform: Transform,
    /// Whether the highest value comes first.
    pub is_descending: bool,
    /// Whether nulls come first.
    pub nulls_first: bool,
}

impl SortOrder {
    /// No order.
    pub fn unsorted() -> Self {
        Self { order_id: 0, fields: Vec::new() }
    }

    /// An ascending order by these columns, nulls first.
    pub fn ascending(order_id: i32, columns: impl IntoIterator<Item = i32>) -> Self {
        let field = |column| SortField {
            source_ids: vec![column],
            transform: Transform::Identity,
            is_descending: false,
            nulls_first: true,
        };
        Self { order_id, fields: columns.into_iter().map(field).collect() }
    }

    pub(crate) fn from_json(value: &Value) -> Result<Self> {
        let order = Object::new(value, "sort order")?;
        let field = |value: &Value| {
            let field = Object::new(value, "field of a sort order")?;
            let either = |name: &str, yes: &str, no: &str| {
                let text = field.text(name)?;
                match text {
                    _ if text.eq_ignore_ascii_case(yes) => Ok(true),
                    _ if text.eq_ignore_ascii_case(no) => Ok(false),
                    _ => Err(field.error(name, "is not a direction or an order of nulls")),
                }
            };
            Ok(SortField {
                source_ids: source_ids(&field)?,
                transform: Transform::parse(field.text("transform")?),
                is_descending: either("direction", "desc", "asc")?,
                nulls_first: either("null-order", "nulls-first", "nulls-last")?,
            })
        };
        let fields = order.list("fields")?.iter().map(field).collect::<Result<_, Error>>()?;
        Ok(Self { order_id: order.int("order-id")?, fields })
    }

    pub(crate) fn to_json(&self) -> Value {
        let field = |field: &SortField| {
            put_source_ids(ObjectBuilder::default(), &field.source_ids)
                .put("transform", field.transform.to_string())
                .put("direction", if field.is_descending { "desc" } else { "asc" })
                .put("null-order", if field.nulls_first { "nulls-first" } else { "nulls-last" })
                .finish()
        };
        let fields: Value = self.fields.iter().map(field).collect();
        ObjectBuilder::default().put("order-id", self.order_id).put("fields", fields).finish()
    }
}
