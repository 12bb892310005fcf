//! How `format` and `printf` write a value.

use datafusion::common::{Result, exec_err};

/// A value to be written.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Integer(i128),
    Float(f64),
    Text(String),
}

/// How a value is written.
#[derive(Debug, Default)]
pub(super) struct Spec {
    pub(super) fill: Option<char>,
    pub(super) align: Option<char>,
    pub(super) plus: bool,
    /// A space in the place of the plus.
    pub(super) space: bool,
    pub(super) zeros: bool,
    pub(super) alternate: bool,
    pub(super) width: usize,
    pub(super) separator: Option<char>,
    pub(super) precision: Option<usize>,
    pub(super) kind: Option<char>,
    /// The bits of a negative integer without a sign, as C writes it; `format` writes a sign.
    pub(super) bits: Option<u32>,
}

impl Spec {
    pub(super) fn write(&self, value: &Value) -> Result<String> {
        let wrong = |what: &str| exec_err!("the form {} is not for {what}", self.kind.unwrap_or('s'));
        let body = match (value, self.kind) {
            (Value::Text(text), None | Some('s')) => match self.precision {
                Some(length) => text.chars().take(length).collect(),
                None => text.clone(),
            },
            (Value::Text(_), _) => return wrong("texts; cast the text to a number"),
            (Value::Integer(_) | Value::Float(_), Some('s')) => return wrong("numbers; cast the number to VARCHAR"),
            (Value::Integer(number), Some('c')) => match u8::try_from(*number).ok().filter(u8::is_ascii) {
                Some(byte) if self.bits.is_some() => char::from(byte).to_string(),
                _ => return wrong("this number; write chr(number)"),
            },
            (Value::Integer(number), None | Some('d' | 'n' | 'u' | 'x' | 'X' | 'o' | 'b' | 'B')) => {
                self.integer(*number)
            }
            (Value::Integer(number), Some(kind)) => float(*number as f64, Some(kind), self.precision),
            (Value::Float(_), Some('x' | 'X' | 'o' | 'b' | 'B' | 'd' | 'u' | 'n' | 'c')) => {
                return wrong("floats and decimals; round and cast them");
            }
            (Value::Float(number), kind) => float(*number, kind, self.precision),
        };
        let is_number = !matches!(value, Value::Text(_));
        let body = match self.separator.filter(|_| is_number) {
            Some(separator) => grouped(&body, separator),
            None => body,
        };
        let is_positive = is_number && self.kind != Some('c') && !body.starts_with('-');
        let body = match (self.plus, self.space) {
            (true, _) if is_positive => format!("+{body}"),
            (false, true) if is_positive => format!(" {body}"),
            _ => body,
        };
        let missing = self.width.saturating_sub(body.chars().count());
        if self.zeros && is_number && self.align != Some('<') {
            let digits = body.trim_start_matches(['+', '-', ' ']);
            let prefixes = if self.alternate { ["0x", "0X", "0b", "0B"].as_slice() } else { &[] };
            let digits = prefixes.iter().find_map(|prefix| digits.strip_prefix(prefix)).unwrap_or(digits);
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

impl Spec {
    /// An integer with its sign, or without one if it has a number of bits.
    fn integer(&self, number: i128) -> String {
        let number = match (self.bits, self.kind) {
            (Some(bits), Some('x' | 'X' | 'o' | 'b' | 'B' | 'u')) => number & ((1 << bits) - 1),
            // The upper bits are cut off.
            (Some(bits), _) if bits < 64 => number << (128 - bits) >> (128 - bits),
            _ => number,
        };
        let sign = if number < 0 { "-" } else { "" };
        let (number, alternate) = (number.unsigned_abs(), self.alternate);
        let digits = match self.kind {
            Some('x') if alternate => format!("{number:#x}"),
            Some('x') => format!("{number:x}"),
            Some('X') => format!("{}{number:X}", if alternate { "0X" } else { "" }),
            Some('o') => format!("{}{number:o}", if alternate { "0" } else { "" }),
            Some('b') if alternate => format!("{number:#b}"),
            Some('B') if alternate => format!("0B{number:b}"),
            Some('b' | 'B') => format!("{number:b}"),
            _ => number.to_string(),
        };
        format!("{sign}{digits}")
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
        Some('G') => float(number, Some('g'), precision).to_uppercase(),
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
