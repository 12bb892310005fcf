//! Options of reading.

/// Arrow layout of string and binary columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strings {
    /// `Utf8View` and `BinaryView`: views into the decompressed pages, nothing copied.
    #[default]
    Views,
    /// `Utf8` and `Binary` (or the large ones if the file's Arrow schema says so): one contiguous buffer of bytes with offsets.
    Offsets,
}

/// The unit of timestamps of INT96 columns.
///
/// An INT96 is a day and nanoseconds within it, from 5,877,520 BC to 5,874,898 AD, without a unit. A value that 64 bits of the
/// unit cannot hold is refused with [`Error::OutOfRange`](crate::Error::OutOfRange).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Int96Unit {
    /// Nanoseconds, or the unit of the file's Arrow schema: the years 1677 to 2262.
    #[default]
    Nanoseconds,
    /// Microseconds, truncated: 292,000 years before 1970 and after it.
    Microseconds,
    /// Milliseconds, truncated: every value.
    Milliseconds,
}

/// Limits on the memory and work that a file may cause. A file that needs more is refused with
/// [`Error::Limit`](crate::Error::Limit); raise the limit to read it.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Maximum bytes of a footer (Thrift metadata).
    pub footer_bytes: u64,
    /// Maximum bytes of a page header.
    pub page_header_bytes: u64,
    /// Maximum bytes of one page after decompression.
    pub page_bytes: u64,
    /// Maximum nesting of a schema, in levels.
    pub schema_depth: usize,
    /// Maximum elements of a repeated column in one batch, nulls included.
    pub batch_elements: u64,
    /// Maximum bytes that a batch may take up for the elements of null lists of fixed size, which Arrow has and Parquet does
    /// not.
    pub padding_bytes: u64,
}

impl Limits {
    /// Default for [`Limits::footer_bytes`]: 256 MiB.
    pub const DEFAULT_FOOTER_BYTES: u64 = 256 << 20;
    /// Default for [`Limits::page_header_bytes`]: 16 MiB (headers carry statistics, which can be long strings).
    pub const DEFAULT_PAGE_HEADER_BYTES: u64 = 16 << 20;
    /// Default for [`Limits::page_bytes`]: the format's own bound of 2 GiB − 1.
    pub const DEFAULT_PAGE_BYTES: u64 = i32::MAX as u64;
    /// Default for [`Limits::schema_depth`]: 100 levels.
    pub const DEFAULT_SCHEMA_DEPTH: usize = 100;
    /// Default for [`Limits::batch_elements`]: 268,435,456 (a batch of 8,192 rows with 32,768 elements each).
    pub const DEFAULT_BATCH_ELEMENTS: u64 = 1 << 28;
    /// Default for [`Limits::padding_bytes`]: 64 MiB (a batch of 8,192 null lists of 2,048 floats).
    pub const DEFAULT_PADDING_BYTES: u64 = 64 << 20;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            footer_bytes: Self::DEFAULT_FOOTER_BYTES,
            page_header_bytes: Self::DEFAULT_PAGE_HEADER_BYTES,
            page_bytes: Self::DEFAULT_PAGE_BYTES,
            schema_depth: Self::DEFAULT_SCHEMA_DEPTH,
            batch_elements: Self::DEFAULT_BATCH_ELEMENTS,
            padding_bytes: Self::DEFAULT_PADDING_BYTES,
        }
    }
}
