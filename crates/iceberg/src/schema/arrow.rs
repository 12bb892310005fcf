//! Iceberg's schemas as Arrow's, and the other way.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField, Fields, Schema as ArrowSchema, TimeUnit};

use super::{Field, PrimitiveType, Schema, Type};
use crate::error::{Error, Result};

/// The key of a field's number in the metadata of Arrow's field.
pub const FIELD_ID_KEY: &str = "PARQUET:field_id";

const EXTENSION_KEY: &str = "ARROW:extension:name";
const UUID: &str = "arrow.uuid";
const VARIANT: &str = "arrow.parquet.variant";
const WKB: &str = "geoarrow.wkb";

impl Schema {
    /// The Arrow schema of the rows. Each field has its number under [`FIELD_ID_KEY`]; text and bytes are views.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for types that Arrow has no counterpart for.
    pub fn to_arrow(&self) -> Result<ArrowSchema> {
        let fields: Vec<ArrowField> = self.fields.iter().map(Field::to_arrow).collect::<Result<_>>()?;
        Ok(ArrowSchema::new(fields))
    }

    /// The schema of Arrow fields that have numbers under [`FIELD_ID_KEY`], at any depth.
    ///
    /// # Errors
    /// [`Error::Type`] if a column has a type that Iceberg lacks, or a field has no number.
    pub fn from_arrow(schema: &ArrowSchema, schema_id: i32, identifier_field_ids: Vec<i32>) -> Result<Self> {
        let fields = schema.fields().iter().map(|field| from_arrow(field, field.name(), &[])).collect::<Result<_>>()?;
        Self::new(schema_id, fields, identifier_field_ids)
    }
}

impl Field {
    /// The Arrow field, with its number under [`FIELD_ID_KEY`].
    ///
    /// # Errors
    /// [`Error::Unsupported`] for types that Arrow has no counterpart for.
    pub fn to_arrow(&self) -> Result<ArrowField> {
        let mut metadata = HashMap::from([(FIELD_ID_KEY.to_owned(), self.id.to_string())]);
        let extension = match &self.field_type {
            Type::Primitive(PrimitiveType::Uuid) => Some(UUID),
            Type::Primitive(PrimitiveType::Geometry(_) | PrimitiveType::Geography(_)) => Some(WKB),
            Type::Variant => Some(VARIANT),
            _ => None,
        };
        metadata.extend(extension.map(|name| (EXTENSION_KEY.to_owned(), name.to_owned())));
        let nullable = !self.required || self.field_type == Type::Primitive(PrimitiveType::Unknown);
        Ok(ArrowField::new(&self.name, self.field_type.to_arrow()?, nullable).with_metadata(metadata))
    }
}

impl Type {
    /// The Arrow type.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for types that Arrow has no counterpart for.
    pub fn to_arrow(&self) -> Result<DataType> {
        Ok(match self {
            Self::Primitive(primitive) => primitive.to_arrow()?,
            Self::Struct(fields) => {
                DataType::Struct(fields.iter().map(Field::to_arrow).collect::<Result<Vec<_>>>()?.into())
            }
            Self::List(element) => DataType::List(Arc::new(element.to_arrow()?)),
            Self::Map { key, value } => {
                let entries = Fields::from(vec![key.to_arrow()?, value.to_arrow()?]);
                DataType::Map(Arc::new(ArrowField::new("key_value", DataType::Struct(entries), false)), false)
            }
            Self::Variant => DataType::Struct(Fields::from(vec![
                ArrowField::new("metadata", DataType::BinaryView, false),
                ArrowField::new("value", DataType::BinaryView, true),
            ])),
        })
    }
}

impl PrimitiveType {
    fn to_arrow(&self) -> Result<DataType> {
        let timestamp = |unit, zone: Option<&str>| DataType::Timestamp(unit, zone.map(Into::into));
        Ok(match self {
            Self::Boolean => DataType::Boolean,
            Self::Int => DataType::Int32,
            Self::Long => DataType::Int64,
            Self::Float => DataType::Float32,
            Self::Double => DataType::Float64,
            Self::Decimal { precision, scale } => DataType::Decimal128(*precision, scale.cast_signed()),
            Self::Date => DataType::Date32,
            Self::Time => DataType::Time64(TimeUnit::Microsecond),
            Self::Timestamp => timestamp(TimeUnit::Microsecond, None),
            Self::Timestamptz => timestamp(TimeUnit::Microsecond, Some("UTC")),
            Self::TimestampNs => timestamp(TimeUnit::Nanosecond, None),
            Self::TimestamptzNs => timestamp(TimeUnit::Nanosecond, Some("UTC")),
            Self::String => DataType::Utf8View,
            Self::Uuid => DataType::FixedSizeBinary(16),
            Self::Fixed(length) => DataType::FixedSizeBinary(
                i32::try_from(*length).map_err(|_| Error::unsupported(format!("the type {self}")))?,
            ),
            Self::Binary | Self::Geometry(_) | Self::Geography(_) => DataType::BinaryView,
            Self::Unknown => DataType::Null,
        })
    }
}

/// The field of an Arrow field; `path` is its name with the names of its parents.
fn from_arrow(field: &ArrowField, path: &str, default_name: &[&str]) -> Result<Field> {
    let error = |what: String| Error::Type { column: path.to_owned(), what };
    let id = field.metadata().get(FIELD_ID_KEY).and_then(|id| id.parse().ok());
    let id = id.ok_or_else(|| error("has no field number".to_owned()))?;
    // The names of the parts of lists and maps are not the table's.
    let name = default_name.first().copied().unwrap_or(field.name());
    let child = |child: &ArrowField, name: &[&str]| {
        from_arrow(child, &format!("{path}.{}", name.first().copied().unwrap_or(child.name())), name).map(Box::new)
    };
    let primitive = |primitive| Ok(Type::Primitive(primitive));
    let lacks = || error(format!("Iceberg has no type for the values of {}", field.data_type()));
    let field_type: Result<Type> = match field.data_type() {
        _ if field.metadata().get(EXTENSION_KEY).is_some_and(|name| name == VARIANT) => Ok(Type::Variant),
        _ if field.metadata().get(EXTENSION_KEY).is_some_and(|name| name == UUID) => primitive(PrimitiveType::Uuid),
        DataType::Dictionary(_, values) => {
            let plain = ArrowField::new(field.name(), values.as_ref().clone(), field.is_nullable());
            return from_arrow(&plain.with_metadata(field.metadata().clone()), path, default_name);
        }
        DataType::Struct(fields) => {
            fields.iter().map(|field| child(field, &[]).map(|field| *field)).collect::<Result<_>>().map(Type::Struct)
        }
        DataType::List(element)
        | DataType::LargeList(element)
        | DataType::ListView(element)
        | DataType::LargeListView(element)
        | DataType::FixedSizeList(element, _) => child(element, &["element"]).map(Type::List),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(parts) if parts.len() == 2 => {
                Ok(Type::Map { key: child(&parts[0], &["key"])?, value: child(&parts[1], &["value"])? })
            }
            _ => Err(lacks()),
        },
        other => primitive(primitive_from_arrow(other).ok_or_else(lacks)?),
    };
    Ok(Field::new(id, name, !field.is_nullable(), field_type?))
}

/// The type that has all values of an Arrow type.
fn primitive_from_arrow(data_type: &DataType) -> Option<PrimitiveType> {
    use PrimitiveType as P;
    Some(match data_type {
        DataType::Boolean => P::Boolean,
        DataType::Int8 | DataType::Int16 | DataType::Int32 => P::Int,
        DataType::Int64 => P::Long,
        DataType::Float32 => P::Float,
        DataType::Float64 => P::Double,
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale) => {
            P::Decimal { precision: *precision, scale: u8::try_from(*scale).ok()? }
        }
        DataType::Date32 => P::Date,
        DataType::Time64(TimeUnit::Microsecond) => P::Time,
        DataType::Timestamp(TimeUnit::Microsecond, None) => P::Timestamp,
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => P::Timestamptz,
        DataType::Timestamp(TimeUnit::Nanosecond, None) => P::TimestampNs,
        DataType::Timestamp(TimeUnit::Nanosecond, Some(_)) => P::TimestamptzNs,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => P::String,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => P::Binary,
        DataType::FixedSizeBinary(length) => P::Fixed(u32::try_from(*length).ok()?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_survive_the_way_to_arrow_and_back() -> Result<()> {
        let decimal = PrimitiveType::Decimal { precision: 9, scale: 2 };
        let map = Type::Map {
            key: Box::new(Field::new(5, "key", true, PrimitiveType::String)),
            value: Box::new(Field::new(6, "value", false, decimal)),
        };
        let list = Type::List(Box::new(Field::new(8, "element", true, PrimitiveType::TimestamptzNs)));
        let fields = vec![
            Field::new(1, "id", true, PrimitiveType::Long),
            Field::new(3, "u", false, PrimitiveType::Uuid),
            Field::new(4, "m", false, map),
            Field::new(7, "s", true, Type::Struct(vec![Field::new(9, "l", false, list)])),
            Field::new(10, "v", false, Type::Variant),
            Field::new(11, "f", false, PrimitiveType::Fixed(3)),
        ];
        let schema = Schema::new(2, fields, vec![1])?;
        assert_eq!(Schema::from_arrow(&schema.to_arrow()?, 2, vec![1])?, schema);
        Ok(())
    }

    #[test]
    fn a_type_that_iceberg_lacks_names_its_column() {
        let metadata = |id: &str| HashMap::from([(FIELD_ID_KEY.to_owned(), id.to_owned())]);
        let inner = ArrowField::new("n", DataType::UInt64, true).with_metadata(metadata("2"));
        let outer = ArrowField::new("s", DataType::Struct(vec![inner].into()), true).with_metadata(metadata("1"));
        let error = Schema::from_arrow(&ArrowSchema::new(vec![outer]), 0, Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "column s.n: Iceberg has no type for the values of UInt64");
        let bare = ArrowField::new("n", DataType::Int64, true);
        let error = Schema::from_arrow(&ArrowSchema::new(vec![bare]), 0, Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "column n: has no field number");
    }
}
