//! The columns of a table: their Arrow types, and how files store them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use lath_iceberg::{Field, PrimitiveType, Schema, Type};
use lath_parquet::{ColumnMapping, Error, MappedColumn, Result};
use serde_json::Value;

use super::located;
use super::values::literal_array;

/// The columns of a table in one version.
#[derive(Debug)]
pub(super) struct TableColumns {
    pub(super) schema: SchemaRef,
    pub(super) mapping: Arc<ColumnMapping>,
    /// Numbers and types of columns, and of fields within structs, by their names.
    by_path: HashMap<Vec<String>, (i32, PrimitiveType)>,
}

impl TableColumns {
    /// The columns of `schema`, with the names under which files without field ids store them.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for types that Lath does not read, with the column's name.
    pub(super) fn new(schema: &Schema, names: &StoredNames) -> Result<Self> {
        let mut fields = Vec::with_capacity(schema.fields.len());
        for field in &schema.fields {
            fields.push(field.to_arrow().map_err(|error| located(error, &format!("column {:?}", field.name)))?);
        }
        let mut by_path = HashMap::new();
        add_paths(&schema.fields, &mut Vec::new(), &mut by_path);
        let mapping = schema.fields.iter().map(|field| mapped(field, names)).collect::<Result<Vec<_>>>()?;
        Ok(Self { schema: Arc::new(ArrowSchema::new(fields)), mapping: Arc::new(ColumnMapping::new(mapping)), by_path })
    }

    /// The number and the type of the column at a path of names, unless it has fields.
    pub(super) fn at(&self, path: &[String]) -> Option<&(i32, PrimitiveType)> {
        self.by_path.get(path)
    }

    /// Whether a column, or a field within a struct, has this number.
    pub(super) fn ids(&self) -> impl Iterator<Item = i32> + '_ {
        self.by_path.values().map(|(id, _)| *id)
    }
}

fn add_paths(fields: &[Field], above: &mut Vec<String>, paths: &mut HashMap<Vec<String>, (i32, PrimitiveType)>) {
    for field in fields {
        above.push(field.name.clone());
        match &field.field_type {
            Type::Primitive(primitive) => {
                paths.insert(above.clone(), (field.id, primitive.clone()));
            }
            Type::Struct(fields) => add_paths(fields, above, paths),
            _ => {}
        }
        above.pop();
    }
}

/// How a field is found in files.
pub(super) fn mapped(field: &Field, names: &StoredNames) -> Result<MappedColumn> {
    let mut column = MappedColumn::new(&field.name).id(field.id);
    for name in names.of(field.id) {
        column = column.stored_name(name);
    }
    if let (Some(default), Type::Primitive(_)) = (&field.initial_default, &field.field_type) {
        let arrow = field.to_arrow().map_err(|error| located(error, &format!("column {:?}", field.name)))?;
        column = column.default_value(literal_array(default, arrow.data_type())?);
    }
    if field.field_type == Type::Variant {
        column = column.variant();
    }
    let children = field.field_type.children().into_iter().map(|child| mapped(child, names));
    Ok(column.fields(children.collect::<Result<Vec<_>>>()?))
}

/// The names of columns in files without field ids: the table's property `schema.name-mapping.default`.
#[derive(Debug, Default)]
pub(super) struct StoredNames {
    names: HashMap<i32, Vec<String>>,
}

impl StoredNames {
    pub(super) const PROPERTY: &str = "schema.name-mapping.default";

    /// # Errors
    /// [`Error::Corrupt`] for text that is not a name mapping.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let malformed = |what: &str| Error::corrupt(format!("the property {}: {what}", Self::PROPERTY));
        let value: Value = serde_json::from_str(text).map_err(|error| malformed(&error.to_string()))?;
        let mut names = Self::default();
        // A list of fields; some writers put a struct around it.
        names
            .add(value.get("fields").unwrap_or(&value))
            .ok_or_else(|| malformed("expected a list of fields with names"))?;
        Ok(names)
    }

    fn add(&mut self, fields: &Value) -> Option<()> {
        for field in fields.as_array()? {
            let of_field = field.get("names")?.as_array()?;
            let of_field = of_field.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()?;
            // Without a number, the names belong to no column.
            if let Some(id) = field.get("field-id").and_then(Value::as_i64) {
                self.names.entry(i32::try_from(id).ok()?).or_default().extend(of_field);
            }
            if let Some(below) = field.get("fields").filter(|below| !below.is_null()) {
                self.add(below)?;
            }
        }
        Some(())
    }

    fn of(&self, id: i32) -> &[String] {
        self.names.get(&id).map_or(&[], Vec::as_slice)
    }
}
