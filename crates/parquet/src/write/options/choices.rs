//! The values that options take.

use lath_format::CompressionCodec;

/// How pages are compressed.
///
/// <https://github.com/apache/parquet-format/blob/master/Compression.md>
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// Not at all.
    Uncompressed,
    /// Snappy.
    Snappy,
    /// Gzip, levels 1 to 9.
    Gzip {
        /// Higher is smaller and slower.
        level: u32,
    },
    /// Brotli, levels 0 to 11.
    Brotli {
        /// Higher is smaller and slower.
        level: u32,
    },
    /// Zstandard, levels 1 to 22.
    Zstd {
        /// Higher is smaller and slower.
        level: u32,
    },
    /// LZ4's raw block format.
    Lz4Raw,
}

impl Codec {
    /// The level of [`Gzip`](Self::Gzip) where none is named.
    pub const DEFAULT_GZIP_LEVEL: u32 = 6;
    /// The level of [`Brotli`](Self::Brotli) where none is named.
    pub const DEFAULT_BROTLI_LEVEL: u32 = 5;
    /// The level of [`Zstd`](Self::Zstd) where none is named.
    pub const DEFAULT_ZSTD_LEVEL: u32 = 1;

    /// The codec as the metadata names it.
    pub(crate) fn id(self) -> CompressionCodec {
        match self {
            Self::Uncompressed => CompressionCodec::Uncompressed,
            Self::Snappy => CompressionCodec::Snappy,
            Self::Gzip { .. } => CompressionCodec::Gzip,
            Self::Brotli { .. } => CompressionCodec::Brotli,
            Self::Zstd { .. } => CompressionCodec::Zstd,
            Self::Lz4Raw => CompressionCodec::Lz4Raw,
        }
    }

    /// Whether its level is in range.
    pub(crate) fn has_level(self) -> bool {
        match self {
            Self::Uncompressed | Self::Snappy | Self::Lz4Raw => true,
            Self::Gzip { level } => (1..=9).contains(&level),
            Self::Brotli { level } => level <= 11,
            Self::Zstd { level } => (1..=22).contains(&level),
        }
    }
}

/// How values are encoded where no dictionary is used.
///
/// <https://parquet.apache.org/docs/file-format/data-pages/encodings/>
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueEncoding {
    /// PLAIN, for every type.
    Plain,
    /// RLE, for BOOLEAN.
    Rle,
    /// DELTA_BINARY_PACKED, for INT32 and INT64.
    DeltaBinaryPacked,
    /// DELTA_LENGTH_BYTE_ARRAY, for BYTE_ARRAY.
    DeltaLengthByteArray,
    /// DELTA_BYTE_ARRAY, for BYTE_ARRAY and FIXED_LEN_BYTE_ARRAY.
    DeltaByteArray,
    /// BYTE_STREAM_SPLIT, for every type of fixed width but BOOLEAN.
    ByteStreamSplit,
    /// ALP, for FLOAT and DOUBLE: decimal numbers as integers. The specification has it as a preview, and few readers know it.
    ///
    /// <https://github.com/apache/parquet-format/blob/master/AlpEncoding.md>
    Alp,
    /// Whichever makes the first values of a column chunk smallest, the dictionary among them; ALP only with
    /// [`preview_encodings`](super::ColumnOptions::preview_encodings).
    Sampled,
}

/// The layout of data pages.
///
/// <https://parquet.apache.org/docs/file-format/data-pages/>
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PageVersion {
    /// Levels and values compressed together; every reader has it.
    V1,
    /// Levels outside the compressed bytes.
    V2,
}

/// Which minima, maxima and null counts are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatisticsLevel {
    /// None.
    None,
    /// Of a column chunk, in the footer.
    Chunk,
    /// Of every page too, in the page index.
    Page,
}

/// How large a Bloom filter becomes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BloomFilter {
    /// As large as it takes for this share of absent values to pass, the distinct values having been counted.
    FalsePositiveRate(f64),
    /// This many bytes, rounded up to a power of two of at least 32.
    Bytes(usize),
}

impl BloomFilter {
    /// One absent value in a hundred passes: about ten bits per distinct value.
    pub const DEFAULT: Self = Self::FalsePositiveRate(0.01);
    /// The largest filter, in bytes: 128 MiB.
    pub const MAX_BYTES: usize = 128 << 20;
}

/// A column by which the rows of a row group are sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortingColumn {
    /// Dotted path of the leaf column.
    pub path: String,
    /// Largest first.
    pub descending: bool,
    /// Nulls before values.
    pub nulls_first: bool,
}

impl SortingColumn {
    /// Smallest first, nulls last.
    pub fn ascending(path: impl Into<String>) -> Self {
        Self { path: path.into(), descending: false, nulls_first: false }
    }

    /// Largest first, nulls last.
    pub fn descending(path: impl Into<String>) -> Self {
        Self { descending: true, ..Self::ascending(path) }
    }
}
