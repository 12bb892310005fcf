//! Explains failed requests: the cause, and what to do. Callers add the location.

use std::error::Error as _;
use std::io::{self, ErrorKind};

use object_store::Error;

/// Converts an error of the `object_store` crate. `url` identifies the kind of store.
pub(super) fn explain(url: &str, error: Error) -> io::Error {
    let said = answered(&chain(&error));
    let (kind, what, advice) = match &error {
        Error::NotFound { .. } => {
            let is_bucket = said.as_deref().is_some_and(|said| {
                ["NoSuchBucket", "ContainerNotFound", "bucket does not exist"].iter().any(|code| said.contains(code))
            });
            let what = if is_bucket { "there is no such bucket" } else { "there is no such object" };
            (ErrorKind::NotFound, what.to_owned(), "check the spelling and the bucket's region")
        }
        Error::PermissionDenied { .. } => {
            (ErrorKind::PermissionDenied, denied("access is denied", said), credentials(url))
        }
        Error::Unauthenticated { .. } => {
            (ErrorKind::PermissionDenied, denied("the credentials are missing or wrong", said), credentials(url))
        }
        Error::AlreadyExists { .. } => return already_exists(),
        Error::Precondition { .. } => return changed(),
        Error::NotSupported { .. } => no_ranges(),
        Error::InvalidPath { .. } => (ErrorKind::InvalidInput, root(&error), "check the spelling"),
        other => {
            let chain = chain(other);
            let what = said.clone().unwrap_or_else(|| root(other));
            // Errors of listings do not have kinds.
            if ["status code: 401", "status code: 403"].iter().any(|sign| chain.contains(sign)) {
                (ErrorKind::PermissionDenied, denied("access is denied", said), credentials(url))
            } else if ["non-partial response", "Content-Range", "status code: 416"]
                .iter()
                .any(|sign| chain.contains(sign))
            {
                no_ranges()
            } else if ["configured region", "status code: 301", "status code: 307", "AuthorizationHeaderMalformed"]
                .iter()
                .any(|sign| chain.contains(sign))
            {
                let what = "the store redirects to another place".to_owned();
                (ErrorKind::Other, what, "set AWS_REGION to the bucket's region")
            } else if chain.contains("169.254.169.254")
                || chain.contains("169.254.170.2")
                || chain.contains("metadata.google")
            {
                (ErrorKind::PermissionDenied, "no credentials were found".to_owned(), credentials(url))
            } else if chain.contains("timed out") || chain.contains("Timeout") {
                (ErrorKind::TimedOut, what, "the store did not answer in time, even after retries")
            } else if chain.contains("onnection refused")
                || chain.contains("dns error")
                || chain.contains("failed to lookup")
            {
                (ErrorKind::NotConnected, what, "check the host's name and the endpoint")
            } else {
                (ErrorKind::Other, what, "")
            }
        }
    };
    let advice = if advice.is_empty() { String::new() } else { format!("; {advice}") };
    io::Error::new(kind, format!("{what}{advice}"))
}

/// The error for an object that must not exist.
pub(super) fn already_exists() -> io::Error {
    io::Error::new(ErrorKind::AlreadyExists, "there is such an object already")
}

/// The error for an object whose version has changed.
pub(super) fn changed() -> io::Error {
    io::Error::other("the object has been replaced since it was opened or listed; open it again")
}

/// The message for a server that ignores the range of a request.
fn no_ranges() -> (ErrorKind, String, &'static str) {
    let advice = "if it does not answer range requests, download the file first";
    (ErrorKind::Unsupported, "the server did not return the requested range".to_owned(), advice)
}

/// The environment variables from which a store takes credentials.
pub(super) fn credentials(url: &str) -> &'static str {
    match url.split("://").next() {
        Some("s3" | "s3a") => {
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN for temporary ones), or AWS_SKIP_SIGNATURE=true for public data"
        }
        Some("gs") => {
            "set GOOGLE_APPLICATION_CREDENTIALS to a file of credentials, or GOOGLE_SKIP_SIGNATURE=true for public data"
        }
        Some("az" | "azure" | "adl" | "abfs" | "abfss") => {
            "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY (or AZURE_STORAGE_SAS_KEY), or AZURE_SKIP_SIGNATURE=true for public data"
        }
        _ => "the server requires credentials, and Lath sends none over HTTP",
    }
}

fn denied(what: &str, said: Option<String>) -> String {
    said.map_or_else(|| what.to_owned(), |said| format!("{what} ({said})"))
}

/// The code and the message in an answer of a store, which is XML, such as "ExpiredToken: The provided token has expired."
fn answered(chain: &str) -> Option<String> {
    let element = |name: &str| {
        let (_, rest) = chain.split_once(&format!("<{name}>"))?;
        let text = rest.split_once('<')?.0.lines().next().unwrap_or_default().trim();
        (!text.is_empty()).then_some(text)
    };
    let code = element("Code")?;
    Some(beginning(element("Message").map_or_else(|| code.to_owned(), |message| format!("{code}: {message}"))))
}

/// The message of the innermost error.
pub(super) fn root(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let text = innermost.to_string();
    // An answer's body can be a page of XML.
    beginning(text)
}

/// A text, without what exceeds a line or three.
pub(super) fn beginning(text: String) -> String {
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push('\n');
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn errors_say_what_the_store_answered() {
        let body = |code: &str, message: &str| {
            let text = format!(
                "Server returned non-2xx status code: 400 Bad Request: <?xml version=\"1.0\"?>\n<Error><Code>{code}</Code><Message>{message}</Message></Error>"
            );
            Box::<dyn std::error::Error + Send + Sync>::from(text)
        };
        let path = "a.parquet".to_owned();
        let said = |error: Error| explain("s3://bucket/a.parquet", error);
        let error =
            said(Error::NotFound { path: path.clone(), source: body("NoSuchBucket", "The bucket does not exist") });
        assert!(error.kind() == ErrorKind::NotFound && error.to_string().starts_with("there is no such bucket"));
        let error = said(Error::NotFound { path: path.clone(), source: body("NoSuchKey", "none") });
        assert!(error.to_string().starts_with("there is no such object"));
        let error =
            said(Error::PermissionDenied { path, source: body("InvalidAccessKeyId", "No such key\nRequestId:7") });
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(
            error.to_string().starts_with("access is denied (InvalidAccessKeyId: No such key); set AWS_"),
            "{error}"
        );
        let error = said(Error::Generic { store: "S3", source: body("ExpiredToken", "It has expired") });
        assert_eq!(error.to_string(), "ExpiredToken: It has expired");
        let text = "Server returned non-2xx status code: 403 Forbidden: <Error><Code>AccessDenied</Code></Error>";
        let error = said(Error::Generic { store: "S3", source: text.into() });
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(error.to_string().starts_with("access is denied (AccessDenied); set"), "{error}");
        let text = "the region 'us-east-1' is wrong; expecting 'eu-west-1'";
        let error = said(Error::Generic { store: "S3", source: body("AuthorizationHeaderMalformed", text) });
        assert!(error.to_string().contains("AWS_REGION"), "{error}");
    }
}
