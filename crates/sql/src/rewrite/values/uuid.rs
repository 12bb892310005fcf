//! UUIDs from text: `CAST('…' AS UUID)` and `UUID '…'`. DataFusion 55 has no such type.

use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::extension::Uuid;
use arrow_schema::{DataType, Field, FieldRef};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// The name of the function that replaces casts.
pub(crate) const UUID: &str = "to_uuid";

/// `to_uuid(text)`.
pub(crate) fn uuid_function() -> ScalarUDF {
    ScalarUDF::from(ToUuid { signature: Signature::any(1, Volatility::Immutable) })
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
                Some(text) => match parse(text) {
                    Some(bytes) => uuids.append_value(bytes)?,
                    None => return exec_err!("{text:?} is not a UUID, which has 32 hexadecimal digits"),
                },
            }
        }
        let uuids: ArrayRef = Arc::new(uuids.finish());
        match is_scalar {
            true => Ok(ColumnarValue::Scalar(datafusion::scalar::ScalarValue::try_from_array(&uuids, 0)?)),
            false => Ok(ColumnarValue::Array(uuids)),
        }
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
        for text in ["", "0001020304050607-08090a0b0c0d0ef", "0-0010203040506070809a0b0c0d0eff11", "x"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
