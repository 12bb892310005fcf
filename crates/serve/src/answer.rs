//! Answers to requests.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

/// An answer: a status, and JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: String,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Answer {
    /// 200 with a body.
    pub(crate) fn found(body: impl Into<String>) -> Self {
        Self { status: StatusCode::OK, body: body.into(), header: None }
    }

    /// 204: what was asked for exists.
    pub(crate) fn exists() -> Self {
        Self { status: StatusCode::NO_CONTENT, body: String::new(), header: None }
    }

    /// An error of the protocol. `kind` is one of the names that clients know.
    pub(crate) fn error(status: StatusCode, kind: &str, message: impl Into<String>) -> Self {
        let message: String = message.into();
        Self::json(status, &json!({ "error": { "message": message, "type": kind, "code": status.as_u16() } }))
    }

    pub(crate) fn json(status: StatusCode, body: &Value) -> Self {
        Self { status, body: body.to_string(), header: None }
    }

    /// 401.
    pub(crate) fn not_authorized() -> Self {
        let message = "this catalog requires its token: send the header Authorization: Bearer TOKEN";
        let answer = Self::error(StatusCode::UNAUTHORIZED, "NotAuthorizedException", message);
        Self { header: Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))), ..answer }
    }

    /// 403 for a change.
    pub(crate) fn read_only() -> Self {
        let message = "this catalog is read-only: tables are changed and published by Lath";
        Self::error(StatusCode::FORBIDDEN, "ForbiddenException", message)
    }

    /// 405.
    pub(crate) fn no_such_method(method: &str) -> Self {
        let message = format!("the method {method} is not supported: this catalog answers GET and HEAD");
        let answer = Self::error(StatusCode::METHOD_NOT_ALLOWED, "UnsupportedOperationException", message);
        Self { header: Some((ALLOW, HeaderValue::from_static("GET, HEAD"))), ..answer }
    }

    /// The response. One to a `HEAD` has no body, and says how long it would be.
    pub(crate) fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(self.body)));
        *response.status_mut() = self.status;
        if self.status != StatusCode::NO_CONTENT {
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        response.headers_mut().extend(self.header.map(|(name, value)| (Some(name), value)));
        response
    }
}
