//! The blocks of a filter, of which the one of a hash always exists.
#![expect(unsafe_code, reason = "an index that the choice of blocks proves, and hints to the processor")]

#[cfg(target_arch = "x86_64")]
use super::WORD;
use super::{BLOCK_LEN, Block};
use crate::KernelError;

/// From one block on and up to 2³².
#[derive(Clone, Copy)]
pub(super) struct Blocks<'a>(&'a [Block]);

impl<'a> Blocks<'a> {
    #[inline(always)]
    pub(super) fn new(bitset: &'a [u8]) -> Result<Self, KernelError> {
        check_len(bitset.len())?;
        Ok(Self(bitset.as_chunks().0))
    }

    pub(super) fn len_bytes(self) -> usize {
        self.0.len() * BLOCK_LEN
    }

    /// The block of a hash.
    #[inline(always)]
    pub(super) fn of(self, hash: u64) -> &'a Block {
        // SAFETY: the number is below the count of blocks, as both constructors see to its range.
        unsafe { self.0.get_unchecked(block_number(hash, self.0.len())) }
    }

    /// Whether a number of blocks is one of 32 bits, as [`Self::of_each`] has it.
    pub(super) fn is_counted_by_32_bits(self) -> bool {
        u32::try_from(self.0.len()).is_ok()
    }

    /// The blocks of so many hashes, of fewer than 2³² blocks: a loop that becomes vector multiplications, where they would
    /// be scalar ones beside those of the checks.
    ///
    /// The count is not looked at here: having seen its range, the compiler multiplies all 64 bits, which takes three times
    /// as many instructions.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn of_each(self, hashes: &[u64; WORD]) -> [&'a Block; WORD] {
        let count = u64::from(self.0.len() as u32);
        let mut blocks = [&self.0[0]; WORD];
        for (block, hash) in blocks.iter_mut().zip(hashes) {
            let number = ((hash >> 32) * count) >> 32;
            // SAFETY: less than 2³² times the lower half of the length, less than 2³² of it: that is below the length, or
            // is 0, where there is a block.
            *block = unsafe { self.0.get_unchecked(number as usize) };
        }
        blocks
    }
}

/// The same, to be changed.
pub(super) struct BlocksMut<'a>(&'a mut [Block]);

impl<'a> BlocksMut<'a> {
    pub(super) fn new(bitset: &'a mut [u8]) -> Result<Self, KernelError> {
        check_len(bitset.len())?;
        Ok(Self(bitset.as_chunks_mut().0))
    }

    pub(super) fn len_bytes(&self) -> usize {
        self.0.len() * BLOCK_LEN
    }

    /// The block of a hash.
    #[inline(always)]
    pub(super) fn of(&mut self, hash: u64) -> &mut Block {
        let number = block_number(hash, self.0.len());
        // SAFETY: the number is below the count of blocks, as both constructors see to its range.
        unsafe { self.0.get_unchecked_mut(number) }
    }
}

/// Refuses what is no bitset.
#[inline(always)]
fn check_len(len: usize) -> Result<(), KernelError> {
    if len == 0 || !len.is_multiple_of(BLOCK_LEN) || (len / BLOCK_LEN) as u64 > 1 << 32 {
        return Err(no_bitset(len));
    }
    Ok(())
}

#[cold]
fn no_bitset(len: usize) -> KernelError {
    let expected = len.clamp(1, BLOCK_LEN << 24).next_multiple_of(BLOCK_LEN);
    KernelError::LengthMismatch { expected, actual: len }
}

/// The number of a hash's block: below `block_count`, which is from 1 to 2³².
#[inline(always)]
fn block_number(hash: u64, block_count: usize) -> usize {
    // Less than 2³² times 2³² at most is less than 2⁶⁴.
    (((hash >> 32) * block_count as u64) >> 32) as usize
}

/// Begins to fetch a block, no nearer than the second-level cache: what waits to get into the first takes up one of a few
/// places, which the loads that are under way need.
#[inline(always)]
pub(super) fn prefetch(block: &Block) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: the instruction is of SSE, which every x86-64 processor has, and the address is that of a reference.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(block.as_ptr().cast()) };
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a hint, which changes neither registers nor memory.
    unsafe {
        std::arch::asm!("prfm pldl2keep, [{}]", in(reg) block.as_ptr(), options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = block;
}
