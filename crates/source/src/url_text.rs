//! The text of URLs.

use std::borrow::Cow;

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
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digit = |at: usize| after.get(at).and_then(|&digit| char::from(digit).to_digit(16));
        match (byte, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high << 4 | low) as u8);
                rest = &after[2..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}
