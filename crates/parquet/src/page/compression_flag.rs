//! Writers whose data pages of version 2 are compressed although their headers say that they are not.
//!
//! Arrow's C++ library did so before version 3.0, when its name was `parquet-cpp`; later releases are `parquet-cpp-arrow`.
//! <https://issues.apache.org/jira/browse/ARROW-10353>

/// The name of the writer, and the text before its version.
const COMPRESSES_ALWAYS: &str = "parquet-cpp version ";

/// Whether pages of a compressed column are compressed regardless of their headers, by the `created_by` of the file.
pub(super) fn is_ignored(created_by: Option<&str>) -> bool {
    let created_by = created_by.unwrap_or_default().trim_start().as_bytes();
    let start = created_by.get(..COMPRESSES_ALWAYS.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(COMPRESSES_ALWAYS.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::is_ignored;

    #[test]
    fn the_name_of_the_writer_says_whether_the_flag_counts() {
        assert!(is_ignored(Some("parquet-cpp version 1.5.1-SNAPSHOT")));
        for other in ["parquet-cpp-arrow version 3.0.0", "parquet-mr version 1.8.0", "parquet-cpp", ""] {
            assert!(!is_ignored(Some(other)), "{other}");
        }
        assert!(!is_ignored(None));
    }
}
