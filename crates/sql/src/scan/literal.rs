//! Converts DataFusion's scalars to literals of predicates.

use arrow_schema::DataType;
use datafusion::scalar::ScalarValue;
use lath_parquet::Literal;

/// Converts a scalar to a literal; `None` if predicates have no literal of its type.
pub(crate) fn literal(value: &ScalarValue) -> Option<Literal> {
    if value.is_null() {
        return Some(Literal::NULL);
    }
    Some(match value {
        ScalarValue::Boolean(Some(value)) => (*value).into(),
        ScalarValue::Int8(Some(value)) => (*value).into(),
        ScalarValue::Int16(Some(value)) => (*value).into(),
        ScalarValue::Int32(Some(value)) => (*value).into(),
        ScalarValue::Int64(Some(value)) => (*value).into(),
        ScalarValue::UInt8(Some(value)) => (*value).into(),
        ScalarValue::UInt16(Some(value)) => (*value).into(),
        ScalarValue::UInt32(Some(value)) => (*value).into(),
        ScalarValue::UInt64(Some(value)) => (*value).into(),
        ScalarValue::Float32(Some(value)) => (*value).into(),
        ScalarValue::Float64(Some(value)) => (*value).into(),
        ScalarValue::Utf8(Some(text)) | ScalarValue::LargeUtf8(Some(text)) | ScalarValue::Utf8View(Some(text)) => {
            text.as_str().into()
        }
        ScalarValue::Binary(Some(bytes))
        | ScalarValue::LargeBinary(Some(bytes))
        | ScalarValue::BinaryView(Some(bytes))
        | ScalarValue::FixedSizeBinary(_, Some(bytes)) => bytes.as_slice().into(),
        ScalarValue::Dictionary(_, value) => return literal(value),
        ScalarValue::Date32(Some(days)) => {
            let day = i64::from(*days).checked_mul(86_400_000_000)?;
            Literal::timestamp_micros(day)
        }
        ScalarValue::TimestampSecond(Some(value), _) => Literal::timestamp_micros(value.checked_mul(1_000_000)?),
        ScalarValue::TimestampMillisecond(Some(value), _) => Literal::timestamp_micros(value.checked_mul(1000)?),
        ScalarValue::TimestampMicrosecond(Some(value), _) => Literal::timestamp_micros(*value),
        ScalarValue::TimestampNanosecond(Some(value), _) => Literal::timestamp_nanos(*value),
        decimal if decimal.data_type().is_decimal() => {
            let text = value.cast_to(&DataType::Utf8).ok()?;
            let ScalarValue::Utf8(Some(text)) = text else { return None };
            text.parse().ok()?
        }
        _ => return None,
    })
}
