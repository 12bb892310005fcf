//! Parquet's types as the specification writes them.

use lath_format::schema::{BasicTypeInfo, Type};
use lath_format::schema::{ConvertedType, LogicalType, PhysicalType, Repetition, TimeUnit};
use serde_json::{Value, json};

/// The logical type with its parameters, or the converted type of files that have only that.
pub(crate) fn logical_type(info: &BasicTypeInfo, precision: i32, scale: i32) -> Option<String> {
    match info.logical_type_ref() {
        Some(logical) => Some(logical_type_text(logical)),
        None => match info.converted_type() {
            ConvertedType::NONE => None,
            ConvertedType::DECIMAL => Some(format!("DECIMAL({precision}, {scale})")),
            other => Some(other.to_string()),
        },
    }
}

fn logical_type_text(logical: &LogicalType) -> String {
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::MILLIS => "MILLIS",
        TimeUnit::MICROS => "MICROS",
        TimeUnit::NANOS => "NANOS",
    };
    let utc = |is_utc: bool| if is_utc { "UTC" } else { "local" };
    match logical {
        LogicalType::String => "STRING".to_owned(),
        LogicalType::Map => "MAP".to_owned(),
        LogicalType::List => "LIST".to_owned(),
        LogicalType::Enum => "ENUM".to_owned(),
        LogicalType::Date => "DATE".to_owned(),
        LogicalType::Json => "JSON".to_owned(),
        LogicalType::Bson => "BSON".to_owned(),
        LogicalType::Uuid => "UUID".to_owned(),
        LogicalType::Float16 => "FLOAT16".to_owned(),
        LogicalType::Unknown => "UNKNOWN".to_owned(),
        LogicalType::Variant(_) => "VARIANT".to_owned(),
        LogicalType::Decimal(decimal) => format!("DECIMAL({}, {})", decimal.precision, decimal.scale),
        LogicalType::Time(time) => format!("TIME({}, {})", unit(&time.unit), utc(time.is_adjusted_to_u_t_c)),
        LogicalType::Timestamp(time) => format!("TIMESTAMP({}, {})", unit(&time.unit), utc(time.is_adjusted_to_u_t_c)),
        LogicalType::Integer(int) => {
            format!("INTEGER({}, {})", int.bit_width, if int.is_signed { "signed" } else { "unsigned" })
        }
        LogicalType::Geometry(geometry) => match &geometry.crs {
            Some(crs) => format!("GEOMETRY({crs})"),
            None => "GEOMETRY".to_owned(),
        },
        LogicalType::Geography(geography) => match &geography.crs {
            Some(crs) => format!("GEOGRAPHY({crs})"),
            None => "GEOGRAPHY".to_owned(),
        },
        LogicalType::_Unknown { field_id } => format!("unknown logical type {field_id}"),
    }
}

/// The physical type, with the length of FIXED_LEN_BYTE_ARRAY.
pub(crate) fn physical_type(physical: PhysicalType, length: i32) -> String {
    match physical {
        PhysicalType::FIXED_LEN_BYTE_ARRAY => format!("FIXED_LEN_BYTE_ARRAY({length})"),
        other => other.to_string(),
    }
}

/// A schema as JSON: each field with its type, groups with their fields.
pub(crate) fn schema_json(schema: &Type) -> Value {
    let info = schema.get_basic_info();
    let mut json = json!({ "name": info.name() });
    if info.has_repetition() {
        json["repetition"] = match info.repetition() {
            Repetition::REQUIRED => "required",
            Repetition::OPTIONAL => "optional",
            Repetition::REPEATED => "repeated",
        }
        .into();
    }
    if info.has_id() {
        json["field_id"] = info.id().into();
    }
    let (mut precision, mut scale) = (0, 0);
    if let Type::PrimitiveType { physical_type: physical, type_length, precision: p, scale: s, .. } = schema {
        (precision, scale) = (*p, *s);
        json["physical_type"] = physical_type(*physical, *type_length).into();
    }
    json["logical_type"] = logical_type(info, precision, scale).into();
    if schema.is_group() {
        json["fields"] = schema.get_fields().iter().map(|field| schema_json(field)).collect();
    }
    json
}
