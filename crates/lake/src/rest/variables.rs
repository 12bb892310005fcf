//! Environment variables for catalogs.

use std::env;

/// The environment variables for catalogs.
#[derive(Clone, Default)]
pub(super) struct Variables {
    /// The catalog that the others are for: `https://HOST/PATH`.
    pub(super) uri: Option<String>,
    /// A bearer token.
    pub(super) token: Option<String>,
    /// `ID:SECRET`, for which a token is made (OAuth 2, client credentials).
    pub(super) credential: Option<String>,
    /// The scope of the token.
    pub(super) scope: Option<String>,
    /// The URL of the server that makes tokens.
    pub(super) oauth2_uri: Option<String>,
    pub(super) warehouse: Option<String>,
    /// `SERVICE/REGION` of AWS, for which requests are signed.
    pub(super) sigv4: Option<String>,
}

impl Variables {
    pub(super) fn read() -> Self {
        let text = |name: &str| env::var(name).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        Self {
            uri: text("LATH_REST_URI"),
            token: text("LATH_REST_TOKEN"),
            credential: text("LATH_REST_CREDENTIAL"),
            scope: text("LATH_REST_SCOPE"),
            oauth2_uri: text("LATH_REST_OAUTH2_URI"),
            warehouse: text("LATH_REST_WAREHOUSE"),
            sigv4: text("LATH_REST_SIGV4"),
        }
    }
}
