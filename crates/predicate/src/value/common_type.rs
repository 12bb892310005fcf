//! The type in which the values of two columns are compared.

use arrow_schema::{DataType, TimeUnit};

use super::exact_type::ExactType;

/// A type that holds the values of both types in order; `None` if they do not compare. If one of them is an integer or a decimal, `Float64` stands
/// for an exact comparison. `Null` means that one column has only nulls.
pub(crate) fn common_type(left: &DataType, right: &DataType) -> Option<DataType> {
    if left == right {
        return (!left.is_nested() && !matches!(left, DataType::Interval(_))).then(|| left.clone());
    }
    if left == &DataType::Null || right == &DataType::Null {
        return Some(DataType::Null);
    }
    if left.is_string() && right.is_string() {
        return Some(DataType::Utf8View);
    }
    let is_bytes = |data_type: &DataType| data_type.is_binary() || matches!(data_type, DataType::FixedSizeBinary(_));
    if is_bytes(left) && is_bytes(right) {
        return Some(DataType::BinaryView);
    }
    if left.is_numeric() && right.is_numeric() {
        return Some(common_number(left, right));
    }
    match (left, right) {
        (DataType::Date32 | DataType::Date64, DataType::Date32 | DataType::Date64) => Some(DataType::Date64),
        // Timestamps are stored in UTC, whatever their time zone.
        (DataType::Timestamp(a, _), DataType::Timestamp(b, _)) => Some(DataType::Timestamp((*a).max(*b), None)),
        (DataType::Timestamp(unit, _), DataType::Date32 | DataType::Date64)
        | (DataType::Date32 | DataType::Date64, DataType::Timestamp(unit, _)) => Some(DataType::Timestamp(*unit, None)),
        (DataType::Time32(_) | DataType::Time64(_), DataType::Time32(_) | DataType::Time64(_)) => {
            Some(DataType::Time64(TimeUnit::Nanosecond))
        }
        (DataType::Duration(a), DataType::Duration(b)) => Some(DataType::Duration((*a).max(*b))),
        _ => None,
    }
}

fn common_number(left: &DataType, right: &DataType) -> DataType {
    if left.is_floating() || right.is_floating() {
        return DataType::Float64;
    }
    let signed = |data_type: &DataType| data_type.is_signed_integer();
    if left.is_integer() && right.is_integer() && (signed(left) == signed(right)) {
        return if signed(left) { DataType::Int64 } else { DataType::UInt64 };
    }
    let digits = |data_type: &DataType| ExactType::decimal(data_type).and_then(ExactType::digits).unwrap_or((20, 0));
    let ((left_whole, left_scale), (right_whole, right_scale)) = (digits(left), digits(right));
    let scale = left_scale.max(right_scale).max(0);
    let precision = (left_whole.max(right_whole).max(0) + scale).clamp(1, 76);
    match precision {
        1..=38 => DataType::Decimal128(precision as u8, scale as i8),
        _ => DataType::Decimal256(precision as u8, scale as i8),
    }
}
