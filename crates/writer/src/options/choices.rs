//! Values of options.

use lath_format::{CompressionCodec, Encoding};
use serde::{Deserialize, Serialize};

/// Compression of pages.
///
/// <https://github.com/apache/parquet-format/blob/master/Compression.md>
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Codec {
    /// No compression.
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
    /// The level of [`Gzip`](Self::Gzip) if none is given.
    pub const DEFAULT_GZIP_LEVEL: u32 = 6;
    /// The level of [`Brotli`](Self::Brotli) if none is given.
    pub const DEFAULT_BROTLI_LEVEL: u32 = 5;
    /// The level of [`Zstd`](Self::Zstd) if none is given.
    pub const DEFAULT_ZSTD_LEVEL: u32 = 1;

    /// The codec's id in metadata.
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

/// Encoding of values without a dictionary.
///
/// <https://parquet.apache.org/docs/file-format/data-pages/encodings/>
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// ALP, for FLOAT and DOUBLE: decimal numbers as integers. It is a preview in the specification, and few readers know it.
    ///
    /// <https://github.com/apache/parquet-format/blob/master/AlpEncoding.md>
    Alp,
    /// The encoding that makes the first values of a column chunk smallest, the dictionary included; ALP only with
    /// [`preview_encodings`](super::ColumnOptions::preview_encodings).
    Sampled,
}

impl ValueEncoding {
    /// The encoding's id in metadata; `None` for [`Sampled`](Self::Sampled).
    pub(crate) fn id(self) -> Option<Encoding> {
        Some(match self {
            Self::Plain => Encoding::Plain,
            Self::Rle => Encoding::Rle,
            Self::DeltaBinaryPacked => Encoding::DeltaBinaryPacked,
            Self::DeltaLengthByteArray => Encoding::DeltaLengthByteArray,
            Self::DeltaByteArray => Encoding::DeltaByteArray,
            Self::ByteStreamSplit => Encoding::ByteStreamSplit,
            Self::Alp => Encoding::Alp,
            Self::Sampled => return None,
        })
    }
}

/// The layout of data pages.
///
/// <https://parquet.apache.org/docs/file-format/data-pages/>
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PageVersion {
    /// Levels and values are compressed together; every reader knows it.
    V1,
    /// Levels are stored outside the compressed bytes.
    V2,
}

/// Level of detail of statistics: minima, maxima and null counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum StatisticsLevel {
    /// No statistics.
    None,
    /// Statistics of column chunks, in the footer.
    Chunk,
    /// Statistics of pages too, in the page index.
    Page,
}

/// Size of a Bloom filter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum BloomFilter {
    /// As large as needed for this false positive rate with the counted distinct values.
    FalsePositiveRate(f64),
    /// This many bytes, rounded up to a power of two of at least 32.
    Bytes(usize),
}

impl BloomFilter {
    /// A false positive rate of 1 %: about ten bits a distinct value.
    pub const DEFAULT: Self = Self::FalsePositiveRate(0.01);
    /// The largest filter, in bytes: 128 MiB.
    pub const MAX_BYTES: usize = 128 << 20;
}
