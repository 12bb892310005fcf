//! The names of types in DuckDB, and `typeof`.

use arrow_schema::{DataType, Field, FieldRef, IntervalUnit, TimeUnit};
use datafusion::common::Result;
use datafusion::common::utils::take_function_args;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use datafusion::scalar::ScalarValue;
use lath_text::is_uuid;

/// `typeof(value)`.
pub(super) fn typeof_function() -> ScalarUDF {
    ScalarUDF::from(TypeOf { signature: Signature::any(1, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct TypeOf {
    signature: Signature,
}

impl ScalarUDFImpl for TypeOf {
    fn name(&self) -> &'static str {
        "typeof"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = take_function_args(self.name(), &args.arg_fields)?;
        Ok(ColumnarValue::Scalar(ScalarValue::Utf8(Some(type_name(value)))))
    }
}

/// The name of a field's type.
pub(crate) fn type_name(field: &Field) -> String {
    let data_type = field.data_type();
    if is_uuid(field) {
        return "UUID".to_owned();
    }
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
            return format!("{}[]", type_name(item));
        }
        DataType::FixedSizeList(item, length) => return format!("{}[{length}]", type_name(item)),
        DataType::Struct(fields) => {
            let named = |field: &FieldRef| {
                let name = field.name();
                let is_plain = name
                    .chars()
                    .all(|character| character.is_ascii_lowercase() || character.is_ascii_digit() || character == '_');
                match is_plain && !name.starts_with(|first: char| first.is_ascii_digit()) {
                    true => format!("{name} {}", type_name(field)),
                    false => format!("\"{}\" {}", name.replace('"', "\"\""), type_name(field)),
                }
            };
            let fields: Vec<String> = fields.iter().map(named).collect();
            return format!("STRUCT({})", fields.join(", "));
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(fields) = entries.data_type() else { return "MAP".to_owned() };
            let types: Vec<String> = fields.iter().map(|field| type_name(field)).collect();
            return format!("MAP({})", types.join(", "));
        }
        DataType::Dictionary(_, values) => return type_name(&Field::new("", values.as_ref().clone(), true)),
        DataType::RunEndEncoded(_, values) => return type_name(values),
        DataType::Union(..) => "UNION",
    };
    name.to_owned()
}
