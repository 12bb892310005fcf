//! Finding a file's footer and having it parsed.
//!
//! ```text
//! | PAR1 | column chunks, indexes, … | footer (Thrift, or encrypted) | footer length, u32 | PAR1 or PARE |
//! ```
//!
//! <https://parquet.apache.org/docs/file-format/>

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::DecodeResult;
use parquet::encryption::decrypt::FileDecryptionProperties;
use parquet::file::metadata::{
    PageIndexPolicy, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataPushDecoder, ParquetStatisticsPolicy,
};

use super::known_schemas::{self, KnownSchema, SchemaBytes};
use super::orders::TotalOrders;
use super::outline::check_outline;
use super::repair::without_mistyped_fields;
use crate::crypto::FileDecryptor;
use crate::envelope::guard;
use crate::error::{Error, Result};
use crate::options::Limits;
use crate::schema::{self, SchemaOptions};
use crate::source::ByteRanges;

/// Footer length and magic, at the file's end.
const TAIL_BYTES: u64 = 8;
/// Magic, footer length and magic: what a file has at the least.
const LEAST_FILE_BYTES: u64 = 12;
/// A footer's bytes, and where they are.
#[derive(Debug)]
pub(super) struct Footer {
    /// The footer with the tail behind it.
    bytes: Bytes,
    /// Offset of the footer within the file.
    start: u64,
    file_bytes: u64,
    is_encrypted: bool,
}

impl Footer {
    /// Reads the last `guess_bytes`, and once more if the footer is longer.
    pub(super) fn read(source: &dyn ByteRanges, guess_bytes: u64, limits: &Limits) -> Result<Self> {
        let file_bytes = source.len();
        if file_bytes < LEAST_FILE_BYTES {
            return Err(Error::corrupt(format!("a file of {file_bytes} bytes is too short for Parquet")));
        }
        let first_start = file_bytes.saturating_sub(guess_bytes.max(TAIL_BYTES));
        let first = read(source, first_start..file_bytes)?;
        let tail_start = file_bytes - TAIL_BYTES;
        let at_tail = |error: Error| error.locate(|at| at.offset = Some(tail_start));
        let (&magic, rest) = first.split_last_chunk::<4>().map(|(rest, magic)| (magic, rest)).ok_or_else(short_read)?;
        let (_, &len) = rest.split_last_chunk::<4>().ok_or_else(short_read)?;
        let is_encrypted = match &magic {
            b"PAR1" => false,
            b"PARE" => true,
            _ => {
                let what = "the file does not end with PAR1: it is not a Parquet file, or was cut short";
                return Err(at_tail(Error::corrupt(what)));
            }
        };
        let footer_bytes = u64::from(u32::from_le_bytes(len));
        if footer_bytes > limits.footer_bytes {
            let what = "bytes of the footer (footer_bytes)";
            return Err(at_tail(Error::limit(what, limits.footer_bytes, footer_bytes)));
        }
        if footer_bytes + LEAST_FILE_BYTES > file_bytes {
            let what = format!("a footer of {footer_bytes} bytes in a file of {file_bytes} bytes");
            return Err(at_tail(Error::corrupt(what)));
        }
        let start = tail_start - footer_bytes;
        let bytes = if start >= first_start {
            // Fits: the first read is in memory.
            first.slice((start - first_start) as usize..)
        } else {
            read(source, start..file_bytes)?
        };
        Ok(Self { bytes, start, file_bytes, is_encrypted })
    }

    /// Parses the footer, which is decrypted first if it has to be.
    pub(super) fn parse(
        &self,
        decryption: Option<&Arc<FileDecryptionProperties>>,
        options: &SchemaOptions,
    ) -> Result<(ParquetMetaData, Arc<KnownSchema>)> {
        self.parse_unlocated(decryption, options)
            .map_err(|error| error.locate(|at| at.offset = at.offset.or(Some(self.start))))
    }

    /// What decrypts the file's pages; `None` if none is encrypted.
    pub(super) fn decryptor(&self, properties: Arc<FileDecryptionProperties>) -> Result<Option<FileDecryptor>> {
        FileDecryptor::new(self.content(), self.is_encrypted, properties)
            .map_err(|error| error.locate(|at| at.offset = at.offset.or(Some(self.start))))
    }

    /// The columns whose statistics are in IEEE 754 total order.
    pub(super) fn total_orders(&self, metadata: &ParquetMetaData) -> TotalOrders {
        if self.is_encrypted {
            return TotalOrders::default();
        }
        TotalOrders::read(self.content(), metadata)
    }

    fn content(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - TAIL_BYTES as usize]
    }

    fn parse_unlocated(
        &self,
        decryption: Option<&Arc<FileDecryptionProperties>>,
        options: &SchemaOptions,
    ) -> Result<(ParquetMetaData, Arc<KnownSchema>)> {
        // An encrypted footer is authenticated when it is decrypted: it is what the holder of the key wrote.
        let outline = if !self.is_encrypted {
            Some(check_outline(self.content(), &options.limits)?)
        } else if decryption.is_none() {
            return Err(Error::invalid("the file's footer is encrypted, and no keys were given"));
        } else {
            None
        };
        let schema_bytes = outline.map(|outline| SchemaBytes {
            schema: &self.content()[outline.schema],
            key_values: &self.content()[outline.key_values],
            use_hint: options.use_hint,
            depth: options.limits.schema_depth,
        });
        let known = schema_bytes.and_then(known_schemas::find);
        let metadata = self.decode(decryption, known.as_deref())?;
        if let Some(known) = known {
            return Ok((metadata, known));
        }
        let file = metadata.file_metadata();
        let key_values = file.key_value_metadata().map(Vec::as_slice);
        let converted = schema::convert(file.schema_descr(), key_values, options)?;
        let (arrow, _) = schema::refine(&converted, file.schema_descr(), options, None)?;
        let source = schema_bytes.and_then(SchemaBytes::to_source);
        let schema = KnownSchema { source, descr: file.schema_descr_ptr(), converted, arrow };
        Ok((metadata, known_schemas::keep(Arc::new(schema))))
    }

    fn decode(
        &self,
        decryption: Option<&Arc<FileDecryptionProperties>>,
        known: Option<&KnownSchema>,
    ) -> Result<ParquetMetaData> {
        let options = known.map(|known| ParquetMetaDataOptions::new().with_schema(Arc::clone(&known.descr)));
        let error = match decode(self.file_bytes, self.bytes.clone(), decryption, options) {
            Ok(metadata) => return Ok(metadata),
            Err(error) => error,
        };
        // What is optional and malformed, or of an early draft of the format, is not needed to read the data.
        self.without_mistyped_fields()
            .and_then(|bytes| decode(bytes.len() as u64, bytes.clone(), decryption, None).ok())
            .or_else(|| decode(self.file_bytes, self.bytes.clone(), decryption, Some(without_statistics())).ok())
            .ok_or(error)
    }

    fn without_mistyped_fields(&self) -> Option<Bytes> {
        if self.is_encrypted {
            return None;
        }
        let mut bytes = without_mistyped_fields(self.content()).ok()?;
        bytes.extend_from_slice(&u32::try_from(bytes.len()).ok()?.to_le_bytes());
        bytes.extend_from_slice(b"PAR1");
        Some(Bytes::from(bytes))
    }
}

/// Decodes a footer, given with the tail behind it, of a file of `file_bytes`.
fn decode(
    file_bytes: u64,
    footer: Bytes,
    decryption: Option<&Arc<FileDecryptionProperties>>,
    options: Option<ParquetMetaDataOptions>,
) -> Result<ParquetMetaData> {
    let decoded = guard(|| {
        let mut decoder = ParquetMetaDataPushDecoder::try_new(file_bytes)?
            .with_page_index_policy(PageIndexPolicy::Skip)
            .with_metadata_options(options.map(Arc::new))
            .with_file_decryption_properties(decryption.cloned());
        decoder.push_range(file_bytes - footer.len() as u64..file_bytes, footer)?;
        decoder.try_decode()
    })?;
    match decoded {
        DecodeResult::Data(metadata) => Ok(metadata),
        DecodeResult::NeedsData(_) | DecodeResult::Finished => Err(Error::corrupt("the footer is incomplete")),
    }
}

fn without_statistics() -> ParquetMetaDataOptions {
    ParquetMetaDataOptions::new()
        .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll)
}

/// Reads a range that has to come whole.
pub(super) fn read(source: &dyn ByteRanges, range: Range<u64>) -> Result<Bytes> {
    let start = range.start;
    let expected = range.end - range.start;
    let mut bytes =
        source.read(range).map_err(|error| Error::io("read", error).locate(|at| at.offset = Some(start)))?;
    if (bytes.len() as u64) < expected {
        return Err(short_read().locate(|at| at.offset = Some(start)));
    }
    bytes.truncate(expected as usize);
    Ok(bytes)
}

fn short_read() -> Error {
    Error::io("read", std::io::Error::from(std::io::ErrorKind::UnexpectedEof))
}
