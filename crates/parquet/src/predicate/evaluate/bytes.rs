//! Strings and byte strings, ordered by unsigned bytes.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;

use super::super::syntax::Comparison;
use super::super::test::ValueTest;
use super::super::value::Value;

/// Calls `$body` with a closure that gives the bytes at an index of an array, whatever its type; `None` for other arrays.
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

/// `None` if the test is not one of bytes, or these are none.
pub(super) fn test(test: &ValueTest, array: &dyn Array) -> Option<BooleanBuffer> {
    with_bytes!(array, at => of(test, array.len(), at))
}

fn of<'a>(test: &ValueTest, len: usize, at: impl Fn(usize) -> &'a [u8]) -> Option<BooleanBuffer> {
    Some(match test {
        ValueTest::Compare(op, Value::Bytes(literal)) => {
            let literal = literal.as_ref();
            match op {
                Comparison::Equal => BooleanBuffer::collect_bool(len, |index| at(index) == literal),
                Comparison::NotEqual => BooleanBuffer::collect_bool(len, |index| at(index) != literal),
                Comparison::Less => BooleanBuffer::collect_bool(len, |index| at(index) < literal),
                Comparison::LessOrEqual => BooleanBuffer::collect_bool(len, |index| at(index) <= literal),
                Comparison::Greater => BooleanBuffer::collect_bool(len, |index| at(index) > literal),
                Comparison::GreaterOrEqual => BooleanBuffer::collect_bool(len, |index| at(index) >= literal),
            }
        }
        ValueTest::Between(Value::Bytes(low), Value::Bytes(high)) => {
            let (low, high) = (low.as_ref(), high.as_ref());
            BooleanBuffer::collect_bool(len, |index| (low..=high).contains(&at(index)))
        }
        ValueTest::In(set) => {
            let list: Vec<&[u8]> = set.values().iter().map(bytes_of).collect::<Option<_>>()?;
            BooleanBuffer::collect_bool(len, |index| list.binary_search(&at(index)).is_ok())
        }
        ValueTest::Like(pattern) => BooleanBuffer::collect_bool(len, |index| pattern.matches(at(index))),
        _ => return None,
    })
}

fn bytes_of(value: &Value) -> Option<&[u8]> {
    if let Value::Bytes(bytes) = value { Some(bytes) } else { None }
}
