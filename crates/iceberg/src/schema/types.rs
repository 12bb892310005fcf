//! Types of columns.

use std::fmt;
use std::str::FromStr;

use super::Field;
use crate::error::{Error, Result};

/// A type without fields.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PrimitiveType {
    /// `boolean`
    Boolean,
    /// `int`: 32 bits.
    Int,
    /// `long`: 64 bits.
    Long,
    /// `float`: 32 bits.
    Float,
    /// `double`: 64 bits.
    Double,
    /// `decimal(P, S)`, with up to 38 digits.
    Decimal {
        /// Number of digits.
        precision: u8,
        /// Number of them that are fractional.
        scale: u8,
    },
    /// `date`: days since 1970-01-01.
    Date,
    /// `time`: microseconds of a day.
    Time,
    /// `timestamp`: microseconds without a zone.
    Timestamp,
    /// `timestamptz`: microseconds in UTC.
    Timestamptz,
    /// `timestamp_ns`: nanoseconds without a zone.
    TimestampNs,
    /// `timestamptz_ns`: nanoseconds in UTC.
    TimestamptzNs,
    /// `string`: UTF-8.
    String,
    /// `uuid`: 16 bytes.
    Uuid,
    /// `fixed(L)`: `L` bytes.
    Fixed(u32),
    /// `binary`
    Binary,
    /// `unknown`: nulls alone.
    Unknown,
    /// `geometry(C)`: well-known binary, with the text between the brackets.
    Geometry(Option<String>),
    /// `geography(C, A)`: well-known binary, with the text between the brackets.
    Geography(Option<String>),
}

/// The type of a column, or of a part of one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Type {
    /// A type without fields.
    Primitive(PrimitiveType),
    /// Named fields.
    Struct(Vec<Field>),
    /// A list; the field is its element.
    List(Box<Field>),
    /// A map.
    Map {
        /// The key, which is required.
        key: Box<Field>,
        /// The value.
        value: Box<Field>,
    },
    /// A value of any type.
    Variant,
}

impl Type {
    /// The type, if it has no fields.
    pub fn as_primitive(&self) -> Option<&PrimitiveType> {
        match self {
            Self::Primitive(primitive) => Some(primitive),
            _ => None,
        }
    }

    /// The fields of a struct, the element of a list, or key and value of a map.
    pub fn children(&self) -> Vec<&Field> {
        match self {
            Self::Primitive(_) | Self::Variant => Vec::new(),
            Self::Struct(fields) => fields.iter().collect(),
            Self::List(element) => vec![element],
            Self::Map { key, value } => vec![key, value],
        }
    }
}

impl From<PrimitiveType> for Type {
    fn from(primitive: PrimitiveType) -> Self {
        Self::Primitive(primitive)
    }
}

impl fmt::Display for PrimitiveType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Boolean => "boolean",
            Self::Int => "int",
            Self::Long => "long",
            Self::Float => "float",
            Self::Double => "double",
            Self::Decimal { precision, scale } => return write!(f, "decimal({precision}, {scale})"),
            Self::Date => "date",
            Self::Time => "time",
            Self::Timestamp => "timestamp",
            Self::Timestamptz => "timestamptz",
            Self::TimestampNs => "timestamp_ns",
            Self::TimestamptzNs => "timestamptz_ns",
            Self::String => "string",
            Self::Uuid => "uuid",
            Self::Fixed(length) => return write!(f, "fixed[{length}]"),
            Self::Binary => "binary",
            Self::Unknown => "unknown",
            Self::Geometry(None) => "geometry",
            Self::Geography(None) => "geography",
            Self::Geometry(Some(crs)) => return write!(f, "geometry({crs})"),
            Self::Geography(Some(arguments)) => return write!(f, "geography({arguments})"),
        };
        f.write_str(name)
    }
}

impl FromStr for PrimitiveType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let name = text.trim();
        let (head, arguments) = match name.find(['(', '[']) {
            Some(at) => {
                let inner = name[at + 1..].strip_suffix([')', ']']).ok_or_else(|| unknown(text))?;
                (name[..at].trim_end(), Some(inner.trim()))
            }
            None => (name, None),
        };
        let primitive = match (head, arguments) {
            ("boolean", None) => Self::Boolean,
            ("int", None) => Self::Int,
            ("long", None) => Self::Long,
            ("float", None) => Self::Float,
            ("double", None) => Self::Double,
            ("date", None) => Self::Date,
            ("time", None) => Self::Time,
            ("timestamp", None) => Self::Timestamp,
            ("timestamptz", None) => Self::Timestamptz,
            ("timestamp_ns", None) => Self::TimestampNs,
            ("timestamptz_ns", None) => Self::TimestamptzNs,
            ("string", None) => Self::String,
            ("uuid", None) => Self::Uuid,
            ("binary", None) => Self::Binary,
            ("unknown", None) => Self::Unknown,
            ("geometry", arguments) => Self::Geometry(arguments.map(str::to_owned)),
            ("geography", arguments) => Self::Geography(arguments.map(str::to_owned)),
            ("fixed", Some(length)) => Self::Fixed(length.parse().map_err(|_| unknown(text))?),
            ("decimal", Some(arguments)) => {
                let (precision, scale) = arguments.split_once(',').ok_or_else(|| unknown(text))?;
                let precision: u8 = precision.trim().parse().map_err(|_| unknown(text))?;
                let scale: u8 = scale.trim().parse().map_err(|_| unknown(text))?;
                if !(1..=38).contains(&precision) || scale > precision {
                    return Err(unknown(text));
                }
                Self::Decimal { precision, scale }
            }
            _ => return Err(unknown(text)),
        };
        Ok(primitive)
    }
}

fn unknown(text: &str) -> Error {
    Error::unsupported(format!("the type {:?}", text.chars().take(60).collect::<String>()))
}
