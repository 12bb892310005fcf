//! Infers the schema of JSON lines: Arrow's, with number types that represent every digit.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io::BufRead;
use std::sync::Arc;

use arrow_json::reader::infer_json_schema_from_iterator;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::exact::plain;
use crate::names::check_names;
use crate::number::{double, keeps_digits};

/// Infers the columns of the first `max_rows` objects of a text. Numbers become 64-bit integers, unsigned ones if a value needs that, or
/// doubles if some have a fraction or an exponent; they become text if no such type represents all of their digits.
///
/// # Errors
/// [`Error::Line`] for a line that is not an object, or whose fields are not of the types of lines before; [`Error::RepeatedName`];
/// [`Error::Io`].
pub fn infer_schema(mut text: impl BufRead, max_rows: usize) -> Result<SchemaRef> {
    let line = Cell::new(0u64);
    let numbers = RefCell::new(HashMap::new());
    let mut object = Vec::new();
    let mut kinds = HashMap::new();
    let mut broken = None;
    let values = std::iter::from_fn(|| {
        loop {
            object.clear();
            match text.read_until(b'\n', &mut object) {
                Ok(0) => return None,
                Ok(_) => line.set(line.get() + 1),
                Err(error) => {
                    broken = Some(Error::Io(error));
                    return None;
                }
            }
            if !object.trim_ascii().is_empty() {
                break;
            }
        }
        // The message counts lines within this text, which is one line.
        let at_column = |error: serde_json::Error| {
            let message = error.to_string();
            let what = message.split(" at line ").next().unwrap_or_default().to_owned();
            ArrowError::JsonError(format!("not a JSON object on one line: {what}, column {}", error.column()))
        };
        let mut value = serde_json::from_slice::<Value>(&object).map_err(at_column);
        if let Ok(value) = &mut value {
            remove_null_elements(value);
            if let Err(error) = check_names(&object, line.get()) {
                broken = Some(error);
                return None;
            }
            if let Err(what) = add_kinds(value, &mut Vec::new(), &mut kinds) {
                broken = Some(Error::Line { line: line.get(), what });
                return None;
            }
            add_numbers(value, &mut Vec::new(), &cut_numbers(&object), &mut numbers.borrow_mut());
        }
        Some(value)
    });
    let schema = infer_json_schema_from_iterator(values.take(max_rows));
    if let Some(error) = broken {
        return Err(error);
    }
    let schema = schema.map_err(|error| Error::Line { line: line.get(), what: plain(&error) })?;
    let numbers = numbers.into_inner();
    let fields = schema.fields().iter().map(|field| with_numbers(field, &mut Vec::new(), &numbers));
    Ok(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
}

/// The kind of numbers of a column, by its path of names; lists are transparent.
type Numbers = HashMap<Vec<String>, Guess>;

#[derive(Debug, Default)]
struct Guess {
    least: i128,
    greatest: i128,
    has_fractions: bool,
    /// Whether there is an integer that a double cannot represent.
    has_long_integers: bool,
    /// Whether there is a number with more digits than a double has.
    is_cut: bool,
}

impl Guess {
    fn add_integer(&mut self, value: i128) {
        self.least = self.least.min(value);
        self.greatest = self.greatest.max(value);
        self.has_long_integers |= value as f64 as i128 != value;
    }

    fn data_type(&self) -> DataType {
        let fits = |least: i128, greatest: i128| self.least >= least && self.greatest <= greatest;
        match self.has_fractions {
            _ if self.is_cut => DataType::Utf8,
            true if self.has_long_integers => DataType::Utf8,
            true => DataType::Float64,
            false if fits(i64::MIN.into(), i64::MAX.into()) => DataType::Int64,
            false if fits(0, u64::MAX.into()) => DataType::UInt64,
            false => DataType::Utf8,
        }
    }
}

/// The doubles to which numbers of a line would be truncated.
fn cut_numbers(line: &[u8]) -> Vec<f64> {
    let mut cut = Vec::new();
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        if byte == b'"' {
            at += 1;
            while let Some(&byte) = line.get(at).filter(|byte| **byte != b'"') {
                at += 1 + usize::from(byte == b'\\');
            }
            at += 1;
        } else if byte == b'-' || byte.is_ascii_digit() {
            let is_part = |byte: &&u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
            let len = line[at..].iter().take_while(is_part).count();
            if let Ok(text) = str::from_utf8(&line[at..at + len]) {
                match double(text) {
                    Some(value) if len > 15 && !keeps_digits(value, text) => cut.push(value),
                    None => cut.push(text.parse().unwrap_or(f64::INFINITY)),
                    _ => {}
                }
            }
            at += len;
        } else {
            at += 1;
        }
    }
    cut
}

/// The kind of a value, of which a field has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Object,
    List,
    Scalar,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::List => "a list",
            Self::Scalar => "a single value",
        }
    }
}

/// Adds the kinds of values by the path of their names, in which `[]` is the element of a list.
///
/// # Errors
/// For a value of another kind than values before.
fn add_kinds(value: &Value, names: &mut Vec<String>, kinds: &mut HashMap<Vec<String>, Kind>) -> Result<(), String> {
    let kind = match value {
        Value::Null => return Ok(()),
        Value::Object(_) => Kind::Object,
        Value::Array(_) => Kind::List,
        _ => Kind::Scalar,
    };
    match kinds.get(names.as_slice()) {
        // A line that is no object is refused as a whole.
        Some(&known) if known != kind && !names.is_empty() => {
            let path = names.join(".").replace(".[]", "[]");
            return Err(format!("field {path:?} is {}, and was {} before", kind.name(), known.name()));
        }
        Some(_) => {}
        None => {
            kinds.insert(names.clone(), kind);
        }
    }
    match value {
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
            names.push(name.clone());
            let added = add_kinds(value, names, kinds);
            names.pop();
            added
        }),
        Value::Array(values) => {
            names.push("[]".to_owned());
            let added = values.iter().try_for_each(|value| add_kinds(value, names, kinds));
            names.pop();
            added
        }
        _ => Ok(()),
    }
}

/// Removes nulls from lists: they say nothing of the type, and Arrow refuses them beside objects and lists.
fn remove_null_elements(value: &mut Value) {
    match value {
        Value::Array(values) => {
            values.retain(|value| !value.is_null());
            values.iter_mut().for_each(remove_null_elements);
        }
        Value::Object(fields) => fields.values_mut().for_each(remove_null_elements),
        _ => {}
    }
}

fn add_numbers(value: &Value, names: &mut Vec<String>, cut: &[f64], numbers: &mut Numbers) {
    match value {
        Value::Number(number) => {
            if !numbers.contains_key(names.as_slice()) {
                numbers.insert(names.clone(), Guess::default());
            }
            let Some(guess) = numbers.get_mut(names.as_slice()) else { return };
            match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(value), ..) => guess.add_integer(value.into()),
                (_, Some(value), _) => guess.add_integer(value.into()),
                (.., value) => {
                    guess.has_fractions = true;
                    guess.is_cut |= value.is_none_or(|value| cut.contains(&value));
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| add_numbers(value, names, cut, numbers)),
        Value::Object(fields) => {
            for (name, value) in fields {
                names.push(name.clone());
                add_numbers(value, names, cut, numbers);
                names.pop();
            }
        }
        _ => {}
    }
}

fn with_numbers(field: &FieldRef, names: &mut Vec<String>, numbers: &Numbers) -> FieldRef {
    names.push(field.name().clone());
    let data_type = typed(field.data_type(), names, numbers);
    names.pop();
    Arc::new(Field::new(field.name(), data_type, true))
}

fn typed(data_type: &DataType, names: &mut Vec<String>, numbers: &Numbers) -> DataType {
    match data_type {
        DataType::Int64 | DataType::Float64 => {
            numbers.get(names.as_slice()).map_or_else(|| data_type.clone(), Guess::data_type)
        }
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(|field| with_numbers(field, names, numbers)).collect())
        }
        DataType::List(element) => {
            let inner = typed(element.data_type(), names, numbers);
            DataType::List(Arc::new(Field::new(element.name(), inner, true)))
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(text: &str) -> Vec<DataType> {
        let schema = infer_schema(text.as_bytes(), usize::MAX).unwrap();
        schema.fields().iter().map(|field| field.data_type().clone()).collect()
    }

    #[test]
    fn numbers_get_a_type_that_holds_their_digits() {
        use DataType::{Float64, Int64, UInt64, Utf8};
        for (text, expected) in [
            ("{\"a\":1}\n{\"a\":-2}", Int64),
            ("{\"a\":1}\n{\"a\":18446744073709551615}", UInt64),
            ("{\"a\":-1}\n{\"a\":18446744073709551615}", Utf8),
            ("{\"a\":1}\n{\"a\":2.5}", Float64),
            ("{\"a\":9007199254740993}\n{\"a\":1.5}", Utf8),
            ("{\"a\":9007199254740992}\n{\"a\":1.5}", Float64),
            ("{\"a\":123456789012345678901234567890}", Utf8),
            ("{\"a\":0.12345678901234567890}", Utf8),
            ("{\"a\":0.30000000000000004}", Float64),
            ("{\"a\":-0}", Float64),
            ("{\"a\":\"x\"}\n{\"a\":1}", Utf8),
        ] {
            assert_eq!(types(text), [expected], "{text}");
        }
    }

    #[test]
    fn a_column_is_text_for_its_own_numbers_alone() {
        let types = types(
            "{\"a\":1.5,\"b\":0.12345678901234567890,\"c\":[18446744073709551615],\"d\":\"0.12345678901234567890\"}",
        );
        let list = DataType::List(Arc::new(Field::new_list_field(DataType::UInt64, true)));
        assert_eq!(types, [DataType::Float64, DataType::Utf8, list, DataType::Utf8]);
    }

    #[test]
    fn a_field_has_one_kind_of_values() {
        for (text, expected) in [
            ("{\"a\":{\"b\":1}}\n{\"a\":5}", "line 2: field \"a\" is a single value, and was an object before"),
            (
                "{\"a\":{\"b\":[1]}}\n{\"a\":{\"b\":2}}",
                "line 2: field \"a.b\" is a single value, and was a list before",
            ),
            ("{\"a\":[[1],2]}", "line 1: field \"a[]\" is a single value, and was a list before"),
        ] {
            let error = infer_schema(text.as_bytes(), usize::MAX).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn nulls_in_lists_say_nothing_of_the_type() {
        let int_list = || DataType::new_list(DataType::Int64, true);
        let structs =
            || DataType::new_list(DataType::Struct(vec![Field::new("x", DataType::Int64, true)].into()), true);
        for (text, expected) in [
            ("{\"a\":[null]}\n{\"a\":[{\"x\":1}]}", structs()),
            ("{\"a\":[{\"x\":1},null]}", structs()),
            ("{\"a\":[null,1]}", int_list()),
            ("{\"a\":[[1],null,[null]]}", DataType::new_list(int_list(), true)),
        ] {
            assert_eq!(types(text), [expected], "{text}");
        }
    }
}
