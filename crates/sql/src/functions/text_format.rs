//! `format('{:>8.2f} {}', number, text)` and `printf('%8.2f %s', number, text)`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::DataType;
use datafusion::common::{Result, exec_datafusion_err, exec_err};

use super::format_spec::{Spec, Value};
use super::function::{Definition, is_text};

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition {
        name: "format",
        example: "format('{} has {:.2f}', text, number)",
        coerce,
        returns: |_| DataType::Utf8,
        evaluate: |arguments| evaluate(arguments, braces),
    },
    Definition {
        name: "printf",
        example: "printf('%s has %.2f', text, number)",
        coerce,
        returns: |_| DataType::Utf8,
        evaluate: |arguments| evaluate(arguments, percents),
    },
];

fn coerce(types: &[DataType]) -> Option<Vec<DataType>> {
    let (format, values) = types.split_first()?;
    let value = |data_type: &DataType| match data_type {
        DataType::UInt64 => DataType::UInt64,
        number if number.is_integer() => DataType::Int64,
        number if number.is_numeric() => DataType::Float64,
        DataType::Boolean => DataType::Boolean,
        _ => DataType::Utf8,
    };
    is_text(format).then(|| [DataType::Utf8].into_iter().chain(values.iter().map(value)).collect())
}

fn evaluate(arguments: &[ArrayRef], write: fn(&str, &[Value]) -> Result<String>) -> Result<ArrayRef> {
    let formats = arguments[0].as_string::<i32>();
    let rows = (0..formats.len()).map(|row| {
        if arguments.iter().any(|argument| argument.is_null(row)) {
            return Ok(None);
        }
        let values: Vec<Value> = arguments[1..].iter().map(|array| value(array, row)).collect();
        write(formats.value(row), &values).map(Some)
    });
    Ok(Arc::new(rows.collect::<Result<StringArray>>()?))
}

fn value(array: &ArrayRef, row: usize) -> Value {
    match array.data_type() {
        DataType::Int64 => Value::Integer(array.as_primitive::<Int64Type>().value(row).into()),
        DataType::UInt64 => Value::Integer(array.as_primitive::<UInt64Type>().value(row).into()),
        DataType::Float64 => Value::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => Value::Text(array.as_boolean().value(row).to_string()),
        _ => Value::Text(array.as_string::<i32>().value(row).to_owned()),
    }
}

/// The text of `format`.
fn braces(format: &str, values: &[Value]) -> Result<String> {
    let mut text = String::new();
    let mut rest = format.chars().peekable();
    let mut next = 0;
    while let Some(character) = rest.next() {
        match character {
            '{' if rest.peek() == Some(&'{') => {
                rest.next();
                text.push('{');
            }
            '}' if rest.peek() == Some(&'}') => {
                rest.next();
                text.push('}');
            }
            '}' => return exec_err!("format: a single }} in \"{format}\"; write }}}}"),
            '{' => {
                let mut field = String::new();
                loop {
                    match rest.next() {
                        Some('}') => break,
                        Some(other) => field.push(other),
                        None => return exec_err!("format: \"{format}\" has a {{ without }}"),
                    }
                }
                let (number, spec) = field.split_once(':').unwrap_or((&field, ""));
                let at = match number {
                    "" => {
                        next += 1;
                        next - 1
                    }
                    number => number
                        .parse()
                        .map_err(|_| exec_datafusion_err!("format: {{{field}}} names no argument by its number"))?,
                };
                let value = values.get(at).ok_or_else(|| {
                    exec_datafusion_err!("format: \"{format}\" has more fields than there are arguments")
                })?;
                text.push_str(&parse_brace(spec)?.write(value)?);
            }
            other => text.push(other),
        }
    }
    Ok(text)
}

/// `[[fill]align][sign][#][0][width][,][.precision][type]`.
fn parse_brace(text: &str) -> Result<Spec> {
    let mut spec = Spec::default();
    let characters: Vec<char> = text.chars().collect();
    let mut at = 0;
    if characters.len() > 1 && "<>^".contains(characters[1]) {
        (spec.fill, spec.align, at) = (Some(characters[0]), Some(characters[1]), 2);
    } else if characters.first().is_some_and(|first| "<>^".contains(*first)) {
        (spec.align, at) = (Some(characters[0]), 1);
    }
    finish(spec, &characters[at..], "{:…}", text)
}

/// The text of `printf`.
fn percents(format: &str, values: &[Value]) -> Result<String> {
    let mut text = String::new();
    let mut rest = format.chars().peekable();
    let mut next = values.iter();
    while let Some(character) = rest.next() {
        if character != '%' {
            text.push(character);
            continue;
        }
        if rest.peek() == Some(&'%') {
            rest.next();
            text.push('%');
            continue;
        }
        let mut field = Vec::new();
        let mut spec = Spec { align: Some('>'), bits: Some(64), ..Spec::default() };
        loop {
            match rest.next() {
                Some('-') if field.is_empty() => spec.align = Some('<'),
                Some('l') => {}
                Some('h') => spec.bits = if spec.bits == Some(16) { Some(8) } else { Some(16) },
                Some(letter) if letter.is_ascii_alphabetic() => {
                    field.push(if letter == 'i' { 'd' } else { letter });
                    break;
                }
                Some(other) => field.push(other),
                None => return exec_err!("printf: \"{format}\" ends within a field"),
            }
        }
        let shown: String = field.iter().collect();
        let spec = finish(spec, &field, "%…", &shown)?;
        let value = next
            .next()
            .ok_or_else(|| exec_datafusion_err!("printf: \"{format}\" has more fields than there are arguments"))?;
        text.push_str(&spec.write(value)?);
    }
    Ok(text)
}

/// Parses the parts after the alignment.
fn finish(mut spec: Spec, rest: &[char], form: &str, text: &str) -> Result<Spec> {
    let number = |at: &mut usize| {
        let start = *at;
        while rest.get(*at).is_some_and(char::is_ascii_digit) {
            *at += 1;
        }
        rest[start..*at].iter().collect::<String>().parse::<usize>().ok().filter(|number| *number <= 10_000)
    };
    let mut at = 0;
    while let Some(flag) = rest.get(at).filter(|flag| "+ #0,_'".contains(**flag)) {
        match flag {
            '+' => spec.plus = true,
            ' ' => spec.space = true,
            '#' => spec.alternate = true,
            '0' => spec.zeros = true,
            ',' | '_' | '\'' => spec.separator = Some(*flag),
            _ => {}
        }
        at += 1;
    }
    spec.width = number(&mut at).unwrap_or(0);
    while let Some(separator) = rest.get(at).filter(|flag| ",_'".contains(**flag)) {
        spec.separator = Some(*separator);
        at += 1;
    }
    if rest.get(at) == Some(&'.') {
        at += 1;
        spec.precision = Some(number(&mut at).unwrap_or(0));
    }
    if let Some(kind) = rest.get(at) {
        spec.kind = Some(*kind);
        at += 1;
    }
    if at != rest.len() || spec.kind.is_some_and(|kind| !"dunxXobBceEfFgGs".contains(kind)) {
        return exec_err!("{text} is not a form of {form}");
    }
    Ok(spec)
}
