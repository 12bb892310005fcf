//! Tokens, which clients send with each request.

use http::HeaderValue;
use subtle::ConstantTimeEq;

use crate::error::{Error, Result};

/// The value of the header `authorization` for a token.
///
/// # Errors
/// If the token is empty or has characters other than visible ASCII.
pub fn bearer(token: &str) -> Result<HeaderValue> {
    let wrong = || Error::Setting("the token is empty or has characters other than visible ASCII".to_owned());
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(wrong());
    }
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| wrong())?;
    value.set_sensitive(true);
    Ok(value)
}

/// Whether the value of a request's header `authorization` is the expected one. The time that this takes does not tell how much of it is right.
pub fn is_token(given: &[u8], expected: &HeaderValue) -> bool {
    given.ct_eq(expected.as_bytes()).into()
}
