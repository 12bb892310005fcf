//! Properties of column types: their names in messages, and the types of dictionaries and lists.

use arrow_schema::{DataType, Field, FieldRef, IntervalUnit, TimeUnit};

use super::exact_type::ExactType;

/// Whether the bytes of a column are UUIDs.
pub(crate) fn is_uuid(field: &Field) -> bool {
    field.data_type() == &DataType::FixedSizeBinary(16) && field.extension_type_name() == Some("arrow.uuid")
}

/// The type of a column's values, which may be in a dictionary.
pub(crate) fn value_type(field: &Field) -> &DataType {
    match field.data_type() {
        DataType::Dictionary(_, value) => value,
        other => other,
    }
}

/// The element of a list.
pub(crate) fn list_element(field: &Field) -> Option<&FieldRef> {
    match field.data_type() {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::ListView(field)
        | DataType::LargeListView(field) => Some(field),
        _ => None,
    }
}

/// The type of `field` in words, with its article.
pub(crate) fn type_name(field: &Field) -> String {
    if is_uuid(field) {
        return "a UUID".to_owned();
    }
    data_type_name(field.data_type())
}

/// A type in words, with its article.
pub(crate) fn data_type_name(data_type: &DataType) -> String {
    let unit_name = |unit: &TimeUnit| match unit {
        TimeUnit::Second => "seconds",
        TimeUnit::Millisecond => "milliseconds",
        TimeUnit::Microsecond => "microseconds",
        TimeUnit::Nanosecond => "nanoseconds",
    };
    if let Some((precision, scale)) = ExactType::decimal_digits(data_type) {
        return format!("a decimal({precision}, {scale})");
    }
    match data_type {
        DataType::Null => "a column of nulls".to_owned(),
        DataType::Boolean => "a boolean".to_owned(),
        DataType::Int8 => "an 8-bit integer".to_owned(),
        DataType::Int16 => "a 16-bit integer".to_owned(),
        DataType::Int32 => "a 32-bit integer".to_owned(),
        DataType::Int64 => "a 64-bit integer".to_owned(),
        DataType::UInt8 => "an unsigned 8-bit integer".to_owned(),
        DataType::UInt16 => "an unsigned 16-bit integer".to_owned(),
        DataType::UInt32 => "an unsigned 32-bit integer".to_owned(),
        DataType::UInt64 => "an unsigned 64-bit integer".to_owned(),
        DataType::Float16 => "a 16-bit float".to_owned(),
        DataType::Float32 => "a 32-bit float".to_owned(),
        DataType::Float64 => "a 64-bit float".to_owned(),
        DataType::Date32 | DataType::Date64 => "a date".to_owned(),
        DataType::Time32(unit) | DataType::Time64(unit) => format!("a time in {}", unit_name(unit)),
        DataType::Timestamp(unit, None) => format!("a timestamp in {} without time zone", unit_name(unit)),
        DataType::Timestamp(unit, Some(zone)) => format!("a timestamp in {}, time zone {zone}", unit_name(unit)),
        DataType::Duration(unit) => format!("a duration in {}", unit_name(unit)),
        DataType::Interval(IntervalUnit::YearMonth | IntervalUnit::DayTime | IntervalUnit::MonthDayNano) => {
            "an interval".to_owned()
        }
        DataType::Dictionary(_, value) => data_type_name(value),
        DataType::FixedSizeBinary(length) => format!("a byte string of {length} bytes"),
        DataType::Struct(_) => "a struct".to_owned(),
        DataType::Map(..) => "a map".to_owned(),
        other if other.is_string() => "a string".to_owned(),
        other if other.is_binary() => "a byte string".to_owned(),
        other if other.is_list() => "a list".to_owned(),
        other => format!("of type {other}"),
    }
}

/// An example of a literal of this type, for messages.
pub(crate) fn example(field: &Field) -> &'static str {
    if is_uuid(field) {
        return "'00000000-0000-0000-0000-000000000000'";
    }
    match value_type(field) {
        DataType::Boolean => "TRUE or FALSE",
        DataType::Date32 | DataType::Date64 => "DATE '2025-01-31'",
        DataType::Time32(_) | DataType::Time64(_) => "TIME '08:30:00'",
        DataType::Timestamp(..) => "TIMESTAMP '2025-01-31 08:30:00'",
        other if other.is_string() => "'text'",
        other if other.is_binary() => "X'00FF'",
        DataType::FixedSizeBinary(_) => "X'00FF'",
        other if other.is_floating() => "0.5",
        other if other.is_numeric() => "12",
        _ => "IS NULL or IS NOT NULL after it",
    }
}
