//! Evaluates tests of strings and byte strings, which are ordered by unsigned bytes.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_buffer::{BooleanBuffer, Buffer};
use arrow_schema::DataType;
use lath_kernels::ByteStrings;
use lath_kernels::compare::{
    self,
    Comparison::{self, GreaterOrEqual, LessOrEqual},
};

use super::bitmap::fill_bitmap;
use crate::error::Result;
use crate::test::ValueTest;
use crate::value::Value;

/// Maximum length of an IN list that is searched linearly.
const MAX_COMPARED: usize = 128;

/// Evaluates `$body` with a closure that returns the bytes at an index, for every type of strings and bytes; `None` for other arrays.
macro_rules! with_bytes {
    ($array:expr, $at:ident => $body:expr) => {{
        macro_rules! of {
            ($values:expr, $bytes:expr) => {{
                let (values, bytes) = ($values, $bytes);
                let $at = |index: usize| -> &[u8] { bytes(values.value(index)) };
                $body
            }};
        }
        match $array.data_type() {
            DataType::Utf8 => of!($array.as_string::<i32>(), str::as_bytes),
            DataType::LargeUtf8 => of!($array.as_string::<i64>(), str::as_bytes),
            DataType::Utf8View => of!($array.as_string_view(), str::as_bytes),
            DataType::Binary => of!($array.as_binary::<i32>(), |bytes| bytes),
            DataType::LargeBinary => of!($array.as_binary::<i64>(), |bytes| bytes),
            DataType::BinaryView => of!($array.as_binary_view(), |bytes| bytes),
            DataType::FixedSizeBinary(_) => of!($array.as_fixed_size_binary(), |bytes| bytes),
            _ => None,
        }
    }};
}
pub(super) use with_bytes;

/// A bit for each value; `None` if the test or the array is of another type.
pub(super) fn test(test: &ValueTest, array: &dyn Array) -> Result<Option<BooleanBuffer>> {
    let mut buffers = Vec::new();
    match byte_strings(array, &mut buffers) {
        Some(strings) if strings.len() == array.len() => by_kernels(test, strings, array),
        _ => Ok(with_bytes!(array, at => one_by_one(test, array.len(), at))),
    }
}

/// The byte strings of an array in the form that kernels take; `None` for arrays of other types. If the strings are views, `buffers` is filled
/// with the array's data buffers.
pub fn byte_strings<'a>(array: &'a dyn Array, buffers: &'a mut Vec<&'a [u8]>) -> Option<ByteStrings<'a>> {
    macro_rules! offsets {
        ($layout:ident, $array:expr) => {{
            let array = $array;
            Some(ByteStrings::$layout { data: array.value_data(), offsets: array.value_offsets() })
        }};
    }
    macro_rules! views {
        ($array:expr) => {{
            let array = $array;
            buffers.extend(array.data_buffers().iter().map(Buffer::as_slice));
            Some(ByteStrings::Views { views: array.views(), buffers })
        }};
    }
    match array.data_type() {
        DataType::Utf8 => offsets!(Offsets32, array.as_string::<i32>()),
        DataType::LargeUtf8 => offsets!(Offsets64, array.as_string::<i64>()),
        DataType::Binary => offsets!(Offsets32, array.as_binary::<i32>()),
        DataType::LargeBinary => offsets!(Offsets64, array.as_binary::<i64>()),
        DataType::Utf8View => views!(array.as_string_view()),
        DataType::BinaryView => views!(array.as_binary_view()),
        DataType::FixedSizeBinary(width) => {
            let data = array.as_fixed_size_binary().value_data();
            Some(ByteStrings::Fixed { data, width: usize::try_from(*width).ok()? })
        }
        _ => None,
    }
}

fn by_kernels(test: &ValueTest, strings: ByteStrings<'_>, array: &dyn Array) -> Result<Option<BooleanBuffer>> {
    let len = strings.len();
    let compared =
        |op: Comparison, literal| fill_bitmap(len, |out| compare::compare_strings(strings, op, literal, out)).map(Some);
    match test {
        ValueTest::Compare(op, Value::Bytes(literal)) => compared(*op, literal),
        ValueTest::Between(Value::Bytes(low), Value::Bytes(high)) => {
            let from = fill_bitmap(len, |out| compare::compare_strings(strings, GreaterOrEqual, low, out))?;
            let to = fill_bitmap(len, |out| compare::compare_strings(strings, LessOrEqual, high, out))?;
            Ok(Some(&from & &to))
        }
        ValueTest::In(set) if set.values().len() <= MAX_COMPARED => {
            let Some(list) = set.values().iter().map(byte_string).collect::<Option<Vec<_>>>() else { return Ok(None) };
            fill_bitmap(len, |out| compare::strings_in_set(strings, &list, out)).map(Some)
        }
        ValueTest::Like(pattern) if pattern.is_prefix_only() => {
            let prefix = pattern.prefix().unwrap_or_default();
            fill_bitmap(len, |out| compare::strings_start_with(strings, prefix, out)).map(Some)
        }
        ValueTest::Like(pattern) => match pattern.exact() {
            Some(literal) => compared(Comparison::Equal, literal),
            None => Ok(with_bytes!(array, at => one_by_one(test, len, at))),
        },
        _ => Ok(with_bytes!(array, at => one_by_one(test, len, at))),
    }
}

/// The value at an index; `None` for arrays of other types.
pub(crate) fn bytes_at(array: &dyn Array, index: usize) -> Option<&[u8]> {
    with_bytes!(array, at => Some(at(index)))
}

fn one_by_one<'a>(test: &ValueTest, len: usize, at: impl Fn(usize) -> &'a [u8]) -> Option<BooleanBuffer> {
    Some(match test {
        ValueTest::Compare(op, Value::Bytes(literal)) => {
            BooleanBuffer::collect_bool(len, |index| op.holds(at(index).cmp(literal)))
        }
        ValueTest::Between(Value::Bytes(low), Value::Bytes(high)) => {
            let (low, high) = (low.as_ref(), high.as_ref());
            BooleanBuffer::collect_bool(len, |index| (low..=high).contains(&at(index)))
        }
        ValueTest::In(set) => {
            let list: Vec<&[u8]> = set.values().iter().map(byte_string).collect::<Option<_>>()?;
            BooleanBuffer::collect_bool(len, |index| list.binary_search(&at(index)).is_ok())
        }
        ValueTest::Like(pattern) => BooleanBuffer::collect_bool(len, |index| pattern.matches(at(index))),
        _ => return None,
    })
}

fn byte_string(value: &Value) -> Option<&[u8]> {
    if let Value::Bytes(bytes) = value { Some(bytes) } else { None }
}
