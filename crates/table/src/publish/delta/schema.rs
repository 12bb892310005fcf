//! The schema of a table as that of one of Delta Lake.

use std::collections::BTreeSet;

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::publish::commit_files::CommitFiles;
use crate::publish::type_mapping::widened;
use crate::row::TableSchema;

/// Features that readers need.
pub(super) const READER_FEATURES: [&str; 2] = ["deletionVectors", "timestampNtz"];

/// Features that writers need. Spark does not read a table with columns without nulls, such as keys, that does not list `invariants`.
pub(super) const WRITER_FEATURES: [&str; 3] = ["deletionVectors", "timestampNtz", "invariants"];

/// The schema as JSON. If Delta Lake lacks the type of a column, an error names the column.
pub(super) fn schema_string(schema: &TableSchema, map_types: bool) -> Result<String> {
    let (wide, mapped) = widened(schema.arrow());
    if let Some(first) = mapped.first().filter(|_| !map_types) {
        let (column, from, to) = (&first.column, &first.from, &first.to);
        let what =
            format!("column {column}: Delta Lake has no type for the values of {from}: it can be published as {to}");
        return Err(Error::publish(format!("{what}, with the option map_types (--map-types)")));
    }
    Ok(fields(&wide, "")?.to_string())
}

fn fields(schema: &Schema, path: &str) -> Result<Value> {
    let fields = schema.fields().iter().map(|field| field_json(field, &format!("{path}{}", field.name())));
    Ok(json!({ "type": "struct", "fields": fields.collect::<Result<Vec<_>>>()? }))
}

fn field_json(field: &Field, path: &str) -> Result<Value> {
    let data_type = type_json(field, path)?;
    Ok(json!({ "name": field.name(), "type": data_type, "nullable": field.is_nullable(), "metadata": {} }))
}

fn type_json(field: &Field, path: &str) -> Result<Value> {
    use DataType as D;
    let lacks =
        || Error::publish(format!("column {path}: Delta Lake has no type for the values of {}", field.data_type()));
    if field.extension_type_name().is_some() {
        return Err(lacks());
    }
    let child = |field: &Field, name: &str| type_json(field, &format!("{path}.{name}"));
    Ok(match field.data_type() {
        D::Boolean => "boolean".into(),
        D::Int8 => "byte".into(),
        D::Int16 => "short".into(),
        D::Int32 => "integer".into(),
        D::Int64 => "long".into(),
        D::Float32 => "float".into(),
        D::Float64 => "double".into(),
        D::Decimal32(precision, scale) | D::Decimal64(precision, scale) | D::Decimal128(precision, scale)
            if *scale >= 0 =>
        {
            format!("decimal({precision},{scale})").into()
        }
        D::Date32 => "date".into(),
        D::Timestamp(TimeUnit::Microsecond, None) => "timestamp_ntz".into(),
        D::Timestamp(TimeUnit::Microsecond, Some(_)) => "timestamp".into(),
        D::Utf8 | D::LargeUtf8 | D::Utf8View => "string".into(),
        D::Binary | D::LargeBinary | D::BinaryView => "binary".into(),
        D::Struct(parts) => fields(&Schema::new(parts.clone()), &format!("{path}."))?,
        D::List(element) | D::LargeList(element) => json!({
            "type": "array",
            "elementType": child(element, "element")?,
            "containsNull": element.is_nullable(),
        }),
        D::Map(entries, _) => match entries.data_type() {
            D::Struct(parts) if parts.len() == 2 => json!({
                "type": "map",
                "keyType": child(&parts[0], "key")?,
                "valueType": child(&parts[1], "value")?,
                "valueContainsNull": parts[1].is_nullable(),
            }),
            _ => return Err(lacks()),
        },
        _ => return Err(lacks()),
    })
}

/// Refuses files that readers of Delta Lake would read in another way.
pub(super) fn check_schema(files: &CommitFiles<'_>) -> Result<()> {
    let versions: BTreeSet<u32> = files.files().iter().map(|entry| entry.schema).collect();
    versions.into_iter().try_for_each(|version| check_columns(&*files.schema().with_version(version)?, files.schema()))
}

/// Refuses files of a version of the schema that readers of Delta Lake would read in another way: they find columns by name, and have no defaults.
pub(crate) fn check_columns(stored: &TableSchema, newest: &TableSchema) -> Result<()> {
    if stored.version() != newest.version() {
        for (column, field) in newest.arrow().fields().iter().enumerate() {
            let name = field.name();
            let own = stored.place_of_id(newest.id(column)).map(|place| stored.arrow().field(place));
            let of_name = stored.arrow().column_with_name(name).map(|(place, _)| stored.id(place));
            let what = match own {
                Some(own) if own.name() != name => "files have it under another name",
                Some(own) if own.data_type() != field.data_type() => "files have it in another type",
                None if of_name.is_some() => "files have another column of its name",
                None if newest.has_default(column) => "files lack it, and Delta Lake has no defaults for their rows",
                _ => continue,
            };
            let how = "lath table publish --as delta writes these files again";
            return Err(Error::publish(format!("column {name}: {what}: {how}")));
        }
    }
    Ok(())
}
