use std::fmt;

/// The compression codec of the pages of a column chunk, with its number in the [specification].
///
/// [specification]: https://parquet.apache.org/docs/file-format/data-pages/compression/
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CompressionCodec {
    /// UNCOMPRESSED, 0.
    Uncompressed,
    /// SNAPPY, 1.
    Snappy,
    /// GZIP, 2.
    Gzip,
    /// LZO, 3.
    Lzo,
    /// BROTLI, 4.
    Brotli,
    /// LZ4, 5, deprecated, in one of several framings.
    Lz4,
    /// ZSTD, 6.
    Zstd,
    /// LZ4_RAW, 7.
    Lz4Raw,
    /// An unknown number.
    Unknown(i32),
}

impl CompressionCodec {
    /// The codec with the number `id`.
    #[inline]
    pub fn from_id(id: i32) -> Self {
        match id {
            0 => Self::Uncompressed,
            1 => Self::Snappy,
            2 => Self::Gzip,
            3 => Self::Lzo,
            4 => Self::Brotli,
            5 => Self::Lz4,
            6 => Self::Zstd,
            7 => Self::Lz4Raw,
            id => Self::Unknown(id),
        }
    }

    /// The number of the codec.
    #[inline]
    pub fn id(self) -> i32 {
        match self {
            Self::Uncompressed => 0,
            Self::Snappy => 1,
            Self::Gzip => 2,
            Self::Lzo => 3,
            Self::Brotli => 4,
            Self::Lz4 => 5,
            Self::Zstd => 6,
            Self::Lz4Raw => 7,
            Self::Unknown(id) => id,
        }
    }
}

/// The name in the specification.
impl fmt::Display for CompressionCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uncompressed => "UNCOMPRESSED",
            Self::Snappy => "SNAPPY",
            Self::Gzip => "GZIP",
            Self::Lzo => "LZO",
            Self::Brotli => "BROTLI",
            Self::Lz4 => "LZ4",
            Self::Zstd => "ZSTD",
            Self::Lz4Raw => "LZ4_RAW",
            Self::Unknown(id) => return write!(f, "codec {id}"),
        })
    }
}
