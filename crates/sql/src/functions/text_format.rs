//! `format('{:>8.2f} {}', number, text)` and `printf('%8.2f %s', number, text)`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::DataType;
use datafusion::common::{Result, exec_datafusion_err, exec_err};

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
        number if number.is_integer() && *number != DataType::UInt64 => DataType::Int64,
        number if number.is_numeric() && *number != DataType::UInt64 => DataType::Float64,
        DataType::Boolean => DataType::Boolean,
        _ => DataType::Utf8,
    };
    is_text(format).then(|| [DataType::Utf8].into_iter().chain(values.iter().map(value)).collect())
}

/// A value to be written.
#[derive(Debug, Clone)]
enum Value {
    Integer(i64),
    Float(f64),
    Text(String),
}

/// How a value is written.
#[derive(Debug, Default)]
struct Spec {
    fill: Option<char>,
    align: Option<char>,
    plus: bool,
    zeros: bool,
    alternate: bool,
    width: usize,
    separator: Option<char>,
    precision: Option<usize>,
    kind: Option<char>,
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
        DataType::Int64 => Value::Integer(array.as_primitive::<Int64Type>().value(row)),
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
        let mut spec = Spec { align: Some('>'), ..Spec::default() };
        loop {
            match rest.next() {
                Some('-') if field.is_empty() => spec.align = Some('<'),
                Some('l') => {}
                Some(letter) if letter.is_ascii_alphabetic() => {
                    field.push(if letter == 'i' || letter == 'u' { 'd' } else { letter });
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
    if at != rest.len() || spec.kind.is_some_and(|kind| !"dxXobBeEfFgGs".contains(kind)) {
        return exec_err!("{text} is not a form of {form}");
    }
    Ok(spec)
}

impl Spec {
    fn write(&self, value: &Value) -> Result<String> {
        let wrong = |what: &str| exec_err!("the form {} is not for {what}", self.kind.unwrap_or('s'));
        let body = match (value, self.kind) {
            (Value::Text(text), None | Some('s')) => match self.precision {
                Some(length) => text.chars().take(length).collect(),
                None => text.clone(),
            },
            (Value::Text(_), _) => return wrong("texts; cast the text to a number"),
            (Value::Integer(_) | Value::Float(_), Some('s')) => return wrong("numbers; cast the number to VARCHAR"),
            (Value::Integer(number), Some('x')) => format!("{}{number:x}", if self.alternate { "0x" } else { "" }),
            (Value::Integer(number), Some('X')) => format!("{}{number:X}", if self.alternate { "0X" } else { "" }),
            (Value::Integer(number), Some('o')) => format!("{number:o}"),
            (Value::Integer(number), Some('b' | 'B')) => format!("{number:b}"),
            (Value::Integer(number), None | Some('d')) => number.to_string(),
            (Value::Integer(number), Some(kind)) => float(*number as f64, Some(kind), self.precision),
            (Value::Float(_), Some('x' | 'X' | 'o' | 'b' | 'B' | 'd')) => {
                return wrong("floats and decimals; round and cast them");
            }
            (Value::Float(number), kind) => float(*number, kind, self.precision),
        };
        let is_number = !matches!(value, Value::Text(_));
        let body = match self.separator.filter(|_| is_number) {
            Some(separator) => grouped(&body, separator),
            None => body,
        };
        let body = if self.plus && is_number && !body.starts_with('-') { format!("+{body}") } else { body };
        let missing = self.width.saturating_sub(body.chars().count());
        if self.zeros && is_number && self.align != Some('<') {
            let digits = body.trim_start_matches(['+', '-']);
            let sign = &body[..body.len() - digits.len()];
            return Ok(format!("{sign}{}{digits}", "0".repeat(missing)));
        }
        let fill = |count: usize| self.fill.unwrap_or(' ').to_string().repeat(count);
        Ok(match self.align.unwrap_or(if is_number { '>' } else { '<' }) {
            '<' => format!("{body}{}", fill(missing)),
            '^' => format!("{}{body}{}", fill(missing / 2), fill(missing - missing / 2)),
            _ => format!("{}{body}", fill(missing)),
        })
    }
}

/// A float as `%f`, `%e` or `%g`; without a form it is the shortest text that is read back as the number.
fn float(number: f64, kind: Option<char>, precision: Option<usize>) -> String {
    if !number.is_finite() {
        return if number.is_nan() { "nan".to_owned() } else { number.to_string() };
    }
    let exponent = |digits: usize| {
        let text = format!("{number:.digits$e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
        (digits.to_owned(), format!("e{sign}{exponent:0>2}"))
    };
    let trimmed = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    match kind {
        Some('f' | 'F') => format!("{number:.*}", precision.unwrap_or(6)),
        Some(kind @ ('e' | 'E')) => {
            let (digits, power) = exponent(precision.unwrap_or(6));
            let text = format!("{digits}{power}");
            if kind == 'E' { text.to_uppercase() } else { text }
        }
        None if precision.is_none() => {
            let text = number.to_string();
            if number != 0.0 && !(1e-4..1e16).contains(&number.abs()) {
                let text = format!("{number:e}");
                let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
                let (sign, power) = power.strip_prefix('-').map_or(('+', power), |power| ('-', power));
                return format!("{digits}e{sign}{power:0>2}");
            }
            if text.contains('.') { text } else { format!("{text}.0") }
        }
        _ => {
            let digits = precision.unwrap_or(6).max(1);
            let (mantissa, power) = exponent(digits - 1);
            let size: i64 = power[1..].parse().unwrap_or(0);
            let digits = i64::try_from(digits).unwrap_or(6);
            if size < -4 || size >= digits {
                return format!("{}{power}", trimmed(mantissa));
            }
            let places = usize::try_from(digits - 1 - size).unwrap_or(0);
            trimmed(format!("{number:.places$}"))
        }
    }
}

/// Separates groups of three digits before the point.
fn grouped(text: &str, separator: char) -> String {
    let end = text.find(['.', 'e']).unwrap_or(text.len());
    let start = usize::from(text.starts_with('-'));
    let digits = &text[start..end];
    let mut grouped = text[..start].to_owned();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(separator);
        }
        grouped.push(digit);
    }
    grouped + &text[end..]
}
