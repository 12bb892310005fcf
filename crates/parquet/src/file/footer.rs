//! Finds a file's footer, and parses it.
//!
//! ```text
//! | PAR1 | column chunks, indexes, … | footer (Thrift, or encrypted) | footer length, u32 | PAR1 or PARE |
//! ```
//!
//! <https://parquet.apache.org/docs/file-format/>

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use lath_format::{DecryptionKeys, FileMetaData, Footer as FooterParts};

use super::known_schemas::{KnownSchema, KnownSchemas, SchemaBytes};
use crate::error::{Error, Result};
use crate::options::Limits;
use crate::other_format::{HEAD_BYTES, OtherFormat};
use crate::schema::{self, SchemaOptions};
use lath_source::ByteRanges;

/// Footer length and magic, at the file's end.
const TAIL_BYTES: u64 = 8;
/// Minimum length of a file: magic, footer length and magic.
const LEAST_FILE_BYTES: u64 = 12;

/// A footer's bytes, and their location.
#[derive(Debug)]
pub(super) struct Footer {
    /// The bytes that were read, with the footer in them.
    bytes: Bytes,
    /// Position of the footer in `bytes`; the tail follows it.
    content: Range<usize>,
    /// Offset of the footer within the file.
    start: u64,
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
        let first = read(source, first_start..file_bytes)?;
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
        Ok(Self { bytes, content, start, is_encrypted })
    }

    /// Length in bytes, with the tail.
    pub(super) fn len(&self) -> u64 {
        self.content.len() as u64 + TAIL_BYTES
    }

    /// Parses the footer, decrypting it if necessary.
    pub(super) fn parse(
        &self,
        keys: Option<&DecryptionKeys>,
        options: &SchemaOptions,
        schemas: &KnownSchemas,
    ) -> Result<(FileMetaData, Arc<KnownSchema>)> {
        self.parse_unlocated(keys, options, schemas)
            .map_err(|error| error.locate(|at| at.offset = at.offset.or(Some(self.start))))
    }

    fn parse_unlocated(
        &self,
        keys: Option<&DecryptionKeys>,
        options: &SchemaOptions,
        schemas: &KnownSchemas,
    ) -> Result<(FileMetaData, Arc<KnownSchema>)> {
        // Bytes that were read around the footer are not kept with it.
        let content = Bytes::copy_from_slice(&self.bytes[self.content.clone()]);
        let footer = FooterParts::find(content, self.is_encrypted, keys, options.limits.schema_depth)?;
        let schema_bytes = SchemaBytes {
            schema: footer.schema_bytes(),
            key_values: footer.key_value_bytes(),
            use_hint: options.use_hint,
            int96_unit: options.int96_unit,
            depth: options.limits.schema_depth,
            columns: options.columns.as_ref(),
        };
        let known = match schemas.find(schema_bytes) {
            Some(known) => known,
            None => {
                let descr = footer.parse_schema()?;
                let converted = schema::convert(&descr, Some(&footer.key_value_metadata()), options)?;
                let (arrow, _) = schema::refine(&converted, &descr, options, None)?;
                let source = schema_bytes.to_source();
                schemas.keep(Arc::new(KnownSchema { source, descr, converted, arrow }))
            }
        };
        let metadata = footer.with_schema(Arc::clone(&known.descr))?;
        Ok((metadata, known))
    }
}

/// The error for a file without the end of a Parquet file: `what` if it begins as one, else that it is not Parquet.
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

/// Reads a range, completely.
pub(super) fn read(source: &dyn ByteRanges, range: Range<u64>) -> Result<Bytes> {
    let start = range.start;
    let expected = range.end - range.start;
    let bytes = source.read(range).map_err(|error| Error::io("read", error).locate(|at| at.offset = Some(start)))?;
    if (bytes.len() as u64) != expected {
        return Err(short_read().locate(|at| at.offset = Some(start)));
    }
    Ok(bytes)
}

fn short_read() -> Error {
    Error::io("read", std::io::Error::from(std::io::ErrorKind::UnexpectedEof))
}
