//! Names of types on the command line.

use arrow_schema::{DataType, TimeUnit};

/// Parses a type: a short name, or one in Arrow's syntax.
pub(crate) fn parse_type(text: &str) -> Result<DataType, String> {
    let short = match text.to_ascii_lowercase().as_str() {
        "bool" | "boolean" => DataType::Boolean,
        "int" | "integer" => DataType::Int32,
        "bigint" | "long" => DataType::Int64,
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        "string" | "text" | "utf8" => DataType::Utf8,
        "binary" | "bytes" => DataType::Binary,
        "date" => DataType::Date32,
        "time" => DataType::Time64(TimeUnit::Microsecond),
        "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, None),
        "timestamptz" => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        other => {
            let digits = other.strip_prefix("decimal(").and_then(|rest| rest.strip_suffix(')'));
            if let Some((precision, scale)) = digits.and_then(|digits| digits.split_once(','))
                && let (Ok(precision), Ok(scale)) = (precision.trim().parse(), scale.trim().parse())
            {
                return Ok(DataType::Decimal128(precision, scale));
            }
            return text.parse().map_err(|_| {
                format!(
                    "{text} is not a type; write bool, int, bigint, double, string, binary, date, time, timestamp, timestamptz, \
                     decimal(18, 2), or a type as Arrow writes it, such as 'Timestamp(ns)' or 'List(Int32)'"
                )
            });
        }
    };
    Ok(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_short_names_and_arrow_names() {
        assert_eq!(parse_type("TEXT"), Ok(DataType::Utf8));
        assert_eq!(parse_type("decimal(18, 2)"), Ok(DataType::Decimal128(18, 2)));
        assert_eq!(parse_type("Timestamp(ns)"), Ok(DataType::Timestamp(TimeUnit::Nanosecond, None)));
        assert_eq!(parse_type("UInt16"), Ok(DataType::UInt16));
        assert!(parse_type("varchar2").is_err());
    }
}
