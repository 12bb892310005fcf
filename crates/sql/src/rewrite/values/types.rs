//! Type names of DuckDB and PostgreSQL that DataFusion 55 does not support, and lengths, which it ignores: `CAST(x AS VARCHAR(3))`
//! truncates, as in PostgreSQL.

use datafusion::sql::sqlparser::ast::{
    AlterColumnOperation, AlterTableOperation, ArrayElemTypeDef, CastKind, CharacterLength, DataType, ExactNumberInfo,
    Expr, Statement, TimezoneInfo, TypedString, Value, Values,
};
use datafusion::sql::sqlparser::parser::ParserError;

use super::uuids::{TRY_UUID, UUID};
use crate::json::JSON;
use crate::rewrite::times::AT_TIME_ZONE;
use crate::syntax::call;

pub(crate) fn rewrite(expr: &mut Expr) -> Result<(), ParserError> {
    match expr {
        Expr::TypedString(TypedString { data_type: DataType::Uuid, value, .. }) => {
            *expr = call(UUID, vec![Expr::Value(value.clone())]);
        }
        Expr::TypedString(TypedString { data_type: DataType::JSON | DataType::JSONB, value, .. }) => {
            *expr = call(JSON, vec![Expr::Value(value.clone())]);
        }
        Expr::TypedString(TypedString { data_type, .. }) => rename(data_type),
        Expr::AtTimeZone { timestamp, time_zone } => {
            *expr = call(AT_TIME_ZONE, vec![(**timestamp).clone(), (**time_zone).clone()]);
        }
        Expr::Cast { kind, expr: value, data_type: DataType::Uuid, array: false, format: None }
            if !matches!(kind, CastKind::TryCast | CastKind::SafeCast) =>
        {
            *expr = call(UUID, vec![(**value).clone()]);
        }
        Expr::Cast { kind: _, expr: value, data_type: DataType::Uuid, array: false, format: None } => {
            *expr = call(TRY_UUID, vec![(**value).clone()]);
        }
        Expr::Cast { kind, expr: value, data_type: DataType::JSON | DataType::JSONB, array: false, format: None }
            if !matches!(kind, CastKind::TryCast | CastKind::SafeCast) =>
        {
            *expr = call(JSON, vec![(**value).clone()]);
        }
        Expr::Cast { data_type, .. } => {
            let length = text_length(data_type);
            rename(data_type);
            if let Some(length) = length {
                *data_type = DataType::Varchar(None);
                let length = Expr::value(Value::Number(length.to_string(), false));
                *expr = call("left", vec![expr.clone(), length]);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Whether a cast to a type becomes a function call.
pub(crate) fn is_call(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Uuid | DataType::JSON | DataType::JSONB) || text_length(data_type).is_some()
}

/// Makes nulls and texts of a column of VALUES UUIDs if one value is a UUID.
pub(crate) fn unify_values(values: &mut Values) {
    let is_uuid = |cell: &Expr| {
        matches!(
            cell,
            Expr::Cast { data_type: DataType::Uuid, .. }
                | Expr::TypedString(TypedString { data_type: DataType::Uuid, .. })
        )
    };
    let width = values.rows.first().map_or(0, |row| row.content.len());
    for column in 0..width {
        if !values.rows.iter().filter_map(|row| row.content.get(column)).any(is_uuid) {
            continue;
        }
        for cell in values.rows.iter_mut().filter_map(|row| row.content.get_mut(column)) {
            if let Expr::Value(value) = cell
                && matches!(value.value, Value::Null | Value::SingleQuotedString(_))
            {
                *cell = call(UUID, vec![cell.clone()]);
            }
        }
    }
}

/// Renames the types of declared columns.
pub(crate) fn rename_columns(statement: &mut Statement) {
    match statement {
        Statement::CreateTable(create) => create.columns.iter_mut().for_each(|column| rename(&mut column.data_type)),
        Statement::AlterTable(alter) => {
            for operation in &mut alter.operations {
                match operation {
                    AlterTableOperation::AddColumn { column_def, .. } => rename(&mut column_def.data_type),
                    AlterTableOperation::AlterColumn {
                        op: AlterColumnOperation::SetDataType { data_type, .. },
                        ..
                    } => rename(data_type),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// The length in characters of a text type; `CHAR` without a length has 1.
fn text_length(data_type: &DataType) -> Option<u64> {
    let (length, default) = match data_type {
        DataType::Char(length) | DataType::Character(length) => (length, Some(1)),
        DataType::CharacterVarying(length)
        | DataType::CharVarying(length)
        | DataType::Varchar(length)
        | DataType::Nvarchar(length) => (length, None),
        DataType::Custom(name, modifiers) if name.to_string().eq_ignore_ascii_case("bpchar") => {
            return modifiers.first().and_then(|length| length.parse().ok());
        }
        _ => return None,
    };
    match length {
        Some(CharacterLength::IntegerLength { length, .. }) => Some(*length),
        Some(CharacterLength::Max) => None,
        None => default,
    }
}

/// Renames a type to DataFusion's name.
fn rename(data_type: &mut DataType) {
    use DataType as T;
    let decimal = |digits| T::Decimal(ExactNumberInfo::PrecisionAndScale(digits, 0));
    let renamed = match data_type {
        T::UTinyInt | T::TinyIntUnsigned(_) => T::TinyIntUnsigned(None),
        T::USmallInt => T::SmallIntUnsigned(None),
        T::UBigInt | T::Unsigned | T::UnsignedInteger => T::BigIntUnsigned(None),
        T::Int16 => T::SmallInt(None),
        T::Int32 | T::MediumInt(_) => T::Int(None),
        T::MediumIntUnsigned(_) => T::IntUnsigned(None),
        T::Int64 | T::Signed | T::SignedInteger => T::BigInt(None),
        // The widest 128-bit decimal. Larger values are an error.
        T::HugeInt | T::UHugeInt | T::Int128 | T::UInt128 => decimal(38),
        T::Float(ExactNumberInfo::Precision(bits)) if *bits > 24 => T::Double(ExactNumberInfo::None),
        T::Float64 => T::Double(ExactNumberInfo::None),
        T::Float32 => T::Real,
        T::Dec(info) | T::BigDecimal(info) | T::BigNumeric(info) => T::Decimal(*info),
        T::Character(length) => T::Char(*length),
        T::CharacterVarying(length) | T::CharVarying(length) | T::Nvarchar(length) => T::Varchar(*length),
        T::CharacterLargeObject(None)
        | T::CharLargeObject(None)
        | T::Clob(None)
        | T::TinyText
        | T::MediumText
        | T::LongText => T::Text,
        T::Binary(None)
        | T::Varbinary(None)
        | T::Blob(None)
        | T::Bytes(None)
        | T::TinyBlob
        | T::MediumBlob
        | T::LongBlob => T::Bytea,
        T::Date32 => T::Date,
        T::Datetime(precision) | T::TimestampNtz(precision) => T::Timestamp(*precision, TimezoneInfo::None),
        T::Array(
            ArrayElemTypeDef::AngleBracket(inner)
            | ArrayElemTypeDef::SquareBracket(inner, _)
            | ArrayElemTypeDef::Parenthesis(inner),
        ) => return rename(inner),
        T::Struct(fields, _) => return fields.iter_mut().for_each(|field| rename(&mut field.field_type)),
        T::Map(key, value) => {
            rename(key);
            return rename(value);
        }
        T::Custom(name, modifiers) => match (name.to_string().to_ascii_lowercase().as_str(), modifiers.as_slice()) {
            ("uinteger" | "uint32" | "uint", []) => T::IntUnsigned(None),
            ("utinyint", []) => T::TinyIntUnsigned(None),
            ("usmallint", []) => T::SmallIntUnsigned(None),
            ("ubigint", []) => T::BigIntUnsigned(None),
            ("int1", []) => T::TinyInt(None),
            ("short", []) => T::SmallInt(None),
            ("long", []) => T::BigInt(None),
            ("hugeint", []) => decimal(38),
            ("logical", []) => T::Boolean,
            ("bpchar" | "name", _) => T::Text,
            ("timestamp_s", []) => T::Timestamp(Some(0), TimezoneInfo::None),
            ("timestamp_ms", []) => T::Timestamp(Some(3), TimezoneInfo::None),
            ("timestamp_us", []) => T::Timestamp(Some(6), TimezoneInfo::None),
            ("timestamp_ns", []) => T::Timestamp(Some(9), TimezoneInfo::None),
            _ => return,
        },
        _ => return,
    };
    *data_type = renamed;
}
