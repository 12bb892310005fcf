//! Tables of numbers: a value stands in the slot that the upper bits of its product with a constant name, or in the next
//! ones behind it.
//!
//! ```text
//! slot    │ value │ code │
//! ```
//!
//! Nearly all values are found where they are looked for first, so that the one branch per value is predicted, and many
//! values are in flight. A slot without a value has the code [`NO_CODE`] and holds a value that is looked for first
//! elsewhere: zero, and in the slot of zero one. So the loop over values need not ask whether a slot is free.

#[cfg(test)]
mod tests;

use super::{MAX_CHAIN, NO_CODE, capacity};
use crate::KernelError;

/// What a number table can hold: `u32`, `u64` and `u128`.
pub trait Number: Copy + Eq + sealed::Hash {}
impl Number for u32 {}
impl Number for u64 {}
impl Number for u128 {}

mod sealed {
    /// 2⁶⁴ divided by the golden ratio: it spreads runs of numbers, and of multiples, most evenly over the upper bits.
    const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

    pub trait Hash {
        const ZERO: Self;
        const ONE: Self;
        /// A hash with good upper bits: zero's is zero, and one's is not, not even in its topmost bit.
        fn hash(self) -> u64;
    }

    impl Hash for u32 {
        const ZERO: Self = 0;
        const ONE: Self = 1;
        #[inline(always)]
        fn hash(self) -> u64 {
            u64::from(self).wrapping_mul(SPREAD)
        }
    }

    impl Hash for u64 {
        const ZERO: Self = 0;
        const ONE: Self = 1;
        #[inline(always)]
        fn hash(self) -> u64 {
            self.wrapping_mul(SPREAD)
        }
    }

    impl Hash for u128 {
        const ZERO: Self = 0;
        const ONE: Self = 1;
        #[inline(always)]
        fn hash(self) -> u64 {
            let (lower, upper) = (self as u64, (self >> 64) as u64);
            lower.wrapping_mul(SPREAD) ^ (upper ^ upper >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93)
        }
    }
}

/// A place of a number table.
#[derive(Debug, Clone, Copy)]
pub struct NumberSlot<T> {
    value: T,
    code: u32,
}

impl<T: Number> NumberSlot<T> {
    /// A slot without a value.
    pub const EMPTY: Self = Self { value: T::ZERO, code: NO_CODE };
}

/// A table of distinct numbers over the caller's memory.
///
/// ```
/// use lath_kernels::dictionary::{NumberSlot, Numbers, slot_count};
///
/// let mut slots = [NumberSlot::EMPTY; slot_count(4)];
/// let mut dictionary = [0; 4];
/// let mut table = Numbers::new(&mut slots, &mut dictionary)?;
/// let mut codes = [0; 5];
/// assert_eq!(table.intern(&[70_u32, 50, 70, 60, 50], &mut codes)?, 5);
/// assert_eq!(codes, [0, 1, 0, 2, 1]);
/// assert_eq!(table.values(), [70, 50, 60]);
/// # Ok::<(), lath_kernels::KernelError>(())
/// ```
#[derive(Debug)]
pub struct Numbers<'a, T> {
    slots: &'a mut [NumberSlot<T>],
    dictionary: &'a mut [T],
    len: usize,
    max_len: usize,
}

impl<'a, T: Number> Numbers<'a, T> {
    /// An empty table, whatever the slots hold.
    ///
    /// It holds as many values as `dictionary` has room for, if there are [`slot_count`](super::slot_count) of so many
    /// slots, and otherwise a quarter of the slots.
    ///
    /// # Errors
    /// [`KernelError::LengthMismatch`] where the number of slots is no power of two, or is one.
    pub fn new(slots: &'a mut [NumberSlot<T>], dictionary: &'a mut [T]) -> Result<Self, KernelError> {
        Self::rebuild(slots, dictionary, 0)
    }

    /// A table of the first `len` values of `dictionary`, which are distinct, whatever the slots hold.
    ///
    /// # Errors
    /// As [`Numbers::new`], and where the table cannot hold so many values.
    pub fn rebuild(slots: &'a mut [NumberSlot<T>], dictionary: &'a mut [T], len: usize) -> Result<Self, KernelError> {
        slots.fill(NumberSlot::EMPTY);
        if let Some(home_of_zero) = slots.first_mut() {
            home_of_zero.value = T::ONE;
        }
        let mut table = Self::resume(slots, dictionary, len)?;
        for code in 0..len {
            let value = table.dictionary[code];
            match table.free_slot(value) {
                Some(slot) => *slot = NumberSlot { value, code: code as u32 },
                None => return Err(KernelError::LengthMismatch { expected: len, actual: code }),
            }
        }
        Ok(table)
    }

    /// The table that another one left in this memory, of which it had `len` values.
    ///
    /// Codes that come of other memory are without meaning.
    ///
    /// # Errors
    /// As [`Numbers::rebuild`].
    pub fn resume(slots: &'a mut [NumberSlot<T>], dictionary: &'a mut [T], len: usize) -> Result<Self, KernelError> {
        let max_len = dictionary.len().min(capacity(slots.len())?);
        if len > max_len {
            return Err(KernelError::LengthMismatch { expected: len, actual: max_len });
        }
        Ok(Self { slots, dictionary, len, max_len })
    }

    /// The distinct values in the order of their codes.
    pub fn values(&self) -> &[T] {
        &self.dictionary[..self.len]
    }

    /// The number of distinct values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no values yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Writes the code of each value and returns how many values were taken: fewer than there are where the table is
    /// full.
    ///
    /// # Errors
    /// [`KernelError::LengthMismatch`] where there are not as many codes as values.
    pub fn intern(&mut self, values: &[T], codes: &mut [u32]) -> Result<usize, KernelError> {
        if values.len() != codes.len() {
            return Err(KernelError::LengthMismatch { expected: values.len(), actual: codes.len() });
        }
        // Kept apart, so that it stays in a register.
        let shift = self.shift();
        for (taken, (&value, code)) in values.iter().zip(codes).enumerate() {
            let home = (value.hash() >> shift) as usize;
            let slot = &self.slots[home];
            if slot.value == value {
                *code = slot.code;
                continue;
            }
            match self.find_or_add(value, home) {
                Some(found) => *code = found,
                None => return Ok(taken),
            }
        }
        Ok(values.len())
    }

    /// What leaves as many upper bits of a hash as number the slots.
    #[inline(always)]
    fn shift(&self) -> u32 {
        64 - self.slots.len().trailing_zeros()
    }

    /// The code of a value that is not in the slot where it is looked for first; `None` if the table is full.
    #[cold]
    #[inline(never)]
    fn find_or_add(&mut self, value: T, home: usize) -> Option<u32> {
        let mask = self.slots.len() - 1;
        for step in 0..MAX_CHAIN.min(self.slots.len()) {
            let slot = &mut self.slots[(home + step) & mask];
            if slot.code == NO_CODE {
                if self.len == self.max_len {
                    return None;
                }
                let code = self.len as u32;
                *slot = NumberSlot { value, code };
                self.dictionary[self.len] = value;
                self.len += 1;
                return Some(code);
            }
            if slot.value == value {
                return Some(slot.code);
            }
        }
        None
    }

    fn free_slot(&mut self, value: T) -> Option<&mut NumberSlot<T>> {
        let home = (value.hash() >> self.shift()) as usize;
        let mask = self.slots.len() - 1;
        let chain = (0..MAX_CHAIN.min(self.slots.len())).map(|step| (home + step) & mask);
        let free = chain.into_iter().find(|&at| self.slots[at].code == NO_CODE)?;
        Some(&mut self.slots[free])
    }
}
