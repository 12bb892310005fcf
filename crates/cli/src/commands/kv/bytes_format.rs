//! Text forms of keys and values.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::args::BytesFormat;
use crate::failure::{Failure, Result};

/// Parses `text`; `what` names it in messages.
pub(super) fn parse_bytes(text: &str, form: BytesFormat, what: &str) -> Result<Vec<u8>> {
    match form {
        BytesFormat::Text => Ok(text.as_bytes().to_vec()),
        BytesFormat::Hex => hex(text).ok_or_else(|| {
            Failure::Usage(format!("the {what} {text:?} is not hexadecimal; write two digits a byte, such as 00ff"))
        }),
        BytesFormat::Base64 => {
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

/// `bytes` in a form that [`parse_bytes`] reads.
pub(super) fn format_bytes(bytes: &[u8], form: BytesFormat, what: &str) -> Result<String> {
    match form {
        BytesFormat::Text => String::from_utf8(bytes.to_vec()).map_err(|error| {
            let shown: String = String::from_utf8_lossy(error.as_bytes()).chars().take(60).collect();
            Failure::Usage(format!("the {what} {shown:?} is not text; add --{what}s hex or --{what}s base64"))
        }),
        BytesFormat::Hex => Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        BytesFormat::Base64 => Ok(STANDARD.encode(bytes)),
    }
}
