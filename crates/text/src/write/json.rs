//! JSON of rows and of nested values.
//!
//! `arrow-json` encodes most types; this module adds UUIDs as text, maps whose keys are not strings as lists of
//! `{"key": …, "value": …}`, and Variant values as the JSON that they represent.

use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, GenericListArray, MapArray, OffsetSizeTrait};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_json::writer::{JsonFormat, NullableEncoder, WriterBuilder, make_encoder};
use arrow_json::{Encoder, EncoderFactory, EncoderOptions, Writer};
use arrow_schema::{ArrowError, DataType, FieldRef};

use super::extension;
use super::variant::VariantEncoder;

/// The options for all JSON: whole rows, and nested values in table or CSV cells.
pub fn encoder_options() -> EncoderOptions {
    EncoderOptions::default().with_explicit_nulls(true).with_encoder_factory(Arc::new(LathEncoders))
}

/// A writer of rows as JSON: one object per line, or an array of objects. Timestamps have to be [in UTC](super::zone::in_utc).
pub fn json_writer<F: JsonFormat, W: Write>(target: W) -> Writer<W, F> {
    WriterBuilder::new().with_explicit_nulls(true).with_encoder_factory(Arc::new(LathEncoders)).build(target)
}

/// Checks that JSON has all numbers of a column: it has no NaN and no infinity.
///
/// # Errors
/// For a column that has one.
pub(super) fn check_numbers(name: &str, array: &dyn Array) -> Result<(), ArrowError> {
    let is_finite = match array.data_type() {
        DataType::Float16 => {
            array.as_primitive::<Float16Type>().iter().flatten().all(|value| f32::from(value).is_finite())
        }
        DataType::Float32 => array.as_primitive::<Float32Type>().iter().flatten().all(f32::is_finite),
        DataType::Float64 => array.as_primitive::<Float64Type>().iter().flatten().all(f64::is_finite),
        DataType::Struct(_) => {
            return array.as_struct().columns().iter().try_for_each(|column| check_numbers(name, column));
        }
        DataType::List(_) => return check_numbers(name, &elements(array.as_list::<i32>())),
        DataType::LargeList(_) => return check_numbers(name, &elements(array.as_list::<i64>())),
        _ => true,
    };
    match is_finite {
        true => Ok(()),
        false => Err(ArrowError::JsonError(format!(
            "column {name}: JSON has no NaN and no infinity; replace them, or cast the column to text"
        ))),
    }
}

/// The elements of lists, without those before and behind a slice.
fn elements<O: OffsetSizeTrait>(lists: &GenericListArray<O>) -> ArrayRef {
    let (first, last) = (lists.offsets()[0].as_usize(), lists.offsets()[lists.len()].as_usize());
    lists.values().slice(first, last - first)
}

/// Encoders for types that `arrow-json` does not encode, or not in a useful form.
#[derive(Debug)]
struct LathEncoders;

impl EncoderFactory for LathEncoders {
    fn make_default_encoder<'a>(
        &self,
        field: &'a FieldRef,
        array: &'a dyn Array,
        options: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        let encoder: Box<dyn Encoder + 'a> = match array.data_type() {
            DataType::FixedSizeBinary(16) if extension::is_uuid(field) => {
                Box::new(UuidEncoder(array.as_fixed_size_binary()))
            }
            DataType::Struct(_) if extension::is_variant(field) => match VariantEncoder::new(array.as_struct()) {
                Ok(encoder) => Box::new(encoder),
                // An annotated column of another shape is written as its storage.
                Err(_) => return Ok(None),
            },
            DataType::Map(entries, _) => Box::new(MapEncoder::new(entries, array.as_map(), options)?),
            // The library passes the list's field to the elements' encoder, but extension types are in the elements' field.
            DataType::List(element) => Box::new(ListEncoder::new(
                array.as_list::<i32>().offsets(),
                make_encoder(element, array.as_list::<i32>().values(), options)?,
            )),
            DataType::LargeList(element) => Box::new(ListEncoder::new(
                array.as_list::<i64>().offsets(),
                make_encoder(element, array.as_list::<i64>().values(), options)?,
            )),
            _ => return Ok(None),
        };
        Ok(Some(NullableEncoder::new(encoder, array.nulls().cloned())))
    }
}

struct UuidEncoder<'a>(&'a FixedSizeBinaryArray);

impl Encoder for UuidEncoder<'_> {
    fn encode(&mut self, index: usize, out: &mut Vec<u8>) {
        out.push(b'"');
        extension::write_uuid(self.0.value(index), out);
        out.push(b'"');
    }
}

struct ListEncoder<'a> {
    offsets: Vec<usize>,
    elements: NullableEncoder<'a>,
}

impl<'a> ListEncoder<'a> {
    fn new<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>, elements: NullableEncoder<'a>) -> Self {
        Self { offsets: offsets.iter().map(|offset| offset.as_usize()).collect(), elements }
    }
}

impl Encoder for ListEncoder<'_> {
    fn encode(&mut self, index: usize, out: &mut Vec<u8>) {
        out.push(b'[');
        for element in self.offsets[index]..self.offsets[index + 1] {
            if element > self.offsets[index] {
                out.push(b',');
            }
            encode_nullable(&mut self.elements, element, out);
        }
        out.push(b']');
    }
}

struct MapEncoder<'a> {
    offsets: &'a [i32],
    keys: NullableEncoder<'a>,
    values: NullableEncoder<'a>,
    entries: Option<&'a NullBuffer>,
    string_keys: bool,
}

impl<'a> MapEncoder<'a> {
    fn new(entries: &'a FieldRef, array: &'a MapArray, options: &'a EncoderOptions) -> Result<Self, ArrowError> {
        let DataType::Struct(fields) = entries.data_type() else {
            return Err(ArrowError::JsonError("the entries of a map are not structs".to_owned()));
        };
        Ok(Self {
            offsets: array.value_offsets(),
            keys: make_encoder(&fields[0], array.keys(), options)?,
            values: make_encoder(&fields[1], array.values(), options)?,
            entries: array.entries().nulls(),
            string_keys: is_string(array.keys().data_type()) && array.keys().null_count() == 0,
        })
    }
}

impl Encoder for MapEncoder<'_> {
    fn encode(&mut self, index: usize, out: &mut Vec<u8>) {
        out.push(if self.string_keys { b'{' } else { b'[' });
        let mut first = true;
        for entry in self.offsets[index] as usize..self.offsets[index + 1] as usize {
            if self.entries.is_some_and(|entries| entries.is_null(entry)) {
                continue;
            }
            if !first {
                out.push(b',');
            }
            first = false;
            if self.string_keys {
                self.keys.encode(entry, out);
                out.push(b':');
                encode_nullable(&mut self.values, entry, out);
            } else {
                out.extend_from_slice(b"{\"key\":");
                encode_nullable(&mut self.keys, entry, out);
                out.extend_from_slice(b",\"value\":");
                encode_nullable(&mut self.values, entry, out);
                out.push(b'}');
            }
        }
        out.push(if self.string_keys { b'}' } else { b']' });
    }
}

fn is_string(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, value) => is_string(value),
        other => other.is_string(),
    }
}

/// Writes the value at `index`, or `null`.
pub(super) fn encode_nullable(encoder: &mut NullableEncoder<'_>, index: usize, out: &mut Vec<u8>) {
    if encoder.is_null(index) {
        out.extend_from_slice(b"null");
    } else {
        encoder.encode(index, out);
    }
}
