//! Writes the formats of files, with their options.

use arrow_schema::SchemaRef;
use datafusion::common::{Result, internal_err};
use lath_parquet::ParquetFile;
use lath_text::{Compression, CsvWriteOptions, TextFormat, TextWriteOptions};
use lath_writer::{ParquetWriter, WriteOptions};
use prost::Message;

use super::form::unreadable;
use crate::error::external;
use crate::write::FileFormat;

/// A format of files, and its options.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum FormatNode {
    #[prost(message, tag = "6")]
    Parquet(ParquetNode),
    #[prost(message, tag = "7")]
    Text(TextNode),
}

/// The options, and a file without rows if the schema of another file is inherited.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ParquetNode {
    #[prost(string, tag = "1")]
    options: String,
    #[prost(bytes = "vec", tag = "2")]
    like: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TextNode {
    #[prost(bool, tag = "1")]
    is_json: bool,
    /// `gzip`, `zstd`, or nothing.
    #[prost(string, tag = "2")]
    compression: String,
    #[prost(uint32, tag = "3")]
    delimiter: u32,
    #[prost(uint32, optional, tag = "4")]
    quote: Option<u32>,
    #[prost(uint32, optional, tag = "5")]
    escape: Option<u32>,
    #[prost(bool, tag = "6")]
    header: bool,
    #[prost(string, tag = "7")]
    null: String,
    #[prost(uint32, tag = "8")]
    decimal_point: u32,
}

impl FormatNode {
    /// The format of files with `schema`.
    pub(super) fn new(format: &FileFormat, schema: &SchemaRef) -> Result<Self> {
        match format {
            FileFormat::Parquet(options) => {
                let like = match options.inherits_schema() {
                    true => without_rows(options, schema).map_err(external)?,
                    false => Vec::new(),
                };
                let options = serde_json::to_string(options).map_err(unreadable)?;
                Ok(Self::Parquet(ParquetNode { options, like }))
            }
            FileFormat::Text(options) => {
                // A field that is added has to travel, too.
                let TextWriteOptions { format, compression, csv } = options;
                let CsvWriteOptions { delimiter, quote, escape, header, null, decimal_point } = csv;
                Ok(Self::Text(TextNode {
                    is_json: *format == TextFormat::JsonLines,
                    compression: match compression {
                        None => String::new(),
                        Some(Compression::Gzip) => "gzip".to_owned(),
                        Some(Compression::Zstd) => "zstd".to_owned(),
                    },
                    delimiter: u32::from(*delimiter),
                    quote: quote.map(u32::from),
                    escape: escape.map(u32::from),
                    header: *header,
                    null: null.clone(),
                    decimal_point: u32::from(*decimal_point),
                }))
            }
        }
    }

    /// The format of files. Their writers have `threads`, and a part of the memory.
    pub(super) fn format(self, threads: usize, memory_budget_bytes: Option<usize>) -> Result<FileFormat> {
        match self {
            Self::Parquet(ParquetNode { options, like }) => {
                let mut options: WriteOptions = serde_json::from_str(&options).map_err(unreadable)?;
                if !like.is_empty() {
                    let like = ParquetFile::from_bytes(like.into()).and_then(|like| options.inherit(&like));
                    options = like.map_err(external)?;
                }
                let memory = memory_budget_bytes.unwrap_or(WriteOptions::DEFAULT_MEMORY_BUDGET_BYTES);
                Ok(FileFormat::Parquet(Box::new(options.threads(threads.max(1)).memory_budget_bytes(memory))))
            }
            Self::Text(node) => {
                let format = if node.is_json { TextFormat::JsonLines } else { TextFormat::Csv };
                let compression = match node.compression.as_str() {
                    "" => None,
                    "gzip" => Some(Compression::Gzip),
                    "zstd" => Some(Compression::Zstd),
                    other => return internal_err!("{other} is no compression of text"),
                };
                let csv = CsvWriteOptions {
                    delimiter: byte(node.delimiter)?,
                    quote: node.quote.map(byte).transpose()?,
                    escape: node.escape.map(byte).transpose()?,
                    header: node.header,
                    null: node.null,
                    decimal_point: byte(node.decimal_point)?,
                };
                Ok(FileFormat::Text(TextWriteOptions { format, compression, csv }))
            }
        }
    }
}

/// A Parquet file without rows.
fn without_rows(options: &WriteOptions, schema: &SchemaRef) -> lath_parquet::Result<Vec<u8>> {
    Ok(ParquetWriter::new(Vec::new(), schema, options.clone())?.finish_into()?.0)
}

fn byte(number: u32) -> Result<u8> {
    u8::try_from(number).or_else(|_| internal_err!("{number} is no character of one byte"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int64Array, RecordBatch, StringArray};
    use arrow_schema::{DataType, Field, Schema};
    use lath_parquet::SortingColumn;
    use lath_writer::{BloomFilter, Codec, ColumnOptions, ValueEncoding};

    use super::*;

    fn schema() -> SchemaRef {
        let fields = vec![Field::new("id", DataType::Int64, false), Field::new("name", DataType::Utf8, true)];
        Arc::new(Schema::new(fields))
    }

    fn travelled(format: &FileFormat) -> FileFormat {
        FormatNode::new(format, &schema()).unwrap().format(1, None).unwrap()
    }

    /// A file of 3,000 rows.
    fn file(options: &WriteOptions) -> Vec<u8> {
        let names = (0..3000).map(|id| (id % 7 > 0).then(|| format!("name {}", id % 100)));
        let columns =
            vec![Arc::new(Int64Array::from_iter_values(0..3000)) as _, Arc::new(StringArray::from_iter(names)) as _];
        let rows = RecordBatch::try_new(schema(), columns).unwrap();
        let options = options.clone().threads(1).memory_budget_bytes(WriteOptions::DEFAULT_MEMORY_BUDGET_BYTES);
        let mut writer = ParquetWriter::new(Vec::new(), &schema(), options).unwrap();
        writer.write(&rows).unwrap();
        writer.finish_into().unwrap().0
    }

    #[test]
    fn options_of_text_travel() {
        let csv = CsvWriteOptions {
            delimiter: b';',
            quote: Some(b'\''),
            escape: Some(b'\\'),
            header: false,
            null: "NULL".to_owned(),
            decimal_point: b',',
        };
        for (format, compression) in [
            (TextFormat::Csv, None),
            (TextFormat::Csv, Some(Compression::Gzip)),
            (TextFormat::JsonLines, Some(Compression::Zstd)),
        ] {
            for csv in [csv.clone(), CsvWriteOptions { quote: None, escape: None, ..csv.clone() }] {
                let options = TextWriteOptions { format, compression, csv };
                let FileFormat::Text(found) = travelled(&FileFormat::Text(options.clone())) else { panic!("Parquet") };
                assert_eq!(found, options);
            }
        }
    }

    #[test]
    fn files_with_options_of_parquet_that_travelled_are_the_same() {
        let all = WriteOptions::default()
            .codec(Codec::Gzip { level: 3 })
            .row_group_rows(700)
            .created_by("a test")
            .key_value_metadata("owner", Some("me".to_owned()))
            .sorting_columns([SortingColumn::ascending("id")])
            .column("id", ColumnOptions::new().bloom_filter(BloomFilter::FalsePositiveRate(0.003)).dictionary(false))
            .column("name", ColumnOptions::new().encoding(ValueEncoding::DeltaByteArray).page_rows(90).crc(true));
        let like = ParquetFile::from_bytes(file(&all).into()).unwrap();
        for options in [
            WriteOptions::default(),
            all.clone(),
            WriteOptions::default().inherit(&like).unwrap(),
            WriteOptions::default().codec(Codec::Snappy).inherit(&like).unwrap(),
        ] {
            let FileFormat::Parquet(found) = travelled(&FileFormat::Parquet(Box::new(options.clone()))) else {
                panic!("text")
            };
            assert_eq!(found.inherits_schema(), options.inherits_schema());
            assert!(file(&found) == file(&options), "{options:?} {found:?}");
        }
    }
}
