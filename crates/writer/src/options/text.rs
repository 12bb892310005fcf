//! Parses values of options.

use std::ops::RangeInclusive;
use std::str::FromStr;

use lath_parquet::{Error, Result};

use super::{Codec, PageVersion, Profile, ValueEncoding};

/// `snappy`, `zstd:3`, `zstd(3)`…; case does not matter.
impl FromStr for Codec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, level) = match text.trim_end_matches(')').split_once([':', '(']) {
            Some((name, level)) => {
                let level = level.trim().parse().map_err(|_| Error::invalid(format!("{level} is not a level")))?;
                (name.trim(), Some(level))
            }
            None => (text.trim(), None),
        };
        let within = |default: u32, range: RangeInclusive<u32>| match level {
            Some(level) if !range.contains(&level) => {
                Err(Error::invalid(format!("{name} has levels from {} to {}", range.start(), range.end())))
            }
            level => Ok(level.unwrap_or(default)),
        };
        let codec = match name.to_ascii_lowercase().as_str() {
            "zstd" => return Ok(Self::Zstd { level: within(Self::DEFAULT_ZSTD_LEVEL, 1..=22)? }),
            "gzip" => return Ok(Self::Gzip { level: within(Self::DEFAULT_GZIP_LEVEL, 1..=9)? }),
            "brotli" => return Ok(Self::Brotli { level: within(Self::DEFAULT_BROTLI_LEVEL, 0..=11)? }),
            "uncompressed" | "none" => Self::Uncompressed,
            "snappy" => Self::Snappy,
            "lz4" | "lz4_raw" => Self::Lz4Raw,
            _ => {
                return Err(Error::invalid(format!(
                    "there is no codec {name}; write uncompressed, snappy, lz4, gzip, brotli or zstd"
                )));
            }
        };
        if level.is_some() { Err(Error::invalid(format!("{name} has no levels"))) } else { Ok(codec) }
    }
}

/// The specification's name, or a short one: `delta`, `delta-strings`…; `auto` for [`Sampled`](ValueEncoding::Sampled).
impl FromStr for ValueEncoding {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.to_ascii_lowercase().replace('_', "-").as_str() {
            "plain" => Ok(Self::Plain),
            "rle" => Ok(Self::Rle),
            "delta" | "delta-binary-packed" => Ok(Self::DeltaBinaryPacked),
            "delta-length" | "delta-length-byte-array" => Ok(Self::DeltaLengthByteArray),
            "delta-strings" | "delta-byte-array" => Ok(Self::DeltaByteArray),
            "byte-stream-split" => Ok(Self::ByteStreamSplit),
            "alp" => Ok(Self::Alp),
            "auto" => Ok(Self::Sampled),
            _ => Err(Error::invalid(format!(
                "there is no encoding {text}; write plain, rle, delta, delta-length, delta-strings, byte-stream-split, \
                 alp or auto (dictionaries are an option of their own)"
            ))),
        }
    }
}

/// `1` or `2`.
impl FromStr for PageVersion {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "1" => Ok(Self::V1),
            "2" => Ok(Self::V2),
            _ => Err(Error::invalid("write 1 or 2")),
        }
    }
}

/// `compatible`, `compact` or `lookup`.
impl FromStr for Profile {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.to_ascii_lowercase().as_str() {
            "compatible" => Ok(Self::Compatible),
            "compact" => Ok(Self::Compact),
            "lookup" => Ok(Self::Lookup),
            _ => Err(Error::invalid(format!("there is no profile {text}; write compatible, compact or lookup"))),
        }
    }
}

/// Parses a size in bytes such as `500000`, `64KiB`, `1.5 GiB` or `10M`; all units are powers of 1024. `None` if it is not a
/// size.
///
/// ```
/// assert_eq!(lath_writer::parse_byte_size("64KiB"), Some(65_536));
/// assert_eq!(lath_writer::parse_byte_size("64 things"), None);
/// ```
pub fn parse_byte_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let power = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 1,
        "m" | "mb" | "mib" => 2,
        "g" | "gb" | "gib" => 3,
        "t" | "tb" | "tib" => 4,
        _ => return None,
    };
    if power == 0 {
        return number.parse().ok();
    }
    let size = number.parse::<f64>().ok()? * 1024f64.powi(power);
    (size < u64::MAX as f64).then_some(size as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_have_levels() {
        let codec = |text: &str| text.parse::<Codec>().ok();
        assert_eq!(codec("zstd"), Some(Codec::Zstd { level: 1 }));
        assert_eq!(codec("ZSTD(19)"), Some(Codec::Zstd { level: 19 }));
        assert_eq!(codec("zstd:19"), Some(Codec::Zstd { level: 19 }));
        assert_eq!(codec("LZ4"), Some(Codec::Lz4Raw));
        assert_eq!(codec("none"), Some(Codec::Uncompressed));
        for text in ["zip", "zstd:0", "zstd:23", "zstd:x", "snappy:1", "gzip:10", ""] {
            assert_eq!(codec(text), None, "{text:?}");
        }
    }

    #[test]
    fn encodings_have_short_and_full_names() {
        let encoding = |text: &str| text.parse::<ValueEncoding>().ok();
        assert_eq!(encoding("DELTA_BINARY_PACKED"), Some(ValueEncoding::DeltaBinaryPacked));
        assert_eq!(encoding("delta-strings"), Some(ValueEncoding::DeltaByteArray));
        assert_eq!(encoding("ALP"), Some(ValueEncoding::Alp));
        assert_eq!(encoding("dictionary"), None);
    }

    #[test]
    fn sizes_are_read_with_units() {
        let sizes = ["0", "500000", "64KiB", "1.5 GiB", "10M", "2kb", "12 B"].map(parse_byte_size);
        assert_eq!(sizes, [0, 500_000, 65_536, 3 << 29, 10 << 20, 2048, 12].map(Some));
        assert_eq!(["", "MiB", "-1", "1.5", "1x", "1 KiB 2", "99999999 TiB"].map(parse_byte_size), [None; 7]);
    }
}
