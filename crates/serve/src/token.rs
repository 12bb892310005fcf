//! The token that requests have to bring.

use std::fmt;

use subtle::ConstantTimeEq;

/// A secret text.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether the value of the header `Authorization` brings this token. The time that it takes depends on the length of the value alone.
    pub(crate) fn is_in(&self, header: &[u8]) -> bool {
        let Some((scheme, token)) = header.split_at_checked("Bearer ".len()) else { return false };
        scheme.eq_ignore_ascii_case(b"Bearer ") && bool::from(token.trim_ascii().ct_eq(self.0.as_bytes()))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_to_have_the_whole_token() {
        let token = Token::new("s3cret");
        for header in ["Bearer s3cret", "bearer s3cret", "BEARER  s3cret "] {
            assert!(token.is_in(header.as_bytes()), "{header}");
        }
        for header in
            ["", "Bearer", "Bearer ", "Bearer s3cre", "Bearer s3crets", "Bearer S3CRET", "Basic s3cret", "s3cret"]
        {
            assert!(!token.is_in(header.as_bytes()), "{header}");
        }
        assert_eq!(format!("{token:?}"), "Token");
    }
}
