//! Sets of many numbers. Each number is in one of two slots that its hashes name (cuckoo hashing), so that a lookup
//! takes two loads that do not wait for each other, and no branch.
//!
//! ```text
//! slots     c  a  a  d  a  b  a  a        a slot that nothing needs holds the first value
//! lookup       └── x? ──────┘             x is in the set if either slot holds it
//! ```
//!
//! An eighth to a quarter of the slots is occupied, which leaves room for all with nearly every choice of hashes.

use super::blocks::{BLOCK, test};
use super::scalar::word;
use super::{Number, check_words};
use crate::KernelError;

/// The number of hashes that are tried before values are compared one by one.
const ATTEMPTS: u64 = 64;

/// The number of slots for a set of this many values.
pub fn set_slot_count(value_count: usize) -> usize {
    value_count.saturating_mul(4).clamp(8, 1 << 48).next_power_of_two()
}

/// A set of numbers, in the caller's memory.
///
/// ```
/// use lath_kernels::compare::{NumberSet, set_slot_count};
///
/// let wanted = [7, 11, 13];
/// let mut slots = vec![0; set_slot_count(wanted.len())];
/// let set = NumberSet::new(&wanted, &mut slots)?;
/// let mut bits = [0];
/// set.find(&[13, 12, 11, 10], &mut bits)?;
/// assert_eq!(bits, [0b0101]);
/// # Ok::<(), lath_kernels::KernelError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct NumberSet<'a, T> {
    values: &'a [T],
    /// A power of two of slots; none if values are compared one by one.
    slots: &'a [T],
    hashes: Hashes,
}

#[derive(Debug, Clone, Copy)]
struct Hashes {
    first: u64,
    second: u64,
    shift: u32,
}

impl Hashes {
    fn new(attempt: u64, slot_count: usize) -> Self {
        // Odd numbers with random-looking bits (the golden ratio's and SplitMix64's).
        let mix = |number: u64| {
            let number = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB) | 1
        };
        Self { first: mix(2 * attempt + 1), second: mix(2 * attempt + 2), shift: 64 - slot_count.trailing_zeros() }
    }

    #[inline(always)]
    fn of(self, (lower, upper): (u64, u64)) -> [usize; 2] {
        let folded = lower ^ upper.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        // The shifted copy moves the bits that the multiplication does not move from the upper ones.
        let second = folded ^ folded >> 32;
        [folded.wrapping_mul(self.first) >> self.shift, second.wrapping_mul(self.second) >> self.shift]
            .map(|slot| slot as usize)
    }
}

impl<'a, T: Number> NumberSet<'a, T> {
    /// Builds a set of `values`, which may repeat. Floating point numbers are equal as in [`compare`](super::compare).
    ///
    /// # Errors
    /// If the length of `slots` is not [`set_slot_count`].
    pub fn new(values: &'a [T], slots: &'a mut [T]) -> Result<Self, KernelError> {
        let expected = set_slot_count(values.len());
        if slots.len() != expected {
            return Err(KernelError::LengthMismatch { expected, actual: slots.len() });
        }
        for attempt in 0..ATTEMPTS {
            let hashes = Hashes::new(attempt, expected);
            if place(values, slots, hashes) {
                return Ok(Self { values, slots, hashes });
            }
        }
        Ok(Self { values, slots: &[], hashes: Hashes::new(0, expected) })
    }

    /// Finds the values that are in the set.
    ///
    /// # Errors
    /// If `out` does not have one word per 64 values, rounded up.
    pub fn find(&self, values: &[T], out: &mut [u64]) -> Result<(), KernelError> {
        check_words(values.len(), out)?;
        if self.slots.is_empty() || self.values.is_empty() {
            T::in_set(values, self.values, out);
            return Ok(());
        }
        let Self { slots, hashes, .. } = *self;
        let last = slots.len() - 1;
        test(values, false, out, |block| {
            let mut flags = [0; BLOCK];
            for (flag, value) in flags.iter_mut().zip(block) {
                let [first, second] = hashes.of(value.halves());
                let value = value.halves();
                *flag = u8::from((slots[first & last].halves() == value) | (slots[second & last].halves() == value));
            }
            word(&flags)
        });
        Ok(())
    }
}

/// Fills the slots, and returns whether each value has found one.
fn place<T: Number>(values: &[T], slots: &mut [T], hashes: Hashes) -> bool {
    let Some((&filler, others)) = values.split_first() else { return true };
    slots.fill(filler);
    let is_free = |slot: &T| slot.halves() == filler.halves();
    for &value in others {
        let mut homeless = value;
        if is_free(&homeless) {
            continue;
        }
        let mut slot = hashes.of(homeless.halves())[0];
        // A chain of this many moves counts as endless.
        for step in 0.. {
            let [first, second] = hashes.of(homeless.halves());
            if let Some(home) = [first, second]
                .into_iter()
                .find(|&home| is_free(&slots[home]) || slots[home].halves() == homeless.halves())
            {
                slots[home] = homeless;
                break;
            }
            if step == 64 {
                return false;
            }
            slot = if slot == first { second } else { first };
            std::mem::swap(&mut homeless, &mut slots[slot]);
        }
    }
    // The filler is found if its slots are otherwise free.
    hashes.of(filler.halves()).into_iter().any(|home| is_free(&slots[home]))
}
