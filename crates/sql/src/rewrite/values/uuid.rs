//! UUIDs: `CAST('…' AS UUID)` and `UUID '…'`, their text, and columns of this type. DataFusion 55 has no such type.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringArray, new_null_array};
use arrow_schema::extension::Uuid;
use arrow_schema::{DataType, Field, FieldRef};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::DataType as SqlType;

/// The name of the function that replaces casts.
pub(crate) const UUID: &str = "to_uuid";

/// `to_uuid(text)`.
pub(crate) fn uuid_function() -> ScalarUDF {
    ScalarUDF::from(ToUuid { signature: Signature::any(1, Volatility::Immutable) })
}

/// `uuid_text(uuid)`, which casts to text become.
pub(crate) fn uuid_text_function() -> ScalarUDF {
    ScalarUDF::from(UuidText { signature: Signature::any(1, Volatility::Immutable) })
}

/// Gives columns that a statement declares the type `UUID`.
#[derive(Debug)]
pub(crate) struct UuidColumns;

impl TypePlanner for UuidColumns {
    fn plan_type_field(&self, sql_type: &SqlType) -> Result<Option<FieldRef>> {
        let field = || Field::new("", DataType::FixedSizeBinary(16), true).with_extension_type(Uuid);
        Ok(matches!(sql_type, SqlType::Uuid).then(|| Arc::new(field())))
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ToUuid {
    signature: Signature,
}

impl ScalarUDFImpl for ToUuid {
    fn name(&self) -> &str {
        UUID
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::FixedSizeBinary(16))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match args.arg_fields.first().map(|field| field.data_type()) {
            Some(
                DataType::Utf8
                | DataType::LargeUtf8
                | DataType::Utf8View
                | DataType::FixedSizeBinary(16)
                | DataType::Null,
            ) => {}
            Some(other) => return plan_err!("{other} cannot be cast to a UUID; cast it to VARCHAR first"),
            None => return plan_err!("{UUID} has an argument"),
        }
        let field = Field::new(self.name(), DataType::FixedSizeBinary(16), true);
        Ok(Arc::new(field.with_extension_type(Uuid)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_scalar = matches!(args.args.first(), Some(ColumnarValue::Scalar(_)));
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let Some(values) = arrays.first() else { return exec_err!("{UUID} has an argument") };
        if matches!(values.data_type(), DataType::FixedSizeBinary(_)) {
            return Ok(ColumnarValue::Array(Arc::clone(values)));
        }
        let texts = arrow_cast::cast(values, &DataType::Utf8)?;
        let mut uuids = FixedSizeBinaryBuilder::with_capacity(texts.len(), 16);
        for text in texts.as_string::<i32>() {
            match text {
                None => uuids.append_null(),
                Some(text) => uuids.append_value(parsed(text)?)?,
            }
        }
        let uuids: ArrayRef = Arc::new(uuids.finish());
        match is_scalar {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&uuids, 0)?)),
            false => Ok(ColumnarValue::Array(uuids)),
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct UuidText {
    signature: Signature,
}

impl ScalarUDFImpl for UuidText {
    fn name(&self) -> &str {
        "uuid_text"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [DataType::FixedSizeBinary(16) | DataType::Null] => Ok(DataType::Utf8),
            _ => plan_err!("uuid_text has one argument, which is a UUID"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_scalar = matches!(args.args.first(), Some(ColumnarValue::Scalar(_)));
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let Some(values) = arrays.first() else { return exec_err!("uuid_text has an argument") };
        let texts: ArrayRef = match values.as_fixed_size_binary_opt() {
            Some(uuids) => Arc::new(uuids.iter().map(|uuid| uuid.map(text)).collect::<StringArray>()),
            None => new_null_array(&DataType::Utf8, values.len()),
        };
        match is_scalar {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&texts, 0)?)),
            false => Ok(ColumnarValue::Array(texts)),
        }
    }
}

/// The usual form of a UUID: groups of digits with hyphens between them.
fn text(uuid: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (place, byte) in uuid.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn parsed(text: &str) -> Result<[u8; 16]> {
    match parse(text) {
        Some(bytes) => Ok(bytes),
        None => exec_err!("{text:?} is not a UUID, which has 32 hexadecimal digits"),
    }
}

/// Parses a UUID in any of PostgreSQL's forms: with hyphens after groups of four digits, or in braces.
fn parse(text: &str) -> Option<[u8; 16]> {
    let text = text.trim();
    let text = text.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(text);
    let mut bytes = [0; 16];
    let mut digits = 0_usize;
    let mut after_hyphen = true;
    for character in text.chars() {
        if character == '-' {
            if after_hyphen || !digits.is_multiple_of(4) {
                return None;
            }
            after_hyphen = true;
            continue;
        }
        let digit = u8::try_from(character.to_digit(16)?).ok()?;
        let byte: &mut u8 = bytes.get_mut(digits / 2)?;
        *byte = *byte << 4 | digit;
        digits += 1;
        after_hyphen = false;
    }
    (digits == 32 && !after_hyphen).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_read_with_and_without_hyphens() {
        let bytes = parse("00010203-0405-0607-0809-0a0b0c0d0eff").unwrap();
        assert_eq!(bytes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255]);
        assert_eq!(parse("{000102030405060708090A0B0C0D0EFF}"), Some(bytes));
        assert_eq!(text(&bytes), "00010203-0405-0607-0809-0a0b0c0d0eff");
        for text in ["", "0001020304050607-08090a0b0c0d0ef", "0-0010203040506070809a0b0c0d0eff11", "x"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
