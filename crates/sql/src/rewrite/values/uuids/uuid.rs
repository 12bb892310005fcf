//! UUIDs: `CAST('…' AS UUID)` and `UUID '…'`, their text, and columns of this type. DataFusion 55 has no such type.
//!
//! A UUID is 16 bytes in a field that metadata marks, also within lists, structs and maps.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringArray, make_array};
use arrow_schema::extension::Uuid;
use arrow_schema::{DataType, Field, FieldRef};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::DataType as SqlType;
use lath_text::is_uuid;

/// The name of the function that replaces casts.
pub(crate) const UUID: &str = "to_uuid";
/// The name of the function that replaces TRY_CAST.
pub(crate) const TRY_UUID: &str = "try_to_uuid";

/// `to_uuid(text)`. Bytes stay as they are, and are UUIDs.
pub(crate) fn uuid_function() -> ScalarUDF {
    ScalarUDF::from(ToUuid::new(UUID))
}

/// `try_to_uuid(text)`, which is null for other texts.
pub(crate) fn try_uuid_function() -> ScalarUDF {
    ScalarUDF::from(ToUuid::new(TRY_UUID))
}

/// `uuid_text(uuid)`, which casts to text become, also of UUIDs within other values.
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
    name: &'static str,
    signature: Signature,
}

impl ToUuid {
    fn new(name: &'static str) -> Self {
        Self { name, signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for ToUuid {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [nested] if nested.is_nested() => Ok(marked(nested)),
            _ => Ok(DataType::FixedSizeBinary(16)),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let [value] = args.arg_fields else { return plan_err!("{} has an argument", self.name) };
        match value.data_type() {
            nested if nested.is_nested() && holds_bytes(nested) => {
                return Ok(Arc::new(Field::new(self.name, marked(nested), true)));
            }
            DataType::FixedSizeBinary(16) | DataType::Null => {}
            text if text.is_string() => {}
            other => return plan_err!("{other} cannot be cast to a UUID; cast it to VARCHAR first"),
        }
        let field = Field::new(self.name, DataType::FixedSizeBinary(16), true);
        Ok(Arc::new(field.with_extension_type(Uuid)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_scalar = matches!(args.args.first(), Some(ColumnarValue::Scalar(_)));
        let target = args.return_field.data_type();
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let Some(values) = arrays.first() else { return exec_err!("{} has an argument", self.name) };
        let uuids = match values.data_type() {
            DataType::FixedSizeBinary(_) => Arc::clone(values),
            nested if nested.is_nested() => arrow_cast::cast(values, target)?,
            _ => self.parsed(values)?,
        };
        returned(&uuids, is_scalar)
    }
}

impl ToUuid {
    fn parsed(&self, values: &ArrayRef) -> Result<ArrayRef> {
        let texts = arrow_cast::cast(values, &DataType::Utf8)?;
        let mut uuids = FixedSizeBinaryBuilder::with_capacity(texts.len(), 16);
        for text in texts.as_string::<i32>() {
            match text.map(|text| (text, parse(text))) {
                Some((_, Some(bytes))) => uuids.append_value(bytes)?,
                Some((text, None)) if self.name == UUID => {
                    return exec_err!("{text:?} is not a UUID, which has 32 hexadecimal digits");
                }
                _ => uuids.append_null(),
            }
        }
        Ok(Arc::new(uuids.finish()))
    }
}

fn returned(values: &ArrayRef, is_scalar: bool) -> Result<ColumnarValue> {
    match is_scalar {
        true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(values, 0)?)),
        false => Ok(ColumnarValue::Array(Arc::clone(values))),
    }
}

/// Whether a type has values of 16 bytes, at any depth.
pub(super) fn holds_bytes(data_type: &DataType) -> bool {
    *data_type == DataType::FixedSizeBinary(16)
        || inner_fields(data_type).iter().any(|field| holds_bytes(field.data_type()))
}

/// The fields within a nested type.
pub(super) fn inner_fields(data_type: &DataType) -> &[FieldRef] {
    match data_type {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => std::slice::from_ref(field),
        DataType::Struct(fields) => fields,
        _ => &[],
    }
}

/// A type with other fields within it.
fn with_inner_fields(data_type: &DataType, change: &dyn Fn(&Field) -> Field) -> DataType {
    let changed = |field: &FieldRef| Arc::new(change(field));
    match data_type {
        DataType::List(field) => DataType::List(changed(field)),
        DataType::LargeList(field) => DataType::LargeList(changed(field)),
        DataType::ListView(field) => DataType::ListView(changed(field)),
        DataType::LargeListView(field) => DataType::LargeListView(changed(field)),
        DataType::FixedSizeList(field, length) => DataType::FixedSizeList(changed(field), *length),
        DataType::Map(field, is_sorted) => DataType::Map(changed(field), *is_sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(changed).collect()),
        other => other.clone(),
    }
}

/// A type whose inner values of 16 bytes are UUIDs.
fn marked(data_type: &DataType) -> DataType {
    with_inner_fields(data_type, &|field| {
        let inner = field.clone().with_data_type(marked(field.data_type()));
        if *inner.data_type() == DataType::FixedSizeBinary(16) { inner.with_extension_type(Uuid) } else { inner }
    })
}

/// A type with texts instead of UUIDs.
fn with_texts(data_type: &DataType) -> DataType {
    with_inner_fields(data_type, &|field| match is_uuid(field) {
        true => Field::new(field.name(), DataType::Utf8, field.is_nullable()),
        false => field.clone().with_data_type(with_texts(field.data_type())),
    })
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
            [nested] if nested.is_nested() => Ok(with_texts(nested)),
            _ => plan_err!("uuid_text has one argument, which is a UUID"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_scalar = matches!(args.args.first(), Some(ColumnarValue::Scalar(_)));
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let Some(values) = arrays.first() else { return exec_err!("uuid_text has an argument") };
        returned(&texts(values, args.return_field.data_type())?, is_scalar)
    }
}

/// The texts of the UUIDs within an array, whose type becomes `target`.
fn texts(values: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    if values.data_type() == target {
        return Ok(Arc::clone(values));
    }
    if let (Some(uuids), DataType::Utf8) = (values.as_fixed_size_binary_opt(), target) {
        return Ok(Arc::new(uuids.iter().map(|uuid| uuid.map(text)).collect::<StringArray>()));
    }
    if !target.is_nested() {
        return Ok(arrow_cast::cast(values, target)?);
    }
    let data = values.to_data();
    let children = data.child_data().iter().zip(inner_fields(target));
    let children = children.map(|(child, field)| Ok(texts(&make_array(child.clone()), field.data_type())?.to_data()));
    let children = children.collect::<Result<Vec<_>>>()?;
    Ok(make_array(data.into_builder().data_type(target.clone()).child_data(children).build()?))
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
