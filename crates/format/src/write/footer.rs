use parquet::file::metadata::KeyValue;
use parquet::schema::types::Type;

use super::chunk::{ChunkEncryption, ColumnChunkMetaData};
use super::schema::write_schema;
use crate::crypto::FileEncryptor;
use crate::error::Result;
use crate::order::ColumnOrder;
use crate::row_group::SortingColumn;
use crate::thrift::ThriftWriter;

/// The metadata of a row group, to be written. The sizes of its pages are the sums over its chunks.
#[derive(Debug, Clone, Default)]
pub struct RowGroupMetaData<'a> {
    /// A chunk for each leaf of the schema, in its order.
    pub columns: Vec<&'a ColumnChunkMetaData>,
    /// Number of rows.
    pub num_rows: i64,
    /// The columns by which its rows are sorted, the most significant one first.
    pub sorting_columns: Option<&'a [SortingColumn]>,
    /// Offset of the first page.
    pub file_offset: Option<i64>,
    /// Its number in the file. The `parquet` crate refuses files in which only some row groups have one.
    pub ordinal: Option<i16>,
}

/// The metadata of a file, to be written. The number of rows is the sum over the row groups.
#[derive(Debug, Clone)]
pub struct FooterMetaData<'a> {
    /// The version of the format.
    pub version: i32,
    /// The root of the schema.
    pub schema: &'a Type,
    /// The row groups.
    pub row_groups: Vec<RowGroupMetaData<'a>>,
    /// Key-value metadata.
    pub key_value_metadata: &'a [KeyValue],
    /// The program that writes the file.
    pub created_by: Option<&'a str>,
    /// The order of statistics by leaf. No order is written if a leaf has [`Undefined`](ColumnOrder::Undefined) or
    /// [`Unknown`](ColumnOrder::Unknown), which have no number.
    pub column_orders: &'a [ColumnOrder],
}

impl FooterMetaData<'_> {
    /// Appends a `FileMetaData`, without the length and `PAR1` that follow it in a file.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.write_with(None, &[], out);
    }

    /// Appends the footer of an encrypted file, without the length and the four bytes that follow it: `PAR1` after a plaintext footer, and
    /// otherwise `PARE`.
    ///
    /// # Errors
    /// As [`FileEncryptor::chunk`].
    pub fn write_encrypted(&self, encryptor: &FileEncryptor, out: &mut Vec<u8>) -> Result<()> {
        let mut chunks = Vec::new();
        for (row_group, metadata) in self.row_groups.iter().enumerate() {
            let columns = metadata.columns.iter().enumerate();
            let columns = columns.map(|(column, chunk)| chunk.encryption(encryptor, row_group, column));
            chunks.push(columns.collect::<Result<Vec<_>>>()?);
        }
        if encryptor.has_plaintext_footer() {
            let start = out.len();
            self.write_with(Some(encryptor), &chunks, out);
            let signature = encryptor.sign_footer(&out[start..])?;
            out.extend(signature);
            return Ok(());
        }
        let mut footer = Vec::new();
        self.write_with(None, &chunks, &mut footer);
        encryptor.seal_footer(&footer, out)
    }

    /// Appends a `FileMetaData` with the encryption of each chunk, signed by `signer`.
    fn write_with(&self, signer: Option<&FileEncryptor>, chunks: &[Vec<Option<ChunkEncryption>>], out: &mut Vec<u8>) {
        let mut writer = ThriftWriter::new(out);
        writer.i32(1, self.version);
        write_schema(self.schema, 2, &mut writer);
        writer.i64(3, sum(self.row_groups.iter().map(|row_group| row_group.num_rows)));
        writer.structures(4, self.row_groups.iter().enumerate(), |writer, (index, row_group)| {
            row_group.write(chunks.get(index).map_or(&[], Vec::as_slice), writer);
        });
        if !self.key_value_metadata.is_empty() {
            writer.structures(5, self.key_value_metadata.iter(), |writer, pair| {
                writer.binary(1, &pair.key);
                if let Some(value) = &pair.value {
                    writer.binary(2, value);
                }
            });
        }
        if let Some(creator) = self.created_by {
            writer.binary(6, creator);
        }
        let orders: Option<Vec<i16>> = self.column_orders.iter().map(|order| order.id()).collect();
        if let Some(orders) = orders.filter(|orders| !orders.is_empty()) {
            writer.structures(7, orders.into_iter(), |writer, id| writer.structure(id, |_| {}));
        }
        if let Some(signer) = signer {
            signer.write_signing_fields(&mut writer);
        }
        writer.end();
    }
}

impl RowGroupMetaData<'_> {
    /// The fields of a `RowGroup`, whose chunks have this encryption.
    fn write(&self, encryption: &[Option<ChunkEncryption>], writer: &mut ThriftWriter<'_>) {
        writer.structures(1, self.columns.iter().enumerate(), |writer, (index, chunk)| {
            chunk.write(encryption.get(index).and_then(Option::as_ref), writer);
        });
        writer.i64(2, sum(self.columns.iter().map(|chunk| chunk.uncompressed_size)));
        writer.i64(3, self.num_rows);
        if let Some(columns) = self.sorting_columns {
            writer.structures(4, columns.iter(), |writer, column| {
                writer.i32(1, column.column_idx);
                writer.bool(2, column.descending);
                writer.bool(3, column.nulls_first);
            });
        }
        if let Some(offset) = self.file_offset {
            writer.i64(5, offset);
        }
        writer.i64(6, sum(self.columns.iter().map(|chunk| chunk.compressed_size)));
        if let Some(ordinal) = self.ordinal {
            writer.i16(7, ordinal);
        }
    }
}

fn sum(numbers: impl Iterator<Item = i64>) -> i64 {
    numbers.fold(0, i64::saturating_add)
}

impl ColumnOrder {
    /// Its number in the union.
    fn id(self) -> Option<i16> {
        match self {
            Self::TypeDefined => Some(1),
            Self::Ieee754Total => Some(2),
            Self::Undefined | Self::Unknown => None,
        }
    }
}
