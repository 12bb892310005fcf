use bytes::Bytes;
use lath_parquet::{Error, Result};
use serde::{Deserialize, Serialize};

use super::segments::Segments;
use super::{BloomFilter, Codec, PageVersion, StatisticsLevel, ValueEncoding, serialized};

/// Options of one column, or of all: options that are not set are inherited or have their defaults.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ColumnOptions {
    pub(super) encoding: Option<ValueEncoding>,
    pub(super) codec: Option<Codec>,
    pub(super) dictionary: Option<bool>,
    dictionary_bytes: Option<usize>,
    pub(super) page_version: Option<PageVersion>,
    pub(super) page_rows: Option<usize>,
    pub(super) page_bytes: Option<usize>,
    #[serde(with = "serialized::nested")]
    pub(super) bloom_filter: Option<Option<BloomFilter>>,
    statistics: Option<StatisticsLevel>,
    statistics_bytes: Option<usize>,
    size_statistics: Option<bool>,
    offset_index: Option<bool>,
    crc: Option<bool>,
    total_order: Option<bool>,
    preview_encodings: Option<bool>,
    /// The key-value metadata of column chunks, a list in Thrift's compact protocol.
    #[serde(with = "serialized::bytes")]
    pub(super) key_values: Option<Bytes>,
}

/// The options in force for a leaf.
#[derive(Debug, Clone)]
pub(crate) struct LeafOptions {
    pub(crate) encoding: ValueEncoding,
    /// Whether the encoding was set for this column, so that a type without it is an error.
    pub(crate) encoding_is_own: bool,
    pub(crate) codec: Codec,
    pub(crate) dictionary: bool,
    pub(crate) dictionary_bytes: usize,
    pub(crate) page_version: PageVersion,
    pub(crate) page_rows: usize,
    pub(crate) page_bytes: usize,
    /// Whether the chunks are encrypted when they are written.
    pub(crate) is_encrypted: bool,
    pub(crate) bloom_filter: Option<BloomFilter>,
    pub(crate) statistics: StatisticsLevel,
    pub(crate) statistics_bytes: usize,
    pub(crate) size_statistics: bool,
    pub(crate) offset_index: bool,
    pub(crate) crc: bool,
    pub(crate) total_order: bool,
    pub(crate) preview_encodings: bool,
    /// The key-value metadata of every column chunk, a list in Thrift's compact protocol.
    pub(crate) key_values: Option<Bytes>,
    /// Maximum rows of a row group, from which the use of a dictionary is projected.
    pub(crate) row_group_rows: usize,
    /// Memory for pages, which the writer's columns share.
    pub(crate) segments: Segments,
}

impl ColumnOptions {
    /// Default for [`encoding`](Self::encoding): PLAIN.
    pub const DEFAULT_ENCODING: ValueEncoding = ValueEncoding::Plain;
    /// Default for [`codec`](Self::codec): Zstandard at level 1.
    pub const DEFAULT_CODEC: Codec = Codec::Zstd { level: 1 };
    /// Default for [`dictionary`](Self::dictionary): on.
    pub const DEFAULT_DICTIONARY: bool = true;
    /// Default for [`dictionary_bytes`](Self::dictionary_bytes): 1 MiB.
    pub const DEFAULT_DICTIONARY_BYTES: usize = 1 << 20;
    /// Default for [`page_version`](Self::page_version): the first.
    pub const DEFAULT_PAGE_VERSION: PageVersion = PageVersion::V1;
    /// Default for [`page_rows`](Self::page_rows): 20,000.
    pub const DEFAULT_PAGE_ROWS: usize = 20_000;
    /// Default for [`page_bytes`](Self::page_bytes): 1 MiB.
    pub const DEFAULT_PAGE_BYTES: usize = 1 << 20;
    /// Maximum of [`page_bytes`](Self::page_bytes): 1 GiB, half of the maximum that a page header can hold.
    pub const MAX_PAGE_BYTES: usize = 1 << 30;
    /// Default for [`statistics`](Self::statistics): chunks and pages.
    pub const DEFAULT_STATISTICS: StatisticsLevel = StatisticsLevel::Page;
    /// Default for [`statistics_bytes`](Self::statistics_bytes): 64.
    pub const DEFAULT_STATISTICS_BYTES: usize = 64;
    /// Default for [`size_statistics`](Self::size_statistics): on.
    pub const DEFAULT_SIZE_STATISTICS: bool = true;
    /// Default for [`offset_index`](Self::offset_index): on.
    pub const DEFAULT_OFFSET_INDEX: bool = true;
    /// Default for [`crc`](Self::crc): on.
    pub const DEFAULT_CRC: bool = true;
    /// Default for [`total_order`](Self::total_order): off, because few readers know it.
    pub const DEFAULT_TOTAL_ORDER: bool = false;
    /// Default for [`preview_encodings`](Self::preview_encodings): off, because few readers know them.
    pub const DEFAULT_PREVIEW_ENCODINGS: bool = false;

    /// No options set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the encoding of values without a dictionary. Default: [`Self::DEFAULT_ENCODING`].
    #[must_use]
    pub fn encoding(mut self, encoding: ValueEncoding) -> Self {
        self.encoding = Some(encoding);
        self
    }

    /// Sets the codec. Default: [`Self::DEFAULT_CODEC`].
    #[must_use]
    pub fn codec(mut self, codec: Codec) -> Self {
        self.codec = Some(codec);
        self
    }

    /// Sets whether a dictionary is tried first; it is given up if it does not save space. BOOLEAN columns have none. Default:
    /// [`Self::DEFAULT_DICTIONARY`].
    #[must_use]
    pub fn dictionary(mut self, enabled: bool) -> Self {
        self.dictionary = Some(enabled);
        self
    }

    /// Sets the maximum size in bytes of a chunk's dictionary, which the values of one page may exceed. Later values are encoded
    /// without the dictionary. Default: [`Self::DEFAULT_DICTIONARY_BYTES`].
    #[must_use]
    pub fn dictionary_bytes(mut self, bytes: usize) -> Self {
        self.dictionary_bytes = Some(bytes);
        self
    }

    /// Sets the version of data pages. Default: [`Self::DEFAULT_PAGE_VERSION`].
    #[must_use]
    pub fn page_version(mut self, version: PageVersion) -> Self {
        self.page_version = Some(version);
        self
    }

    /// Sets the maximum rows of a page. Default: [`Self::DEFAULT_PAGE_ROWS`].
    #[must_use]
    pub fn page_rows(mut self, rows: usize) -> Self {
        self.page_rows = Some(rows);
        self
    }

    /// Sets the number of bytes of values, before compression, after which a page ends; a row is never split. Default:
    /// [`Self::DEFAULT_PAGE_BYTES`].
    #[must_use]
    pub fn page_bytes(mut self, bytes: usize) -> Self {
        self.page_bytes = Some(bytes);
        self
    }

    /// Sets a Bloom filter, or none. Default: none.
    #[must_use]
    pub fn bloom_filter(mut self, filter: impl Into<Option<BloomFilter>>) -> Self {
        self.bloom_filter = Some(filter.into());
        self
    }

    /// Sets the level of statistics. Default: [`Self::DEFAULT_STATISTICS`].
    #[must_use]
    pub fn statistics(mut self, level: StatisticsLevel) -> Self {
        self.statistics = Some(level);
        self
    }

    /// Sets the maximum bytes of minima and maxima of byte arrays; truncated ones are marked as not exact. Default:
    /// [`Self::DEFAULT_STATISTICS_BYTES`].
    #[must_use]
    pub fn statistics_bytes(mut self, bytes: usize) -> Self {
        self.statistics_bytes = Some(bytes);
        self
    }

    /// Sets whether size statistics are written: histograms of levels and bytes of values. Default:
    /// [`Self::DEFAULT_SIZE_STATISTICS`].
    #[must_use]
    pub fn size_statistics(mut self, enabled: bool) -> Self {
        self.size_statistics = Some(enabled);
        self
    }

    /// Sets whether an offset index with the places of pages is written. Default: [`Self::DEFAULT_OFFSET_INDEX`].
    #[must_use]
    pub fn offset_index(mut self, enabled: bool) -> Self {
        self.offset_index = Some(enabled);
        self
    }

    /// Sets whether pages carry a CRC-32. Default: [`Self::DEFAULT_CRC`].
    #[must_use]
    pub fn crc(mut self, enabled: bool) -> Self {
        self.crc = Some(enabled);
        self
    }

    /// Sets whether FLOAT, DOUBLE and Float16 columns have minima and maxima in IEEE 754's total order, with the number of NaNs.
    /// Default: [`Self::DEFAULT_TOTAL_ORDER`].
    #[must_use]
    pub fn total_order(mut self, enabled: bool) -> Self {
        self.total_order = Some(enabled);
        self
    }

    /// Sets whether [`ValueEncoding::Sampled`] may choose a preview encoding of the specification: today [`ValueEncoding::Alp`].
    /// The specification asks writers for such an option, because readers without the encoding cannot read the column. Default:
    /// [`Self::DEFAULT_PREVIEW_ENCODINGS`].
    #[must_use]
    pub fn preview_encodings(mut self, enabled: bool) -> Self {
        self.preview_encodings = Some(enabled);
        self
    }

    pub(super) fn has_encoding(&self) -> bool {
        self.encoding.is_some()
    }

    /// These options, completed by `behind` where they are not set.
    pub(super) fn over(&self, behind: &Self) -> Self {
        Self {
            encoding: self.encoding.or(behind.encoding),
            codec: self.codec.or(behind.codec),
            dictionary: self.dictionary.or(behind.dictionary),
            dictionary_bytes: self.dictionary_bytes.or(behind.dictionary_bytes),
            page_version: self.page_version.or(behind.page_version),
            page_rows: self.page_rows.or(behind.page_rows),
            page_bytes: self.page_bytes.or(behind.page_bytes),
            bloom_filter: self.bloom_filter.or(behind.bloom_filter),
            statistics: self.statistics.or(behind.statistics),
            statistics_bytes: self.statistics_bytes.or(behind.statistics_bytes),
            size_statistics: self.size_statistics.or(behind.size_statistics),
            offset_index: self.offset_index.or(behind.offset_index),
            crc: self.crc.or(behind.crc),
            total_order: self.total_order.or(behind.total_order),
            preview_encodings: self.preview_encodings.or(behind.preview_encodings),
            key_values: self.key_values.clone().or_else(|| behind.key_values.clone()),
        }
    }

    /// These options of another file, without options that may not suit `asked_for`.
    pub(super) fn beside(&self, asked_for: &Self) -> Self {
        let mut kept = self.clone();
        if asked_for.page_rows.is_some() || asked_for.page_bytes.is_some() {
            (kept.page_rows, kept.page_bytes) = (None, None);
        }
        if asked_for.encoding == Some(ValueEncoding::Sampled) {
            kept.dictionary = None;
        }
        kept
    }

    pub(super) fn resolve(&self) -> LeafOptions {
        LeafOptions {
            encoding: self.encoding.unwrap_or(Self::DEFAULT_ENCODING),
            encoding_is_own: false,
            codec: self.codec.unwrap_or(Self::DEFAULT_CODEC),
            dictionary: self.dictionary.unwrap_or(Self::DEFAULT_DICTIONARY),
            dictionary_bytes: self.dictionary_bytes.unwrap_or(Self::DEFAULT_DICTIONARY_BYTES),
            page_version: self.page_version.unwrap_or(Self::DEFAULT_PAGE_VERSION),
            page_rows: self.page_rows.unwrap_or(Self::DEFAULT_PAGE_ROWS),
            page_bytes: self.page_bytes.unwrap_or(Self::DEFAULT_PAGE_BYTES),
            is_encrypted: false,
            bloom_filter: self.bloom_filter.flatten(),
            statistics: self.statistics.unwrap_or(Self::DEFAULT_STATISTICS),
            statistics_bytes: self.statistics_bytes.unwrap_or(Self::DEFAULT_STATISTICS_BYTES),
            size_statistics: self.size_statistics.unwrap_or(Self::DEFAULT_SIZE_STATISTICS),
            offset_index: self.offset_index.unwrap_or(Self::DEFAULT_OFFSET_INDEX),
            crc: self.crc.unwrap_or(Self::DEFAULT_CRC),
            total_order: self.total_order.unwrap_or(Self::DEFAULT_TOTAL_ORDER),
            preview_encodings: self.preview_encodings.unwrap_or(Self::DEFAULT_PREVIEW_ENCODINGS),
            key_values: self.key_values.clone(),
            row_group_rows: super::WriteOptions::DEFAULT_ROW_GROUP_ROWS,
            segments: Segments::default(),
        }
    }
}

impl LeafOptions {
    /// Refuses values that cannot be written; `whose` names the column in errors.
    pub(super) fn check(&self, whose: &str) -> Result<()> {
        let refuse = |what: &str| Err(Error::invalid(format!("options of {whose}: {what}")));
        if !self.codec.has_level() {
            return refuse(&format!("{:?} has no such level", self.codec));
        }
        if self.page_rows == 0 || self.page_bytes == 0 {
            return refuse("pages of no rows or no bytes");
        }
        if self.page_bytes > ColumnOptions::MAX_PAGE_BYTES {
            return refuse("pages of over 1 GiB");
        }
        if self.statistics_bytes == 0 {
            return refuse("statistics cut to 0 bytes say nothing");
        }
        match self.bloom_filter {
            Some(BloomFilter::FalsePositiveRate(rate)) if !(rate > 0.0 && rate < 1.0) => {
                refuse("a Bloom filter's false-positive rate is between 0 and 1")
            }
            Some(BloomFilter::Bytes(bytes)) if bytes > BloomFilter::MAX_BYTES => {
                refuse("a Bloom filter of over 128 MiB")
            }
            _ => Ok(()),
        }
    }
}
