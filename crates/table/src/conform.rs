//! Arrays of a batch as a table has them.

use arrow_array::{Array, ArrayRef};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, FieldRef};

use crate::error::{Error, Result};

/// The array as a column that `field` describes.
pub(crate) fn conform_column(array: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    if !field.is_nullable()
        && let Some(nulls) = array.logical_nulls()
        && let Some(row) = (0..array.len()).find(|&row| nulls.is_null(row))
    {
        return Err(Error::Null { column: field.name().clone(), row });
    }
    if array.data_type() == field.data_type() {
        return Ok(ArrayRef::clone(array));
    }
    if !has_same_values(array.data_type(), field.data_type()) {
        return Err(Error::batch(format!(
            "column {:?} is {}, and in the table it is {}: cast it",
            field.name(),
            array.data_type(),
            field.data_type()
        )));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    Ok(cast_with_options(array, field.data_type(), &options)?)
}

/// Whether types differ in the layout of their arrays and the names of nested fields only.
fn has_same_values(given: &DataType, wanted: &DataType) -> bool {
    use DataType::{
        Binary, BinaryView, Dictionary, FixedSizeList, LargeBinary, LargeList, LargeUtf8, List, Map, Struct, Utf8,
        Utf8View,
    };
    match (given, wanted) {
        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View)
        | (Binary | LargeBinary | BinaryView, Binary | LargeBinary | BinaryView) => true,
        (Dictionary(_, given), wanted) => has_same_values(given, wanted),
        (given, Dictionary(_, wanted)) => has_same_values(given, wanted),
        (List(given) | LargeList(given), List(wanted) | LargeList(wanted)) | (Map(given, _), Map(wanted, _)) => {
            has_same_values(given.data_type(), wanted.data_type())
        }
        (FixedSizeList(given, len), FixedSizeList(wanted, wanted_len)) => {
            len == wanted_len && has_same_values(given.data_type(), wanted.data_type())
        }
        (Struct(given), Struct(wanted)) => {
            let is_same = |(given, wanted): (&FieldRef, &FieldRef)| {
                given.name() == wanted.name() && has_same_values(given.data_type(), wanted.data_type())
            };
            given.len() == wanted.len() && given.iter().zip(wanted).all(is_same)
        }
        _ => given == wanted,
    }
}
