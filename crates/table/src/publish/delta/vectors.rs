//! Files with deletion vectors: the number of the format, and then each vector as Iceberg has it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lath_iceberg::write_deletion_vector;

use crate::error::{Error, Result};
use crate::publish::commit_files::CommitFiles;
use crate::publish::identity::{new_uuid, uuid_text};
use crate::records::FileEntry;
use crate::view::Engine;

/// The folder within the table's.
const FOLDER: &str = "_vectors";

/// The format of the files.
const FORMAT: u8 = 1;

/// Bytes around the magic number and the bitmap of a vector: its length and its checksum.
const FRAME_BYTES: u64 = 8;

/// Length of an encoded UUID.
const UUID_LEN: usize = 20;

const DIGITS: &[u8; 85] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

/// The place of a deletion vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VectorPlace {
    /// The folder within the table's, and behind it the UUID in the name of the file, encoded.
    pub(super) path: String,
    pub(super) offset: u64,
    /// Length of the magic number and the bitmap.
    pub(super) len: u64,
    pub(super) cardinality: u64,
}

/// Writes the rows of these files that do not count into one file, synced. The places of the vectors, by the numbers of the files.
pub(super) fn write_vectors(
    engine: &Engine,
    files: &CommitFiles<'_>,
    entries: &[&Arc<FileEntry>],
) -> Result<BTreeMap<u64, VectorPlace>> {
    let mut places = BTreeMap::new();
    if entries.is_empty() {
        return Ok(places);
    }
    let uuid = new_uuid();
    let path = format!("{FOLDER}{}", encode_uuid(uuid));
    let mut bytes = vec![FORMAT];
    for entry in entries {
        let rows = files.deleted(entry)?;
        let cardinality = rows.len();
        if cardinality != files.deleted_count(entry) {
            let what = format!("the mask of {} has another number of rows than its entry says", entry.name);
            return Err(Error::corrupt(what));
        }
        let vector = write_deletion_vector(&rows.to_bytes())?;
        let (offset, len) = (bytes.len() as u64, vector.len() as u64 - FRAME_BYTES);
        bytes.extend(vector);
        places.insert(entry.number, VectorPlace { path: path.clone(), offset, len, cardinality });
    }
    let folder = engine.files.folder().below(FOLDER);
    folder.create()?;
    folder.write(&file_name(uuid), &bytes)?;
    folder.sync()?;
    Ok(places)
}

/// Removes files of vectors that are not among these.
pub(super) fn remove_unneeded(engine: &Engine, needed: &BTreeSet<String>) -> Result<()> {
    let folder = engine.files.folder().below(FOLDER);
    for name in folder.names()? {
        if name.starts_with("deletion_vector_") && !needed.contains(&name) {
            folder.remove(&name)?;
        }
    }
    Ok(())
}

/// Removes all files of vectors.
pub(super) fn remove_all(engine: &Engine) -> Result<()> {
    remove_unneeded(engine, &BTreeSet::new())?;
    // Other files may be there.
    engine.files.folder().below(FOLDER).remove_empty()
}

/// The name of the file of a vector with this path.
pub(super) fn vector_file(path: &str) -> Option<String> {
    let at = path.len().checked_sub(UUID_LEN)?;
    decode_uuid(path.get(at..)?).map(file_name)
}

fn file_name(uuid: [u8; 16]) -> String {
    format!("deletion_vector_{}.bin", uuid_text(uuid))
}

/// Z85: four bytes as five characters.
fn encode_uuid(uuid: [u8; 16]) -> String {
    let mut text = String::with_capacity(UUID_LEN);
    for four in uuid.chunks_exact(4) {
        let mut value = four.iter().fold(0_u32, |value, byte| value << 8 | u32::from(*byte));
        let mut digits = [0; 5];
        for digit in digits.iter_mut().rev() {
            *digit = DIGITS[(value % 85) as usize];
            value /= 85;
        }
        text.extend(digits.map(char::from));
    }
    text
}

fn decode_uuid(text: &str) -> Option<[u8; 16]> {
    let mut uuid = [0; 16];
    for (four, digits) in uuid.chunks_exact_mut(4).zip(text.as_bytes().chunks_exact(5)) {
        let mut value = 0_u64;
        for byte in digits {
            value = value * 85 + DIGITS.iter().position(|digit| digit == byte)? as u64;
        }
        four.copy_from_slice(&u32::try_from(value).ok()?.to_be_bytes());
    }
    (text.len() == UUID_LEN).then_some(uuid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_vector_names_its_file() {
        // The example of the specification of Delta Lake.
        let uuid = decode_uuid("^-aqEH.-t@S}K{vb[*k^");
        assert_eq!(
            vector_file("ab^-aqEH.-t@S}K{vb[*k^").as_deref(),
            Some("deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin")
        );
        assert_eq!(uuid.map(encode_uuid).as_deref(), Some("^-aqEH.-t@S}K{vb[*k^"));
        assert_eq!(vector_file("short"), None);
    }
}
