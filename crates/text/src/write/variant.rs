//! Values of Parquet's Variant type as JSON.
//!
//! A shredded column stores a part of its values in typed columns. Its values are put together again first, so that the text does not depend on
//! how a file is shredded.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::builder::StringBuilder;
use arrow_array::{Array, StringArray, StructArray};
use arrow_json::Encoder;
use arrow_schema::{ArrowError, DataType};
use parquet_variant::Variant;
use parquet_variant_compute::{VariantArray, unshred_variant};
use parquet_variant_json::VariantToJson;

/// Whether a type is the storage of Variant values: a struct of `metadata` and `value` or `typed_value`.
pub fn is_variant(data_type: &DataType) -> bool {
    let DataType::Struct(fields) = data_type else { return false };
    let is_binary = |name: &str| fields.find(name).is_some_and(|(_, field)| field.data_type().is_binary());
    let has = |name: &str| fields.find(name).is_some();
    let parts = fields.iter().all(|field| matches!(field.name().as_str(), "metadata" | "value" | "typed_value"));
    parts && is_binary("metadata") && (is_binary("value") || (!has("value") && has("typed_value")))
}

/// The JSON of each value of a Variant column, shredded or not. A null row is null, and a Variant null is the text `null`.
///
/// JSON has no NaN and no infinities; they are the strings `"NaN"`, `"Infinity"` and `"-Infinity"`. Bytes are in base64; decimals have all of
/// their digits; dates, times, timestamps and UUIDs are strings.
///
/// # Errors
/// For a value that is malformed, or shredded against the specification.
pub fn variant_texts(array: &StructArray) -> Result<StringArray, ArrowError> {
    let values = VariantValues::new(array)?;
    let mut texts = StringBuilder::with_capacity(array.len(), array.len() * 16);
    let mut text = Vec::new();
    for row in 0..array.len() {
        if array.is_null(row) {
            texts.append_null();
            continue;
        }
        text.clear();
        values.write(row, &mut text)?;
        texts.append_value(std::str::from_utf8(&text).map_err(|error| malformed(&error.to_string()))?);
    }
    Ok(texts.finish())
}

/// Writes Variant values within rows of JSON. Text formats have no place for an error, so a malformed value is a text that says so.
pub(super) struct VariantEncoder<'a> {
    array: &'a StructArray,
    whole: Option<VariantValues>,
}

impl<'a> VariantEncoder<'a> {
    pub(super) fn new(array: &'a StructArray) -> Result<Self, ArrowError> {
        if !is_variant(array.data_type()) {
            return Err(malformed("it has other columns than a Variant"));
        }
        Ok(Self { array, whole: VariantValues::new(array).ok() })
    }

    fn write(&self, index: usize, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        match &self.whole {
            Some(values) => values.write(index, out),
            // Another row is malformed.
            None => VariantValues::new(&self.array.slice(index, 1))?.write(0, out),
        }
    }
}

impl Encoder for VariantEncoder<'_> {
    fn encode(&mut self, index: usize, out: &mut Vec<u8>) {
        let start = out.len();
        if self.write(index, out).is_err() {
            out.truncate(start);
            out.extend_from_slice(b"\"<malformed variant>\"");
        }
    }
}

/// Variant values whose parts are together.
struct VariantValues(VariantArray);

impl VariantValues {
    fn new(array: &StructArray) -> Result<Self, ArrowError> {
        Ok(Self(guard(|| unshred_variant(&VariantArray::try_new(array)?))?))
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        use arrow_array::cast::AsArray;
        let bytes = |column: &'_ dyn Array| match column.data_type() {
            DataType::BinaryView => Ok(column.as_binary_view().value(row).to_vec()),
            DataType::Binary => Ok(column.as_binary::<i32>().value(row).to_vec()),
            DataType::LargeBinary => Ok(column.as_binary::<i64>().value(row).to_vec()),
            other => Err(malformed(&format!("its parts are {other}"))),
        };
        let values = self.0.value_column();
        if values.is_null(row) {
            out.extend_from_slice(b"null");
            return Ok(());
        }
        let (metadata, value) = (bytes(self.0.metadata_column())?, bytes(values)?);
        guard(|| write_json(&Variant::try_new(&metadata, &value)?, out))
    }
}

fn write_json(variant: &Variant<'_, '_>, out: &mut Vec<u8>) -> Result<(), ArrowError> {
    match variant {
        Variant::Float(number) if number.is_finite() => write!(out, "{number:?}")?,
        Variant::Double(number) if number.is_finite() => write!(out, "{number:?}")?,
        Variant::Float(number) => out.extend_from_slice(not_finite(f64::from(*number))),
        Variant::Double(number) => out.extend_from_slice(not_finite(*number)),
        Variant::Object(object) => {
            out.push(b'{');
            for (at, (key, value)) in object.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                Variant::from(key).to_json(out)?;
                out.push(b':');
                write_json(&value, out)?;
            }
            out.push(b'}');
        }
        Variant::List(list) => {
            out.push(b'[');
            for (at, value) in list.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_json(&value, out)?;
            }
            out.push(b']');
        }
        scalar => scalar.to_json(out)?,
    }
    Ok(())
}

fn not_finite(number: f64) -> &'static [u8] {
    match number {
        _ if number.is_nan() => b"\"NaN\"",
        _ if number > 0.0 => b"\"Infinity\"",
        _ => b"\"-Infinity\"",
    }
}

/// Runs `call` of the library, whose panics become errors.
fn guard<T>(call: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, ArrowError> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| malformed(&error.to_string())),
        Err(_) => Err(malformed("the library cannot decode it")),
    }
}

fn malformed(what: &str) -> ArrowError {
    ArrowError::ParseError(format!("malformed Variant: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet_variant::VariantBuilderExt;
    use parquet_variant_compute::{VariantArrayBuilder, shred_variant};

    fn objects() -> StructArray {
        let mut values = VariantArrayBuilder::new(4);
        values.new_object().with_field("n", 5_i64).with_field("x", f64::NAN).with_field("y", 2.0_f64).finish();
        values.append_null();
        values.append_variant(Variant::from("a \"b\""));
        values.append_variant(Variant::from(f64::NEG_INFINITY));
        values.build().into()
    }

    const TEXTS: [Option<&str>; 4] =
        [Some(r#"{"n":5,"x":"NaN","y":2.0}"#), None, Some(r#""a \"b\"""#), Some("\"-Infinity\"")];

    #[test]
    fn texts_do_not_depend_on_shredding() {
        let plain = objects();
        assert_eq!(variant_texts(&plain).unwrap().iter().collect::<Vec<_>>(), TEXTS);
        let fields = [arrow_schema::Field::new("n", DataType::Int64, true)];
        let shredded =
            shred_variant(&VariantArray::try_new(&plain).unwrap(), &DataType::Struct(fields.into_iter().collect()));
        let shredded: StructArray = shredded.unwrap().into();
        assert!(shredded.column_by_name("typed_value").is_some() && is_variant(shredded.data_type()));
        assert_eq!(variant_texts(&shredded).unwrap().iter().collect::<Vec<_>>(), TEXTS);
        assert_eq!(variant_texts(&shredded.slice(2, 2)).unwrap().iter().collect::<Vec<_>>(), TEXTS[2..]);
    }

    #[test]
    fn malformed_values_are_errors_and_texts_that_say_so() {
        let plain = objects();
        let (fields, mut columns, nulls) = plain.into_parts();
        let values: arrow_array::BinaryViewArray =
            [[255_u8, 255].as_slice(), b"", &[0], &[12, 5]].map(Some).into_iter().collect();
        let at = fields.find("value").unwrap().0;
        columns[at] = std::sync::Arc::new(values);
        let damaged = StructArray::new(fields, columns, nulls);
        assert!(variant_texts(&damaged).unwrap_err().to_string().contains("malformed Variant: "));
        let mut encoder = VariantEncoder::new(&damaged).unwrap();
        let mut encoded = |row| {
            let mut out = Vec::new();
            encoder.encode(row, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!([encoded(0), encoded(2), encoded(3)], ["\"<malformed variant>\"", "null", "5"]);
    }
}
