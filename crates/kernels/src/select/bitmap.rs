//! Access to LSB-first bitmaps 64 bits at a time, at any bit offset. Portable and safe; the loops of all tiers use it.

use crate::KernelError;

/// The `count` lowest bits set; `count` at most 64.
#[inline(always)]
pub(crate) fn low_mask(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// Rejects a bit range that does not lie within a bitmap of `available` bytes.
#[inline(always)]
pub(crate) fn check_range(available: usize, bit_offset: usize, len: usize) -> Result<(), KernelError> {
    let needed = bit_offset.saturating_add(len).div_ceil(8);
    if needed > available { Err(KernelError::InputTooShort { needed, available }) } else { Ok(()) }
}

/// The `count` bits (at most 64) from `bit_offset` on, in the low bits of the result; the others are zero.
/// Bits past the end of `bitmap` read as zero.
#[inline(always)]
pub(crate) fn load_word(bitmap: &[u8], bit_offset: usize, count: usize) -> u64 {
    let rest = bitmap.get(bit_offset / 8..).unwrap_or_default();
    let shift = bit_offset % 8;
    let word = match rest.split_first_chunk::<8>() {
        Some((head, tail)) => {
            let low = u64::from_le_bytes(*head) >> shift;
            // A shift of zero would ask for `<< 64`; two shifts bring zeros in instead.
            let high = tail.first().map_or(0, |&byte| (u64::from(byte) << 1) << (63 - shift));
            low | high
        }
        None => {
            let mut bytes = [0; 8];
            for (to, &from) in bytes.iter_mut().zip(rest) {
                *to = from;
            }
            u64::from_le_bytes(bytes) >> shift
        }
    };
    word & low_mask(count)
}

/// Writes bits one after another into a bitmap, starting anywhere, and leaves every bit outside the written range
/// unchanged.
///
/// Bits collect in a register and are written eight bytes at a time: reading back recent writes at another alignment
/// would stall on the store buffer. The caller has checked that the range fits; bits that do not fit are dropped.
pub(crate) struct BitAppender<'a> {
    out: &'a mut [u8],
    byte: usize,
    pending: u64,
    /// Bits in `pending`, below 64; the bits above are zero.
    pending_len: usize,
}

impl<'a> BitAppender<'a> {
    #[inline(always)]
    pub(crate) fn new(out: &'a mut [u8], bit_offset: usize) -> Self {
        let byte = bit_offset / 8;
        let pending_len = bit_offset % 8;
        let pending = out.get(byte).map_or(0, |&first| u64::from(first) & low_mask(pending_len));
        Self { out, byte, pending, pending_len }
    }

    /// Appends the `count` lowest bits (at most 64) of `word`, whose other bits are zero.
    #[inline(always)]
    pub(crate) fn push(&mut self, word: u64, count: usize) {
        self.pending |= word << self.pending_len;
        let total = self.pending_len + count;
        if total < 64 {
            self.pending_len = total;
            return;
        }
        if let Some(to) = self.out.get_mut(self.byte..self.byte + 8) {
            to.copy_from_slice(&self.pending.to_le_bytes());
        }
        self.byte += 8;
        self.pending = (word >> 1) >> (63 - self.pending_len);
        self.pending_len = total - 64;
    }

    /// Writes the pending bits. Later bits in their last byte stay unchanged.
    #[inline(always)]
    pub(crate) fn finish(self) {
        let rest = self.out.get_mut(self.byte..).unwrap_or_default();
        let kept = self.pending_len / 8;
        for (index, to) in rest.iter_mut().take(self.pending_len.div_ceil(8)).enumerate() {
            let bits = self.pending.to_le_bytes()[index];
            *to = if index < kept {
                bits
            } else {
                let below = (1 << (self.pending_len % 8)) - 1;
                bits | (*to & !below)
            };
        }
    }
}

/// Moves the bits of `word` at the positions of `mask` to the low end (Hacker's Delight, 7–4): the six rounds move each
/// bit by the binary digits of its distance, so the cost does not depend on the mask.
#[inline(always)]
pub(crate) fn gather_bits(word: u64, mask: u64) -> u64 {
    let mut word = word & mask;
    let mut mask = mask;
    // Bit i of `gaps` tells whether bit i moves over by an odd number of positions.
    let mut gaps = !mask << 1;
    for round in 0..6 {
        let parity = prefix_xor(gaps);
        let moving = parity & mask;
        mask = (mask ^ moving) | (moving >> (1 << round));
        let moved = word & moving;
        word = (word ^ moved) | (moved >> (1 << round));
        gaps &= !parity;
    }
    word
}

/// Moves the low bits of `word` to the positions of `mask`, lowest first; the inverse of [`gather_bits`].
#[inline(always)]
pub(crate) fn scatter_bits(word: u64, mask: u64) -> u64 {
    let mut moves = [0_u64; 6];
    let mut rest = mask;
    let mut gaps = !mask << 1;
    for (round, moving) in moves.iter_mut().enumerate() {
        let parity = prefix_xor(gaps);
        *moving = parity & rest;
        rest = (rest ^ *moving) | (*moving >> (1 << round));
        gaps &= !parity;
    }
    let mut word = word;
    for (round, &moving) in moves.iter().enumerate().rev() {
        let moved = word << (1 << round);
        word = (word & !moving) | (moved & moving);
    }
    word & mask
}

/// Bit i is the parity of bits 0 to i.
#[inline(always)]
fn prefix_xor(mut bits: u64) -> u64 {
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    bits ^= bits << 32;
    bits
}
