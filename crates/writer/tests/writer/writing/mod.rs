//! Writing with every combination of options.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use lath_writer::{
    BloomFilter, Codec, ColumnOptions, PageVersion, ParquetWriter, StatisticsLevel, ValueEncoding, WriteOptions,
    WriteSummary,
};

/// A file of `batches`.
pub(crate) fn write(
    schema: &SchemaRef,
    batches: &[RecordBatch],
    options: WriteOptions,
) -> lath_parquet::Result<(Bytes, WriteSummary)> {
    let mut writer = ParquetWriter::new(Vec::new(), schema, options)?;
    batches.iter().try_for_each(|batch| writer.write(batch))?;
    let (sink, summary) = writer.finish_into()?;
    Ok((Bytes::from(sink), summary))
}

/// One value of each option.
#[derive(Debug, Clone)]
pub(crate) struct Choices {
    pub(crate) encoding: ValueEncoding,
    pub(crate) preview_encodings: bool,
    pub(crate) codec: Codec,
    pub(crate) dictionary: Option<usize>,
    pub(crate) page_version: PageVersion,
    pub(crate) page_rows: usize,
    pub(crate) page_bytes: usize,
    pub(crate) bloom_filter: Option<BloomFilter>,
    pub(crate) statistics: StatisticsLevel,
    pub(crate) statistics_bytes: usize,
    pub(crate) size_statistics: bool,
    pub(crate) offset_index: bool,
    pub(crate) crc: bool,
    pub(crate) total_order: bool,
    pub(crate) row_group_rows: usize,
    pub(crate) row_group_bytes: usize,
    pub(crate) memory_budget_bytes: usize,
    pub(crate) threads: usize,
}

/// The number of values of each option.
pub(crate) const CHOICES: [usize; 18] = [8, 2, 6, 3, 2, 4, 3, 3, 3, 2, 2, 2, 2, 2, 3, 2, 2, 2];

impl Choices {
    /// Random choices.
    pub(crate) fn random(random: &mut fastrand::Rng) -> Self {
        Self::new(CHOICES.map(|count| random.usize(..count)))
    }

    /// The options at these indices, each below its number in [`CHOICES`].
    pub(crate) fn new(chosen: [usize; CHOICES.len()]) -> Self {
        let [
            encoding,
            preview_encodings,
            codec,
            dictionary,
            page_version,
            page_rows,
            page_bytes,
            bloom_filter,
            statistics,
            statistics_bytes,
            size_statistics,
            offset_index,
            crc,
            total_order,
            row_group_rows,
            row_group_bytes,
            memory_budget_bytes,
            threads,
        ] = chosen;
        Self {
            encoding: [
                ValueEncoding::Plain,
                ValueEncoding::Rle,
                ValueEncoding::DeltaBinaryPacked,
                ValueEncoding::DeltaLengthByteArray,
                ValueEncoding::DeltaByteArray,
                ValueEncoding::ByteStreamSplit,
                ValueEncoding::Alp,
                ValueEncoding::Sampled,
            ][encoding],
            preview_encodings: preview_encodings == 1,
            codec: [
                Codec::Uncompressed,
                Codec::Snappy,
                Codec::Gzip { level: 1 },
                Codec::Brotli { level: 1 },
                Codec::Zstd { level: 1 },
                Codec::Lz4Raw,
            ][codec],
            dictionary: [None, Some(200), Some(1 << 20)][dictionary],
            page_version: [PageVersion::V1, PageVersion::V2][page_version],
            page_rows: [1, 17, 300, 20_000][page_rows],
            page_bytes: [1, 500, 1 << 20][page_bytes],
            bloom_filter: [None, Some(BloomFilter::DEFAULT), Some(BloomFilter::Bytes(100))][bloom_filter],
            statistics: [StatisticsLevel::None, StatisticsLevel::Chunk, StatisticsLevel::Page][statistics],
            statistics_bytes: [3, 64][statistics_bytes],
            size_statistics: size_statistics == 1,
            offset_index: offset_index == 1,
            crc: crc == 1,
            total_order: total_order == 1,
            row_group_rows: [50, 512, 1 << 20][row_group_rows],
            row_group_bytes: [2_000, 1 << 20][row_group_bytes],
            memory_budget_bytes: [1_000, 1 << 30][memory_budget_bytes],
            threads: [1, 3][threads],
        }
    }

    /// For a file of `schema`.
    pub(crate) fn options(&self, _schema: &SchemaRef) -> WriteOptions {
        let all = ColumnOptions::new()
            .encoding(self.encoding)
            .preview_encodings(self.preview_encodings)
            .codec(self.codec)
            .dictionary(self.dictionary.is_some())
            .dictionary_bytes(self.dictionary.unwrap_or(1 << 20))
            .page_version(self.page_version)
            .page_rows(self.page_rows)
            .page_bytes(self.page_bytes)
            .bloom_filter(self.bloom_filter)
            .statistics(self.statistics)
            .statistics_bytes(self.statistics_bytes)
            .size_statistics(self.size_statistics)
            .offset_index(self.offset_index)
            .crc(self.crc)
            .total_order(self.total_order);
        WriteOptions::default()
            .all_columns(all)
            .row_group_rows(self.row_group_rows)
            .row_group_bytes(self.row_group_bytes)
            .memory_budget_bytes(self.memory_budget_bytes)
            .threads(self.threads)
    }
}
