//! Checksums of the blocks of a file, stored apart from it, by which a reader detects bytes that have changed since they were written.

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::{ByteRanges, check_range};

/// Bytes of a block. A read verifies whole blocks, so the first read of a block can read up to two blocks more than it returns.
/// Checksums take 1/2048 of the file's size.
pub const CHECKSUM_BLOCK_BYTES: u64 = 8 << 10;

/// The length of a file, and the lower half of the XXH3 of each of its blocks of [`CHECKSUM_BLOCK_BYTES`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BlockChecksums {
    len: u64,
    checksums: Box<[u32]>,
}

impl BlockChecksums {
    /// Checksums of a file of `len` bytes; `None` if their number is not the number of its blocks.
    pub fn new(len: u64, checksums: impl Into<Box<[u32]>>) -> Option<Self> {
        let checksums = checksums.into();
        (checksums.len() as u64 == len.div_ceil(CHECKSUM_BLOCK_BYTES)).then_some(Self { len, checksums })
    }

    /// The length of the file in bytes.
    pub fn file_len(&self) -> u64 {
        self.len
    }

    /// The checksum of each block.
    pub fn checksums(&self) -> &[u32] {
        &self.checksums
    }

    fn has(&self, block: usize, bytes: &[u8]) -> bool {
        self.checksums.get(block) == Some(&(xxh3_64(bytes) as u32))
    }
}

/// A sink that passes bytes on and computes the checksums of their blocks.
///
/// ```
/// use std::io::Write;
/// use lath_source::ChecksummedWriter;
///
/// let mut writer = ChecksummedWriter::new(Vec::new());
/// writer.write_all(b"some bytes")?;
/// let (bytes, checksums) = writer.finish();
/// assert_eq!((bytes.len() as u64, checksums.checksums().len()), (checksums.file_len(), 1));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct ChecksummedWriter<W> {
    sink: W,
    block: Xxh3,
    len: u64,
    checksums: Vec<u32>,
}

impl<W: Write> ChecksummedWriter<W> {
    /// Starts at the beginning of the file: nothing has been written to `sink` before.
    pub fn new(sink: W) -> Self {
        Self { sink, block: Xxh3::new(), len: 0, checksums: Vec::new() }
    }

    /// The sink, and the checksums of the bytes that were written to it.
    pub fn finish(mut self) -> (W, BlockChecksums) {
        if !self.len.is_multiple_of(CHECKSUM_BLOCK_BYTES) {
            self.checksums.push(self.block.digest() as u32);
        }
        (self.sink, BlockChecksums { len: self.len, checksums: self.checksums.into() })
    }
}

impl<W: Write> Write for ChecksummedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.sink.write(bytes)?;
        let mut rest = bytes.get(..written).unwrap_or(bytes);
        while !rest.is_empty() {
            let room = (CHECKSUM_BLOCK_BYTES - self.len % CHECKSUM_BLOCK_BYTES) as usize;
            let (part, others) = rest.split_at(room.min(rest.len()));
            self.block.update(part);
            self.len += part.len() as u64;
            if part.len() == room {
                self.checksums.push(self.block.digest() as u32);
                self.block.reset();
            }
            rest = others;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

impl<W> fmt::Debug for ChecksummedWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChecksummedWriter").field("len", &self.len).finish_non_exhaustive()
    }
}

/// The error within an [`io::Error`] of kind [`io::ErrorKind::InvalidData`]: the file has changed since it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockDamage {
    what: String,
}

impl BlockDamage {
    fn error(what: String) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, Self { what })
    }
}

impl fmt::Display for BlockDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for BlockDamage {}

/// A source that verifies each block when it is first read.
#[derive(Debug)]
pub struct VerifiedFile {
    source: Arc<dyn ByteRanges>,
    checksums: Arc<BlockChecksums>,
    /// One bit a block: whether it was verified.
    verified: Box<[AtomicU64]>,
}

impl VerifiedFile {
    /// Verifies `source` by `checksums`.
    ///
    /// # Errors
    /// An error with a [`BlockDamage`] if the source has another length.
    pub fn new(source: Arc<dyn ByteRanges>, checksums: Arc<BlockChecksums>) -> io::Result<Self> {
        if source.len() != checksums.len {
            let (found, expected) = (source.len(), checksums.len);
            return Err(BlockDamage::error(format!("expected a file of {expected} bytes, found {found}")));
        }
        let verified = (0..checksums.checksums.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(Self { source, checksums, verified })
    }

    fn is_verified(&self, block: usize) -> bool {
        self.verified.get(block / 64).is_some_and(|bits| bits.load(Ordering::Relaxed) >> (block % 64) & 1 == 1)
    }

    /// The range to read: whole blocks if one of them is not verified yet.
    fn widened(&self, range: &Range<u64>) -> io::Result<Range<u64>> {
        check_range(range, self.checksums.len)?;
        let blocks = covering_blocks(range);
        if range.is_empty() || blocks.clone().all(|block| self.is_verified(block)) {
            return Ok(range.clone());
        }
        let (start, end) = (blocks.start as u64 * CHECKSUM_BLOCK_BYTES, blocks.end as u64 * CHECKSUM_BLOCK_BYTES);
        Ok(start..end.min(self.checksums.len))
    }

    /// Verifies the blocks that were read, and returns the part that was requested.
    fn verify(&self, read: Bytes, widened: &Range<u64>, range: &Range<u64>) -> io::Result<Bytes> {
        if widened == range && covering_blocks(range).all(|block| self.is_verified(block)) {
            return Ok(read);
        }
        let len = (widened.end - widened.start) as usize;
        let whole = read.get(..len).ok_or(io::ErrorKind::UnexpectedEof)?;
        for (block, bytes) in covering_blocks(widened).zip(whole.chunks(CHECKSUM_BLOCK_BYTES as usize)) {
            if self.is_verified(block) {
                continue;
            }
            if !self.checksums.has(block, bytes) {
                let start = block as u64 * CHECKSUM_BLOCK_BYTES;
                let end = start + bytes.len() as u64;
                return Err(BlockDamage::error(format!("bytes {start} to {end} have changed since they were written")));
            }
            if let Some(bits) = self.verified.get(block / 64) {
                bits.fetch_or(1 << (block % 64), Ordering::Relaxed);
            }
        }
        let start = (range.start - widened.start) as usize;
        Ok(read.slice(start..start + (range.end - range.start) as usize))
    }
}

/// The blocks that have bytes of a range.
fn covering_blocks(range: &Range<u64>) -> Range<usize> {
    let end = if range.is_empty() { range.start } else { range.end };
    (range.start / CHECKSUM_BLOCK_BYTES) as usize..end.div_ceil(CHECKSUM_BLOCK_BYTES) as usize
}

impl ByteRanges for VerifiedFile {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let widened = self.widened(&range)?;
        self.verify(self.source.read(widened.clone())?, &widened, &range)
    }

    fn read_reusing(&self, range: Range<u64>, buffer: Vec<u8>) -> io::Result<Bytes> {
        let widened = self.widened(&range)?;
        self.verify(self.source.read_reusing(widened.clone(), buffer)?, &widened, &range)
    }

    fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        let widened = ranges.iter().map(|range| self.widened(range)).collect::<io::Result<Vec<_>>>()?;
        let read = self.source.read_many(&widened)?;
        read.into_iter()
            .zip(&widened)
            .zip(ranges)
            .map(|((read, widened), range)| self.verify(read, widened, range))
            .collect()
    }

    fn requests(&self, ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        self.source.requests(ranges)
    }

    fn request_cost_bytes(&self) -> u64 {
        self.source.request_cost_bytes()
    }

    fn memory_bytes(&self) -> usize {
        let checksums = size_of_val(&*self.checksums.checksums);
        self.source.memory_bytes() + checksums + size_of_val(&*self.verified)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    const LEN: usize = 5 * CHECKSUM_BLOCK_BYTES as usize + 777;

    fn contents() -> Vec<u8> {
        (0..LEN).map(|at| (at * 7 + at / 251) as u8).collect()
    }

    fn checksums(pieces: usize) -> BlockChecksums {
        let mut writer = ChecksummedWriter::new(Vec::new());
        contents().chunks(pieces).for_each(|piece| writer.write_all(piece).unwrap());
        let (bytes, checksums) = writer.finish();
        assert_eq!(bytes, contents());
        checksums
    }

    fn verified(bytes: Vec<u8>) -> io::Result<VerifiedFile> {
        VerifiedFile::new(Arc::new(Bytes::from(bytes)), Arc::new(checksums(LEN)))
    }

    #[test]
    fn checksums_do_not_depend_on_how_bytes_are_written() {
        for pieces in [1, 100, CHECKSUM_BLOCK_BYTES as usize, 20_000, LEN] {
            assert_eq!(checksums(pieces), checksums(LEN));
        }
        assert_eq!((checksums(LEN).file_len(), checksums(LEN).checksums().len()), (LEN as u64, 6));
        assert!(BlockChecksums::new(LEN as u64, vec![0; 5]).is_none());
    }

    #[test]
    fn every_way_to_read_returns_the_bytes_of_the_source() {
        let source = Bytes::from(contents());
        for range in [0..LEN as u64, 0..0, 8192..8192, 5..9, 8000..8300, 8192..16384, 40_000..LEN as u64] {
            let file = verified(contents()).unwrap();
            for _ in 0..2 {
                let expected = source.slice(range.start as usize..range.end as usize);
                assert_eq!(file.read(range.clone()).unwrap(), expected);
                assert_eq!(file.read_reusing(range.clone(), Vec::new()).unwrap()[..expected.len()], expected);
                assert_eq!(file.read_many(&[range.clone(), 1..3]).unwrap(), [expected, source.slice(1..3)]);
            }
        }
        assert!(verified(contents()).unwrap().read(0..LEN as u64 + 1).is_err());
    }

    fn is_damage(error: &io::Error) -> bool {
        match error.get_ref() {
            Some(error) => error.is::<BlockDamage>(),
            None => false,
        }
    }

    #[test]
    fn every_changed_byte_is_an_error_of_the_reads_of_its_block_alone() {
        for at in (0..LEN).step_by(997).chain([LEN - 1]) {
            let mut bytes = contents();
            bytes[at] ^= 1 << (at % 8);
            let file = verified(bytes).unwrap();
            for block in 0..6 {
                let start = block * CHECKSUM_BLOCK_BYTES;
                let result = file.read(start + 3..start + 4);
                assert_eq!(result.is_err(), at as u64 / CHECKSUM_BLOCK_BYTES == block, "{at} {block}");
                if let Err(error) = result {
                    assert!(is_damage(&error), "{error}");
                }
            }
        }
    }

    #[test]
    fn another_length_is_an_error() {
        assert!(verified(contents()[1..].to_vec()).is_err());
    }
}
