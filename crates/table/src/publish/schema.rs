//! Versions of a table's schema as Iceberg's.

use arrow_array::Array;
use arrow_schema::{FieldRef, Schema as ArrowSchema};
use lath_iceberg::{Field, PrimitiveType, Schema, Type};

use super::single_value::literal;
use super::type_mapping::widened;
use crate::error::{Error, Result};
use crate::row::{TableSchema, nested_ids};

/// A version of the schema. If Iceberg lacks the type of a column, it has a wider one with `map_types`; else an error names the column.
pub(super) fn iceberg_schema(schema: &TableSchema, map_types: bool) -> Result<Schema> {
    let key = schema.key();
    for (old, numbered) in schema.arrow().fields().iter().zip(schema.file_schema().fields()) {
        if nested_ids(numbered).contains(&None) {
            let what = "the fields within it have no numbers, as in tables that earlier versions of Lath have made: lath table publish --as iceberg numbers them";
            return Err(Error::publish(format!("column {}: {what}", old.name())));
        }
    }
    let (wide, mapped) = widened(schema.file_schema());
    if let Some(first) = mapped.first().filter(|_| !map_types) {
        let (column, from, to) = (&first.column, &first.from, &first.to);
        let what =
            format!("column {column}: Iceberg has no type for the values of {from}: it can be published as {to}");
        return Err(Error::publish(format!("{what}, with the option map_types (--map-types)")));
    }
    let mut converted = Schema::from_arrow(&wide, schema_id(schema)?, Vec::new())?;
    for (column, field) in converted.fields.iter_mut().enumerate() {
        let default = schema.default_values(column, 1)?;
        if !default.is_null(0) {
            let Some(primitive) = field.field_type.as_primitive() else {
                let what = "Iceberg has no default for a column with fields";
                return Err(Error::publish(format!("column {}: {what}", field.name)));
            };
            let value = literal(&default, primitive)?;
            if let Some(value) = value {
                *field = field.clone().with_default(value);
            }
        }
    }
    // No float identifies a row of Iceberg.
    let identifiers = key.columns().iter().map(|&column| &converted.fields[column]);
    let is_float = |field: &Field| {
        matches!(field.field_type, Type::Primitive(PrimitiveType::Float | PrimitiveType::Double))
            || field.field_type.as_primitive().is_none()
    };
    if !identifiers.clone().any(is_float) {
        converted.identifier_field_ids = identifiers.map(|field| field.id).collect();
    }
    Ok(converted)
}

/// Refuses a file of an older version whose columns were widened since in a way that readers of Iceberg do not follow.
pub(super) fn check_widening(older: &TableSchema, newest: &Schema) -> Result<()> {
    for (column, field) in older.file_schema().fields().iter().enumerate() {
        let Some(now) = newest.field(older.id(column).cast_signed()) else { continue };
        let then = one_field(field)?;
        if !is_widening(&then.field_type, &now.field_type) {
            let what = "files have it in a narrower type, which readers of Iceberg do not widen to this one: lath table publish --as iceberg writes these files again";
            return Err(Error::publish(format!("column {}: {what}", now.name)));
        }
    }
    Ok(())
}

fn one_field(field: &FieldRef) -> Result<Field> {
    let (schema, _) = widened(&ArrowSchema::new(vec![FieldRef::clone(field)]));
    let converted = Schema::from_arrow(&schema, 0, Vec::new())?.fields.pop();
    converted.ok_or_else(|| Error::internal("a schema lost its field"))
}

fn is_widening(from: &Type, to: &Type) -> bool {
    use PrimitiveType as P;
    let (Type::Primitive(from), Type::Primitive(to)) = (from, to) else { return from == to };
    match (from, to) {
        (P::Int, P::Long) | (P::Float, P::Double) => true,
        (P::Decimal { precision: from, scale }, P::Decimal { precision: to, scale: same }) => {
            from <= to && scale == same
        }
        _ => from == to,
    }
}

/// Schemas of Iceberg have the numbers of the table's versions.
pub(super) fn schema_id(schema: &TableSchema) -> Result<i32> {
    i32::try_from(schema.version()).map_err(|_| Error::publish("the schema has changed too often"))
}
