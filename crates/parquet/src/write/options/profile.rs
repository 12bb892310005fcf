use super::{Codec, ColumnOptions, PageVersion, ValueEncoding};

/// A purpose, with the options that serve it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Profile {
    /// What any reader since 2018 opens: data pages of the first version, a dictionary or PLAIN, Snappy.
    Compatible,
    /// Small files: encoding chosen per column from a sample, Zstandard, larger pages. With
    /// [`preview_encodings`](super::WriteOptions::preview_encodings) the sample has ALP too, which few readers know.
    Compact,
    /// Rows found by key: small pages, so that little is read for one row; the keys are named by
    /// [`WriteOptions::key_columns`](super::WriteOptions::key_columns).
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
