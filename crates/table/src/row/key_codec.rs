//! Encodes keys as bytes with the same order, and decodes them.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_cast::cast;
use arrow_cast::display::array_value_to_string;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType, FieldRef, TimeUnit};

use super::canonical_floats::{FloatKeys, canonical, has_floats};
use crate::error::{Error, Result};

/// The maximum length of an encoded key in bytes: the store's, less what is put before keys.
pub(crate) const MAX_KEY_LEN: usize = (32 << 10) - 64;

/// Encodes the key columns of one schema, in the row format of Arrow.
#[derive(Debug)]
pub(crate) struct KeyCodec {
    /// Places in the table's schema.
    columns: Vec<usize>,
    fields: Vec<FieldRef>,
    converter: RowConverter,
    /// Whether floats get one form before they are encoded.
    is_by_value: bool,
}

impl KeyCodec {
    pub(crate) fn new(columns: Vec<usize>, fields: Vec<FieldRef>, floats: FloatKeys) -> Result<Self> {
        if fields.is_empty() {
            return Err(Error::schema("a table needs at least one key column"));
        }
        if let Some(field) = fields.iter().find(|field| !is_orderable(field.data_type())) {
            return Err(Error::schema(format!(
                "column {:?} cannot be part of a key or index: there is no order of {}",
                field.name(),
                field.data_type()
            )));
        }
        let converter = RowConverter::new(sort_fields(&fields))?;
        let is_by_value = floats == FloatKeys::ByValue && fields.iter().any(|field| has_floats(field.data_type()));
        Ok(Self { columns, fields, converter, is_by_value })
    }

    /// The places of the key columns in the table's schema, the most significant first.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    pub(crate) fn fields(&self) -> &[FieldRef] {
        &self.fields
    }

    /// The key columns of a batch with all columns of the table.
    pub(crate) fn select(&self, columns: &[ArrayRef]) -> Vec<ArrayRef> {
        self.columns.iter().map(|&column| ArrayRef::clone(&columns[column])).collect()
    }

    /// The encoded keys. Arrays have the types of the key columns.
    pub(crate) fn encode(&self, arrays: &[ArrayRef]) -> Result<Rows> {
        match self.is_by_value {
            true => Ok(self.converter.convert_columns(&self.one_form(arrays)?)?),
            false => Ok(self.converter.convert_columns(arrays)?),
        }
    }

    /// The key columns with one form of each float.
    pub(crate) fn one_form(&self, arrays: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        match self.is_by_value {
            true => arrays.iter().map(canonical).collect(),
            false => Ok(arrays.to_vec()),
        }
    }

    /// The encoded form of one key.
    pub(crate) fn encode_one(&self, arrays: &[ArrayRef]) -> Result<Vec<u8>> {
        let mut key = Vec::with_capacity(16 * arrays.len());
        if arrays.iter().all(|array| push_integer(array, &mut key)) {
            return Ok(key);
        }
        Ok(self.encode(arrays)?.row(0).data().to_vec())
    }

    /// The keys' first columns, which are a prefix of their encoded form.
    pub(crate) fn encode_prefix(&self, arrays: &[ArrayRef]) -> Result<Vec<u8>> {
        let converter = RowConverter::new(sort_fields(&self.fields[..arrays.len()]))?;
        Ok(converter.convert_columns(&self.one_form(arrays)?)?.row(0).data().to_vec())
    }

    /// The key columns of encoded keys. The caller has checked their bytes when it read them from the store.
    pub(crate) fn decode<'k>(&self, keys: impl IntoIterator<Item = &'k [u8]>) -> Result<Vec<ArrayRef>> {
        decode_rows(&self.converter, &self.fields, keys)
    }

    /// The key in `row` of the key columns, for a message.
    pub(crate) fn describe(&self, arrays: &[ArrayRef], row: usize) -> String {
        let part = |(array, field): (&ArrayRef, &FieldRef)| {
            let value = array_value_to_string(array, row).unwrap_or_else(|error| error.to_string());
            format!("{} = {value}", field.name())
        };
        arrays.iter().zip(&self.fields).map(part).collect::<Vec<_>>().join(", ")
    }
}

/// The byte before a fixed-width value that is not null in Arrow's row format.
const VALID: u8 = 1;

/// Adds the encoded form of an integer, date, time or timestamp that is not null: big-endian, the sign flipped. `false` for other types.
///
/// Arrow takes about 300 ns for this, because it is made for batches.
fn push_integer(array: &ArrayRef, key: &mut Vec<u8>) -> bool {
    if array.len() != 1 || array.is_null(0) {
        return false;
    }
    macro_rules! push {
        ($type:ty, $sign:expr) => {{
            let value = array.as_primitive::<$type>().value(0) ^ $sign;
            key.push(VALID);
            key.extend_from_slice(&value.to_be_bytes());
        }};
    }
    match array.data_type() {
        DataType::Int8 => push!(Int8Type, i8::MIN),
        DataType::Int16 => push!(Int16Type, i16::MIN),
        DataType::Int32 => push!(Int32Type, i32::MIN),
        DataType::Int64 => push!(Int64Type, i64::MIN),
        DataType::UInt8 => push!(UInt8Type, 0),
        DataType::UInt16 => push!(UInt16Type, 0),
        DataType::UInt32 => push!(UInt32Type, 0),
        DataType::UInt64 => push!(UInt64Type, 0),
        DataType::Date32 => push!(Date32Type, i32::MIN),
        DataType::Timestamp(TimeUnit::Second, _) => push!(TimestampSecondType, i64::MIN),
        DataType::Timestamp(TimeUnit::Millisecond, _) => push!(TimestampMillisecondType, i64::MIN),
        DataType::Timestamp(TimeUnit::Microsecond, _) => push!(TimestampMicrosecondType, i64::MIN),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => push!(TimestampNanosecondType, i64::MIN),
        _ => return false,
    }
    true
}

/// The columns `fields` of rows that the converter has encoded.
pub(crate) fn decode_rows<'r>(
    converter: &RowConverter,
    fields: &[FieldRef],
    rows: impl IntoIterator<Item = &'r [u8]>,
) -> Result<Vec<ArrayRef>> {
    let parser = converter.parser();
    let arrays = converter.convert_rows(rows.into_iter().map(|row| parser.parse(row)))?;
    arrays.into_iter().zip(fields).map(|(array, field)| as_type(with_zero_nulls(array)?, field.data_type())).collect()
}

/// Timestamps with zero in place of nulls: the converter leaves the least number there, at which functions that compute all slots overflow.
fn with_zero_nulls(array: ArrayRef) -> Result<ArrayRef> {
    let Some(nulls) = array.nulls().filter(|_| matches!(array.data_type(), DataType::Timestamp(..))) else {
        return Ok(array);
    };
    let numbers = cast(&array, &DataType::Int64)?;
    let numbers = numbers.as_primitive::<Int64Type>().values();
    let zeroed = numbers.iter().zip(nulls).map(|(&number, is_valid)| if is_valid { number } else { 0 });
    let zeroed = Int64Array::new(zeroed.collect(), Some(nulls.clone()));
    Ok(cast(&zeroed, array.data_type())?)
}

/// The array as one of this type, which differs in layout at most.
pub(crate) fn as_type(array: ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    if array.data_type() == data_type { Ok(array) } else { Ok(cast(&array, data_type)?) }
}

pub(crate) fn sort_fields(fields: &[FieldRef]) -> Vec<SortField> {
    fields.iter().map(|field| SortField::new(field.data_type().clone())).collect()
}

/// Whether values of a type have an order.
pub(crate) fn is_orderable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Null | DataType::Map(..) | DataType::Union(..) | DataType::RunEndEncoded(..) => false,
        DataType::Dictionary(_, values) => is_orderable(values),
        DataType::Struct(fields) => fields.iter().all(|field| is_orderable(field.data_type())),
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            is_orderable(field.data_type())
        }
        _ => RowConverter::supports_fields(&[SortField::new(data_type.clone())]),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::sync::Arc;

    use arrow_array::{
        Date32Array, Int8Array, Int16Array, Int32Array, Int64Array, StringArray, TimestampMicrosecondArray,
        TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt8Array, UInt16Array,
        UInt32Array, UInt64Array,
    };
    use arrow_schema::Field;

    use super::*;

    #[test]
    fn one_key_is_encoded_as_arrow_does_it() {
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(Int8Array::from(vec![i8::MIN, -1, 0, 1, i8::MAX])),
            Arc::new(Int16Array::from(vec![i16::MIN, -1, 0, 1, i16::MAX])),
            Arc::new(Int32Array::from(vec![i32::MIN, -1, 0, 1, i32::MAX])),
            Arc::new(Int64Array::from(vec![i64::MIN, -1, 0, 1, i64::MAX])),
            Arc::new(UInt8Array::from(vec![0, 1, 2, 127, u8::MAX])),
            Arc::new(UInt16Array::from(vec![0, 1, 2, 256, u16::MAX])),
            Arc::new(UInt32Array::from(vec![0, 1, 2, 1 << 31, u32::MAX])),
            Arc::new(UInt64Array::from(vec![0, 1, 2, 1 << 63, u64::MAX])),
            Arc::new(Date32Array::from(vec![i32::MIN, -1, 0, 1, i32::MAX])),
            Arc::new(TimestampSecondArray::from(vec![i64::MIN, -1, 0, 1, i64::MAX])),
            Arc::new(TimestampMillisecondArray::from(vec![i64::MIN, -1, 0, 1, i64::MAX])),
            Arc::new(TimestampMicrosecondArray::from(vec![i64::MIN, -1, 0, 1, i64::MAX])),
            Arc::new(TimestampNanosecondArray::from(vec![i64::MIN, -1, 0, 1, i64::MAX])),
            Arc::new(StringArray::from(vec!["", "a", "b", "longer than eight bytes", "z"])),
        ];
        let field = |array: &ArrayRef| Arc::new(Field::new("k", array.data_type().clone(), false));
        let check = |arrays: Vec<ArrayRef>| {
            let codec =
                KeyCodec::new((0..arrays.len()).collect(), arrays.iter().map(field).collect(), FloatKeys::ByValue)
                    .unwrap();
            let encoded = codec.encode(&arrays).unwrap();
            for row in 0..5 {
                let one: Vec<ArrayRef> = arrays.iter().map(|array| array.slice(row, 1)).collect();
                assert_eq!(codec.encode_one(&one).unwrap(), encoded.row(row).data(), "{one:?}");
            }
        };
        for array in &arrays {
            check(vec![Arc::clone(array)]);
        }
        check(arrays);
    }
}
