//! The names of types in DuckDB.

use arrow_schema::{DataType, IntervalUnit, TimeUnit};

/// The name of a type.
pub(crate) fn type_name(data_type: &DataType) -> String {
    let name = match data_type {
        DataType::Null => "\"NULL\"",
        DataType::Boolean => "BOOLEAN",
        DataType::Int8 => "TINYINT",
        DataType::Int16 => "SMALLINT",
        DataType::Int32 => "INTEGER",
        DataType::Int64 => "BIGINT",
        DataType::UInt8 => "UTINYINT",
        DataType::UInt16 => "USMALLINT",
        DataType::UInt32 => "UINTEGER",
        DataType::UInt64 => "UBIGINT",
        DataType::Float16 | DataType::Float32 => "FLOAT",
        DataType::Float64 => "DOUBLE",
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "VARCHAR",
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => "BLOB",
        DataType::Date32 | DataType::Date64 => "DATE",
        DataType::Time32(_) | DataType::Time64(_) => "TIME",
        DataType::Timestamp(_, Some(_)) => "TIMESTAMP WITH TIME ZONE",
        DataType::Timestamp(TimeUnit::Second, None) => "TIMESTAMP_S",
        DataType::Timestamp(TimeUnit::Millisecond, None) => "TIMESTAMP_MS",
        DataType::Timestamp(TimeUnit::Microsecond, None) => "TIMESTAMP",
        DataType::Timestamp(TimeUnit::Nanosecond, None) => "TIMESTAMP_NS",
        DataType::Interval(IntervalUnit::MonthDayNano | IntervalUnit::DayTime | IntervalUnit::YearMonth)
        | DataType::Duration(_) => "INTERVAL",
        DataType::Decimal32(digits, scale) | DataType::Decimal64(digits, scale) => {
            return format!("DECIMAL({digits},{scale})");
        }
        DataType::Decimal128(digits, scale) | DataType::Decimal256(digits, scale) => {
            return format!("DECIMAL({digits},{scale})");
        }
        DataType::List(item) | DataType::LargeList(item) | DataType::ListView(item) | DataType::LargeListView(item) => {
            return format!("{}[]", type_name(item.data_type()));
        }
        DataType::FixedSizeList(item, length) => return format!("{}[{length}]", type_name(item.data_type())),
        DataType::Struct(fields) => {
            let field = |name: &str, data_type: &DataType| {
                let is_plain = name
                    .chars()
                    .all(|character| character.is_ascii_lowercase() || character.is_ascii_digit() || character == '_');
                match is_plain && !name.starts_with(|first: char| first.is_ascii_digit()) {
                    true => format!("{name} {}", type_name(data_type)),
                    false => format!("\"{}\" {}", name.replace('"', "\"\""), type_name(data_type)),
                }
            };
            let fields: Vec<String> = fields.iter().map(|known| field(known.name(), known.data_type())).collect();
            return format!("STRUCT({})", fields.join(", "));
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(fields) = entries.data_type() else { return "MAP".to_owned() };
            let types: Vec<String> = fields.iter().map(|field| type_name(field.data_type())).collect();
            return format!("MAP({})", types.join(", "));
        }
        DataType::Dictionary(_, values) => return type_name(values),
        DataType::RunEndEncoded(_, values) => return type_name(values.data_type()),
        DataType::Union(..) => "UNION",
    };
    name.to_owned()
}
