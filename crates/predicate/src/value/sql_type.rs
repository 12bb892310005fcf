//! The types of CAST, by their names in SQL.

use std::fmt::{self, Display, Formatter};

use arrow_schema::extension::Uuid;
use arrow_schema::{DataType, Field, TimeUnit};

/// A type of CAST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SqlType {
    Boolean,
    Integer { bits: u8, signed: bool },
    Float { bits: u8 },
    Decimal { precision: u8, scale: i8 },
    Text,
    Binary,
    Date,
    Time,
    Timestamp { unit: TimeUnit, zoned: bool },
    Uuid,
}

/// The maximum digits of a decimal.
const MAX_DIGITS: u32 = 76;

/// Whether a type starts with this name in upper case.
pub(crate) fn is_type_name(name: &str) -> bool {
    matches!(name, "TIME" | "TIMESTAMP" | "TIMESTAMPTZ" | "DECIMAL" | "NUMERIC" | "DEC")
}

impl SqlType {
    /// The type with this name and these arguments. `zoned` says whether WITH or WITHOUT TIME ZONE was written.
    pub(crate) fn named(name: &str, arguments: &[u32], zoned: Option<bool>) -> Result<Self, String> {
        let unknown = || {
            let arguments: Vec<String> = arguments.iter().map(u32::to_string).collect();
            let tail = if arguments.is_empty() { String::new() } else { format!("({})", arguments.join(", ")) };
            format!("the type {name}{tail} is not supported")
        };
        let integer = |bits, signed| Self::Integer { bits, signed };
        let upper = name.to_ascii_uppercase();
        Ok(match (upper.as_str(), arguments) {
            ("BOOLEAN" | "BOOL", []) => Self::Boolean,
            ("TINYINT" | "INT1", []) => integer(8, true),
            ("SMALLINT" | "INT2", []) => integer(16, true),
            ("INTEGER" | "INT" | "INT4", []) => integer(32, true),
            ("BIGINT" | "INT8", []) => integer(64, true),
            ("UTINYINT", []) => integer(8, false),
            ("USMALLINT", []) => integer(16, false),
            ("UINTEGER", []) => integer(32, false),
            ("UBIGINT", []) => integer(64, false),
            ("HALF" | "FLOAT2", []) => Self::Float { bits: 16 },
            ("REAL" | "FLOAT" | "FLOAT4", []) => Self::Float { bits: 32 },
            ("DOUBLE" | "FLOAT8", []) => Self::Float { bits: 64 },
            ("DECIMAL" | "NUMERIC" | "DEC", []) => Self::Decimal { precision: 18, scale: 3 },
            ("DECIMAL" | "NUMERIC" | "DEC", [precision @ 1..=MAX_DIGITS, rest @ ..]) if rest.len() < 2 => {
                let scale = rest.first().copied().unwrap_or(0);
                if scale > *precision {
                    return Err(unknown());
                }
                Self::Decimal { precision: *precision as u8, scale: scale as i8 }
            }
            ("VARCHAR" | "TEXT" | "STRING" | "CHAR", []) => Self::Text,
            ("BLOB" | "BINARY" | "VARBINARY" | "BYTEA", []) => Self::Binary,
            ("DATE", []) => Self::Date,
            ("TIME", [] | [0..=9]) if zoned != Some(true) => Self::Time,
            ("TIMESTAMP" | "DATETIME" | "TIMESTAMPTZ", [] | [0..=9]) => {
                let unit = match arguments.first() {
                    Some(0) => TimeUnit::Second,
                    Some(1..=3) => TimeUnit::Millisecond,
                    None | Some(4..=6) => TimeUnit::Microsecond,
                    Some(_) => TimeUnit::Nanosecond,
                };
                Self::Timestamp { unit, zoned: zoned.unwrap_or(upper == "TIMESTAMPTZ") }
            }
            ("UUID", []) => Self::Uuid,
            _ => return Err(unknown()),
        })
    }

    /// A field of this type.
    pub(crate) fn field(self) -> Field {
        let data_type = match self {
            Self::Boolean => DataType::Boolean,
            Self::Integer { bits: 8, signed: true } => DataType::Int8,
            Self::Integer { bits: 16, signed: true } => DataType::Int16,
            Self::Integer { bits: 32, signed: true } => DataType::Int32,
            Self::Integer { signed: true, .. } => DataType::Int64,
            Self::Integer { bits: 8, .. } => DataType::UInt8,
            Self::Integer { bits: 16, .. } => DataType::UInt16,
            Self::Integer { bits: 32, .. } => DataType::UInt32,
            Self::Integer { .. } => DataType::UInt64,
            Self::Float { bits: 16 } => DataType::Float16,
            Self::Float { bits: 32 } => DataType::Float32,
            Self::Float { .. } => DataType::Float64,
            Self::Decimal { precision: precision @ ..=38, scale } => DataType::Decimal128(precision, scale),
            Self::Decimal { precision, scale } => DataType::Decimal256(precision, scale),
            Self::Text => DataType::Utf8View,
            Self::Binary => DataType::BinaryView,
            Self::Date => DataType::Date32,
            Self::Time => DataType::Time64(TimeUnit::Nanosecond),
            Self::Timestamp { unit, zoned } => DataType::Timestamp(unit, zoned.then(|| "UTC".into())),
            Self::Uuid => {
                return Field::new("", DataType::FixedSizeBinary(16), true).with_extension_type(Uuid);
            }
        };
        Field::new("", data_type, true)
    }
}

impl Display for SqlType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Boolean => "BOOLEAN",
            Self::Integer { bits: 8, signed: true } => "TINYINT",
            Self::Integer { bits: 16, signed: true } => "SMALLINT",
            Self::Integer { bits: 32, signed: true } => "INTEGER",
            Self::Integer { signed: true, .. } => "BIGINT",
            Self::Integer { bits: 8, .. } => "UTINYINT",
            Self::Integer { bits: 16, .. } => "USMALLINT",
            Self::Integer { bits: 32, .. } => "UINTEGER",
            Self::Integer { .. } => "UBIGINT",
            Self::Float { bits: 16 } => "HALF",
            Self::Float { bits: 32 } => "REAL",
            Self::Float { .. } => "DOUBLE",
            Self::Decimal { precision, scale } => return write!(f, "DECIMAL({precision}, {scale})"),
            Self::Text => "VARCHAR",
            Self::Binary => "BLOB",
            Self::Date => "DATE",
            Self::Time => "TIME",
            Self::Timestamp { unit, zoned } => {
                let digits = match unit {
                    TimeUnit::Second => 0,
                    TimeUnit::Millisecond => 3,
                    TimeUnit::Microsecond => 6,
                    TimeUnit::Nanosecond => 9,
                };
                return write!(f, "TIMESTAMP({digits}){}", if *zoned { " WITH TIME ZONE" } else { "" });
            }
            Self::Uuid => "UUID",
        })
    }
}
