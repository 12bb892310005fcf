//! Finding a file's footer and having it parsed.
//!
//! ```text
//! | PAR1 | column chunks, indexes, … | footer (Thrift, or encrypted) | footer length, u32 | PAR1 or PARE |
//! ```
//!
//! <https://parquet.apache.org/docs/file-format/>

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::DecodeResult;
use parquet::encryption::decrypt::FileDecryptionProperties;
use parquet::file::metadata::{
    PageIndexPolicy, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataPushDecoder, ParquetMetaDataReader,
    ParquetStatisticsPolicy,
};

use super::known_schemas::{self, KnownSchema, SchemaBytes};
use super::orders::TotalOrders;
use super::other_format::{HEAD_BYTES, OtherFormat};
use super::outline::check_outline;
use super::repair::without_mistyped_fields;
use crate::crypto::FileDecryptor;
use crate::envelope::guard;
use crate::error::{Error, Result};
use crate::options::Limits;
use crate::schema::{self, SchemaOptions};
use lath_source::ByteRanges;

/// Footer length and magic, at the file's end.
const TAIL_BYTES: u64 = 8;
/// Magic, footer length and magic: what a file has at the least.
const LEAST_FILE_BYTES: u64 = 12;

/// The largest buffer that a thread keeps for the next file's footer.
const MOST_KEPT_BYTES: usize = 64 << 10;

thread_local! {
    /// What the last footer was read into. What is kept of a footer is allocated beside the buffer: where it is freed and
    /// allocated for each of many files, its place is cut up and another one taken.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A footer's bytes, and where they are.
#[derive(Debug)]
pub(super) struct Footer {
    /// What was read, with the footer in it.
    bytes: Bytes,
    /// Where in that the footer is; the tail is behind it.
    content: Range<usize>,
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
            let what = format!("a file of {file_bytes} bytes is too short for Parquet");
            return Err(not_whole(source, what));
        }
        let first_start = file_bytes.saturating_sub(guess_bytes.max(TAIL_BYTES));
        let first = read_into(source, first_start..file_bytes, BUFFER.take())?;
        let first_len = (file_bytes - first_start) as usize;
        let tail_start = file_bytes - TAIL_BYTES;
        let at_tail = |error: Error| error.locate(|at| at.offset = Some(tail_start));
        let &[len0, len1, len2, len3, ref magic @ ..] =
            first.get(..first_len).and_then(<[u8]>::last_chunk::<8>).ok_or_else(short_read)?;
        let is_encrypted = match magic {
            b"PAR1" => false,
            b"PARE" => true,
            _ => {
                let what = "the file begins as a Parquet file and does not end as one: it was cut short";
                return Err(not_whole(source, what.to_owned()).locate(|at| at.offset = Some(tail_start)));
            }
        };
        let footer_bytes = u64::from(u32::from_le_bytes([len0, len1, len2, len3]));
        if footer_bytes > limits.footer_bytes {
            let what = "bytes of the footer (footer_bytes)";
            return Err(at_tail(Error::limit(what, limits.footer_bytes, footer_bytes)));
        }
        if footer_bytes + LEAST_FILE_BYTES > file_bytes {
            let what = format!("a footer of {footer_bytes} bytes in a file of {file_bytes} bytes");
            return Err(at_tail(Error::corrupt(what)));
        }
        let start = tail_start - footer_bytes;
        let (bytes, content_start) = if start >= first_start {
            // Fits: the first read is in memory.
            (first, (start - first_start) as usize)
        } else {
            (read(source, start..file_bytes)?, 0)
        };
        let content = content_start..content_start + footer_bytes as usize;
        Ok(Self { bytes, content, start, file_bytes, is_encrypted })
    }

    /// Length in bytes, the tail included.
    pub(super) fn len(&self) -> u64 {
        self.content.len() as u64 + TAIL_BYTES
    }

    /// Leaves the memory to the next footer that the thread reads.
    pub(super) fn recycle(self) {
        if self.bytes.len() <= MOST_KEPT_BYTES && self.bytes.is_unique() {
            BUFFER.set(self.bytes.into());
        }
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

    /// The `FileMetaData`, unless it is encrypted.
    pub(super) fn plain_content(&self) -> Option<Bytes> {
        (!self.is_encrypted).then(|| self.bytes.slice(self.content.clone()))
    }

    fn content(&self) -> &[u8] {
        &self.bytes[self.content.clone()]
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
            return Err(Error::encrypted("the footer"));
        } else {
            None
        };
        let schema_bytes = outline.map(|outline| SchemaBytes {
            schema: &self.content()[outline.schema],
            key_values: &self.content()[outline.key_values],
            use_hint: options.use_hint,
            int96_unit: options.int96_unit,
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
        let with_tail = || self.bytes.slice(self.content.start..self.content.end + TAIL_BYTES as usize);
        let decode_with = |options: Option<ParquetMetaDataOptions>| match decryption {
            Some(keys) => decode_with_keys(self.file_bytes, with_tail(), keys, options),
            None => guard(|| ParquetMetaDataReader::decode_metadata_with_options(self.content(), options.as_ref())),
        };
        let error = match decode_with(options) {
            Ok(metadata) => return Ok(metadata),
            Err(error) => error,
        };
        // What is optional and malformed, or of an early draft of the format, is not needed to read the data.
        let repaired = || match (self.is_encrypted, decryption) {
            (true, _) => None,
            (false, None) => {
                let footer = without_mistyped_fields(self.content()).ok()?;
                guard(|| ParquetMetaDataReader::decode_metadata(&footer)).ok()
            }
            (false, Some(keys)) => {
                let mut footer = without_mistyped_fields(self.content()).ok()?;
                footer.extend_from_slice(&u32::try_from(footer.len()).ok()?.to_le_bytes());
                footer.extend_from_slice(b"PAR1");
                decode_with_keys(footer.len() as u64, footer.into(), keys, None).ok()
            }
        };
        repaired().or_else(|| decode_with(Some(without_statistics())).ok()).ok_or(error)
    }
}

/// Why a file without the end of a Parquet file cannot be read: `what`, if it begins as one, and otherwise because it is none.
fn not_whole(source: &dyn ByteRanges, what: String) -> Error {
    let head = match read(source, 0..source.len().min(HEAD_BYTES)) {
        Ok(head) => head,
        Err(error) => return error,
    };
    if head.starts_with(b"PAR1") || head.starts_with(b"PARE") {
        return Error::corrupt(what);
    }
    Error::NotParquet { looks_like: OtherFormat::recognise(&head), at: Box::default() }
}

/// Decodes a footer, given with the tail behind it, of a file of `file_bytes` that is encrypted or signed.
fn decode_with_keys(
    file_bytes: u64,
    footer: Bytes,
    keys: &Arc<FileDecryptionProperties>,
    options: Option<ParquetMetaDataOptions>,
) -> Result<ParquetMetaData> {
    let decoded = guard(|| {
        let mut decoder = ParquetMetaDataPushDecoder::try_new(file_bytes)?
            .with_page_index_policy(PageIndexPolicy::Skip)
            .with_metadata_options(options.map(Arc::new))
            .with_file_decryption_properties(Some(Arc::clone(keys)));
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
    let expected = range.end - range.start;
    let mut bytes = read_into(source, range, Vec::new())?;
    bytes.truncate(expected as usize);
    Ok(bytes)
}

/// As [`read`], into `buffer` if the source likes; what comes may be longer than the range.
fn read_into(source: &dyn ByteRanges, range: Range<u64>, buffer: Vec<u8>) -> Result<Bytes> {
    let start = range.start;
    let expected = range.end - range.start;
    let bytes = source
        .read_reusing(range, buffer)
        .map_err(|error| Error::io("read", error).locate(|at| at.offset = Some(start)))?;
    if (bytes.len() as u64) < expected {
        return Err(short_read().locate(|at| at.offset = Some(start)));
    }
    Ok(bytes)
}

fn short_read() -> Error {
    Error::io("read", std::io::Error::from(std::io::ErrorKind::UnexpectedEof))
}
