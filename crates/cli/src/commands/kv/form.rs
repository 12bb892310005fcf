//! Bytes as people write them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::args::Form;
use crate::failure::{Failure, Result};

/// The bytes that `text` stands for; `what` is what it is, for messages.
pub(super) fn bytes_of(text: &str, form: Form, what: &str) -> Result<Vec<u8>> {
    match form {
        Form::Text => Ok(text.as_bytes().to_vec()),
        Form::Hex => hex(text).ok_or_else(|| {
            Failure::Usage(format!("the {what} {text:?} is not hexadecimal; write two digits a byte, such as 00ff"))
        }),
        Form::Base64 => {
            STANDARD.decode(text).map_err(|error| Failure::Usage(format!("the {what} {text:?} is not Base64: {error}")))
        }
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let bytes: Option<Vec<u8>> =
        pairs.iter().map(|[high, low]| Some((digit(*high)? * 16 + digit(*low)?) as u8)).collect();
    bytes.filter(|_| rest.is_empty())
}

/// `bytes` in a form that [`bytes_of`] reads.
pub(super) fn text_of(bytes: &[u8], form: Form, what: &str) -> Result<String> {
    match form {
        Form::Text => String::from_utf8(bytes.to_vec()).map_err(|error| {
            let shown: String = String::from_utf8_lossy(error.as_bytes()).chars().take(60).collect();
            Failure::Usage(format!("the {what} {shown:?} is not text; add --{what}s hex or --{what}s base64"))
        }),
        Form::Hex => Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        Form::Base64 => Ok(STANDARD.encode(bytes)),
    }
}
