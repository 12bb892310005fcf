//! Collects the metadata of a chunk for the footer and the page index, page by page.

use std::cmp::Ordering;
use std::sync::Arc;

use bytes::Bytes;
use lath_format::schema::ColumnDescPtr;
use lath_format::schema::PhysicalType;
use lath_format::write::{Bound, ChunkStatistics, ColumnChunkMetaData};
use lath_format::{
    BoundaryOrder, ColumnIndex, CompressionCodec, Encoding, OffsetIndex, PageEncodingStats, PageLocation, PageType,
    SizeStatistics,
};

use super::page::PageSize;
use crate::options::{LeafOptions, StatisticsLevel};
use crate::statistics::{Extremes, Order, ValueStatistics, truncate_max, truncate_min};

/// Collects metadata of the pages of a chunk.
#[derive(Debug)]
pub(crate) struct ChunkIndex {
    column: ColumnDescPtr,
    order: Order,
    level: StatisticsLevel,
    truncate_len: usize,
    with_sizes: bool,
    with_offsets: bool,
    key_values: Option<Bytes>,
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
pub(crate) struct NewPage<'a> {
    pub(crate) def_histogram: &'a mut [i64],
    pub(crate) rep_histogram: &'a mut [i64],
}

/// Metadata of a chunk; offsets count from its first byte.
#[derive(Debug)]
pub(crate) struct ChunkMetadata {
    pub(crate) chunk: ColumnChunkMetaData,
    pub(crate) column_index: Option<ColumnIndex>,
    pub(crate) offset_index: Option<OffsetIndex>,
}

impl ChunkIndex {
    pub(crate) fn new(column: &ColumnDescPtr, order: Order, options: &LeafOptions) -> Self {
        // Levels that are all 0 have no histogram.
        let histogram_len = |level: i16| if level == 0 || !options.size_statistics { 0 } else { level as usize + 1 };
        Self {
            column: Arc::clone(column),
            order,
            level: options.statistics,
            truncate_len: options.statistics_bytes,
            with_sizes: options.size_statistics,
            with_offsets: options.offset_index,
            key_values: options.key_values.clone(),
            def_levels: histogram_len(column.max_def_level()),
            rep_levels: histogram_len(column.max_rep_level()),
            pages: Vec::new(),
            def_histograms: Vec::new(),
            rep_histograms: Vec::new(),
            dictionary: None,
            distinct_count: None,
        }
    }

    pub(crate) fn new_page(&mut self, entries: usize, values: usize, rows: usize) -> NewPage<'_> {
        self.pages.push(PageEntry {
            entries,
            values,
            rows,
            encoding: Encoding::Plain,
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

    /// Completes the last page. `unencoded` is the size of its BYTE_ARRAY values.
    pub(crate) fn close_page(
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
    pub(crate) fn set_dictionary(&mut self, size: PageSize, distinct_count: Option<u64>) {
        self.dictionary = Some(size);
        self.distinct_count = distinct_count;
    }

    /// The metadata of all pages since the last call.
    pub(crate) fn finish(&mut self, codec: CompressionCodec) -> ChunkMetadata {
        let sum = |f: fn(&PageEntry) -> usize| self.pages.iter().map(f).sum::<usize>();
        let (entries, values) = (sum(|page| page.entries), sum(|page| page.values));
        let dictionary = self.dictionary.unwrap_or(PageSize { stored: 0, uncompressed: 0 });
        let has_statistics = self.level > StatisticsLevel::None;
        let chunk = ColumnChunkMetaData {
            column: Arc::clone(&self.column),
            encodings: self.encodings(),
            codec,
            num_values: entries as i64,
            uncompressed_size: (sum(|page| page.size.uncompressed) + dictionary.uncompressed) as i64,
            compressed_size: (sum(|page| page.size.stored) + dictionary.stored) as i64,
            data_page_offset: dictionary.stored as i64,
            dictionary_page_offset: self.dictionary.map(|_| 0),
            statistics: has_statistics.then(|| self.chunk_statistics((entries - values) as u64)),
            page_encoding_stats: Some(self.page_encoding_stats()),
            bloom_filter: None,
            size_statistics: self.size_statistics(),
            geospatial_statistics: None,
            key_value_metadata: self.key_values.clone(),
            column_index: None,
            offset_index: None,
        };
        let column_index = if self.level == StatisticsLevel::Page { self.column_index() } else { None };
        let offset_index = self.with_offsets.then(|| self.offset_index(dictionary.stored));
        self.pages.clear();
        self.def_histograms.clear();
        self.rep_histograms.clear();
        self.dictionary = None;
        self.distinct_count = None;
        ChunkMetadata { chunk, column_index, offset_index }
    }

    /// Encodings of levels and values, each once, sorted by number.
    fn encodings(&self) -> Vec<Encoding> {
        let has_levels = self.column.max_def_level() > 0 || self.column.max_rep_level() > 0;
        let of_levels = has_levels.then_some(Encoding::Rle);
        let of_dictionary = self.dictionary.map(|_| Encoding::Plain);
        let of_pages = self.pages.iter().map(|page| page.encoding);
        let mut encodings: Vec<_> = of_dictionary.into_iter().chain(of_levels).chain(of_pages).collect();
        encodings.sort_by_key(|encoding| encoding.id());
        encodings.dedup();
        encodings
    }

    fn page_encoding_stats(&self) -> Vec<PageEncodingStats> {
        let mut counts: Vec<PageEncodingStats> = Vec::new();
        if self.dictionary.is_some() {
            let page_type = PageType::DictionaryPage;
            counts.push(PageEncodingStats { page_type, encoding: Encoding::Plain, count: 1 });
        }
        for page in &self.pages {
            let same =
                |of: &&mut PageEncodingStats| of.page_type != PageType::DictionaryPage && of.encoding == page.encoding;
            match counts.iter_mut().find(same) {
                Some(of) => of.count += 1,
                None => {
                    let page_type = PageType::DataPage;
                    counts.push(PageEncodingStats { page_type, encoding: page.encoding, count: 1 });
                }
            }
        }
        counts
    }

    /// `None` if the options exclude them, or if the column has neither levels nor byte arrays.
    fn size_statistics(&self) -> Option<SizeStatistics> {
        if !self.with_sizes {
            return None;
        }
        let total = |histograms: &[i64], levels: usize| {
            let level = |at| histograms.iter().skip(at).step_by(levels).sum::<i64>();
            (levels > 0).then(|| (0..levels).map(level).collect())
        };
        let is_byte_array = self.column.physical_type() == PhysicalType::BYTE_ARRAY;
        let unencoded = || self.pages.iter().map(|page| page.unencoded.unwrap_or(0)).sum::<usize>() as i64;
        let statistics = SizeStatistics {
            unencoded_byte_array_data_bytes: is_byte_array.then(unencoded),
            repetition_level_histogram: total(&self.rep_histograms, self.rep_levels),
            definition_level_histogram: total(&self.def_histograms, self.def_levels),
        };
        Some(statistics).filter(|statistics| *statistics != SizeStatistics::default())
    }

    fn chunk_statistics(&self, null_count: u64) -> ChunkStatistics {
        let mut all = ValueStatistics::default();
        for page in &self.pages {
            all.merge(self.order, &page.statistics);
        }
        let bound = |(value, is_exact)| Bound { value, is_exact };
        let (min, max) = all
            .extremes
            .map(|Extremes { min, max }| {
                (truncate_min(self.order, min, self.truncate_len), truncate_max(self.order, max, self.truncate_len))
            })
            .unzip();
        ChunkStatistics {
            min: min.map(bound),
            max: max.map(bound),
            null_count: Some(null_count),
            distinct_count: self.distinct_count,
            nan_count: self.order.is_total().then_some(all.nans),
            is_deprecated: false,
        }
    }

    /// `None` if a page has values but no bounds: an index needs bounds for all pages.
    fn column_index(&self) -> Option<ColumnIndex> {
        if self.pages.iter().any(|page| page.values > 0 && page.statistics.extremes.is_none()) {
            return None;
        }
        let bounds = |page: &PageEntry| match &page.statistics.extremes {
            Some(Extremes { min, max }) => Extremes {
                min: truncate_min(self.order, min.clone(), self.truncate_len).0,
                max: truncate_max(self.order, max.clone(), self.truncate_len).0,
            },
            None => Extremes { min: Vec::new(), max: Vec::new() },
        };
        let bounds: Vec<Extremes> = self.pages.iter().map(bounds).collect();
        let boundary_order = self.boundary_order(&bounds);
        let (min_values, max_values) = bounds.into_iter().map(|Extremes { min, max }| (min, max)).unzip();
        // All pages have as many levels, so that no histogram is empty where one is not.
        let histograms = |all: &[i64]| (!all.is_empty()).then(|| all.to_vec());
        let counts = |count: fn(&PageEntry) -> i64| self.pages.iter().map(count).collect();
        Some(ColumnIndex {
            null_pages: self.pages.iter().map(|page| page.values == 0).collect(),
            min_values,
            max_values,
            boundary_order,
            null_counts: Some(counts(|page| (page.entries - page.values) as i64)),
            repetition_level_histograms: histograms(&self.rep_histograms),
            definition_level_histograms: histograms(&self.def_histograms),
            nan_counts: self.order.is_total().then(|| counts(|page| page.statistics.nans.cast_signed())),
        })
    }

    /// The order of the bounds of all pages; pages of nulls have no bounds.
    fn boundary_order(&self, bounds: &[Extremes]) -> BoundaryOrder {
        let bounds: Vec<_> =
            bounds.iter().zip(&self.pages).filter(|(_, page)| page.statistics.extremes.is_some()).collect();
        let runs = |allowed: Ordering| {
            bounds.windows(2).all(|pair| {
                let [(a, _), (b, _)] = pair else { return true };
                let (min, max) = (self.order.compare(&a.min, &b.min), self.order.compare(&a.max, &b.max));
                (min == allowed || min.is_eq()) && (max == allowed || max.is_eq())
            })
        };
        if runs(Ordering::Less) {
            BoundaryOrder::Ascending
        } else if runs(Ordering::Greater) {
            BoundaryOrder::Descending
        } else {
            BoundaryOrder::Unordered
        }
    }

    fn offset_index(&self, mut offset: usize) -> OffsetIndex {
        let mut index = OffsetIndex::default();
        let mut first_row = 0;
        for page in &self.pages {
            index.page_locations.push(PageLocation {
                offset: offset as i64,
                compressed_page_size: page.size.stored as i32,
                first_row_index: first_row,
            });
            first_row += page.rows as i64;
            offset += page.size.stored;
        }
        // Either all pages are of byte arrays, or none is.
        let unencoded = || self.pages.iter().map(|page| page.unencoded.map(|len| len as i64)).collect();
        index.unencoded_byte_array_data_bytes = if self.with_sizes { unencoded() } else { None };
        index
    }
}
