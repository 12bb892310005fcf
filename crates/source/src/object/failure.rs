//! Explains failed requests: the cause, and what to do. Callers add the location.

use std::error::Error as _;
use std::io::{self, ErrorKind};

use object_store::Error;

/// Converts an error of the `object_store` crate. `url` identifies the kind of store.
pub(super) fn explain(url: &str, error: Error) -> io::Error {
    let (kind, what, advice) = match &error {
        Error::NotFound { .. } => {
            (ErrorKind::NotFound, "there is no such object".to_owned(), "check the spelling and the bucket's region")
        }
        Error::PermissionDenied { .. } => {
            (ErrorKind::PermissionDenied, "access is denied".to_owned(), credentials(url))
        }
        Error::Unauthenticated { .. } => {
            (ErrorKind::PermissionDenied, "the credentials are missing or wrong".to_owned(), credentials(url))
        }
        Error::AlreadyExists { .. } => return already_exists(),
        Error::Precondition { .. } => return changed(),
        Error::NotSupported { .. } => no_ranges(),
        Error::InvalidPath { .. } => (ErrorKind::InvalidInput, root(&error), "check the spelling"),
        other => {
            let what = root(other);
            let chain = chain(other);
            if ["non-partial response", "Content-Range", "status code: 416"].iter().any(|sign| chain.contains(sign)) {
                no_ranges()
            } else if ["configured region", "status code: 301", "status code: 307"]
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
fn credentials(url: &str) -> &'static str {
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

/// The message of the innermost error.
pub(super) fn root(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let text = innermost.to_string();
    // An answer's body can be a page of XML.
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
