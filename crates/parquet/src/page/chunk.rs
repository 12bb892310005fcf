use std::sync::Arc;

use lath_format::{ChunkDecryptor, CompressionCodec, FileMetaData};

use super::{BitOrder, compression_flag};
use crate::error::{Error, Location, Result};

/// Bytes by which a chunk may exceed its stated length: old writers did not count the dictionary page's header
/// (<https://issues.apache.org/jira/browse/PARQUET-816>).
const CHUNK_LEN_SLACK: u64 = 100;

/// Location of the pages of one column chunk, with types, codec and keys for decoding them.
#[derive(Debug, Clone)]
pub struct ChunkSpec {
    /// Path or name of the file, for errors.
    pub file: Option<Arc<str>>,
    /// Dotted path of the leaf column, for errors.
    pub path: Arc<str>,
    /// Index of the row group.
    pub row_group: usize,
    /// Compression of the pages.
    pub codec: CompressionCodec,
    /// Offset of the first page's header.
    pub start: u64,
    /// Length of the chunk in bytes, according to the footer.
    pub len: u64,
    /// Number of values in the chunk, nulls included.
    pub value_count: u64,
    /// Maximum definition level of the column.
    pub max_def_level: u8,
    /// Maximum repetition level of the column.
    pub max_rep_level: u8,
    /// Bit order of BIT_PACKED levels.
    pub bit_order: BitOrder,
    /// Whether data pages of version 2 are compressed regardless of their headers.
    pub ignores_compression_flag: bool,
    /// Decryption of the pages; `None` if they are not encrypted.
    pub decryptor: Option<Arc<ChunkDecryptor>>,
}

impl ChunkSpec {
    /// The chunk of leaf `column` in `row_group`.
    pub(crate) fn new(
        metadata: &FileMetaData,
        row_group: usize,
        column: usize,
        file: Option<Arc<str>>,
    ) -> Result<Self> {
        let descriptor = metadata.schema_descr().columns().get(column);
        let Some(descriptor) = descriptor.filter(|_| row_group < metadata.row_group_count()) else {
            return Err(Error::invalid(format!("the file has no column {column} in row group {row_group}")));
        };
        let path: Arc<str> = descriptor.path().string().into();
        let at = Location {
            file: file.clone(),
            column: Some(Arc::clone(&path)),
            row_group: Some(row_group),
            ..Location::default()
        };
        let locate = |error: Error| error.locate(|location| *location = at.clone());
        let chunk = metadata.chunk(row_group, column).map_err(|error| locate(error.into()))?;
        if let Some(path) = chunk.file_path().filter(|path| !path.is_empty()) {
            return Err(locate(Error::unsupported(format!("column chunks in another file ({path})"))));
        }
        let level = |value: i16, what: &str| {
            u8::try_from(value).map_err(|_| locate(Error::unsupported(format!("{what} of {value}"))))
        };
        let data_page_offset = chunk.data_page_offset();
        // Some writers set the dictionary's offset to 0 for "none", or to places after the data; both are ignored, because a
        // dictionary is always the chunk's first page.
        let start = match chunk.dictionary_page_offset() {
            Some(offset) if offset > 0 => data_page_offset.min(offset),
            _ => data_page_offset,
        };
        let decryptor = chunk.decryptor().map_err(|error| locate(error.into()))?.map(Arc::new);
        Ok(Self {
            codec: chunk.codec(),
            start,
            len: chunk.compressed_size(),
            value_count: chunk.num_values(),
            max_def_level: level(descriptor.max_def_level(), "a definition level")?,
            max_rep_level: level(descriptor.max_rep_level(), "a repetition level")?,
            file,
            path,
            row_group,
            bit_order: BitOrder::from_writer(metadata.created_by()),
            ignores_compression_flag: compression_flag::is_ignored(metadata.created_by()),
            decryptor,
        })
    }

    /// File offset that no page may exceed, in a file of `file_len` bytes.
    pub(crate) fn end(&self, file_len: u64) -> u64 {
        self.start.saturating_add(self.len).saturating_add(CHUNK_LEN_SLACK).min(file_len)
    }

    /// Adds file, column and row group to an error.
    pub fn locate(&self, error: Error) -> Error {
        error.locate(|at| {
            at.file = at.file.take().or_else(|| self.file.clone());
            at.column = at.column.take().or_else(|| Some(Arc::clone(&self.path)));
            at.row_group = at.row_group.or(Some(self.row_group));
        })
    }
}
