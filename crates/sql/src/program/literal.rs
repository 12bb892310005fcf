//! Values of parameters as they are written in a statement, so that it means what it means when the values are written there.

use std::fmt::Write;

use arrow_array::Array;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::sql::parser::DFParserBuilder;
use datafusion::sql::sqlparser::ast::{Expr, UnaryOperator, Value};

use crate::dialect::LathDialect;

/// The expression for a value.
pub(super) fn literal(value: &ScalarValue) -> Result<Expr> {
    if value.is_null() {
        return Ok(plain(Value::Null));
    }
    Ok(match value {
        ScalarValue::Boolean(Some(value)) => plain(Value::Boolean(*value)),
        ScalarValue::Int8(Some(value)) => integer((*value).into()),
        ScalarValue::Int16(Some(value)) => integer((*value).into()),
        ScalarValue::Int32(Some(value)) => integer((*value).into()),
        ScalarValue::Int64(Some(value)) if *value > i64::MIN => integer((*value).into()),
        ScalarValue::UInt8(Some(value)) => integer((*value).into()),
        ScalarValue::UInt16(Some(value)) => integer((*value).into()),
        ScalarValue::UInt32(Some(value)) => integer((*value).into()),
        ScalarValue::UInt64(Some(value)) => integer((*value).into()),
        ScalarValue::Utf8(Some(value)) | ScalarValue::LargeUtf8(Some(value)) | ScalarValue::Utf8View(Some(value)) => {
            plain(Value::SingleQuotedString(value.clone()))
        }
        ScalarValue::Binary(Some(value))
        | ScalarValue::LargeBinary(Some(value))
        | ScalarValue::BinaryView(Some(value))
        | ScalarValue::FixedSizeBinary(_, Some(value)) => plain(Value::HexStringLiteral(hexadecimal(value))),
        ScalarValue::Dictionary(_, value) | ScalarValue::RunEndEncoded(_, _, value) => literal(value)?,
        ScalarValue::List(list) => array(&list.value(0))?,
        ScalarValue::LargeList(list) => array(&list.value(0))?,
        ScalarValue::FixedSizeList(list) => array(&list.value(0))?,
        ScalarValue::Struct(_) | ScalarValue::Map(_) | ScalarValue::Union(..) => {
            return plan_err!("a parameter of type {} is not supported; give its fields one by one", value.data_type());
        }
        other => typed(other)?,
    })
}

fn plain(value: Value) -> Expr {
    Expr::Value(value.with_empty_span())
}

fn integer(value: i128) -> Expr {
    let number = plain(Value::Number(value.unsigned_abs().to_string(), false));
    match value < 0 {
        true => Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(number) },
        false => number,
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02X}");
        text
    })
}

/// A list by its items.
fn array(items: &dyn Array) -> Result<Expr> {
    let mut exprs = Vec::with_capacity(items.len());
    for item in 0..items.len() {
        exprs.push(literal(&ScalarValue::try_from_array(items, item)?)?.to_string());
    }
    parsed(&format!("ARRAY[{}]", exprs.join(", ")))
}

/// A value by its text and its type.
fn typed(value: &ScalarValue) -> Result<Expr> {
    let data_type = value.data_type();
    let array = value.to_array()?;
    let format = FormatOptions::default();
    let text = ArrayFormatter::try_new(array.as_ref(), &format)?.value(0).to_string();
    let name = match &data_type {
        DataType::Date64 => DataType::Date32,
        other => other.clone(),
    };
    // The time of day of such a date is midnight.
    let text = if data_type == DataType::Date64 { text.split('T').next().unwrap_or_default() } else { &text };
    parsed(&format!("arrow_cast('{text}', '{}')", name.to_string().replace('\'', "''")))
}

fn parsed(text: &str) -> Result<Expr> {
    Ok(DFParserBuilder::new(text).with_dialect(&LathDialect).build()?.parser.parse_expr()?)
}
