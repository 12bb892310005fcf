//! Schemas: columns with numbers that stay.

mod arrow;
mod literal;
mod single_value;
mod types;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::json::{Object, ObjectBuilder};

pub use self::arrow::FIELD_ID_KEY;
pub use self::literal::Literal;
pub(crate) use self::literal::{decimal_from_bytes, decimal_to_bytes};
pub use self::types::{PrimitiveType, Type};

const SCHEMA: &str = "schema";

/// A column, or a part of one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Field {
    /// Its number, which no other field of the table ever has.
    pub id: i32,
    /// Its name; `element`, `key` or `value` in lists and maps.
    pub name: String,
    /// Whether it has no nulls.
    pub required: bool,
    /// Its type.
    pub field_type: Type,
    /// Its description.
    pub doc: Option<String>,
    /// The value in rows of files that do not have the field. Without it they have null.
    pub initial_default: Option<Literal>,
    /// The value of the field in rows that are written without it.
    pub write_default: Option<Literal>,
}

impl Field {
    /// A field without a description and defaults.
    pub fn new(id: i32, name: impl Into<String>, required: bool, field_type: impl Into<Type>) -> Self {
        let (name, field_type) = (name.into(), field_type.into());
        Self { id, name, required, field_type, doc: None, initial_default: None, write_default: None }
    }

    /// Gives it a value for rows of files that do not have it, and for rows that are written without it.
    #[must_use]
    pub fn with_default(mut self, value: Literal) -> Self {
        self.initial_default = Some(value.clone());
        self.write_default = Some(value);
        self
    }

    fn from_json(value: &Value) -> Result<Self> {
        let field = Object::new(value, "field of a schema")?;
        let field_type = type_from_json(field.require("type")?)?;
        let default = |name: &str| -> Result<Option<Literal>> {
            let Some(value) = field.get(name) else { return Ok(None) };
            let Some(primitive) = field_type.as_primitive() else {
                return Err(Error::unsupported(format!("'{name}' of a field with fields: {}", field.text("name")?)));
            };
            Literal::from_json(primitive, value).map(Some)
        };
        Ok(Self {
            id: field.int("id")?,
            name: field.text("name")?.to_owned(),
            required: field.boolean("required")?,
            doc: field.text_if_any("doc")?.map(str::to_owned),
            initial_default: default("initial-default")?,
            write_default: default("write-default")?,
            field_type,
        })
    }

    fn to_json(&self) -> Value {
        let default = |value: &Option<Literal>| {
            let primitive = self.field_type.as_primitive()?;
            value.as_ref().map(|value| value.to_json(primitive))
        };
        ObjectBuilder::default()
            .put("id", self.id)
            .put("name", self.name.as_str())
            .put("required", self.required)
            .put("type", type_to_json(&self.field_type))
            .put_if_any("doc", self.doc.as_deref())
            .put_if_any("initial-default", default(&self.initial_default))
            .put_if_any("write-default", default(&self.write_default))
            .finish()
    }
}

/// The columns of a table.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Schema {
    /// Its number within the table.
    pub schema_id: i32,
    /// The columns.
    pub fields: Vec<Field>,
    /// The numbers of the columns that identify a row.
    pub identifier_field_ids: Vec<i32>,
}

impl Schema {
    /// A schema of these columns.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a number is there twice, or an identifier is not a field.
    pub fn new(schema_id: i32, fields: Vec<Field>, identifier_field_ids: Vec<i32>) -> Result<Self> {
        let mut ids = BTreeSet::new();
        insert_ids(&fields.iter().collect::<Vec<_>>(), &mut ids)?;
        if let Some(missing) = identifier_field_ids.iter().find(|id| !ids.contains(id)) {
            return Err(Error::corrupt(SCHEMA, format!("identifier {missing} is not a field")));
        }
        Ok(Self { schema_id, fields, identifier_field_ids })
    }

    /// Parses the JSON of a schema.
    ///
    /// # Errors
    /// [`Error::Corrupt`] and [`Error::Unsupported`].
    pub fn from_json(value: &Value) -> Result<Self> {
        let schema = Object::new(value, SCHEMA)?;
        let fields = schema.list("fields")?.iter().map(Field::from_json).collect::<Result<_>>()?;
        // Version 1 has no number.
        Self::new(schema.int_if_any("schema-id")?.unwrap_or(0), fields, schema.ints_or_empty("identifier-field-ids")?)
    }

    /// The JSON of the schema.
    pub fn to_json(&self) -> Value {
        let mut schema = ObjectBuilder::default()
            .put("type", "struct")
            .put("schema-id", self.schema_id)
            .put("fields", self.fields.iter().map(Field::to_json).collect::<Vec<_>>());
        if !self.identifier_field_ids.is_empty() {
            schema = schema.put("identifier-field-ids", self.identifier_field_ids.clone());
        }
        schema.finish()
    }

    /// The field with this number, at any depth.
    pub fn field(&self, id: i32) -> Option<&Field> {
        self.path(id).and_then(|path| path.last().copied())
    }

    /// The fields from a column down to the field with this number.
    pub fn path(&self, id: i32) -> Option<Vec<&Field>> {
        let mut path = Vec::new();
        find(self.fields.iter().collect(), id, &mut path).then_some(path)
    }

    /// The highest number of a field; 0 without fields.
    pub fn highest_field_id(&self) -> i32 {
        fn highest(fields: Vec<&Field>) -> i32 {
            fields.iter().map(|field| field.id.max(highest(field.field_type.children()))).max().unwrap_or(0)
        }
        highest(self.fields.iter().collect())
    }
}

fn find<'s>(fields: Vec<&'s Field>, id: i32, path: &mut Vec<&'s Field>) -> bool {
    for field in fields {
        path.push(field);
        if field.id == id || find(field.field_type.children(), id, path) {
            return true;
        }
        path.pop();
    }
    false
}

fn insert_ids(fields: &[&Field], ids: &mut BTreeSet<i32>) -> Result<()> {
    for field in fields {
        if !ids.insert(field.id) {
            return Err(Error::corrupt(SCHEMA, format!("two fields have the number {}", field.id)));
        }
        insert_ids(&field.field_type.children(), ids)?;
    }
    Ok(())
}

/// Parses the JSON of a type. The parser of JSON limits the depth.
fn type_from_json(value: &Value) -> Result<Type> {
    if let Some(name) = value.as_str() {
        return match name {
            "variant" => Ok(Type::Variant),
            _ => name.parse().map(Type::Primitive),
        };
    }
    let nested = Object::new(value, "type")?;
    let part = |name: &str, required: bool| -> Result<Box<Field>> {
        let id = nested.int(&format!("{name}-id"))?;
        Ok(Box::new(Field::new(id, name, required, type_from_json(nested.require(name)?)?)))
    };
    match nested.text("type")? {
        "struct" => Ok(Type::Struct(nested.list("fields")?.iter().map(Field::from_json).collect::<Result<_>>()?)),
        "list" => Ok(Type::List(part("element", nested.boolean("element-required")?)?)),
        "map" => Ok(Type::Map { key: part("key", true)?, value: part("value", nested.boolean("value-required")?)? }),
        other => Err(Error::unsupported(format!("the type {:?}", other.chars().take(60).collect::<String>()))),
    }
}

fn type_to_json(field_type: &Type) -> Value {
    let object = ObjectBuilder::default();
    let object = match field_type {
        Type::Primitive(primitive) => return primitive.to_string().into(),
        Type::Variant => return "variant".into(),
        Type::Struct(fields) => {
            object.put("type", "struct").put("fields", fields.iter().map(Field::to_json).collect::<Vec<_>>())
        }
        Type::List(element) => object
            .put("type", "list")
            .put("element-id", element.id)
            .put("element-required", element.required)
            .put("element", type_to_json(&element.field_type)),
        Type::Map { key, value } => object
            .put("type", "map")
            .put("key-id", key.id)
            .put("key", type_to_json(&key.field_type))
            .put("value-id", value.id)
            .put("value-required", value.required)
            .put("value", type_to_json(&value.field_type)),
    };
    object.finish()
}
