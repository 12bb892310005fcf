//! Tokens, which a coordinator sends with each request.

use http::HeaderValue;
use subtle::ConstantTimeEq;
use tonic::Request;

use crate::error::{Error, Result};

/// The header's value for a token.
pub(crate) fn bearer(token: &str) -> Result<HeaderValue> {
    let wrong =
        || Error::Setting("the token of the cluster is empty or has characters other than visible ASCII".to_owned());
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(wrong());
    }
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| wrong())?;
    value.set_sensitive(true);
    Ok(value)
}

/// Whether a request has the token.
pub(crate) fn has_token(request: &Request<()>, token: &HeaderValue) -> bool {
    let given = request.metadata().get("authorization").map_or(&[][..], |value| value.as_encoded_bytes());
    given.ct_eq(token.as_bytes()).into()
}
