//! The formats of text, by the names of files.

use std::path::Path;

/// A format of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    /// Comma-separated values, or separated by another character.
    Csv,
    /// JSON lines: one object per line.
    JsonLines,
}

/// The compression of a whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

impl TextFormat {
    /// The format that a file's extension says, or the extension before the one that says how it is compressed.
    ///
    /// ```
    /// use lath_text::TextFormat;
    ///
    /// assert_eq!(TextFormat::from_name("a/trips.csv.gz".as_ref()), Some(TextFormat::Csv));
    /// assert_eq!(TextFormat::from_name("trips.gz".as_ref()), None);
    /// ```
    pub fn from_name(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        if Compression::from_extension(extension).is_some() {
            return Self::from_name(&path.with_extension(""));
        }
        match extension.to_ascii_lowercase().as_str() {
            "csv" | "tsv" => Some(Self::Csv),
            "jsonl" | "ndjson" | "json" => Some(Self::JsonLines),
            _ => None,
        }
    }
}

impl Compression {
    /// The compression that the extension of a file's name says.
    pub fn from_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "gz" => Some(Self::Gzip),
            "zst" | "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }
}
