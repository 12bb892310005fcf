//! DELTA_BYTE_ARRAY: lengths of prefixes, then lengths of suffixes, then suffixes.

use arrow_buffer::Buffer;
use lath_kernels::{byte_array, delta};

use super::aligned::AlignedBytes;
use super::page_values::values_missing;
use crate::error::{Error, Result};

/// Values joined from a prefix of the previous value and a suffix, some at a time.
#[derive(Debug)]
pub(crate) struct PrefixStream {
    prefix_lengths: Vec<i32>,
    suffix_lengths: Vec<i32>,
    next: usize,
    suffixes: Buffer,
    suffix_position: usize,
    previous: Vec<u8>,
    joined: AlignedBytes,
    lengths: Vec<i32>,
}

/// Maximum values that [`PrefixStream::next`] returns, and maximum bytes unless a single value is longer.
const JOIN_VALUES: usize = 4096;
const JOIN_BYTES: usize = 8 << 20;

impl PrefixStream {
    pub(crate) fn new(src: Buffer) -> Result<Self> {
        let (prefix_lengths, end) = decode_lengths(&src)?;
        let src = src.slice(end);
        let (suffix_lengths, end) = decode_lengths(&src)?;
        if prefix_lengths.len() != suffix_lengths.len() {
            return Err(Error::corrupt(format!(
                "{} prefix lengths but {} suffix lengths",
                prefix_lengths.len(),
                suffix_lengths.len()
            )));
        }
        Ok(Self {
            prefix_lengths,
            suffix_lengths,
            next: 0,
            suffixes: src.slice(end),
            suffix_position: 0,
            previous: Vec::new(),
            joined: AlignedBytes::default(),
            lengths: Vec::new(),
        })
    }

    /// Skips `count` values.
    pub(crate) fn skip(&mut self, mut count: usize) -> Result<()> {
        while count > 0 {
            count -= self.next(count)?.1.len();
        }
        Ok(())
    }

    /// The next values, at least one and at most `max_count`: their bytes one after another, and their lengths.
    pub(crate) fn next(&mut self, max_count: usize) -> Result<(Buffer, &[i32])> {
        let available = self.prefix_lengths.len() - self.next;
        if available == 0 {
            return Err(values_missing());
        }
        let mut count = max_count.min(available).min(JOIN_VALUES);
        let (prefixes, suffixes, len) = loop {
            let prefixes = &self.prefix_lengths[self.next..self.next + count];
            let suffixes = &self.suffix_lengths[self.next..self.next + count];
            let len = byte_array::prefix_join_len(prefixes, suffixes)?;
            if len <= JOIN_BYTES || count == 1 {
                break (prefixes, suffixes, len);
            }
            count = count.div_ceil(2);
        };
        // A prefix repeats earlier bytes, so that a valid value is never longer than its page.
        if count == 1 && len > self.previous.len() + self.suffixes.len() {
            return Err(Error::corrupt("a prefix that is longer than the value before it"));
        }
        self.lengths.resize(count, 0);
        let rest = &self.suffixes[self.suffix_position..];
        self.joined.clear();
        let joined = self.joined.grow(len);
        let join = byte_array::prefix_join(prefixes, suffixes, rest, &self.previous, joined, &mut self.lengths)?;
        self.suffix_position += join.suffix_bytes_consumed;
        self.next += count;
        let last = self.lengths.last().map_or(0, |&len| len as usize);
        self.previous.clear();
        let joined = self.joined.finish();
        self.previous.extend_from_slice(&joined[len - last..]);
        Ok((joined, &self.lengths))
    }
}

/// All lengths at the start of a page, and the start of the bytes after them.
pub(super) fn decode_lengths(src: &[u8]) -> Result<(Vec<i32>, usize)> {
    let mut decoder = delta::DecoderI32::new(src)?;
    let mut lengths = Vec::new();
    let mut remaining = decoder.remaining();
    // Grown as values arrive: the count in the header must not determine an allocation.
    while remaining > 0 {
        let start = lengths.len();
        lengths.resize(start + remaining.min(start.max(1 << 16)), 0);
        let produced = decoder.decode(src, &mut lengths[start..])?;
        if produced < lengths.len() - start {
            return Err(values_missing());
        }
        remaining -= produced;
    }
    Ok((lengths, decoder.end(src)?))
}
