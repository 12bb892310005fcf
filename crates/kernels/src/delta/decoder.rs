//! Walks headers, blocks and miniblocks, and passes runs of miniblocks to a tier's kernel for decoding.

use super::Integer;
use crate::KernelError;
use crate::bitpack::packed_len;
use crate::varint::{join_sevens, read_uleb128, read_zigzag, read_zigzag_by};

/// The number of values that [`Decoder::skip`] decodes at a time, to the stack.
const SKIP_BATCH: usize = 512;

/// A DELTA_BINARY_PACKED decoder that stops and resumes at any value.
///
/// It stores only its position: every call takes the same bytes again.
///
/// ```
/// use lath_kernels::delta::Decoder;
///
/// // 128 values a block, 4 miniblocks, 5 values from 7 on; one block: min delta −2, widths 2 0 0 0.
/// let bytes = [128, 1, 4, 5, 14, 3, 2, 0, 0, 0, 0b11_00_11_00, 0, 0, 0, 0, 0, 0, 0];
/// let mut decoder = Decoder::<i32>::new(&bytes)?;
/// let mut values = [0; 8];
/// assert_eq!(decoder.decode(&bytes, &mut values[..2])?, 2);
/// assert_eq!(decoder.decode(&bytes, &mut values[2..])?, 3);
/// assert_eq!(values[..5], [7, 5, 6, 4, 5]);
/// assert_eq!(decoder.end(&bytes)?, 18);
/// # Ok::<(), lath_kernels::KernelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Decoder<T> {
    count: usize,
    remaining: usize,
    /// The value before the next one; the first value itself until that is returned.
    last: T,
    /// Values of a miniblock: a multiple of 32.
    miniblock_len: usize,
    miniblocks_per_block: usize,

    // The current block.
    min_delta: T,
    /// The offset of the block's bit widths.
    widths: usize,
    /// The miniblock of the next value; `miniblocks_per_block` if the next block's header comes first.
    miniblock: usize,

    // The current miniblock.
    /// Its offset, or the offset of the next block if there is none.
    position: usize,
    /// The number of its values that have been returned.
    taken: usize,
}

/// Consecutive miniblocks of one block, or a part of a single one that begins at a byte.
///
/// Bytes past the end of `src` count as zeros.
#[derive(Debug)]
pub(super) struct Miniblocks<'a, T> {
    /// From the first value's byte on.
    pub(super) src: &'a [u8],
    /// One width a miniblock, at most 64 each.
    pub(super) widths: &'a [u8],
    /// The length of a miniblock; anything if there is only one, a multiple of 32 if there are more.
    pub(super) len: usize,
    /// The bytes of all the values.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "others ask for each load"))]
    pub(super) bytes: usize,
    pub(super) min_delta: T,
    /// The value before the first one.
    pub(super) last: T,
}

impl<T: Integer> Decoder<T> {
    /// Reads the header.
    ///
    /// # Errors
    /// If the header is truncated or breaks the format's rules: a block size that is not a positive multiple of 128,
    /// or not a multiple of 32 values for every miniblock.
    pub fn new(src: &[u8]) -> Result<Self, KernelError> {
        let mut position = 0;
        let block_len = read_length(src, &mut position, "DELTA block size")?;
        let miniblocks_per_block = read_length(src, &mut position, "DELTA miniblock count")?;
        let count = read_length(src, &mut position, "DELTA value count")?;
        let first = read_zigzag(src, &mut position, "DELTA first value")?;
        if block_len == 0 || !block_len.is_multiple_of(128) {
            return Err(KernelError::Malformed { what: "DELTA block size" });
        }
        if miniblocks_per_block == 0 || !block_len.is_multiple_of(miniblocks_per_block) {
            return Err(KernelError::Malformed { what: "DELTA miniblock count" });
        }
        let miniblock_len = block_len / miniblocks_per_block;
        if !miniblock_len.is_multiple_of(32) {
            return Err(KernelError::Malformed { what: "DELTA miniblock size" });
        }
        Ok(Self {
            count,
            remaining: count,
            last: T::wrap(first),
            miniblock_len,
            miniblocks_per_block,
            min_delta: T::default(),
            widths: position,
            miniblock: miniblocks_per_block,
            position,
            taken: 0,
        })
    }

    /// The number of values that the header announces. It is not checked against the bytes: do not allocate by it
    /// alone.
    pub fn value_count(&self) -> usize {
        self.count
    }

    /// The number of announced values that are not yet decoded or skipped.
    pub fn remaining(&self) -> usize {
        self.remaining
    }

    /// Decodes the next values: `out.len()` of them, or all that remain. Returns their number.
    ///
    /// `src` must be the bytes passed to [`Decoder::new`]; other bytes give other values.
    ///
    /// # Errors
    /// If the bytes end before the values, or a header within them is malformed. The decoder cannot be used afterwards.
    pub fn decode(&mut self, src: &[u8], out: &mut [T]) -> Result<usize, KernelError> {
        T::decode(self, src, out)
    }

    /// Skips the next `count` values, or all that remain. Returns their number.
    ///
    /// Values depend on all before them, so this takes as long as decoding.
    ///
    /// # Errors
    /// The same as [`Decoder::decode`].
    pub fn skip(&mut self, src: &[u8], count: usize) -> Result<usize, KernelError> {
        let mut batch = [T::default(); SKIP_BATCH];
        let mut skipped = 0;
        while skipped < count {
            let wanted = (count - skipped).min(SKIP_BATCH);
            let decoded = self.decode(src, &mut batch[..wanted])?;
            if decoded == 0 {
                break;
            }
            skipped += decoded;
        }
        Ok(skipped)
    }

    /// The offset of the first byte past the encoded data, where DELTA_LENGTH_BYTE_ARRAY's strings begin.
    ///
    /// Available at any time: this walks block headers without decoding values.
    ///
    /// # Errors
    /// The same as [`Decoder::decode`], for values not yet decoded.
    pub fn end(&self, src: &[u8]) -> Result<usize, KernelError> {
        let mut ahead = self.clone();
        if ahead.remaining == ahead.count {
            // The first value is in the header.
            ahead.remaining = ahead.remaining.saturating_sub(1);
        }
        while ahead.remaining > 0 {
            if ahead.miniblock == ahead.miniblocks_per_block {
                ahead.read_block_header(src)?;
            }
            let width = ahead.width(src)?;
            let part = ahead.remaining.min(ahead.miniblock_len - ahead.taken);
            ahead.need(src, ahead.position, ahead.taken + part, width)?;
            ahead.remaining -= part;
            ahead.advance(part, width);
        }
        // A started miniblock is stored in full.
        if ahead.taken > 0 {
            ahead.position += packed_len(ahead.miniblock_len, ahead.width(src)?);
        }
        Ok(ahead.position.min(src.len()))
    }

    /// Decodes by `blocks` and `kernel`, which write the values of some miniblocks and return the last of them.
    /// `blocks` gets only whole miniblocks; it is inlined into the loop over blocks, and that into each tier's
    /// function.
    #[inline(always)]
    pub(super) fn decode_with(
        &mut self,
        src: &[u8],
        out: &mut [T],
        blocks: impl Fn(Miniblocks<'_, T>, &mut [T]) -> T,
        kernel: impl Fn(Miniblocks<'_, T>, &mut [T]) -> T,
    ) -> Result<usize, KernelError> {
        self.decode_with_join(src, out, blocks, kernel, join_sevens)
    }

    /// Like [`decode_with`](Self::decode_with), with a tier's [`join_sevens`].
    #[inline(always)]
    pub(super) fn decode_with_join(
        &mut self,
        src: &[u8],
        out: &mut [T],
        blocks: impl Fn(Miniblocks<'_, T>, &mut [T]) -> T,
        kernel: impl Fn(Miniblocks<'_, T>, &mut [T]) -> T,
        join_sevens: impl Fn(u64) -> u64,
    ) -> Result<usize, KernelError> {
        let wanted = out.len().min(self.remaining);
        let mut out = &mut out[..wanted];
        if self.remaining == self.count
            && let Some((first, rest)) = std::mem::take(&mut out).split_first_mut()
        {
            *first = self.last;
            self.remaining -= 1;
            out = rest;
        }
        while !out.is_empty() {
            let decoded = if self.miniblock < self.miniblocks_per_block {
                self.decode_within_block(src, out, &kernel)?
            } else {
                match self.decode_blocks(src, out, &blocks, &join_sevens)? {
                    0 => {
                        self.read_block_header(src)?;
                        continue;
                    }
                    decoded => decoded,
                }
            };
            self.remaining -= decoded;
            out = &mut out[decoded..];
        }
        Ok(wanted)
    }

    /// Decodes as many whole blocks as fit into `out`, starting with a block's header.
    ///
    /// Blocks pass values to the next one in registers.
    #[inline(always)]
    fn decode_blocks(
        &mut self,
        src: &[u8],
        out: &mut [T],
        blocks: impl Fn(Miniblocks<'_, T>, &mut [T]) -> T,
        join_sevens: impl Fn(u64) -> u64,
    ) -> Result<usize, KernelError> {
        let (len, miniblocks) = (self.miniblock_len, self.miniblocks_per_block);
        let (mut position, mut last) = (self.position, self.last);
        let mut decoded = 0;
        for block in out.chunks_exact_mut(len * miniblocks) {
            let min_delta = T::wrap(read_zigzag_by(src, &mut position, "DELTA min delta", &join_sevens)?);
            let rest = src.get(position..).unwrap_or_default();
            let Some((widths, rest)) = rest.split_at_checked(miniblocks) else {
                return Err(KernelError::InputTooShort { needed: miniblocks, available: rest.len() });
            };
            let bytes = stored_len(widths, len, rest.len())?;
            last = blocks(Miniblocks { src: rest, widths, len, bytes, min_delta, last }, block);
            position += miniblocks + bytes;
            decoded += block.len();
        }
        (self.position, self.last) = (position, last);
        Ok(decoded)
    }

    /// Decodes whole miniblocks, or a part of one.
    #[inline(never)]
    fn decode_within_block(
        &mut self,
        src: &[u8],
        out: &mut [T],
        kernel: impl Fn(Miniblocks<'_, T>, &mut [T]) -> T,
    ) -> Result<usize, KernelError> {
        if self.taken == 0 && out.len() >= self.miniblock_len {
            self.decode_whole(src, out, kernel)
        } else {
            self.decode_part(src, out, kernel)
        }
    }

    /// Decodes as many whole miniblocks as the block still has and fit into `out`, at least one.
    fn decode_whole(
        &mut self,
        src: &[u8],
        out: &mut [T],
        kernel: impl Fn(Miniblocks<'_, T>, &mut [T]) -> T,
    ) -> Result<usize, KernelError> {
        let len = self.miniblock_len;
        let left = self.miniblocks_per_block - self.miniblock;
        let miniblocks = if out.len() / len < left { out.len() / len } else { left };
        let first = self.widths + self.miniblock;
        let Some(widths) = src.get(first..first + miniblocks) else {
            return Err(KernelError::InputTooShort { needed: first + miniblocks, available: src.len() });
        };
        let src = src.get(self.position..).unwrap_or_default();
        let needed = stored_len(widths, len, src.len())?;
        let values = miniblocks * len;
        let (min_delta, last) = (self.min_delta, self.last);
        let run = Miniblocks { src, widths, len, bytes: needed, min_delta, last };
        self.last = kernel(run, &mut out[..values]);
        self.miniblock += miniblocks;
        self.position += needed;
        Ok(values)
    }

    /// Decodes the rest of the current miniblock, or as much of it as fits into `out`.
    fn decode_part(
        &mut self,
        src: &[u8],
        out: &mut [T],
        kernel: impl Fn(Miniblocks<'_, T>, &mut [T]) -> T,
    ) -> Result<usize, KernelError> {
        let width = self.width(src)?;
        let part = out.len().min(self.miniblock_len - self.taken);
        self.need(src, self.position, self.taken + part, width)?;
        let min_delta = self.min_delta;
        let mut values = &mut out[..part];
        let mut taken = self.taken;
        // Kernels begin at a byte, as does every eighth value.
        let within = taken % 8;
        if within != 0 {
            let src = src.get(self.position + packed_len(taken - within, width)..).unwrap_or_default();
            let mut group = [T::default(); 8];
            // Summed from zero, a group's values differ from the true ones by a constant.
            let head = values.len().min(8 - within);
            let bytes = width as usize;
            let run = Miniblocks { src, widths: &[width as u8], len: 8, bytes, min_delta, last: T::default() };
            kernel(run, &mut group);
            let start = self.last.wrapping_sub(group[within - 1]);
            for (value, &sum) in values.iter_mut().zip(&group[within..]) {
                *value = start.wrapping_add(sum);
            }
            self.last = values[head - 1];
            values = &mut values[head..];
            taken += head;
        }
        if !values.is_empty() {
            let src = src.get(self.position + packed_len(taken, width)..).unwrap_or_default();
            let len = values.len();
            let bytes = packed_len(len, width);
            let run = Miniblocks { src, widths: &[width as u8], len, bytes, min_delta, last: self.last };
            self.last = kernel(run, values);
        }
        self.advance(part, width);
        Ok(part)
    }

    /// Advances past `part` values of the current miniblock.
    fn advance(&mut self, part: usize, width: u32) {
        self.taken += part;
        if self.taken == self.miniblock_len {
            self.taken = 0;
            self.miniblock += 1;
            self.position = self.position.saturating_add(packed_len(self.miniblock_len, width));
        }
    }

    #[inline]
    fn read_block_header(&mut self, src: &[u8]) -> Result<(), KernelError> {
        let mut position = self.position;
        self.min_delta = T::wrap(read_zigzag(src, &mut position, "DELTA min delta")?);
        let available = src.len().saturating_sub(position);
        if available < self.miniblocks_per_block {
            return Err(KernelError::InputTooShort { needed: self.miniblocks_per_block, available });
        }
        self.widths = position;
        self.miniblock = 0;
        self.position = position + self.miniblocks_per_block;
        Ok(())
    }

    /// The current miniblock's width.
    fn width(&self, src: &[u8]) -> Result<u32, KernelError> {
        let at = self.widths + self.miniblock;
        let Some(&width) = src.get(at) else {
            return Err(KernelError::InputTooShort { needed: at + 1, available: src.len() });
        };
        check_width(width)?;
        Ok(width.into())
    }

    /// Checks that `src` has the bits of `count` values from `position` on.
    fn need(&self, src: &[u8], position: usize, count: usize, width: u32) -> Result<(), KernelError> {
        let needed = packed_len(count, width);
        let available = src.len().saturating_sub(position);
        if needed > available { Err(KernelError::InputTooShort { needed, available }) } else { Ok(()) }
    }
}

/// The size in bytes of whole miniblocks of `len` values, of which `available` bytes exist.
#[inline(always)]
fn stored_len(widths: &[u8], len: usize, available: usize) -> Result<usize, KernelError> {
    if let Ok(&widths) = <&[u8; 4]>::try_from(widths)
        && let Some(bits) = sum_of_widths(widths)
    {
        let needed = (len / 8).saturating_mul(bits);
        return if needed > available { Err(KernelError::InputTooShort { needed, available }) } else { Ok(needed) };
    }
    let mut bits = 0_usize;
    let mut widest = 0;
    for &width in widths {
        bits += usize::from(width);
        widest = widest.max(width);
    }
    check_width(widest)?;
    let needed = (len / 8).saturating_mul(bits);
    // Only the very last miniblock may lack padding, and a whole one has none.
    if needed > available { Err(KernelError::InputTooShort { needed, available }) } else { Ok(needed) }
}

/// The sum of the usual number of widths, in a third of a loop's instructions; `None` if one is over 64.
#[inline(always)]
pub(super) fn sum_of_widths(widths: [u8; 4]) -> Option<usize> {
    let widths = u32::from_le_bytes(widths);
    // A byte over 64 has its highest bit set, or gets it by this addition.
    let over = widths | ((widths & 0x7f7f_7f7f) + 0x3f3f_3f3f);
    let pairs = (widths & 0x00ff_00ff) + (widths >> 8 & 0x00ff_00ff);
    (over & 0x8080_8080 == 0).then_some(((pairs & 0xffff) + (pairs >> 16)) as usize)
}

#[inline]
fn check_width(width: u8) -> Result<(), KernelError> {
    if width > 64 { Err(KernelError::WidthOutOfRange { width: width.into(), max: 64 }) } else { Ok(()) }
}

/// A header field that counts values, which cannot exceed 2^31 − 1 in a page.
fn read_length(src: &[u8], position: &mut usize, what: &'static str) -> Result<usize, KernelError> {
    match read_uleb128(src, position, what)? {
        length @ 0..=0x7fff_ffff => Ok(length as usize),
        _ => Err(KernelError::Malformed { what }),
    }
}
