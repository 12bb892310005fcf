//! The blocks of a filter. Every hash has a block.
#![expect(unsafe_code, reason = "an index that the choice of blocks proves, and hints to the processor")]

#[cfg(target_arch = "x86_64")]
use super::WORD;
use super::{BLOCK_LEN, Block};
use crate::KernelError;

/// Between one and 2³² blocks.
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
        // SAFETY: the index is less than the number of blocks, because both constructors check its range.
        unsafe { self.0.get_unchecked(block_number(hash, self.0.len())) }
    }

    /// Returns whether the number of blocks fits 32 bits, as [`Self::blocks_for`] requires.
    pub(super) fn is_counted_by_32_bits(self) -> bool {
        u32::try_from(self.0.len()).is_ok()
    }

    /// The blocks of [`WORD`] hashes, for fewer than 2³² blocks: a loop that compiles to vector multiplications,
    /// instead of scalar ones interleaved with the checks.
    ///
    /// This does not check the count: knowing its range, the compiler multiplies all 64 bits, which takes three times
    /// as many instructions.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn blocks_for(self, hashes: &[u64; WORD]) -> [&'a Block; WORD] {
        let count = u64::from(self.0.len() as u32);
        let mut blocks = [&self.0[0]; WORD];
        for (block, hash) in blocks.iter_mut().zip(hashes) {
            let number = ((hash >> 32) * count) >> 32;
            // SAFETY: a number less than 2³², times the length, which is less than 2³², shifted down by 32 bits, is
            // less than the length, or is 0, where there is a block.
            *block = unsafe { self.0.get_unchecked(number as usize) };
        }
        blocks
    }
}

/// The blocks of a filter, mutable.
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
        // SAFETY: the index is less than the number of blocks, because both constructors check its range.
        unsafe { self.0.get_unchecked_mut(number) }
    }
}

/// Rejects lengths of no bitset.
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

/// The index of a hash's block, below `block_count`, which is from 1 to 2³².
#[inline(always)]
fn block_number(hash: u64, block_count: usize) -> usize {
    // Less than 2³² times at most 2³² is less than 2⁶⁴.
    (((hash >> 32) * block_count as u64) >> 32) as usize
}

/// Starts to fetch a block, no nearer than the second-level cache: a fetch into the first occupies one of a few line
/// fill buffers, which the loads in flight need.
#[inline(always)]
pub(super) fn prefetch(block: &Block) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: the instruction is part of SSE, which every x86-64 processor has, and the address is the address of a
        // reference.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(block.as_ptr().cast()) };
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: this is a hint, which changes neither registers nor memory.
    unsafe {
        std::arch::asm!("prfm pldl2keep, [{}]", in(reg) block.as_ptr(), options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = block;
}
