use bytes::Bytes;
use parquet::schema::types::ColumnDescPtr;

use super::schema::physical_type_id;
use super::statistics::ChunkStatistics;
use crate::chunk::{ColumnChunk, IndexLocation, PageEncodingStats};
use crate::codec::CompressionCodec;
use crate::crypto::{FileEncryptor, Module};
use crate::encoding::Encoding;
use crate::error::Result;
use crate::statistics::{GeospatialStatistics, SizeStatistics};
use crate::thrift::{ThriftWriter, WireType};

/// The metadata of a column chunk, to be written.
///
/// `From<&ColumnChunk>` copies the metadata of a chunk in another file.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnChunkMetaData {
    /// The leaf column, whose physical type and path are written.
    pub column: ColumnDescPtr,
    /// All encodings in the chunk, including levels and dictionary.
    pub encodings: Vec<Encoding>,
    /// The compression codec of the pages.
    pub codec: CompressionCodec,
    /// Number of values, including nulls and empty lists.
    pub num_values: i64,
    /// Bytes of all pages before compression, including headers.
    pub uncompressed_size: i64,
    /// Bytes of all pages in the file, including headers.
    pub compressed_size: i64,
    /// Offset of the first data page.
    pub data_page_offset: i64,
    /// Offset of the dictionary page.
    pub dictionary_page_offset: Option<i64>,
    /// Bounds and counts.
    pub statistics: Option<ChunkStatistics>,
    /// The number of pages by encoding.
    pub page_encoding_stats: Option<Vec<PageEncodingStats>>,
    /// The place of the Bloom filter.
    pub bloom_filter: Option<IndexLocation>,
    /// Level histograms and the bytes of byte arrays.
    pub size_statistics: Option<SizeStatistics>,
    /// Statistics of geometries.
    pub geospatial_statistics: Option<Box<GeospatialStatistics>>,
    /// Key-value metadata: an encoded list of `KeyValue` in Thrift's compact protocol.
    pub key_value_metadata: Option<Bytes>,
    /// The place of the column index.
    pub column_index: Option<IndexLocation>,
    /// The place of the offset index.
    pub offset_index: Option<IndexLocation>,
}

impl ColumnChunkMetaData {
    /// The fields of a `ColumnChunk`.
    pub(super) fn write(&self, encryption: Option<&ChunkEncryption>, writer: &mut ThriftWriter<'_>) {
        // The offset of a copy of the metadata outside the footer; there is none.
        writer.i64(2, 0);
        match encryption.map_or(PlainPart::Whole, |encryption| encryption.plain) {
            PlainPart::Whole => writer.structure(3, |writer| self.write_metadata(writer)),
            PlainPart::WithoutValues => writer.structure(3, |writer| self.without_values().write_metadata(writer)),
            PlainPart::Nothing => {}
        }
        if let Some(IndexLocation { offset, len }) = self.offset_index {
            writer.i64(4, offset);
            write_len(writer, 5, len);
        }
        if let Some(IndexLocation { offset, len }) = self.column_index {
            writer.i64(6, offset);
            write_len(writer, 7, len);
        }
        if let Some(encryption) = encryption {
            encryption.write(&self.column, writer);
        }
    }

    /// The metadata without what would show values of an encrypted column.
    fn without_values(&self) -> Self {
        Self {
            statistics: None,
            size_statistics: None,
            geospatial_statistics: None,
            key_value_metadata: None,
            ..self.clone()
        }
    }

    /// The encryption of the chunk; `None` if its column is left without.
    ///
    /// # Errors
    /// As [`FileEncryptor::chunk`].
    pub(super) fn encryption(
        &self,
        encryptor: &FileEncryptor,
        row_group: usize,
        column: usize,
    ) -> Result<Option<ChunkEncryption>> {
        let path = self.column.path().string();
        let Some(chunk) = encryptor.chunk(&path, row_group, column)? else { return Ok(None) };
        let column_key = encryptor.column_key_metadata(&path).map(|metadata| metadata.map(<[u8]>::to_vec));
        let shown = match (encryptor.has_plaintext_footer(), &column_key) {
            (true, _) => PlainPart::WithoutValues,
            (false, Some(_)) => PlainPart::Nothing,
            (false, None) => return Ok(Some(ChunkEncryption { column_key, plain: PlainPart::Whole, metadata: None })),
        };
        let (mut plain, mut sealed) = (Vec::new(), Vec::new());
        let mut writer = ThriftWriter::new(&mut plain);
        self.write_metadata(&mut writer);
        writer.end();
        chunk.encrypt(&plain, Module::ColumnMetaData, &mut sealed)?;
        Ok(Some(ChunkEncryption { column_key, plain: shown, metadata: Some(sealed) }))
    }

    /// The fields of a `ColumnMetaData`.
    fn write_metadata(&self, writer: &mut ThriftWriter<'_>) {
        writer.i32(1, physical_type_id(self.column.physical_type()));
        writer.i32s(2, self.encodings.iter().map(|encoding| encoding.id()));
        writer.byte_strings(3, self.column.path().parts().iter().map(String::as_bytes));
        writer.i32(4, self.codec.id());
        writer.i64(5, self.num_values);
        writer.i64(6, self.uncompressed_size);
        writer.i64(7, self.compressed_size);
        if let Some(list) = &self.key_value_metadata {
            writer.encoded(8, WireType::List.nibble(), list);
        }
        writer.i64(9, self.data_page_offset);
        if let Some(offset) = self.dictionary_page_offset {
            writer.i64(11, offset);
        }
        if let Some(statistics) = &self.statistics {
            writer.structure(12, |writer| statistics.write(writer));
        }
        if let Some(stats) = &self.page_encoding_stats {
            writer.structures(13, stats.iter(), |writer, stats| {
                writer.i32(1, stats.page_type.id());
                writer.i32(2, stats.encoding.id());
                writer.i32(3, stats.count);
            });
        }
        if let Some(IndexLocation { offset, len }) = self.bloom_filter {
            writer.i64(14, offset);
            write_len(writer, 15, len);
        }
        if let Some(statistics) = &self.size_statistics {
            writer.structure(16, |writer| statistics.write(writer));
        }
        if let Some(statistics) = &self.geospatial_statistics {
            writer.structure(17, |writer| statistics.write(writer));
        }
    }
}

/// The encryption of a column chunk, as the footer tells it.
#[derive(Debug)]
pub(super) struct ChunkEncryption {
    /// The key metadata of a column with a key for it alone.
    column_key: Option<Option<Vec<u8>>>,
    plain: PlainPart,
    /// The encrypted `ColumnMetaData`, unless they are encrypted with the footer.
    metadata: Option<Vec<u8>>,
}

/// The part of a chunk's metadata that has no encryption other than the footer's.
#[derive(Debug, Clone, Copy)]
enum PlainPart {
    Whole,
    WithoutValues,
    Nothing,
}

impl ChunkEncryption {
    /// The last fields of a `ColumnChunk`.
    fn write(&self, column: &ColumnDescPtr, writer: &mut ThriftWriter<'_>) {
        writer.structure(8, |writer| match &self.column_key {
            None => writer.structure(1, |_| {}),
            Some(metadata) => writer.structure(2, |writer| {
                writer.byte_strings(1, column.path().parts().iter().map(String::as_bytes));
                if let Some(metadata) = metadata {
                    writer.binary(2, metadata);
                }
            }),
        });
        if let Some(metadata) = &self.metadata {
            writer.binary(9, metadata);
        }
    }
}

fn write_len(writer: &mut ThriftWriter<'_>, id: i16, len: Option<i32>) {
    if let Some(len) = len {
        writer.i32(id, len);
    }
}

/// Copies the metadata for a file with the same pages at the same offsets, as plaintext pages of that file.
impl From<&ColumnChunk<'_>> for ColumnChunkMetaData {
    fn from(chunk: &ColumnChunk<'_>) -> Self {
        Self {
            column: chunk.column().clone(),
            encodings: chunk.encodings(),
            codec: chunk.codec(),
            num_values: chunk.num_values().cast_signed(),
            uncompressed_size: chunk.uncompressed_size().cast_signed(),
            compressed_size: chunk.compressed_size().cast_signed(),
            data_page_offset: chunk.data_page_offset().cast_signed(),
            dictionary_page_offset: chunk.dictionary_page_offset().map(u64::cast_signed),
            statistics: ChunkStatistics::of(chunk),
            page_encoding_stats: chunk.page_encoding_stats(),
            bloom_filter: chunk.bloom_filter(),
            size_statistics: chunk.size_statistics(),
            geospatial_statistics: chunk.geospatial_statistics().map(Box::new),
            key_value_metadata: chunk.encoded_key_value_metadata().map(Bytes::from),
            column_index: chunk.column_index(),
            offset_index: chunk.offset_index(),
        }
    }
}
