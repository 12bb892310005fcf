//! The order of bits in the deprecated BIT_PACKED encoding of levels.
//!
//! The specification packs values [from the most significant bit on], and so did the writer of parquet-mr. Impala, parquet-cpp
//! and their descendants used the bit packing of the RLE hybrid instead, which begins with the least significant bit. The
//! encoding's id is the same, so that only the name of the writer tells the two apart; a writer without a name, or with another,
//! is assumed to follow the specification.
//!
//! [from the most significant bit on]: https://parquet.apache.org/docs/file-format/data-pages/encodings/#bit-packed-deprecated-bit_packed--4

/// Bit order of BIT_PACKED levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BitOrder {
    /// From the least significant bit on.
    LeastSignificantFirst,
    /// From the most significant bit on.
    MostSignificantFirst,
}

/// Prefixes of the names of writers that pack from the least significant bit on.
const LEAST_SIGNIFICANT_FIRST: [&str; 3] = ["impala", "parquet-cpp", "parquet-rs"];

impl BitOrder {
    /// The order of a writer, by the `created_by` of its file.
    pub(crate) fn from_writer(created_by: Option<&str>) -> Self {
        let created_by = created_by.unwrap_or_default().trim_start().as_bytes();
        let is_by =
            |name: &str| created_by.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()));
        if LEAST_SIGNIFICANT_FIRST.into_iter().any(is_by) {
            Self::LeastSignificantFirst
        } else {
            Self::MostSignificantFirst
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_writer_says_the_order() {
        for (created_by, expected) in [
            (Some("impala version 2.6.0-INTERNAL (build 8a48ddb1eff84592b3fc06bc6f51ec120e1fffc9)"), true),
            (Some("Impala"), true),
            (Some("parquet-cpp version 1.5.1-SNAPSHOT"), true),
            (Some("parquet-cpp-arrow version 14.0.2"), true),
            (Some("parquet-rs version 0.3.0 (build …)"), true),
            (Some("parquet-mr version 1.8.0 (build 0fda28af84b9746396014ad6a415b90592a98b3b)"), false),
            (Some("parquet-mr"), false),
            (Some("not impala"), false),
            (Some("imp"), false),
            (Some(""), false),
            (None, false),
        ] {
            let order = BitOrder::from_writer(created_by);
            assert_eq!(order == BitOrder::LeastSignificantFirst, expected, "{created_by:?}");
        }
    }
}
