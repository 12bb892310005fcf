//! The types of columns, as drivers ask for them.

use arrow_array::RecordBatch;
use arrow_flight::sql::metadata::{XdbcTypeInfo, XdbcTypeInfoDataBuilder};
use arrow_flight::sql::{Nullable, Searchable, XdbcDataType, XdbcDatetimeSubcode};
use tonic::Status;

/// A type: its name, its kind, and the digits or bytes of its values.
struct Type {
    name: &'static str,
    kind: XdbcDataType,
    size: Option<i32>,
    /// Whether literals are in quotes.
    is_quoted: bool,
}

const fn number(name: &'static str, kind: XdbcDataType, digits: i32) -> Type {
    Type { name, kind, size: Some(digits), is_quoted: false }
}

const fn quoted(name: &'static str, kind: XdbcDataType, size: Option<i32>) -> Type {
    Type { name, kind, size, is_quoted: true }
}

/// The types that a column may have, in the order of their numbers.
const TYPES: [Type; 12] = [
    number("TINYINT", XdbcDataType::XdbcTinyint, 3),
    number("BIGINT", XdbcDataType::XdbcBigint, 19),
    quoted("BYTEA", XdbcDataType::XdbcVarbinary, None),
    number("DECIMAL", XdbcDataType::XdbcDecimal, 76),
    number("INTEGER", XdbcDataType::XdbcInteger, 10),
    number("SMALLINT", XdbcDataType::XdbcSmallint, 5),
    number("REAL", XdbcDataType::XdbcReal, 24),
    number("DOUBLE", XdbcDataType::XdbcDouble, 53),
    quoted("VARCHAR", XdbcDataType::XdbcVarchar, None),
    quoted("DATE", XdbcDataType::XdbcDate, Some(10)),
    quoted("TIME", XdbcDataType::XdbcTime, Some(18)),
    quoted("TIMESTAMP", XdbcDataType::XdbcTimestamp, Some(29)),
];

/// All types, or the types of one kind.
pub(crate) fn type_info(kind: Option<i32>) -> Result<RecordBatch, Status> {
    let mut builder = XdbcTypeInfoDataBuilder::new();
    for Type { name, kind, size, is_quoted } in TYPES {
        let (is_number, is_decimal) = (!is_quoted, kind == XdbcDataType::XdbcDecimal);
        let is_binary = matches!(kind, XdbcDataType::XdbcReal | XdbcDataType::XdbcDouble);
        let quote = || is_quoted.then(|| "'".to_owned());
        let datetime_subcode = match kind {
            // The number of a date in ODBC, which Flight SQL calls a year.
            XdbcDataType::XdbcDate => Some(XdbcDatetimeSubcode::XdbcSubcodeYear),
            XdbcDataType::XdbcTime => Some(XdbcDatetimeSubcode::XdbcSubcodeTime),
            XdbcDataType::XdbcTimestamp => Some(XdbcDatetimeSubcode::XdbcSubcodeTimestamp),
            _ => None,
        };
        builder.append(XdbcTypeInfo {
            type_name: name.to_owned(),
            data_type: kind,
            column_size: size,
            literal_prefix: quote(),
            literal_suffix: quote(),
            create_params: is_decimal.then(|| vec!["precision".to_owned(), "scale".to_owned()]),
            nullable: Nullable::NullabilityNullable,
            case_sensitive: kind == XdbcDataType::XdbcVarchar,
            searchable: Searchable::Full,
            unsigned_attribute: is_number.then_some(false),
            fixed_prec_scale: false,
            auto_increment: is_number.then_some(false),
            local_type_name: Some(name.to_owned()),
            minimum_scale: is_decimal.then_some(0),
            maximum_scale: is_decimal.then_some(76),
            sql_data_type: kind,
            datetime_subcode,
            num_prec_radix: is_number.then_some(if is_binary { 2 } else { 10 }),
            interval_precision: None,
        });
    }
    Ok(builder.build()?.record_batch(kind)?)
}
