//! The entries of a dictionary that pass, as a bitmap.

use crate::KernelError;

/// A bitmap of the dictionary entries that pass: bit `code % 64` of word `code / 64`.
#[derive(Debug, Clone, Copy)]
pub struct Truth<'a> {
    words: &'a [u64],
    len: usize,
}

impl<'a> Truth<'a> {
    /// The first `len` bits of `words`.
    ///
    /// # Errors
    /// If `words` has fewer bits.
    pub fn new(words: &'a [u64], len: usize) -> Result<Self, KernelError> {
        match words.get(..len.div_ceil(64)) {
            Some(words) => Ok(Self { words, len }),
            None => Err(KernelError::InputTooShort { needed: len.div_ceil(64) * 8, available: words.len() * 8 }),
        }
    }

    /// The number of entries in the dictionary.
    pub fn len(self) -> usize {
        self.len
    }

    /// Returns whether the dictionary has no entries.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The words; their bits from `len` on are arbitrary.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn words(self) -> &'a [u64] {
        self.words
    }

    /// Returns whether the entry passes; for an invalid code, false or anything.
    #[inline(always)]
    pub(super) fn bit(self, code: u32) -> bool {
        self.words.get(code as usize / 64).is_some_and(|word| word >> (code % 64) & 1 == 1)
    }

    /// The first 32-bit words, padded with zeros after the last entry's.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn table<const WORDS: usize>(self) -> [u32; WORDS] {
        let mut table = [0; WORDS];
        for (halves, word) in table.as_chunks_mut::<2>().0.iter_mut().zip(self.words) {
            *halves = [*word as u32, (word >> 32) as u32];
        }
        table
    }
}

/// Returns an error if a code is not less than the number of entries. `largest` is the largest of `codes`, or anything
/// if there are none.
#[inline]
pub(super) fn check_codes(codes: &[u32], largest: u32, truth: Truth<'_>) -> Result<(), KernelError> {
    if codes.is_empty() || (largest as usize) < truth.len {
        Ok(())
    } else {
        Err(KernelError::IndexOutOfRange { index: largest, len: truth.len })
    }
}
