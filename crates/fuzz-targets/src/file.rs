//! Reading with tight limits, and files of one column around the bytes of a column chunk.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::Array;
use bytes::Bytes;
use lath_parquet::{ByteRanges, Error, Limits, OpenOptions, Result, Scan, Strings};
use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;

/// Columns of every physical type and of the logical types that are decoded differently.
const COLUMNS: [&str; 16] = [
    "boolean x",
    "int32 x",
    "int64 x",
    "int96 x",
    "float x",
    "double x",
    "binary x",
    "binary x (STRING)",
    "fixed_len_byte_array(12) x",
    "fixed_len_byte_array(2) x (FLOAT16)",
    "fixed_len_byte_array(9) x (DECIMAL(20, 3))",
    "binary x (DECIMAL(20, 3))",
    "int32 x (INTEGER(8, true))",
    "int64 x (DECIMAL(18, 3))",
    "int32 x (UNKNOWN)",
    "fixed_len_byte_array(12) x (INTERVAL)",
];

/// The metadata around a column chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk {
    /// The index of its column, which also selects required, optional or list.
    pub(crate) column: u8,
    /// The compression of its pages.
    pub(crate) codec: Compression,
    /// The rows of the row group.
    pub(crate) row_count: u16,
    /// The values of the chunk, including nulls.
    pub(crate) value_count: u16,
}

impl Chunk {
    fn schema(self) -> SchemaDescriptor {
        let column = COLUMNS[usize::from(self.column) % COLUMNS.len()];
        let field = match usize::from(self.column) / COLUMNS.len() % 3 {
            0 => format!("required {column};"),
            1 => format!("optional {column};"),
            _ => format!("optional group l (LIST) {{ repeated group list {{ optional {column}; }} }}"),
        };
        let message = parse_message_type(&format!("message m {{ {field} }}")).expect("the columns are sound");
        SchemaDescriptor::new(Arc::new(message))
    }

    /// A file of one row group whose one column chunk is `pages`.
    pub(crate) fn file_around(self, pages: &[u8]) -> Bytes {
        let schema = Arc::new(self.schema());
        let chunk = ColumnChunkMetaData::builder(schema.column(0))
            .set_compression(self.codec)
            .set_encodings(vec![Encoding::PLAIN])
            .set_num_values(self.value_count.into())
            .set_data_page_offset(4)
            .set_total_compressed_size(pages.len() as i64)
            .set_total_uncompressed_size(pages.len() as i64)
            .build()
            .expect("all is set");
        let row_group = RowGroupMetaData::builder(schema.clone())
            .set_num_rows(self.row_count.into())
            .set_total_byte_size(pages.len() as i64)
            .add_column_metadata(chunk)
            .build()
            .expect("the schema has one column");
        let file = FileMetaData::new(2, self.row_count.into(), None, None, schema, None);
        let metadata = ParquetMetaData::new(file, vec![row_group]);
        let mut bytes = [b"PAR1", pages].concat();
        ParquetMetaDataWriter::new(&mut bytes, &metadata).finish().expect("writing to memory");
        bytes.into()
    }
}

/// Bytes with expensive requests, so that they are read ahead, and pages are found by the offset index.
#[derive(Debug)]
struct Distant(Bytes);

impl ByteRanges for Distant {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.0.read(range)
    }

    fn request_cost_bytes(&self) -> u64 {
        1
    }
}

/// Reads a file to its end, or to an error, with limits fit for small inputs.
///
/// # Panics
/// If an array breaks a rule of the Arrow format, or an error is an internal one.
pub(crate) fn read(bytes: Bytes, strings: Strings, batch_size: usize) {
    let Some(file) = no_bug(OpenOptions::new().limits(limits()).from_bytes(bytes)) else { return };
    read_all(file.scan().strings(strings).batch_size(batch_size));
}

/// Like [`read`], but reads some rows, as from remote storage.
///
/// # Panics
/// The same as [`read`].
pub(crate) fn read_some(bytes: Bytes) {
    let opened = OpenOptions::new().limits(limits()).from_source(Arc::new(Distant(bytes)));
    let Some(file) = no_bug(opened) else { return };
    let row_count = file.row_count();
    let places = [row_count / 3, row_count / 2, row_count / 8 * 7];
    let ranges = places.map(|row| row..row.saturating_add(3).min(row_count));
    if ranges.windows(2).all(|pair| pair[0].end <= pair[1].start) {
        read_all(file.scan().rows(ranges.to_vec()));
    }
}

/// The result of reading, unless it is an error. No input may lead to an internal error.
fn no_bug<T>(result: Result<T>) -> Option<T> {
    if let Err(error @ Error::Internal { .. }) = &result {
        panic!("{error}");
    }
    result.ok()
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.footer_bytes = 1 << 20;
    limits.page_header_bytes = 1 << 16;
    limits.page_bytes = 1 << 20;
    limits.schema_depth = 20;
    limits.batch_elements = 1 << 16;
    limits
}

fn read_all(scan: Scan) {
    let Some(batches) = no_bug(scan.verify_crc(false).build()) else { return };
    let mut row_count = 0;
    for batch in batches {
        let Some(batch) = no_bug(batch) else { return };
        for array in batch.columns() {
            array.to_data().validate_full().expect("arrays are sound");
        }
        row_count += batch.num_rows();
        // A file can announce any number of rows without columns, or with a column of only nulls.
        if row_count > 1 << 16 {
            return;
        }
    }
}
