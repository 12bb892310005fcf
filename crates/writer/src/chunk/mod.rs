//! Writes one column chunk: leaf slots in, pages and metadata out.

mod bloom;
mod compress;
mod encoded;
mod index;
mod page;
mod room;
mod sample;
#[cfg(test)]
mod statistics_tests;
#[cfg(test)]
pub(super) mod tests;

use std::sync::Arc;

use arrow_schema::DataType;
use lath_format::Encoding;
use lath_format::schema::ColumnDescPtr;
use lath_format::schema::PhysicalType as Type;
use lath_parquet::{Error, Result};

pub(crate) use self::encoded::{EncodedChunk, EncodingChoice};

use self::bloom::BloomBuilder;
use self::index::{ChunkIndex, ChunkMetadata};
use self::page::{DataPage, PageWriter};
use self::room::{EntrySpan, Room};
use self::sample::{Choice, DictionaryTrial, Sampler};
use super::encode::dictionary::Dictionary;
use super::encode::levels::Levels;
use super::encode::{ValueEncoder, candidates, requested};
use super::options::{LeafOptions, StatisticsLevel, ValueEncoding};
use super::physical::{Conversion, ConvertError, Values};
use super::statistics::{Order, ValueStatistics};
use super::stripe::StripedLeaf;

/// Writes the chunks of one column, one row group after another; keeps its buffers.
#[derive(Debug)]
pub(crate) struct ChunkWriter {
    column: ColumnDescPtr,
    options: Arc<LeafOptions>,
    conversion: Conversion,
    order: Order,
    encoding: Encoding,
    /// Encodings that a sample chooses from.
    candidates: Vec<Encoding>,
    encoder: ValueEncoder,
    /// Tried if the options and the type allow it.
    dictionary: Option<Dictionary>,
    trial: Trial,
    /// Number of data pages with codes into the dictionary, and of all data pages.
    dictionary_pages: usize,
    page_count: usize,
    /// Set if the encoding is sampled, and the choice for this chunk.
    sampler: Option<Sampler>,
    choice: Option<Choice>,
    bloom: Option<BloomBuilder>,
    pages: PageWriter,
    page: PendingPage,
    index: ChunkIndex,
    /// Rows of the chunk from earlier batches.
    rows: usize,
    arrow_bytes: u64,
}

/// State of the dictionary of a chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Trial {
    /// No dictionary.
    None,
    /// Values are added to it.
    Open,
    /// It has the values of the first pages and accepts no more.
    Closed,
    /// It was given up before the first page, at these numbers of distinct values and values.
    GivenUp { distinct: usize, values: usize },
}

/// The pending data page.
#[derive(Debug)]
struct PendingPage {
    def_levels: Levels,
    rep_levels: Levels,
    entries: usize,
    rows: usize,
    pieces: Vec<Values>,
    value_count: usize,
    /// Estimated bytes of the encoded values, and their bytes in PLAIN encoding.
    value_bytes: usize,
    plain_bytes: usize,
    statistics: ValueStatistics,
}

impl ChunkWriter {
    /// A writer for `column`, whose slots come as arrays of `arrow_type`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a type that cannot be written, [`Error::Invalid`] for an encoding that was set for this column
    /// and that its type does not have.
    pub(crate) fn new(column: &ColumnDescPtr, arrow_type: &DataType, options: Arc<LeafOptions>) -> Result<Self> {
        let encoding = match requested(options.encoding, column.physical_type()) {
            Some(encoding) => encoding,
            None if options.encoding_is_own => {
                let (path, physical) = (column.path().string(), column.physical_type());
                return Err(Error::invalid(format!("column {path}: {} has no {:?}", physical, options.encoding)));
            }
            None => Encoding::Plain,
        };
        // Readers that restore the column's dictionary may know no other encoding of the values after it.
        let is_dictionary =
            matches!(arrow_type, DataType::Dictionary(..)) && column.physical_type() == Type::BYTE_ARRAY;
        let (encoding, candidates) = match is_dictionary && !options.encoding_is_own {
            true => (Encoding::Plain, vec![Encoding::Plain]),
            false => (encoding, candidates(column.physical_type(), options.preview_encodings)),
        };
        let levels = |level: i16| {
            u8::try_from(level)
                .map(Levels::new)
                .map_err(|_| Error::limit("levels of nesting", u8::MAX.into(), level.unsigned_abs().into()))
        };
        let order = Order::new(column, options.total_order);
        let type_length = usize::try_from(column.type_length()).unwrap_or(0);
        let dictionary = options.dictionary.then(|| Dictionary::new(column.physical_type(), type_length)).flatten();
        Ok(Self {
            conversion: Conversion::new(column, arrow_type)?,
            order,
            encoding,
            candidates,
            encoder: ValueEncoder::default(),
            trial: if dictionary.is_some() { Trial::Open } else { Trial::None },
            dictionary,
            dictionary_pages: 0,
            page_count: 0,
            sampler: (options.encoding == ValueEncoding::Sampled).then(|| Sampler::new(options.codec)).transpose()?,
            choice: None,
            bloom: options
                .bloom_filter
                .filter(|_| !matches!(column.physical_type(), Type::BOOLEAN | Type::INT96))
                .map(BloomBuilder::new),
            pages: PageWriter::new(&options)?,
            page: PendingPage {
                def_levels: levels(column.max_def_level())?,
                rep_levels: levels(column.max_rep_level())?,
                entries: 0,
                rows: 0,
                pieces: Vec::new(),
                value_count: 0,
                value_bytes: 0,
                plain_bytes: 0,
                statistics: ValueStatistics::default(),
            },
            index: ChunkIndex::new(column, order, &options),
            column: Arc::clone(column),
            options,
            rows: 0,
            arrow_bytes: 0,
        })
    }

    /// Appends the rows of a batch.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a value that the column cannot hold, naming column and row.
    pub(crate) fn write(&mut self, striped: &StripedLeaf) -> Result<()> {
        let values = match self.conversion.convert(&striped.values, striped.present.as_ref()) {
            Ok(values) => values,
            Err(ConvertError::Misfit(misfit)) => {
                let row = self.rows + striped.row_of_value(misfit.index);
                return Err(self.invalid(&format!("row {row} of the row group: {}", misfit.what)));
            }
            Err(ConvertError::Other(error)) => return Err(self.locate(error)),
        };
        self.arrow_bytes += striped.values.get_array_memory_size().min(striped.byte_count(&values)) as u64;
        let result = self.append(striped, &values);
        result.map_err(|error| self.locate(error))?;
        self.rows += striped.rows;
        Ok(())
    }

    /// Bytes held: pages, and values that are not yet in one.
    pub(crate) fn buffered_bytes(&self) -> usize {
        let levels = self.page.def_levels.capacity() + self.page.rep_levels.capacity();
        let dictionary = self.dictionary.as_ref().map_or(0, Dictionary::capacity);
        let bloom = self.bloom.as_ref().map_or(0, BloomBuilder::capacity);
        self.pages.stored_len() + self.pages.spare_len() + self.page.plain_bytes + levels + dictionary + bloom
    }

    /// Closes the chunk; the writer is then ready for the next row group.
    pub(crate) fn finish(&mut self) -> Result<EncodedChunk> {
        let result = self.close();
        result.map_err(|error| self.locate(error))
    }

    fn append(&mut self, striped: &StripedLeaf, values: &Values) -> Result<()> {
        let entry_count = striped.entry_count();
        if striped.def_levels.as_ref().is_some_and(|levels| levels.len() != entry_count) {
            return Err(Error::invalid("levels of different lengths"));
        }
        let (mut entry, mut value) = (0, 0);
        while entry < entry_count {
            let span = self.room().fit(striped, values, entry, value)?;
            if span.entries == 0 {
                self.cut_page(false)?;
                continue;
            }
            self.append_span(striped, entry, span, values.slice(value, span.values))?;
            entry += span.entries;
            value += span.values;
            if self.page_is_full() {
                self.cut_page(false)?;
            }
        }
        if value != values.len() {
            return Err(Error::invalid(format!("{} values where levels have {value}", values.len())));
        }
        Ok(())
    }

    fn page_is_full(&self) -> bool {
        // An almost full page counts as full: filling the rest would take ever smaller steps.
        self.page.rows >= self.options.page_rows
            || self.page.value_bytes >= self.options.page_bytes - self.options.page_bytes / 16
    }

    /// Space left in the pending page.
    fn room(&self) -> Room {
        Room {
            rows: self.options.page_rows.saturating_sub(self.page.rows),
            bytes: match self.trial {
                // Codes are small; values are added to the dictionary in portions of a page's bytes.
                Trial::Open => self.options.page_bytes,
                _ => self.options.page_bytes.saturating_sub(self.page.value_bytes),
            },
            is_empty: self.page.entries == 0,
            max_def_level: self.column.max_def_level() as u8,
        }
    }

    fn append_span(&mut self, striped: &StripedLeaf, entry: usize, span: EntrySpan, mut values: Values) -> Result<()> {
        if self.trial == Trial::Open
            && let Some(dictionary) = &mut self.dictionary
        {
            if self.page_count == 0 && dictionary.len() == 0 {
                dictionary.add_categories(&values, self.options.dictionary_bytes)?;
            }
            if !dictionary.append(&values)? {
                self.close_dictionary()?;
            }
        }
        if self.trial != Trial::Open {
            values = values.expanded()?;
        }
        let page = &mut self.page;
        let range = entry..entry + span.entries;
        match &striped.def_levels {
            Some(levels) => page.def_levels.append(&levels[range.clone()]),
            None => page.def_levels.append_full(span.entries),
        }
        if let Some(levels) = &striped.rep_levels {
            page.rep_levels.append(&levels[range]);
        }
        page.entries += span.entries;
        page.rows += span.rows;
        if span.values == 0 {
            return Ok(());
        }
        if self.options.statistics > StatisticsLevel::None && !self.order.is_of_bytes() {
            page.statistics.merge(self.order, &ValueStatistics::of(self.order, &values)?);
        }
        page.value_count += values.len();
        page.plain_bytes += values.plain_len();
        page.value_bytes = match &self.dictionary {
            Some(dictionary) if self.trial == Trial::Open => page.value_count * dictionary.width() as usize / 8,
            _ => page.plain_bytes,
        };
        page.pieces.push(values);
        Ok(())
    }

    /// Closes the dictionary before values that it does not accept.
    fn close_dictionary(&mut self) -> Result<()> {
        if self.page.entries > 0 {
            self.cut_page(false)?;
        }
        if self.dictionary_pages > 0 {
            self.trial = Trial::Closed;
        } else {
            self.give_dictionary_up();
        }
        Ok(())
    }

    fn give_dictionary_up(&mut self) {
        let (distinct, values) = match &self.dictionary {
            Some(dictionary) => (dictionary.len(), dictionary.worth().value_count()),
            None => (0, 0),
        };
        self.trial = Trial::GivenUp { distinct, values };
    }

    /// Whether the pending page has codes; the first page decides whether there is a dictionary.
    fn page_has_codes(&mut self, is_last: bool) -> Result<bool> {
        let has_categories = self.dictionary.as_ref().is_some_and(Dictionary::has_categories);
        if has_categories && self.trial == Trial::Open {
            return Ok(true);
        }
        if self.page.value_count == 0 && self.dictionary_pages == 0 {
            return Ok(false);
        }
        let open = self.dictionary.as_ref().filter(|_| self.trial == Trial::Open);
        if self.dictionary_pages > 0 {
            return Ok(open.is_some());
        }
        let trial = open.map(|dictionary| {
            let values = dictionary.worth().value_count();
            let rows = (self.rows + self.page.rows).max(1);
            let chunk_values = if is_last { values } else { values * self.options.row_group_rows.max(rows) / rows };
            DictionaryTrial { dictionary, chunk_values, max_bytes: self.options.dictionary_bytes }
        });
        let pays = match &mut self.sampler {
            Some(sampler) if self.choice.is_none() => {
                let choice = sampler.choose(&self.page.pieces, &self.candidates, &mut self.encoder, trial)?;
                self.encoding = choice.encoding;
                self.choice.insert(choice).with_dictionary
            }
            _ => trial.is_some_and(DictionaryTrial::pays),
        };
        if !pays && self.trial == Trial::Open {
            self.give_dictionary_up();
        }
        Ok(pays)
    }

    fn cut_page(&mut self, is_last: bool) -> Result<()> {
        let has_codes = self.page_has_codes(is_last)?;
        let page = &mut self.page;
        if !has_codes {
            for piece in &mut page.pieces {
                *piece = std::mem::replace(piece, Values::Nothing).expanded()?;
            }
        }
        let entry = self.index.new_page(page.entries, page.value_count, page.rows);
        page.def_levels.count(entry.def_histogram)?;
        page.rep_levels.count(entry.rep_histogram)?;
        // A page of nulls has no pieces that could tell the type.
        let is_byte_array = self.column.physical_type() == Type::BYTE_ARRAY;
        let unencoded = is_byte_array.then(|| page.pieces.iter().filter_map(Values::byte_array_len).sum());
        let keeps_statistics = self.options.statistics > StatisticsLevel::None;
        let mut statistics = std::mem::take(&mut page.statistics);
        let mut data_page = DataPage {
            encoding: self.encoding,
            entries: page.entries,
            nulls: page.entries - page.value_count,
            rows: page.rows,
            rep_levels: page.rep_levels.encode()?,
            def_levels: page.def_levels.encode()?,
        };
        let size = match &mut self.dictionary {
            Some(dictionary) if has_codes => {
                data_page.encoding = Encoding::RleDictionary;
                if keeps_statistics && self.order.is_of_bytes() {
                    statistics = dictionary.statistics(self.order);
                }
                let max_len = dictionary.max_codes_len();
                self.pages.data_page(data_page, max_len, |out| dictionary.encode_codes(out))?
            }
            _ => {
                for piece in page.pieces.iter().filter(|_| keeps_statistics && self.order.is_of_bytes()) {
                    statistics.merge(self.order, &ValueStatistics::of(self.order, piece)?);
                }
                if let Some(bloom) = &mut self.bloom {
                    page.pieces.iter().try_for_each(|piece| bloom.add(piece))?;
                }
                let (encoding, encoder) = (self.encoding, &mut self.encoder);
                let max_len = encoder.max_len(encoding, &page.pieces);
                self.pages.data_page(data_page, max_len, |out| encoder.encode(encoding, &page.pieces, out))?
            }
        };
        self.index.close_page(data_page.encoding, size, statistics, unencoded);
        page.def_levels.clear();
        page.rep_levels.clear();
        page.pieces.clear();
        (page.entries, page.rows, page.value_count) = (0, 0, 0);
        (page.value_bytes, page.plain_bytes) = (0, 0);
        self.page_count += 1;
        self.dictionary_pages += usize::from(has_codes);
        if let Some(dictionary) = &mut self.dictionary {
            dictionary.clear_codes();
            if has_codes && dictionary.page_len() > self.options.dictionary_bytes {
                self.trial = Trial::Closed;
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Result<EncodedChunk> {
        // A chunk has at least one page, even without rows.
        if self.page.entries > 0 || self.rows == 0 {
            self.cut_page(true)?;
        }
        let choice = self.choice();
        if let Some(dictionary) = self.dictionary.as_mut().filter(|_| self.dictionary_pages > 0) {
            let max_len = dictionary.page_len();
            let encode = |out: &mut [u8]| Ok(dictionary.encode_entries(out));
            let size = self.pages.dictionary_page(dictionary.len(), max_len, encode)?;
            // Floating point has distinct entries that compare equal.
            let is_whole = self.dictionary_pages == self.page_count && !self.order.is_float();
            if let Some(bloom) = &mut self.bloom {
                bloom.add(&dictionary.used_entries()?)?;
            }
            self.index.set_dictionary(size, is_whole.then_some(dictionary.used_len() as u64));
        }
        let bloom_filter = self.bloom.as_mut().map(BloomBuilder::finish).transpose()?;
        let (codec, pages) = (self.pages.codec(), self.pages.finish());
        let ChunkMetadata { chunk: metadata, column_index, offset_index } = self.index.finish(codec);
        if let Some(dictionary) = &mut self.dictionary {
            dictionary.clear()?;
            self.trial = Trial::Open;
        }
        self.encoder.end_chunk();
        (self.rows, self.page_count, self.dictionary_pages) = (0, 0, 0);
        Ok(EncodedChunk { pages, metadata, column_index, offset_index, bloom_filter, choice })
    }

    fn choice(&mut self) -> EncodingChoice {
        let own = self.encoding;
        let entries = self.dictionary.as_ref().map_or(0, Dictionary::len);
        let (with, all) = (self.dictionary_pages, self.page_count);
        let encoding = if 2 * with > all { Encoding::RleDictionary } else { own };
        let reason = match (self.trial, self.choice.take()) {
            (Trial::Closed, _) => {
                format!("dictionary full after {with} of {all} pages, with {entries} values; then {own}")
            }
            (_, Some(choice)) => choice.reason,
            (Trial::Open, None) if with > 0 => match self.dictionary.as_ref().is_some_and(Dictionary::has_categories) {
                true => format!("{entries} categories in their order"),
                false => format!("{entries} distinct values"),
            },
            (Trial::GivenUp { distinct, values }, None) => {
                format!("a dictionary does not pay: {distinct} distinct among the first {values} values")
            }
            (Trial::None | Trial::Open, None) => "as the options say".to_owned(),
        };
        EncodingChoice { encoding, reason, arrow_bytes: std::mem::take(&mut self.arrow_bytes) }
    }

    fn invalid(&self, what: &str) -> Error {
        Error::invalid(format!("column {}, {what}", self.column.path().string()))
    }

    fn locate(&self, error: Error) -> Error {
        if let Error::Invalid { what } = &error {
            return self.invalid(what);
        }
        error.locate(|at| {
            at.column.get_or_insert_with(|| self.column.path().string().into());
        })
    }
}
