//! What the footer and the page index say of a chunk, gathered page by page.

use std::cmp::Ordering;
use std::sync::Arc;

use parquet::basic::{BoundaryOrder, Compression, Encoding, PageType, Type as PhysicalType};
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::file::metadata::{
    ColumnChunkMetaData, ColumnIndexBuilder, LevelHistogram, OffsetIndexBuilder, PageEncodingStats,
};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::OffsetIndexMetaData;
use parquet::file::statistics::{Statistics, ValueStatistics as CrateStatistics};
use parquet::schema::types::ColumnDescPtr;

use super::NanCounts;
use super::options::{LeafOptions, StatisticsLevel};
use super::page::PageSize;
use super::statistics::{Extremes, Order, ValueStatistics, truncate_max, truncate_min};
use crate::envelope::translate;
use crate::error::Result;

/// Gathers metadata of the pages of a chunk.
#[derive(Debug)]
pub(super) struct ChunkIndex {
    column: ColumnDescPtr,
    order: Order,
    level: StatisticsLevel,
    truncate_len: usize,
    with_sizes: bool,
    with_offsets: bool,
    def_levels: usize,
    rep_levels: usize,
    pages: Vec<PageEntry>,
    /// Histograms of all pages, one after another.
    def_histograms: Vec<i64>,
    rep_histograms: Vec<i64>,
    dictionary: Option<PageSize>,
    distinct_count: Option<u64>,
}

#[derive(Debug)]
struct PageEntry {
    entries: usize,
    values: usize,
    rows: usize,
    encoding: Encoding,
    size: PageSize,
    statistics: ValueStatistics,
    unencoded: Option<usize>,
}

/// The histograms of a new page, to be filled.
pub(super) struct NewPage<'a> {
    pub(super) def_histogram: &'a mut [i64],
    pub(super) rep_histogram: &'a mut [i64],
}

/// Metadata of a chunk, offsets counted from its first byte.
pub(super) type ChunkMetadata =
    (ColumnChunkMetaData, Option<ColumnIndexMetaData>, Option<OffsetIndexMetaData>, Option<NanCounts>);

impl ChunkIndex {
    pub(super) fn new(column: &ColumnDescPtr, order: Order, options: &LeafOptions) -> Self {
        // Levels that are all 0 have no histogram.
        let histogram_len = |level: i16| if level == 0 || !options.size_statistics { 0 } else { level as usize + 1 };
        Self {
            column: Arc::clone(column),
            order,
            level: options.statistics,
            truncate_len: options.statistics_bytes,
            with_sizes: options.size_statistics,
            with_offsets: options.offset_index,
            def_levels: histogram_len(column.max_def_level()),
            rep_levels: histogram_len(column.max_rep_level()),
            pages: Vec::new(),
            def_histograms: Vec::new(),
            rep_histograms: Vec::new(),
            dictionary: None,
            distinct_count: None,
        }
    }

    pub(super) fn new_page(&mut self, entries: usize, values: usize, rows: usize) -> NewPage<'_> {
        self.pages.push(PageEntry {
            entries,
            values,
            rows,
            encoding: Encoding::PLAIN,
            size: PageSize { stored: 0, uncompressed: 0 },
            statistics: ValueStatistics::default(),
            unencoded: None,
        });
        let (def_start, rep_start) = (self.def_histograms.len(), self.rep_histograms.len());
        self.def_histograms.resize(def_start + self.def_levels, 0);
        self.rep_histograms.resize(rep_start + self.rep_levels, 0);
        NewPage {
            def_histogram: &mut self.def_histograms[def_start..],
            rep_histogram: &mut self.rep_histograms[rep_start..],
        }
    }

    /// Completes the page begun last. `unencoded` are the bytes of its BYTE_ARRAY values.
    pub(super) fn close_page(
        &mut self,
        encoding: Encoding,
        size: PageSize,
        statistics: ValueStatistics,
        unencoded: Option<usize>,
    ) {
        if let Some(page) = self.pages.last_mut() {
            (page.encoding, page.size, page.statistics, page.unencoded) = (encoding, size, statistics, unencoded);
        }
    }

    /// Sets the dictionary page, and the number of distinct values if all pages refer to it.
    pub(super) fn set_dictionary(&mut self, size: PageSize, distinct_count: Option<u64>) {
        self.dictionary = Some(size);
        self.distinct_count = distinct_count;
    }

    /// The metadata of all pages since the last call.
    pub(super) fn finish(&mut self, codec: Compression) -> Result<ChunkMetadata> {
        let sum = |f: fn(&PageEntry) -> usize| self.pages.iter().map(f).sum::<usize>();
        let (entries, values) = (sum(|page| page.entries), sum(|page| page.values));
        let dictionary = self.dictionary.unwrap_or(PageSize { stored: 0, uncompressed: 0 });
        let is_byte_array = self.column.physical_type() == PhysicalType::BYTE_ARRAY;
        let mut builder = ColumnChunkMetaData::builder(Arc::clone(&self.column))
            .set_compression(codec)
            .set_num_values(entries as i64)
            .set_total_compressed_size((sum(|page| page.size.stored) + dictionary.stored) as i64)
            .set_total_uncompressed_size((sum(|page| page.size.uncompressed) + dictionary.uncompressed) as i64)
            .set_data_page_offset(dictionary.stored as i64)
            .set_dictionary_page_offset(self.dictionary.map(|_| 0))
            .set_encodings(self.encodings())
            .set_page_encoding_stats(self.page_encoding_stats());
        if self.level > StatisticsLevel::None {
            builder = builder.set_statistics(self.chunk_statistics((entries - values) as u64));
        }
        if self.with_sizes {
            let total = |histograms: &[i64], levels: usize| {
                (levels > 0).then(|| {
                    let level = |at| histograms.iter().skip(at).step_by(levels).sum::<i64>();
                    LevelHistogram::from((0..levels).map(level).collect::<Vec<i64>>())
                })
            };
            builder = builder
                .set_unencoded_byte_array_data_bytes(
                    is_byte_array.then(|| sum(|page| page.unencoded.unwrap_or(0)) as i64),
                )
                .set_definition_level_histogram(total(&self.def_histograms, self.def_levels))
                .set_repetition_level_histogram(total(&self.rep_histograms, self.rep_levels));
        }
        let metadata = builder.build().map_err(translate)?;
        let column_index = if self.level == StatisticsLevel::Page { self.column_index()? } else { None };
        let offset_index = self.with_offsets.then(|| self.offset_index(dictionary.stored));
        let nan_counts = (self.order.is_total() && self.level > StatisticsLevel::None).then(|| NanCounts {
            chunk: self.pages.iter().map(|page| page.statistics.nans).sum(),
            pages: self.pages.iter().map(|page| page.statistics.nans).collect(),
        });
        self.pages.clear();
        self.def_histograms.clear();
        self.rep_histograms.clear();
        self.dictionary = None;
        self.distinct_count = None;
        Ok((metadata, column_index, offset_index, nan_counts))
    }

    /// Encodings of levels and values, each once.
    fn encodings(&self) -> Vec<Encoding> {
        let mut encodings = Vec::new();
        let has_levels = self.column.max_def_level() > 0 || self.column.max_rep_level() > 0;
        let of_levels = has_levels.then_some(Encoding::RLE);
        let of_dictionary = self.dictionary.map(|_| Encoding::PLAIN);
        for encoding in of_dictionary.into_iter().chain(of_levels).chain(self.pages.iter().map(|page| page.encoding)) {
            if !encodings.contains(&encoding) {
                encodings.push(encoding);
            }
        }
        encodings
    }

    fn page_encoding_stats(&self) -> Vec<PageEncodingStats> {
        let mut counts: Vec<PageEncodingStats> = Vec::new();
        if self.dictionary.is_some() {
            let page_type = PageType::DICTIONARY_PAGE;
            counts.push(PageEncodingStats { page_type, encoding: Encoding::PLAIN, count: 1 });
        }
        for page in &self.pages {
            let same =
                |of: &&mut PageEncodingStats| of.page_type != PageType::DICTIONARY_PAGE && of.encoding == page.encoding;
            match counts.iter_mut().find(same) {
                Some(of) => of.count += 1,
                None => {
                    counts.push(PageEncodingStats {
                        page_type: PageType::DATA_PAGE,
                        encoding: page.encoding,
                        count: 1,
                    });
                }
            }
        }
        counts
    }

    fn chunk_statistics(&self, null_count: u64) -> Statistics {
        let mut all = ValueStatistics::default();
        for page in &self.pages {
            all.merge(self.order, &page.statistics);
        }
        let (min, max) = match all.extremes {
            Some(Extremes { min, max }) => {
                let (min, max) = (
                    truncate_min(self.order, min, self.truncate_len),
                    truncate_max(self.order, max, self.truncate_len),
                );
                (Some(min), Some(max))
            }
            None => (None, None),
        };
        let (distinct, nulls) = (self.distinct_count, Some(null_count));
        macro_rules! numbers {
            ($of:ident, $read:expr) => {{
                let read = $read;
                Statistics::$of(min.map(|(v, _)| read(&v)), max.map(|(v, _)| read(&v)), distinct, nulls, false)
            }};
        }
        fn bytes<const N: usize>(value: &[u8]) -> [u8; N] {
            std::array::from_fn(|i| value.get(i).copied().unwrap_or(0))
        }
        match self.column.physical_type() {
            PhysicalType::BOOLEAN => numbers!(boolean, |v: &[u8]| v.first().is_some_and(|byte| *byte != 0)),
            PhysicalType::INT32 => numbers!(int32, |v: &[u8]| i32::from_le_bytes(bytes(v))),
            PhysicalType::INT64 => numbers!(int64, |v: &[u8]| i64::from_le_bytes(bytes(v))),
            PhysicalType::FLOAT => numbers!(float, |v: &[u8]| f32::from_le_bytes(bytes(v))),
            PhysicalType::DOUBLE => numbers!(double, |v: &[u8]| f64::from_le_bytes(bytes(v))),
            // Its order is not defined, so that there are no extremes.
            PhysicalType::INT96 => Statistics::int96(None, None, distinct, nulls, false),
            PhysicalType::BYTE_ARRAY => {
                let exact = (min.as_ref().is_some_and(|min| min.1), max.as_ref().is_some_and(|max| max.1));
                let value = |v: Option<(Vec<u8>, bool)>| v.map(|(v, _)| ByteArray::from(v));
                Statistics::ByteArray(
                    CrateStatistics::new(value(min), value(max), distinct, nulls, false)
                        .with_min_is_exact(exact.0)
                        .with_max_is_exact(exact.1),
                )
            }
            PhysicalType::FIXED_LEN_BYTE_ARRAY => {
                let exact = (min.as_ref().is_some_and(|min| min.1), max.as_ref().is_some_and(|max| max.1));
                let value = |v: Option<(Vec<u8>, bool)>| v.map(|(v, _)| FixedLenByteArray::from(ByteArray::from(v)));
                Statistics::FixedLenByteArray(
                    CrateStatistics::new(value(min), value(max), distinct, nulls, false)
                        .with_min_is_exact(exact.0)
                        .with_max_is_exact(exact.1),
                )
            }
        }
    }

    /// `None` where a page has values but no extremes: an index has to have them for all.
    fn column_index(&self) -> Result<Option<ColumnIndexMetaData>> {
        if self.pages.iter().any(|page| page.values > 0 && page.statistics.extremes.is_none()) {
            return Ok(None);
        }
        let mut builder = ColumnIndexBuilder::new(self.column.physical_type());
        let mut bounds: Vec<Extremes> = Vec::with_capacity(self.pages.len());
        for (number, page) in self.pages.iter().enumerate() {
            let (min, max) = match &page.statistics.extremes {
                Some(Extremes { min, max }) => {
                    let min = truncate_min(self.order, min.clone(), self.truncate_len).0;
                    let max = truncate_max(self.order, max.clone(), self.truncate_len).0;
                    bounds.push(Extremes { min: min.clone(), max: max.clone() });
                    (min, max)
                }
                None => (Vec::new(), Vec::new()),
            };
            builder.append(page.values == 0, min, max, (page.entries - page.values) as i64);
            let of_page = |histograms: &[i64], levels: usize| {
                (levels > 0).then(|| LevelHistogram::from(histograms[number * levels..(number + 1) * levels].to_vec()))
            };
            builder.append_histograms(
                &of_page(&self.rep_histograms, self.rep_levels),
                &of_page(&self.def_histograms, self.def_levels),
            );
        }
        builder.set_boundary_order(self.boundary_order(&bounds));
        builder.build().map(Some).map_err(translate)
    }

    fn boundary_order(&self, bounds: &[Extremes]) -> BoundaryOrder {
        let runs = |allowed: Ordering| {
            bounds.windows(2).all(|pair| {
                let (min, max) =
                    (self.order.compare(&pair[0].min, &pair[1].min), self.order.compare(&pair[0].max, &pair[1].max));
                (min == allowed || min.is_eq()) && (max == allowed || max.is_eq())
            })
        };
        if runs(Ordering::Less) {
            BoundaryOrder::ASCENDING
        } else if runs(Ordering::Greater) {
            BoundaryOrder::DESCENDING
        } else {
            BoundaryOrder::UNORDERED
        }
    }

    fn offset_index(&self, mut offset: usize) -> OffsetIndexMetaData {
        let mut builder = OffsetIndexBuilder::new();
        for page in &self.pages {
            builder.append_row_count(page.rows as i64);
            builder.append_offset_and_size(offset as i64, page.size.stored as i32);
            if self.with_sizes {
                builder.append_unencoded_byte_array_data_bytes(page.unencoded.map(|len| len as i64));
            }
            offset += page.size.stored;
        }
        builder.build()
    }
}
