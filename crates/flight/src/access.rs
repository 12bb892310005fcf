//! Access to the server: for clients with the token, up to a number of connections.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use http::HeaderValue;
use lath_grpc::{bearer, is_token};
use tonic::{Request, Status};

use crate::client::Client;
use crate::error::Result;

/// The header with the token.
pub(crate) const AUTHORIZATION: &str = "authorization";

/// The tokens of a server.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    /// The value of the header; `None` if every client may send requests.
    bearer: Option<HeaderValue>,
    max_connections: usize,
}

impl Access {
    pub(crate) fn new(token: Option<&str>, max_connections: usize) -> Result<Self> {
        Ok(Self { bearer: token.map(bearer).transpose()?, max_connections })
    }

    /// Refuses requests without the token, and of connections beyond the limit.
    pub(crate) fn check(&self, request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(bearer) = &self.bearer {
            let given = request.metadata().get(AUTHORIZATION).map_or(&[][..], |value| value.as_encoded_bytes());
            let with_scheme = given.strip_prefix(b"bearer ").map(|token| [b"Bearer ", token].concat());
            let given = password(given).or(with_scheme).unwrap_or_else(|| given.to_vec());
            if !is_token(&given, bearer) {
                return Err(Status::unauthenticated(
                    "the server asks for a token, and this is not it; send the server's as a bearer token or as the password",
                ));
            }
        }
        match request.extensions().get::<Arc<Client>>() {
            Some(client) if client.is_beyond(self.max_connections) => Err(Status::resource_exhausted(format!(
                "the server has {} connections, which is its limit; close one, or start the server with a higher one (--connections)",
                self.max_connections
            ))),
            _ => Ok(request),
        }
    }

    /// The value of the header that a client sends from now on, once it has shown its password.
    pub(crate) fn granted(&self) -> HeaderValue {
        self.bearer.clone().unwrap_or_else(|| HeaderValue::from_static("Bearer none"))
    }
}

/// The password of basic authentication as the value of a header with a token.
fn password(header: &[u8]) -> Option<Vec<u8>> {
    let encoded = header.strip_prefix(b"Basic ").or_else(|| header.strip_prefix(b"basic "))?;
    // Go's client leaves out the padding.
    let padding = encoded.iter().rev().take_while(|&&byte| byte == b'=').count();
    let decoded = BASE64_STANDARD_NO_PAD.decode(&encoded[..encoded.len() - padding]).ok()?;
    let colon = decoded.iter().position(|&byte| byte == b':')?;
    Some([b"Bearer ", &decoded[colon + 1..]].concat())
}

#[cfg(test)]
mod tests {
    use base64::prelude::BASE64_STANDARD;

    use super::*;

    fn is_allowed(header: Option<&str>) -> bool {
        let mut request = Request::new(());
        if let Some(header) = header {
            request.metadata_mut().insert(AUTHORIZATION, header.parse().unwrap());
        }
        Access::new(Some("secret"), 1).unwrap().check(request).is_ok()
    }

    #[test]
    fn the_token_is_a_bearer_token_or_a_password() {
        let basic = |text: &str| format!("Basic {}", BASE64_STANDARD.encode(text));
        assert!(is_allowed(Some(&format!("Basic {}", BASE64_STANDARD_NO_PAD.encode("a:secret")))));
        for header in ["Bearer secret", "bearer secret", &basic("anyone:secret"), &basic(":secret")] {
            assert!(is_allowed(Some(header)), "{header}");
        }
        for header in
            ["", "secret", "Bearer secre", "Bearer secret2", "Basic secret", "Basic ", &basic("secret"), &basic("a:b")]
        {
            assert!(!is_allowed(Some(header)), "{header}");
        }
        assert!(!is_allowed(None));
    }
}
