//! Folders of tables, databases and stores.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};

/// Takes a path, or the URL of a place in a bucket. A `file:` URL is refused: it would be a folder of this name below the working directory.
pub(super) fn folder() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(parse_folder)
}

fn parse_folder(text: OsString) -> Result<PathBuf, String> {
    if let Some((scheme, rest)) = text.to_str().and_then(|text| text.split_once("://"))
        && scheme.eq_ignore_ascii_case("file")
    {
        let path = rest.strip_prefix("localhost").unwrap_or(rest);
        return Err(format!("a folder of this machine is written as a path: {path}"));
    }
    Ok(PathBuf::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_files_are_refused() {
        for path in ["a", "/a b", "s3://bucket/a", "a:b", "./file://a", ":/a"] {
            assert_eq!(parse_folder(path.into()), Ok(path.into()));
        }
        for (url, wanted) in [("file:///a/b", "path: /a/b"), ("FILE://localhost/a", "path: /a")] {
            let refused = parse_folder(url.into());
            assert!(refused.as_ref().is_err_and(|told| told.ends_with(wanted)), "{refused:?}");
        }
    }
}
