//! Schemas of Avro.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::json::Object;

/// Schemas with more types are refused. A name that is used twice counts twice: a short schema can name records in records that take years to
/// skip. Iceberg's have about 100.
const MAX_TYPES: usize = 4096;

/// A type of Avro, with the logical types that change how its bytes are read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AvroType {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    /// A decimal in bytes.
    Decimal,
    String,
    Enum,
    Fixed {
        length: usize,
        is_decimal: bool,
        is_uuid: bool,
    },
    Array(Box<AvroType>),
    Map(Box<AvroType>),
    /// Types that are not unions.
    Union(Vec<AvroType>),
    Record(Arc<Record>),
}

/// The fields of a record.
#[derive(Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) fields: Vec<AvroField>,
    /// The number of types in it.
    types: usize,
    can_be_empty: bool,
}

#[derive(Debug, PartialEq)]
pub(crate) struct AvroField {
    /// Iceberg's number of the field.
    pub(crate) id: Option<i32>,
    pub(crate) name: String,
    pub(crate) avro: AvroType,
}

impl AvroType {
    pub(super) fn parse(text: &[u8], what: &'static str) -> Result<Self> {
        let value: Value = serde_json::from_slice(text).map_err(|error| Error::corrupt(what, error.to_string()))?;
        let mut parser = Parser { named: HashMap::new(), what };
        let avro = parser.parse(&value)?;
        if avro.count() > MAX_TYPES {
            return Err(Error::corrupt(what, "the schema has too many types"));
        }
        Ok(avro)
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Int => "an int",
            Self::Long => "a long",
            Self::Float => "a float",
            Self::Double => "a double",
            Self::Bytes => "bytes",
            Self::Decimal => "a decimal",
            Self::String => "a string",
            Self::Enum => "an enum",
            Self::Fixed { .. } => "a fixed",
            Self::Array(_) => "an array",
            Self::Map(_) => "a map",
            Self::Union(_) => "a union",
            Self::Record(_) => "a record",
        }
    }

    /// The number of types in it.
    fn count(&self) -> usize {
        match self {
            Self::Array(item) | Self::Map(item) => item.count().saturating_add(1),
            Self::Union(branches) => branches.iter().map(Self::count).fold(1, usize::saturating_add),
            Self::Record(record) => record.types,
            _ => 1,
        }
    }

    /// Whether a value can have no bytes.
    pub(super) fn can_be_empty(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Fixed { length, .. } => *length == 0,
            Self::Record(record) => record.can_be_empty,
            _ => false,
        }
    }
}

impl Record {
    fn new(fields: Vec<AvroField>) -> Self {
        let types = fields.iter().map(|field| field.avro.count()).fold(1, usize::saturating_add);
        let can_be_empty = fields.iter().all(|field| field.avro.can_be_empty());
        Self { fields, types, can_be_empty }
    }
}

struct Parser {
    named: HashMap<String, AvroType>,
    what: &'static str,
}

impl Parser {
    fn parse(&mut self, value: &Value) -> Result<AvroType> {
        match value {
            Value::String(name) => self.by_name(name),
            Value::Array(branches) => {
                let branches: Vec<AvroType> = branches.iter().map(|value| self.parse(value)).collect::<Result<_>>()?;
                if branches.iter().any(|branch| matches!(branch, AvroType::Union(_))) {
                    return Err(self.error("a union is in a union"));
                }
                Ok(AvroType::Union(branches))
            }
            Value::Object(_) => self.parse_object(&Object::new(value, self.what)?),
            _ => Err(self.error("a type is neither text, a list nor an object")),
        }
    }

    fn by_name(&self, name: &str) -> Result<AvroType> {
        Ok(match name {
            "null" => AvroType::Null,
            "boolean" => AvroType::Boolean,
            "int" => AvroType::Int,
            "long" => AvroType::Long,
            "float" => AvroType::Float,
            "double" => AvroType::Double,
            "bytes" => AvroType::Bytes,
            "string" => AvroType::String,
            _ => {
                let short = name.rsplit('.').next().unwrap_or(name);
                let found = self.named.get(short);
                found.cloned().ok_or_else(|| self.error(format!("the type {short:?} is not known")))?
            }
        })
    }

    fn parse_object(&mut self, object: &Object<'_>) -> Result<AvroType> {
        let logical = object.get("logicalType").and_then(Value::as_str);
        let Some(kind) = object.require("type")?.as_str() else {
            return self.parse(object.require("type")?);
        };
        let avro = match kind {
            "array" => AvroType::Array(Box::new(self.parse(object.require("items")?)?)),
            "map" => AvroType::Map(Box::new(self.parse(object.require("values")?)?)),
            "enum" => AvroType::Enum,
            "fixed" => AvroType::Fixed {
                length: usize::try_from(object.long("size")?).map_err(|_| self.error("a fixed has a negative size"))?,
                is_decimal: logical == Some("decimal"),
                is_uuid: logical == Some("uuid"),
            },
            "record" | "error" => {
                let mut fields = Vec::new();
                for value in object.list("fields")? {
                    let field = Object::new(value, self.what)?;
                    fields.push(AvroField {
                        id: field.int_if_any("field-id")?,
                        name: field.text("name")?.to_owned(),
                        avro: self.parse(field.require("type")?)?,
                    });
                }
                AvroType::Record(Arc::new(Record::new(fields)))
            }
            "bytes" if logical == Some("decimal") => AvroType::Decimal,
            _ => return self.by_name(kind),
        };
        // Blocks say how many items they have: items without bytes could be any number.
        if let AvroType::Array(item) = &avro
            && item.can_be_empty()
        {
            return Err(self.error("the items of an array have no bytes"));
        }
        if let (Some(name), AvroType::Record(_) | AvroType::Enum | AvroType::Fixed { .. }) =
            (object.text_if_any("name")?, &avro)
        {
            let short = name.rsplit('.').next().unwrap_or(name);
            self.named.insert(short.to_owned(), avro.clone());
        }
        Ok(avro)
    }

    fn error(&self, what: impl Into<String>) -> Error {
        Error::corrupt(self.what, what)
    }
}
