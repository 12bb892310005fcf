//! One value as text, for tables and CSV.

use std::fmt;

use arrow_array::Array;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_json::EncoderOptions;
use arrow_json::writer::{NullableEncoder, make_encoder};
use arrow_schema::{ArrowError, DataType, FieldRef};

use super::extension;
use super::json::encode_nullable;

/// Writes the values of one column as text.
pub struct CellFormatter<'a> {
    array: &'a dyn Array,
    kind: Kind<'a>,
}

impl fmt::Debug for CellFormatter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CellFormatter").field("type", self.array.data_type()).finish_non_exhaustive()
    }
}

enum Kind<'a> {
    /// Values that Arrow formats.
    Text(ArrayFormatter<'a>),
    /// Nested values, as JSON.
    Json(NullableEncoder<'a>),
    Uuid,
}

impl<'a> CellFormatter<'a> {
    /// A formatter of `array`, which holds the values of `field`.
    ///
    /// # Errors
    /// If there is no text for values of the type.
    pub fn new(field: &'a FieldRef, array: &'a dyn Array, options: &'a EncoderOptions) -> Result<Self, ArrowError> {
        const TEXT: FormatOptions<'static> = FormatOptions::new().with_display_error(true);
        let kind = match array.data_type() {
            DataType::FixedSizeBinary(16) if extension::is_uuid(field) => Kind::Uuid,
            data_type if data_type.is_nested() => Kind::Json(make_encoder(field, array, options)?),
            _ => Kind::Text(ArrayFormatter::try_new(array, &TEXT)?),
        };
        Ok(Self { array, kind })
    }

    /// Appends the value at `row` to `out`; `false` if it is null, and nothing was appended.
    ///
    /// # Errors
    /// If the value has no text, such as a time outside of the calendar.
    pub fn write(&mut self, row: usize, out: &mut String) -> Result<bool, ArrowError> {
        use arrow_array::cast::AsArray;
        if self.array.is_null(row) || self.array.data_type() == &DataType::Null {
            return Ok(false);
        }
        match &mut self.kind {
            Kind::Text(formatter) => formatter.value(row).write(out)?,
            Kind::Json(encoder) => {
                let mut json = Vec::new();
                encode_nullable(encoder, row, &mut json);
                out.push_str(&String::from_utf8_lossy(&json));
            }
            Kind::Uuid => {
                let mut text = Vec::with_capacity(36);
                extension::write_uuid(self.array.as_fixed_size_binary().value(row), &mut text);
                out.push_str(&String::from_utf8_lossy(&text));
            }
        }
        Ok(true)
    }
}
