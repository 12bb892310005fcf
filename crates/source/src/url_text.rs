//! The text of URLs.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Splits a URL into its scheme, as it is written, and the text after `://`; returns `None` for a path.
///
/// ```
/// use lath_source::split_scheme;
///
/// assert_eq!(split_scheme("s3://bucket/key"), Some(("s3", "bucket/key")));
/// assert_eq!(split_scheme("C:\\data"), None);
/// assert_eq!(split_scheme("odd name://x"), None);
/// ```
pub fn split_scheme(location: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = location.split_once("://")?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    is_scheme.then_some((scheme, rest))
}

/// Whether `location` is a URL of an object store or web server.
///
/// ```
/// use lath_source::is_store;
///
/// assert!(is_store("s3://bucket/key") && is_store("HTTP://host/key"));
/// assert!(!is_store("file:///data/key") && !is_store("data/key"));
/// ```
pub fn is_store(location: &str) -> bool {
    split_scheme(location).is_some_and(|(scheme, _)| !scheme.eq_ignore_ascii_case("file"))
}

/// Replaces each `%` and its two hexadecimal digits (`%41`) by their byte; returns `None` if the result is not Unicode. Other percent
/// signs stay.
///
/// ```
/// use lath_source::percent_decoded;
///
/// assert_eq!(percent_decoded("a%3Db%2fc%20%C3%A9").as_deref(), Some("a=b/c é"));
/// assert_eq!(percent_decoded("100%").as_deref(), Some("100%"));
/// assert_eq!(percent_decoded("%ff"), None);
/// ```
pub fn percent_decoded(text: &str) -> Option<Cow<'_, str>> {
    percent_decode_str(text).decode_utf8().ok()
}
