use std::fmt;
use std::sync::Arc;

use lath_format::{Encoding, FileMetaData};

use super::row_group::RowGroup;
use crate::schema::WriteSchema;

/// Summary of a written file.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct WriteSummary {
    /// Rows.
    pub rows: u64,
    /// Row groups.
    pub row_groups: usize,
    /// Bytes of the file.
    pub bytes: u64,
    /// The leaf columns, in file order.
    pub columns: Vec<ColumnSummary>,
    /// Metadata of the footer.
    pub metadata: Arc<FileMetaData>,
}

/// Summary of one leaf column.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct ColumnSummary {
    /// Dotted path.
    pub path: String,
    /// Bytes of the values in Arrow.
    pub arrow_bytes: u64,
    /// Bytes of the pages before compression.
    pub encoded_bytes: u64,
    /// Bytes of the pages in the file.
    pub compressed_bytes: u64,
    /// Number of chunks with key-value metadata.
    pub chunks_with_key_values: usize,
    /// Encodings of the chunks, in the order of their first use. Empty for copied chunks.
    pub encodings: Vec<ChosenEncoding>,
}

/// An encoding that was chosen for column chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenEncoding {
    /// The encoding of the values.
    pub encoding: Encoding,
    /// Reason for the choice.
    pub reason: String,
    /// Number of row groups.
    pub row_groups: usize,
}

impl WriteSummary {
    pub(crate) fn new(metadata: Arc<FileMetaData>, row_groups: &[RowGroup], schema: &WriteSchema, bytes: u64) -> Self {
        let column = |index: usize| {
            let path = schema.descr.column(index).path().string();
            let mut column = ColumnSummary {
                path,
                arrow_bytes: 0,
                encoded_bytes: 0,
                compressed_bytes: 0,
                chunks_with_key_values: 0,
                encodings: Vec::new(),
            };
            for chunk in row_groups.iter().filter_map(|row_group| row_group.chunks.get(index)) {
                column.encoded_bytes += chunk.metadata.uncompressed_size.unsigned_abs();
                column.compressed_bytes += chunk.metadata.compressed_size.unsigned_abs();
                column.chunks_with_key_values += usize::from(chunk.metadata.key_value_metadata.is_some());
                let Some(choice) = &chunk.choice else { continue };
                column.arrow_bytes += choice.arrow_bytes;
                let same =
                    |chosen: &&mut ChosenEncoding| chosen.encoding == choice.encoding && chosen.reason == choice.reason;
                if let Some(chosen) = column.encodings.iter_mut().find(same) {
                    chosen.row_groups += 1;
                } else {
                    let (encoding, reason) = (choice.encoding, choice.reason.clone());
                    column.encodings.push(ChosenEncoding { encoding, reason, row_groups: 1 });
                }
            }
            column
        };
        Self {
            rows: row_groups.iter().map(|row_group| row_group.rows as u64).sum(),
            row_groups: row_groups.len(),
            bytes,
            columns: (0..schema.descr.num_columns()).map(column).collect(),
            metadata,
        }
    }
}

impl fmt::Display for ChosenEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.encoding, self.reason)
    }
}
