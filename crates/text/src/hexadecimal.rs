//! Bytes and UUIDs from text.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, FixedSizeBinaryBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType};

/// The bytes of a text of hexadecimal digits, two for each; `None` if it is none.
fn parse_hex(hex: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = hex.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    pairs.remainder().is_empty().then(|| pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Decodes strings of hexadecimal digits, or UUIDs.
pub(crate) fn decode(column: &ArrayRef, data_type: &DataType, name: &str) -> Result<ArrayRef, ArrowError> {
    let texts = column.as_string::<i32>().iter().map(|text| text.map(|text| (text, parse_hex(&text.replace('-', "")))));
    let malformed =
        |text: &str| ArrowError::ParseError(format!("column {name}: {text:?} is not in hexadecimal digits"));
    let bytes = texts.map(|value| match value {
        None => Ok(None),
        Some((_, Some(bytes))) => Ok(Some(bytes)),
        Some((text, None)) => Err(malformed(text)),
    });
    if let DataType::FixedSizeBinary(width) = data_type {
        let mut builder = FixedSizeBinaryBuilder::with_capacity(column.len(), *width);
        for value in bytes {
            match value? {
                Some(value) => builder.append_value(value)?,
                None => builder.append_null(),
            }
        }
        return Ok(Arc::new(builder.finish()));
    }
    let mut builder = BinaryBuilder::new();
    for value in bytes {
        builder.append_option(value?);
    }
    cast(&(Arc::new(builder.finish()) as ArrayRef), data_type)
}
