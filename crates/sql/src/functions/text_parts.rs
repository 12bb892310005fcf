//! `text[1]` and `text[2:3]` as `text_slice(text, first, last)`; `hex`, `bin`, `ord`, `url_encode` and `url_decode`.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int32Array, StringArray};
use arrow_schema::DataType;
use datafusion::common::{Result, exec_err};

use super::function::{Definition, is_text, texts};

pub(super) const SLICE: Definition = Definition {
    name: "text_slice",
    example: "text[first:last]",
    coerce: |types| match types {
        [text, first, last] if is_text(text) && is_place(first) && is_place(last) => {
            Some(vec![DataType::Utf8, DataType::Int64, DataType::Int64])
        }
        _ => None,
    },
    returns: |_| DataType::Utf8,
    evaluate: slices,
};

pub(super) const FUNCTIONS: &[Definition] = &[
    SLICE,
    Definition {
        name: "hex",
        example: "hex(text) or hex(integer)",
        coerce: text_or_integer,
        returns: |_| DataType::Utf8,
        evaluate: |arguments| digits(arguments, |byte| format!("{byte:02X}"), |number| format!("{number:X}")),
    },
    Definition {
        name: "bin",
        example: "bin(text) or bin(integer)",
        coerce: text_or_integer,
        returns: |_| DataType::Utf8,
        evaluate: |arguments| digits(arguments, |byte| format!("{byte:08b}"), |number| format!("{number:b}")),
    },
    Definition {
        name: "url_encode",
        example: "url_encode(text)",
        coerce: texts::<1>,
        returns: |_| DataType::Utf8,
        evaluate: |arguments| {
            let encoded = arguments[0].as_string::<i32>().iter().map(|text| text.map(url_encoded));
            Ok(Arc::new(encoded.collect::<StringArray>()))
        },
    },
    Definition {
        name: "url_decode",
        example: "url_decode(text)",
        coerce: texts::<1>,
        returns: |_| DataType::Utf8,
        evaluate: |arguments| {
            let decoded = arguments[0].as_string::<i32>().iter().map(|text| text.map(url_decoded).transpose());
            Ok(Arc::new(decoded.collect::<Result<StringArray>>()?))
        },
    },
    Definition {
        name: "ord",
        example: "ord(text)",
        coerce: texts::<1>,
        returns: |_| DataType::Int32,
        evaluate: |arguments| {
            // Empty text has no character; `ascii` is 0 for it.
            let code = |text: &str| text.chars().next().map_or(-1, |first| u32::from(first).cast_signed());
            let codes = arguments[0].as_string::<i32>().iter().map(|text| text.map(code));
            Ok(Arc::new(codes.collect::<Int32Array>()))
        },
    },
];

fn url_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(byte.into()),
            other => _ = write!(encoded, "%{other:02X}"),
        }
    }
    encoded
}

/// A percent sign without two hexadecimal digits stays.
fn url_decoded(text: &str) -> Result<String> {
    let (bytes, mut decoded, mut at) = (text.as_bytes(), Vec::with_capacity(text.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| byte == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(value) => {
                decoded.push(value);
                at += 3;
            }
            None => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded).or_else(|_| exec_err!("url_decode: {text:?} is not UTF-8 when it is decoded"))
}

fn is_place(data_type: &DataType) -> bool {
    data_type.is_integer() || *data_type == DataType::Null
}

fn text_or_integer(types: &[DataType]) -> Option<Vec<DataType>> {
    match types {
        [text] if is_text(text) => Some(vec![DataType::Utf8]),
        [DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_)] => {
            Some(vec![DataType::Binary])
        }
        [number] if number.is_integer() && *number != DataType::UInt64 => Some(vec![DataType::Int64]),
        _ => None,
    }
}

fn digits(arguments: &[ArrayRef], byte: fn(u8) -> String, number: fn(i64) -> String) -> Result<ArrayRef> {
    let array = &arguments[0];
    let bytes = |bytes: &[u8]| {
        bytes.iter().fold(String::new(), |mut text, &value| {
            _ = write!(text, "{}", byte(value));
            text
        })
    };
    let texts: StringArray = match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().iter().map(|value| value.map(number)).collect(),
        DataType::Binary => array.as_binary::<i32>().iter().map(|value| value.map(bytes)).collect(),
        _ => array.as_string::<i32>().iter().map(|value| value.map(|text| bytes(text.as_bytes()))).collect(),
    };
    Ok(Arc::new(texts))
}

/// The characters from `first` to `last`, which count from 1, or from the end if they are negative.
fn slices(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let texts = arguments[0].as_string::<i32>();
    let (first, last) = (arguments[1].as_primitive::<Int64Type>(), arguments[2].as_primitive::<Int64Type>());
    let slice = |row: usize| {
        if arguments.iter().any(|argument| argument.is_null(row)) {
            return None;
        }
        let text = texts.value(row);
        let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        let place = |place: i64| if place < 0 { length.saturating_add(place).saturating_add(1) } else { place };
        let (first, last) = (place(first.value(row)).max(1), place(last.value(row)));
        let count = last.saturating_sub(first).saturating_add(1).max(0);
        let skipped = usize::try_from(first - 1).unwrap_or(usize::MAX);
        Some(text.chars().skip(skipped).take(usize::try_from(count).unwrap_or(usize::MAX)).collect::<String>())
    };
    Ok(Arc::new((0..texts.len()).map(slice).collect::<StringArray>()))
}
