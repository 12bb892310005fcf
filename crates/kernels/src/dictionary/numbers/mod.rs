//! Tables of numbers: the upper bits of a value's product with a constant name its slot, followed by linear probing.
//!
//! ```text
//! slot    │ value │ code │
//! ```
//!
//! Nearly all values are in their first slot, so the one branch per value is predicted, and many values are in flight.
//! An empty slot has the code [`NO_CODE`] and a value whose first slot is another one: zero, or one in the slot of
//! zero. So the loop over values need not check whether a slot is empty.

#[cfg(test)]
mod tests;

use super::{MAX_CHAIN, NO_CODE, capacity};
use crate::KernelError;

/// The numbers in a number table: `u32`, `u64` and `u128`.
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

/// A slot of a number table.
#[derive(Debug, Clone, Copy)]
pub struct NumberSlot<T> {
    value: T,
    code: u32,
}

impl<T: Number> NumberSlot<T> {
    /// An empty slot.
    pub const EMPTY: Self = Self { value: T::ZERO, code: NO_CODE };
}

/// A table of distinct numbers in the caller's memory.
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
    /// Creates an empty table; the contents of the slots do not matter.
    ///
    /// Its capacity is the length of `dictionary`, if there are [`slot_count`](super::slot_count) slots for it, and
    /// otherwise a quarter of the slots.
    ///
    /// # Errors
    /// [`KernelError::LengthMismatch`] if the number of slots is no power of two, or is one.
    pub fn new(slots: &'a mut [NumberSlot<T>], dictionary: &'a mut [T]) -> Result<Self, KernelError> {
        Self::rebuild(slots, dictionary, 0)
    }

    /// Creates a table of the first `len` values of `dictionary`, which are distinct; the contents of the slots do not
    /// matter.
    ///
    /// # Errors
    /// The same as [`Numbers::new`], and if the capacity is less than `len`.
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

    /// The table that another one left in this memory, where it had `len` values.
    ///
    /// In other memory, codes are meaningless.
    ///
    /// # Errors
    /// The same as [`Numbers::rebuild`].
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

    /// Returns whether there are no values yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Writes the code of each value, and returns the number of values taken: fewer than given if the table is full.
    ///
    /// # Errors
    /// [`KernelError::LengthMismatch`] if there are not as many codes as values.
    pub fn intern(&mut self, values: &[T], codes: &mut [u32]) -> Result<usize, KernelError> {
        if values.len() != codes.len() {
            return Err(KernelError::LengthMismatch { expected: values.len(), actual: codes.len() });
        }
        // A local copy, so that it stays in a register.
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

    /// The shift that leaves as many upper bits of a hash as a slot number has.
    #[inline(always)]
    fn shift(&self) -> u32 {
        64 - self.slots.len().trailing_zeros()
    }

    /// The code of a value that is not in its first slot; `None` if the table is full.
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
