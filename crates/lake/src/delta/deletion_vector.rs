//! Reads deletion vectors: the rows of a file that are deleted.

use std::ops::Range;

use lath_parquet::{DeleteMask, Error, Result};

use super::actions::DeletionVector;
use super::{paths, z85};
use crate::storage::{Folder, read_failure};

/// The first bytes of a vector: a Roaring bitmap of 64 bits in its portable format follows.
const MAGIC: u32 = 1_681_511_377;

/// The version of a file of vectors, its first byte.
const FILE_VERSION: u8 = 1;

/// The bytes of the length before a vector in a file, and of its checksum behind it.
const FRAME_BYTES: u64 = 4;

/// Reads the deleted rows of a vector.
pub(super) fn read(folder: &Folder, vector: &DeletionVector) -> Result<DeleteMask> {
    let location = match vector.storage_type.as_str() {
        "i" => return inline(vector),
        "u" => relative_location(folder, vector)?,
        "p" => paths::resolve(folder, &vector.path_or_inline_dv)?,
        other => return Err(Error::unsupported(format!("deletion vectors stored as {other:?}"))),
    };
    let located = |error: Error| error.locate(|at| at.file = Some(location.as_str().into()));
    let file = folder.source(&location)?;
    let range = framed(vector, file.len()).map_err(located)?;
    let read = file.read_many(&[0..1, range]).map_err(|error| read_failure(&location, error))?;
    match &read[..] {
        [version, _] if version.first() != Some(&FILE_VERSION) => {
            Err(located(Error::unsupported("a file of deletion vectors that is not of version 1")))
        }
        [_, framed] => unframed(framed, vector).map_err(located),
        _ => Err(located(Error::internal("two ranges were read as others"))),
    }
}

/// The file of a vector whose name is a UUID: `pathOrInlineDv` is a prefix and 20 characters of Z85.
fn relative_location(folder: &Folder, vector: &DeletionVector) -> Result<String> {
    let text = &vector.path_or_inline_dv;
    let malformed = || Error::corrupt(format!("{text:?} does not name a file of deletion vectors"));
    let (prefix, id) = text.len().checked_sub(20).and_then(|at| text.split_at_checked(at)).ok_or_else(malformed)?;
    let id = z85::decode(id).ok_or_else(malformed)?;
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let name =
        format!("deletion_vector_{}-{}-{}-{}-{}.bin", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    folder.location(&if prefix.is_empty() { name } else { format!("{prefix}/{name}") })
}

/// Length, vector and checksum within a file of `file_len` bytes.
fn framed(vector: &DeletionVector, file_len: u64) -> Result<Range<u64>> {
    let start = vector.offset.unwrap_or(1);
    let end = vector.size_in_bytes.checked_add(2 * FRAME_BYTES).and_then(|len| start.checked_add(len));
    let outside = || {
        let len = vector.size_in_bytes;
        Error::corrupt(format!(
            "a deletion vector of {len} bytes at {start} is outside of its file of {file_len} bytes"
        ))
    };
    end.filter(|end| *end <= file_len).map(|end| start..end).ok_or_else(outside)
}

fn unframed(bytes: &[u8], vector: &DeletionVector) -> Result<DeleteMask> {
    let word =
        |bytes: &[u8]| bytes.try_into().map(u32::from_be_bytes).map_err(|_| Error::corrupt("a short deletion vector"));
    let (len, rest) = bytes.split_at_checked(4).ok_or_else(|| Error::corrupt("a short deletion vector"))?;
    let (data, checksum) = rest
        .len()
        .checked_sub(4)
        .and_then(|at| rest.split_at_checked(at))
        .ok_or_else(|| Error::corrupt("a short deletion vector"))?;
    if u64::from(word(len)?) != vector.size_in_bytes {
        let (expected, found) = (vector.size_in_bytes, word(len)?);
        return Err(Error::corrupt(format!(
            "the log expects a deletion vector of {expected} bytes, and its file has {found}"
        )));
    }
    if word(checksum)? != crc32fast::hash(data) {
        return Err(Error::corrupt("a deletion vector does not have its checksum"));
    }
    mask(data, vector)
}

fn inline(vector: &DeletionVector) -> Result<DeleteMask> {
    let mut bytes =
        z85::decode(&vector.path_or_inline_dv).ok_or_else(|| Error::corrupt("an inline deletion vector is not Z85"))?;
    // Z85 fills up groups of four bytes.
    let len = usize::try_from(vector.size_in_bytes).ok().filter(|len| *len <= bytes.len() && bytes.len() < len + 4);
    bytes.truncate(len.ok_or_else(|| {
        let (expected, found) = (vector.size_in_bytes, bytes.len());
        Error::corrupt(format!("expected an inline deletion vector of {expected} bytes, found {found}"))
    })?);
    mask(&bytes, vector)
}

fn mask(data: &[u8], vector: &DeletionVector) -> Result<DeleteMask> {
    let (magic, bitmap) = data.split_first_chunk().ok_or_else(|| Error::corrupt("a short deletion vector"))?;
    if u32::from_le_bytes(*magic) != MAGIC {
        let found = u32::from_le_bytes(*magic);
        return Err(Error::unsupported(format!(
            "a deletion vector of the format {found}: the portable format is {MAGIC}"
        )));
    }
    let mask = DeleteMask::from_bytes(bitmap).map_err(|error| Error::corrupt(format!("a deletion vector: {error}")))?;
    if mask.len() != vector.cardinality {
        let (expected, found) = (vector.cardinality, mask.len());
        return Err(Error::corrupt(format!(
            "the log expects {expected} rows in a deletion vector, and it has {found}"
        )));
    }
    Ok(mask)
}
