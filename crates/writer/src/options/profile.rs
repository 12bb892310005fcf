use super::{Codec, ColumnOptions, PageVersion, ValueEncoding};

/// A set of options for a purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Profile {
    /// For every reader since 2018: data pages of the first version, a dictionary or PLAIN, Snappy.
    Compatible,
    /// For small files: encoding chosen for each column from a sample, Zstandard, larger pages. With
    /// [`preview_encodings`](super::WriteOptions::preview_encodings) the sample includes ALP, which few readers know.
    Compact,
    /// For lookups by key: small pages, so that little is read for one row;
    /// [`WriteOptions::key_columns`](super::WriteOptions::key_columns) names the keys.
    Lookup,
}

impl Profile {
    /// Zstandard's level for [`Profile::Compact`].
    pub const COMPACT_ZSTD_LEVEL: u32 = 6;
    /// Rows of a page for [`Profile::Compact`].
    pub const COMPACT_PAGE_ROWS: usize = 100_000;
    /// Rows of a page for [`Profile::Lookup`].
    pub const LOOKUP_PAGE_ROWS: usize = 2_000;
    /// Bytes of a page for [`Profile::Lookup`].
    pub const LOOKUP_PAGE_BYTES: usize = 64 << 10;

    pub(super) fn columns(self) -> ColumnOptions {
        let options = ColumnOptions::new();
        match self {
            Self::Compatible => options
                .codec(Codec::Snappy)
                .encoding(ValueEncoding::Plain)
                .dictionary(true)
                .page_version(PageVersion::V1),
            Self::Compact => options
                .codec(Codec::Zstd { level: Self::COMPACT_ZSTD_LEVEL })
                .encoding(ValueEncoding::Sampled)
                .page_rows(Self::COMPACT_PAGE_ROWS),
            Self::Lookup => options.page_rows(Self::LOOKUP_PAGE_ROWS).page_bytes(Self::LOOKUP_PAGE_BYTES),
        }
    }
}
