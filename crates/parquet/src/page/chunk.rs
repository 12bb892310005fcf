use std::sync::Arc;

use lath_format::{ChunkDecryptor, CompressionCodec, FileMetaData};

use super::{BitOrder, compression_flag};
use crate::error::{Error, Location, Result};

/// How far a chunk may pass its stated length: old writers did not count the dictionary page's header
/// (<https://issues.apache.org/jira/browse/PARQUET-816>).
const CHUNK_LEN_SLACK: u64 = 100;

/// Where the pages of one column chunk are, and what decodes them: types, codec and keys.
#[derive(Debug, Clone)]
pub(crate) struct ChunkSpec {
    /// Path or name of the file, for errors.
    pub(crate) file: Option<Arc<str>>,
    /// Dotted path of the leaf column, for errors.
    pub(crate) path: Arc<str>,
    /// Index of the row group.
    pub(crate) row_group: usize,
    /// How the pages are compressed.
    pub(crate) codec: CompressionCodec,
    /// Offset of the first page's header.
    pub(crate) start: u64,
    /// Length of the chunk in bytes, as the footer says it.
    pub(crate) len: u64,
    /// Number of values in the chunk, nulls included.
    pub(crate) value_count: u64,
    /// Largest definition level of the column.
    pub(crate) max_def_level: u8,
    /// Largest repetition level of the column.
    pub(crate) max_rep_level: u8,
    /// How the writer packs BIT_PACKED levels.
    pub(crate) bit_order: BitOrder,
    /// Whether data pages of version 2 are compressed whatever their headers say.
    pub(crate) ignores_compression_flag: bool,
    /// How the pages are decrypted; `None` if they are not encrypted.
    pub(crate) decryptor: Option<Arc<ChunkDecryptor>>,
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
        // Writers have set the dictionary's offset to 0 for "none", and to places behind the data; both are ignored,
        // since a dictionary that exists is the chunk's first page in any case.
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
            bit_order: BitOrder::of_writer(metadata.created_by()),
            ignores_compression_flag: compression_flag::is_ignored(metadata.created_by()),
            decryptor,
        })
    }

    /// File offset that no page may reach past, in a file of so many bytes.
    pub(crate) fn end(&self, file_len: u64) -> u64 {
        self.start.saturating_add(self.len).saturating_add(CHUNK_LEN_SLACK).min(file_len)
    }

    /// Adds file, column and row group to an error.
    pub(crate) fn locate(&self, error: Error) -> Error {
        error.locate(|at| {
            at.file = at.file.take().or_else(|| self.file.clone());
            at.column = at.column.take().or_else(|| Some(Arc::clone(&self.path)));
            at.row_group = at.row_group.or(Some(self.row_group));
        })
    }
}
