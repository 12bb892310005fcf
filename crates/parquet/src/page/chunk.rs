use std::sync::Arc;

use parquet::basic::Compression;
use parquet::file::metadata::ParquetMetaData;

use super::BitOrder;
use crate::crypto::{FileDecryptor, PageDecryptor};
use crate::error::{Error, Location, Result};

/// How far a chunk may pass its stated length: old writers did not count the dictionary page's header
/// (<https://issues.apache.org/jira/browse/PARQUET-816>).
const CHUNK_LEN_SLACK: u64 = 100;

/// Where the pages of one column chunk are, and what is needed to take them apart.
#[derive(Debug, Clone)]
pub(crate) struct ChunkSpec {
    /// Path or name of the file, for errors.
    pub(crate) file: Option<Arc<str>>,
    /// Dotted path of the leaf column, for errors.
    pub(crate) path: Arc<str>,
    /// Index of the row group.
    pub(crate) row_group: usize,
    /// How the pages are compressed.
    pub(crate) codec: Compression,
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
    /// How the pages are decrypted; `None` if they are not encrypted.
    pub(crate) decryptor: Option<Arc<PageDecryptor>>,
}

impl ChunkSpec {
    /// The chunk of leaf `column` in `row_group`.
    pub(crate) fn new(
        metadata: &ParquetMetaData,
        row_group: usize,
        column: usize,
        file: Option<Arc<str>>,
        decryptor: Option<&FileDecryptor>,
    ) -> Result<Self> {
        let chunk = metadata.row_groups().get(row_group).and_then(|row_group| row_group.columns().get(column));
        let Some(chunk) = chunk else {
            return Err(Error::invalid(format!("the file has no column {column} in row group {row_group}")));
        };
        let path: Arc<str> = chunk.column_path().string().into();
        let at = Location {
            file: file.clone(),
            column: Some(Arc::clone(&path)),
            row_group: Some(row_group),
            ..Location::default()
        };
        let locate = |error: Error| error.locate(|location| *location = at.clone());

        if let Some(path) = chunk.file_path().filter(|path| !path.is_empty()) {
            return Err(locate(Error::unsupported(format!("column chunks in another file ({path})"))));
        }
        let unsigned = |value: i64, what: &str| {
            u64::try_from(value)
                .map_err(|_| locate(Error::corrupt(format!("{what} of a column chunk is negative ({value})"))))
        };
        let level = |value: i16, what: &str| {
            u8::try_from(value).map_err(|_| locate(Error::unsupported(format!("{what} of {value}"))))
        };
        let data_page_offset = unsigned(chunk.data_page_offset(), "data page offset")?;
        // Writers have set the dictionary's offset to 0 for "none", and to places behind the data; both are ignored,
        // since a dictionary that exists is the chunk's first page in any case.
        let start = match chunk.dictionary_page_offset() {
            Some(offset) if offset > 0 => data_page_offset.min(offset.cast_unsigned()),
            _ => data_page_offset,
        };
        let descriptor = chunk.column_descr();
        let decryptor = match decryptor {
            Some(decryptor) => decryptor.column(chunk, row_group, column).map_err(locate)?.map(Arc::new),
            None if chunk.crypto_metadata().is_some() => {
                return Err(locate(Error::encrypted(format!("column {path}"))));
            }
            None => None,
        };
        Ok(Self {
            codec: chunk.compression(),
            start,
            len: unsigned(chunk.compressed_size(), "compressed size")?,
            value_count: unsigned(chunk.num_values(), "number of values")?,
            max_def_level: level(descriptor.max_def_level(), "a definition level")?,
            max_rep_level: level(descriptor.max_rep_level(), "a repetition level")?,
            file,
            path,
            row_group,
            bit_order: BitOrder::of_writer(metadata.file_metadata().created_by()),
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
