//! Deletion vectors: the blobs `deletion-vector-v1` of Puffin.
//!
//! ```text
//! | length of magic and bitmap, big-endian (4) | D1 D3 39 64 | 64-bit Roaring bitmap, portable | CRC-32 of magic and bitmap, big-endian (4) |
//! ```

use crate::error::{Error, Result};

const VECTOR: &str = "deletion vector";
const MAGIC: [u8; 4] = [0xd1, 0xd3, 0x39, 0x64];

/// Bytes of a deletion vector besides its bitmap.
const FRAME_BYTES: usize = 12;

/// The portable 64-bit Roaring bitmap in a deletion vector. The entry in the manifest gives its place in the Puffin file: `content_offset` and
/// `content_size_in_bytes`.
///
/// # Errors
/// [`Error::Corrupt`], also if the checksum is wrong.
pub fn read_deletion_vector(bytes: &[u8]) -> Result<&[u8]> {
    let error = |what: &str| Error::corrupt(VECTOR, what);
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(|| error("it has no length"))?;
    let (data, checksum) = rest.split_last_chunk::<4>().ok_or_else(|| error("it has no checksum"))?;
    if u32::from_be_bytes(*length) as usize != data.len() {
        return Err(error("its length is another"));
    }
    if crc32fast::hash(data) != u32::from_be_bytes(*checksum) {
        return Err(error("its checksum is another"));
    }
    data.strip_prefix(&MAGIC).ok_or_else(|| error("it does not begin with D1 D3 39 64"))
}

/// The deletion vector of a portable 64-bit Roaring bitmap.
///
/// # Errors
/// [`Error::Unsupported`] if it takes 4 GiB.
pub fn write_deletion_vector(bitmap: &[u8]) -> Result<Vec<u8>> {
    let length = u32::try_from(MAGIC.len() + bitmap.len());
    let length = length.map_err(|_| Error::unsupported("a deletion vector of 4 GiB"))?;
    let mut bytes = Vec::with_capacity(FRAME_BYTES + bitmap.len());
    bytes.extend(length.to_be_bytes());
    bytes.extend(MAGIC);
    bytes.extend(bitmap);
    bytes.extend(crc32fast::hash(&bytes[4..]).to_be_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flipped_bit_is_found() -> Result<()> {
        let bitmap: Vec<u8> = (0..200).collect();
        let vector = write_deletion_vector(&bitmap)?;
        assert_eq!(read_deletion_vector(&vector)?, bitmap);
        for bit in 0..vector.len() * 8 {
            let mut damaged = vector.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(read_deletion_vector(&damaged).is_err(), "bit {bit}");
        }
        for length in 0..vector.len() {
            assert!(read_deletion_vector(&vector[..length]).is_err(), "length {length}");
        }
        Ok(())
    }
}
