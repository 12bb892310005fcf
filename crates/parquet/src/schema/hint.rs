//! Validates the Arrow schema that a writer stored in a file, before it is converted.
//!
//! The conversion in `arrow-ipc` panics for some input that its verifier of flat buffers accepts: units that do not exist, lists
//! without a child. A damaged hint must not cause a panic, even a caught one.

use arrow_ipc::convert::try_schema_from_ipc_buffer;
use arrow_ipc::{DateUnit, Endianness, Field, IntervalUnit, Precision, Schema, TimeUnit, Type, root_as_message};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use lath_format::schema::guard;

use crate::error::{Error, Result};

/// The Arrow schema in the form of Parquet files, as written by `encode_arrow_schema`.
pub(crate) fn decode_arrow_schema(encoded: &str) -> Result<arrow_schema::Schema> {
    let malformed = || Error::invalid("an Arrow schema that cannot be read");
    if !is_readable(encoded) {
        return Err(malformed());
    }
    let bytes = BASE64_STANDARD.decode(encoded).map_err(|_| malformed())?;
    guard(|| Ok(try_schema_from_ipc_buffer(&bytes)?)).map_err(|_| malformed())
}

/// Whether the value of `ARROW:schema` can be converted to an Arrow schema.
pub(super) fn is_readable(encoded: &str) -> bool {
    let Ok(bytes) = BASE64_STANDARD.decode(encoded) else { return false };
    // A message may begin with a continuation marker and its length.
    let message = match bytes.strip_prefix(&[0xff; 4]) {
        Some(rest) if bytes.len() > 8 => &rest[4..],
        _ => &bytes,
    };
    root_as_message(message).is_ok_and(|message| message.header_as_schema().is_some_and(is_convertible))
}

fn is_convertible(schema: Schema<'_>) -> bool {
    let is_little = schema.endianness() == Endianness::Little;
    is_little && schema.fields().is_some_and(|fields| fields.iter().all(is_field_convertible))
}

fn is_field_convertible(field: Field<'_>) -> bool {
    let is_integer = |width: i32| matches!(width, 8 | 16 | 32 | 64);
    let has_keys = field
        .dictionary()
        .is_none_or(|dictionary| dictionary.indexType().is_some_and(|keys| is_integer(keys.bitWidth())));
    let children = || field.children().into_iter().flatten();
    let child_count = match field.type_type() {
        Type::List | Type::LargeList | Type::ListView | Type::LargeListView | Type::FixedSizeList | Type::Map => {
            Some(1)
        }
        Type::RunEndEncoded => Some(2),
        _ => None,
    };
    let has_children = child_count.is_none_or(|count| children().count() == count);
    has_keys && has_children && is_type_convertible(field, is_integer) && children().all(is_field_convertible)
}

fn is_type_convertible(field: Field<'_>, is_integer: impl Fn(i32) -> bool) -> bool {
    let is_unit =
        |unit| matches!(unit, TimeUnit::SECOND | TimeUnit::MILLISECOND | TimeUnit::MICROSECOND | TimeUnit::NANOSECOND);
    match field.type_type() {
        Type::Int => field.type_as_int().is_some_and(|int| is_integer(int.bitWidth())),
        Type::FloatingPoint => field
            .type_as_floating_point()
            .is_some_and(|float| matches!(float.precision(), Precision::HALF | Precision::SINGLE | Precision::DOUBLE)),
        Type::Date => {
            field.type_as_date().is_some_and(|date| matches!(date.unit(), DateUnit::DAY | DateUnit::MILLISECOND))
        }
        Type::Time => field.type_as_time().is_some_and(|time| match time.unit() {
            TimeUnit::SECOND | TimeUnit::MILLISECOND => time.bitWidth() == 32,
            unit => is_unit(unit) && time.bitWidth() == 64,
        }),
        Type::Timestamp => field.type_as_timestamp().is_some_and(|timestamp| is_unit(timestamp.unit())),
        Type::Duration => field.type_as_duration().is_some_and(|duration| is_unit(duration.unit())),
        Type::Interval => field.type_as_interval().is_some_and(|interval| {
            matches!(interval.unit(), IntervalUnit::YEAR_MONTH | IntervalUnit::DAY_TIME | IntervalUnit::MONTH_DAY_NANO)
        }),
        Type::Decimal => field.type_as_decimal().is_some_and(|decimal| {
            matches!(decimal.bitWidth(), 32 | 64 | 128 | 256)
                && u8::try_from(decimal.precision()).is_ok()
                && i8::try_from(decimal.scale()).is_ok()
        }),
        Type::FixedSizeBinary => field.type_as_fixed_size_binary().is_some(),
        Type::FixedSizeList => field.type_as_fixed_size_list().is_some(),
        Type::Map => field.type_as_map().is_some(),
        // Parquet has no unions; other types are from a later version of Arrow.
        other => matches!(
            other,
            Type::Null
                | Type::Bool
                | Type::Binary
                | Type::BinaryView
                | Type::LargeBinary
                | Type::Utf8
                | Type::Utf8View
                | Type::LargeUtf8
                | Type::List
                | Type::LargeList
                | Type::ListView
                | Type::LargeListView
                | Type::Struct_
                | Type::RunEndEncoded
        ),
    }
}
