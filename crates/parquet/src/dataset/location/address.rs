//! Tells paths from URLs, and finds the scheme of a URL.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::PathBuf;

use lath_source::split_scheme;

use crate::error::{Error, Result};

/// Location of a file, or of a set of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::dataset) enum Address {
    /// A path of the local file system, perhaps with a glob.
    Local(PathBuf),
    /// A URL of an object store, as it was given.
    Store(String),
}

impl Address {
    pub(in crate::dataset) fn parse(location: &OsStr) -> Result<Self> {
        let Some((text, (scheme, rest))) = location.to_str().and_then(|text| Some((text, split_scheme(text)?))) else {
            return Ok(Self::Local(location.into()));
        };
        match scheme.to_ascii_lowercase().as_str() {
            "file" => match rest.strip_prefix("localhost").unwrap_or(rest) {
                path if path.starts_with('/') => Ok(Self::Local(PathBuf::from(percent_decoded(path)))),
                _ => Err(Error::invalid(format!(
                    "{text}: write a file's URL with three slashes: file:///data/a.parquet"
                ))),
            },
            "s3" | "s3a" | "gs" | "az" | "azure" | "adl" | "abfs" | "abfss" | "http" | "https" => {
                Ok(Self::Store(text.to_owned()))
            }
            _ => Err(Error::invalid(format!(
                "{text}: files are not read from {scheme}: URLs, only from file:, s3:, gs:, az:, abfss:, http: and https:"
            ))),
        }
    }
}

/// Replaces characters that names of directories cannot have, or that have a meaning in a glob, by `%` and hexadecimal digits.
pub(in crate::dataset) fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_control() || "\"#%'*/:=?\\{}[]^<>|".contains(character) {
            encoded.push_str(&format!("%{:02X}", u32::from(character)));
        } else {
            encoded.push(character);
        }
    }
    encoded
}

/// Replaces `%41` and the like by the bytes they stand for; returns the text unchanged if the result is not Unicode.
pub(in crate::dataset) fn percent_decoded(text: &str) -> String {
    lath_source::percent_decoded(text).map_or_else(|| text.to_owned(), Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Address> {
        Address::parse(OsStr::new(text))
    }

    #[test]
    fn urls_are_told_from_paths() {
        let local = |path: &str| Address::Local(path.into());
        assert_eq!(parse("a/b.parquet").unwrap(), local("a/b.parquet"));
        assert_eq!(parse("C:\\data\\a.parquet").unwrap(), local("C:\\data\\a.parquet"));
        assert_eq!(parse("odd name://x").unwrap(), local("odd name://x"));
        assert_eq!(parse("file:///data/a%20b.parquet").unwrap(), local("/data/a b.parquet"));
        assert_eq!(parse("FILE://localhost/data").unwrap(), local("/data"));
        assert_eq!(parse("s3://bucket/key").unwrap(), Address::Store("s3://bucket/key".into()));
        assert!(parse("file://host/data").is_err());
        assert!(parse("ftp://host/a.parquet").unwrap_err().to_string().contains("ftp:"));
        assert!(lath_source::is_store("s3://b/k") && lath_source::is_store("HTTP://h/k"));
        assert!(!lath_source::is_store("file:///k") && !lath_source::is_store("k"));
    }

    #[test]
    fn percent_signs_stand_for_bytes_where_they_can() {
        assert_eq!(percent_decoded("a%3Db%2fc%20%C3%A9"), "a=b/c é");
        assert_eq!(percent_decoded("100%"), "100%");
        assert_eq!(percent_decoded("%zz%4"), "%zz%4");
        assert_eq!(percent_decoded("%ff"), "%ff");
    }
}
