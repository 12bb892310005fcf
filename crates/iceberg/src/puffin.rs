//! Files of [Puffin]: blobs, and a footer that lists them.
//!
//! [Puffin]: https://iceberg.apache.org/puffin-spec/

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::json::{Object, ObjectBuilder};

const PUFFIN: &str = "Puffin file";
const MAGIC: [u8; 4] = *b"PFA1";

/// Bytes behind the text of the footer: its length, flags, and the magic bytes.
const TRAILER_BYTES: usize = 12;

/// The type of deletion vectors.
pub const DELETION_VECTOR: &str = "deletion-vector-v1";

/// The number of the column of places of rows, which deletion vectors are about.
const POSITION_ID: i32 = i32::MAX - 2;

/// A blob of a Puffin file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PuffinBlob {
    /// Its type: [`DELETION_VECTOR`], for example.
    pub blob_type: String,
    /// The columns that it is about.
    pub fields: Vec<i32>,
    /// The snapshot that it was made of; -1 for deletion vectors.
    pub snapshot_id: i64,
    /// The sequence number of that snapshot; -1 for deletion vectors.
    pub sequence_number: i64,
    /// Its offset in the file.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
    /// Its compression; `None` if it has none.
    pub compression_codec: Option<String>,
    /// More about it.
    pub properties: BTreeMap<String, String>,
}

/// Reads the list of blobs from all bytes of a Puffin file, or from its end with the whole footer.
///
/// # Errors
/// [`Error::Corrupt`], also if the footer begins before `bytes`; [`Error::Unsupported`] if it is compressed.
pub fn read_puffin_footer(bytes: &[u8]) -> Result<Vec<PuffinBlob>> {
    let error = |what: &str| Error::corrupt(PUFFIN, what);
    let (rest, trailer) = bytes.split_last_chunk::<TRAILER_BYTES>().ok_or_else(|| error("it has no footer"))?;
    let (length, flags) = (u32::from_le_bytes([trailer[0], trailer[1], trailer[2], trailer[3]]), &trailer[4..8]);
    if trailer[8..] != MAGIC {
        return Err(error("it does not end with PFA1"));
    }
    if flags[0] & 1 != 0 {
        return Err(Error::unsupported("a compressed footer of a Puffin file"));
    }
    let start = rest.len().checked_sub(length as usize).ok_or_else(|| error("its footer begins before the bytes"))?;
    let (head, text) = rest.split_at(start);
    if !head.ends_with(&MAGIC) {
        return Err(error("its footer does not begin with PFA1"));
    }
    let footer: Value = serde_json::from_slice(text).map_err(|cause| error(&cause.to_string()))?;
    Object::new(&footer, PUFFIN)?.list("blobs")?.iter().map(read_blob).collect()
}

fn read_blob(value: &Value) -> Result<PuffinBlob> {
    let blob = Object::new(value, "blob of a Puffin file")?;
    let unsigned = |name: &str| u64::try_from(blob.long(name)?).map_err(|_| blob.error(name, "is negative"));
    Ok(PuffinBlob {
        blob_type: blob.text("type")?.to_owned(),
        fields: blob.ints_or_empty("fields")?,
        snapshot_id: blob.long("snapshot-id")?,
        sequence_number: blob.long("sequence-number")?,
        offset: unsigned("offset")?,
        length: unsigned("length")?,
        compression_codec: blob.text_if_any("compression-codec")?.map(str::to_owned),
        properties: blob.texts_or_empty("properties")?.into_iter().collect(),
    })
}

/// A Puffin file that is written.
#[derive(Debug)]
pub struct PuffinWriter {
    bytes: Vec<u8>,
    blobs: Vec<Value>,
}

impl PuffinWriter {
    /// Begins a file.
    pub fn new() -> Self {
        Self { bytes: MAGIC.to_vec(), blobs: Vec::new() }
    }

    /// Adds a deletion vector of a data file, made by [`write_deletion_vector`](crate::write_deletion_vector). Returns its offset.
    ///
    /// Shorter vectors should be added before longer ones. DuckDB (1.5.5) reads on from the end of a vector to the part of the file that it has
    /// read before, unless that is farther than the vector is long, and takes the start of what it has read for a later vector in between.
    pub fn add_deletion_vector(&mut self, vector: &[u8], data_file: &str, deleted_rows: u64) -> u64 {
        if !self.blobs.is_empty() {
            // The next but one is then farther away than this one is long, also if all are equally long.
            self.bytes.push(0);
        }
        let offset = self.bytes.len() as u64;
        self.bytes.extend_from_slice(vector);
        let properties = ObjectBuilder::default()
            .put("referenced-data-file", data_file)
            .put("cardinality", deleted_rows.to_string())
            .finish();
        let blob = ObjectBuilder::default()
            .put("type", DELETION_VECTOR)
            .put("fields", vec![POSITION_ID])
            .put("snapshot-id", -1)
            .put("sequence-number", -1)
            .put("offset", offset)
            .put("length", vector.len())
            .put("properties", properties)
            .finish();
        self.blobs.push(blob);
        offset
    }

    /// Ends the file with its footer, and returns its bytes.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the footer takes 4 GiB.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        let properties =
            ObjectBuilder::default().put("created-by", concat!("Lath ", env!("CARGO_PKG_VERSION"))).finish();
        let footer = ObjectBuilder::default().put("blobs", self.blobs).put("properties", properties).finish();
        let text = footer.to_string();
        let length = u32::try_from(text.len()).map_err(|_| Error::unsupported("a footer of 4 GiB"))?;
        self.bytes.extend(MAGIC);
        self.bytes.extend(text.as_bytes());
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend([0; 4]);
        self.bytes.extend(MAGIC);
        Ok(self.bytes)
    }
}

impl Default for PuffinWriter {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_are_found_from_the_end_of_a_file() -> Result<()> {
        let mut writer = PuffinWriter::new();
        let offset = writer.add_deletion_vector(b"first", "a.parquet", 1);
        let next = writer.add_deletion_vector(b"second one", "b.parquet", 2);
        let bytes = writer.finish()?;
        assert_eq!((offset, next), (4, 10));
        let blobs = read_puffin_footer(&bytes[next as usize..])?;
        assert_eq!(blobs, read_puffin_footer(&bytes)?);
        let ends: Vec<(u64, u64)> = blobs.iter().map(|blob| (blob.offset, blob.length)).collect();
        assert_eq!(ends, [(4, 5), (10, 10)]);
        assert_eq!(blobs[1].properties["cardinality"], "2");
        assert!(read_puffin_footer(&bytes[40..]).is_err());
        assert!(read_puffin_footer(&bytes[..bytes.len() - 1]).is_err());
        Ok(())
    }
}
