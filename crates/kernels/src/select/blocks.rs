//! The loops that the vector tiers share: 64 slots at a time, a word of the bitmap each, split into blocks of `SLOTS`
//! that fit one vector. A tier supplies the block function. Whole words of one kind never reach it: they are a copy, a
//! fill or nothing, which pays from runs of 64 on and costs mixed bitmaps two well-predicted branches a word.
//!
//! Block functions read and write whole blocks. If fewer than 64 elements are left on either side, the loops put a
//! block on the stack in between, so that no block function ever needs a tail.

use super::bitmap::load_word;
use super::scalar::Element;

/// Up to this many valid slots of 64 are set one by one.
const SPARSE: usize = 4;

/// Spreads the last `value_count` elements of `values` over the slots that are valid in `validity`, in place.
///
/// Working in place and forwards is possible because at any time at least as many slots as values remain: unread values
/// are at or beyond the end of the block that is written next.
///
/// # Safety
/// `block(from, to, bits)` must be sound when `SLOTS` elements can be read at `from` and written at `to`. `SLOTS` divides
/// 64. `value_count` is the number of set bits, and at most `values.len()`.
#[inline(always)]
pub(super) unsafe fn expand<T: Element, const SLOTS: usize>(
    values: &mut [T],
    value_count: usize,
    validity: &[u8],
    bit_offset: usize,
    block: impl Fn(*const T, *mut T, u64),
) {
    let len = values.len();
    let mut left = value_count;
    let mut slot = 0;
    let mut last_values = [T::ZERO; 128];
    // The position in `last_values` of the next value, once the last 63 or fewer have been moved there.
    let mut moved: Option<usize> = None;
    // As many values as slots: all slots are valid, and the values are in place.
    while left < len - slot {
        if left == 0 {
            values[slot..].fill(T::ZERO);
            return;
        }
        if left < 64 && moved.is_none() {
            last_values[..left].copy_from_slice(&values[len - left..]);
            moved = Some(0);
        }
        let count = (len - slot).min(64);
        let word = load_word(validity, bit_offset + slot, count);
        let valid = word.count_ones() as usize;
        if word == 0 {
            values[slot..slot + count].fill(T::ZERO);
        } else if valid == 64 && moved.is_none() {
            values.copy_within(len - left..len - left + 64, slot);
        } else if valid <= SPARSE && count == 64 && (moved.is_some() || len - left >= slot + 64) {
            // The values to read are beyond the slots to clear.
            values[slot..slot + 64].fill(T::ZERO);
            let (mut bits, mut rank) = (word, 0);
            while bits != 0 {
                let value = match moved {
                    Some(at) => last_values[at + rank],
                    None => values[len - left + rank],
                };
                values[slot + bits.trailing_zeros() as usize] = value;
                bits &= bits - 1;
                rank += 1;
            }
        } else {
            let from = match moved {
                Some(at) => last_values[at..].as_ptr(),
                None => values[len - left..].as_ptr(),
            };
            if count == 64 {
                let to = values[slot..].as_mut_ptr();
                // SAFETY: there are 64 slots at `to`; there are 64 elements at `from`, because either as many values
                // are left, or `from` is at most 63 elements into an array of 128.
                unsafe { expand_word::<T, SLOTS>(from, to, word, &block) };
            } else {
                let mut last_slots = [T::ZERO; 64];
                // SAFETY: `last_slots` has 64 elements, and `from` as above: with fewer than 64 slots left, fewer than
                // 64 values are.
                unsafe { expand_word::<T, SLOTS>(from, last_slots.as_mut_ptr(), word, &block) };
                values[slot..].copy_from_slice(&last_slots[..count]);
            }
        }
        moved = moved.map(|at| at + valid);
        left -= valid;
        slot += count;
    }
}

/// Spreads up to 64 elements at `from` over the 64 at `to`.
///
/// # Safety
/// 64 elements can be read at `from` and written at `to`; `block` as in [`expand`].
#[inline(always)]
unsafe fn expand_word<T: Element, const SLOTS: usize>(
    mut from: *const T,
    to: *mut T,
    word: u64,
    block: &impl Fn(*const T, *mut T, u64),
) {
    for index in 0..64 / SLOTS {
        let bits = if SLOTS == 64 { word } else { (word >> (index * SLOTS)) & ((1 << (SLOTS % 64)) - 1) };
        // SAFETY: `index * SLOTS` is below 64.
        let to = unsafe { to.add(index * SLOTS) };
        // Reads SLOTS elements from at most `index * SLOTS`: 64 in all.
        block(from, to, bits);
        // SAFETY: all blocks together advance by at most 64.
        from = unsafe { from.add(bits.count_ones() as usize) };
    }
}

/// Moves the elements of `values` that `selection` marks to the front of `out`, and returns their number.
///
/// # Safety
/// `block(from, to, bits)` must be sound when `SLOTS` elements can be read at `from` and written at `to`; it moves the
/// marked ones to the front of `to`. `SLOTS` divides 64. `out` has room for the selected elements.
#[inline(always)]
pub(super) unsafe fn compress<T: Element, const SLOTS: usize>(
    values: &[T],
    selection: &[u8],
    bit_offset: usize,
    out: &mut [T],
    block: impl Fn(*const T, *mut T, u64),
) -> usize {
    let mut written = 0;
    for (index, chunk) in values.chunks(64).enumerate() {
        let word = load_word(selection, bit_offset + index * 64, chunk.len());
        let selected = word.count_ones() as usize;
        if word == 0 {
            continue;
        }
        if selected == chunk.len() {
            out[written..written + selected].copy_from_slice(chunk);
        } else if selected <= 64 / SLOTS {
            // One by one takes fewer steps than block by block.
            let mut bits = word;
            for to in &mut out[written..written + selected] {
                *to = chunk[bits.trailing_zeros() as usize];
                bits &= bits - 1;
            }
        } else {
            let mut last_values = [T::ZERO; 64];
            let from = if chunk.len() == 64 {
                chunk.as_ptr()
            } else {
                last_values[..chunk.len()].copy_from_slice(chunk);
                last_values.as_ptr()
            };
            let room = &mut out[written..];
            if room.len() >= 64 {
                // SAFETY: there are 64 elements at either address.
                unsafe { compress_word::<T, SLOTS>(from, room.as_mut_ptr(), word, &block) };
            } else {
                let mut last_room = [T::ZERO; 64];
                // SAFETY: there are 64 elements at either address.
                unsafe { compress_word::<T, SLOTS>(from, last_room.as_mut_ptr(), word, &block) };
                room[..selected].copy_from_slice(&last_room[..selected]);
            }
        }
        written += selected;
    }
    written
}

/// Moves the marked ones of 64 elements at `from` to the front of 64 at `to`.
///
/// # Safety
/// 64 elements can be read at `from` and written at `to`; `block` as in [`compress`].
#[inline(always)]
unsafe fn compress_word<T: Element, const SLOTS: usize>(
    from: *const T,
    mut to: *mut T,
    word: u64,
    block: &impl Fn(*const T, *mut T, u64),
) {
    for index in 0..64 / SLOTS {
        let bits = if SLOTS == 64 { word } else { (word >> (index * SLOTS)) & ((1 << (SLOTS % 64)) - 1) };
        // SAFETY: `index * SLOTS` is below 64.
        let from = unsafe { from.add(index * SLOTS) };
        // Writes SLOTS elements from at most `index * SLOTS`: 64 in all.
        block(from, to, bits);
        // SAFETY: all blocks together advance by at most 64.
        to = unsafe { to.add(bits.count_ones() as usize) };
    }
}
