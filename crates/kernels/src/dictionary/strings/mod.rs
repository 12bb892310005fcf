//! Tables of byte strings: the dictionary is a PLAIN page, and a slot has the position of its string in it.
//!
//! ```text
//! slot    │ 32 bits of the hash │ length │ offset in the page │ code │
//! page    │ 05 00 00 00 │ h e l l o │ 02 00 00 00 │ h i │ …
//! ```
//!
//! Strings of up to 32 bytes, the majority of repeated strings, are read as a head of 8, 16 or 32 bytes padded with
//! zeros, depending on the longest string of the call: hash and compare have no branch on the length. Strings with
//! equal hash and length are compared with the page, so equal codes are equal strings.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "dispatch to functions that need the features of their tier")
)]

#[cfg(target_arch = "x86_64")]
mod avx2;
mod scalar;

#[cfg(test)]
mod tests;

use super::{MAX_CHAIN, NO_CODE, capacity};
use crate::byte_strings::{self, Source};
use crate::tier::dispatch;
use crate::{ByteStrings, KernelError};

/// Bytes at the end of a dictionary page that stay free, for loads that read past a string.
pub const SLACK: usize = 32;

/// By length: a mask of the bytes of a head that belong to the string.
static KEEP: [[u8; 32]; 33] = {
    let mut keep = [[0; 32]; 33];
    let mut len = 0;
    while len <= 32 {
        let mut i = 0;
        while i < len {
            keep[len][i] = 0xFF;
            i += 1;
        }
        len += 1;
    }
    keep
};

/// A slot of a string table.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(16))]
pub struct StringSlot {
    key: u64,
    /// The position of the string's length in the page.
    offset: u32,
    code: u32,
}

impl StringSlot {
    /// An empty slot. Its key has a length that no string has.
    pub const EMPTY: Self = Self { key: u64::MAX, offset: 0, code: NO_CODE };
}

/// A table of distinct byte strings in the caller's memory.
///
/// ```
/// use lath_kernels::ByteStrings;
/// use lath_kernels::dictionary::{SLACK, StringSlot, Strings, slot_count};
///
/// let mut slots = [StringSlot::EMPTY; slot_count(2)];
/// let mut page = [0; 20 + SLACK];
/// let mut table = Strings::new(&mut slots, &mut page)?;
/// let strings = ByteStrings::Offsets32 { data: b"AIRRAILAIR", offsets: &[0, 3, 7, 10] };
/// let mut codes = [0; 3];
/// assert_eq!(table.intern(strings, 0, &mut codes)?, 3);
/// assert_eq!(codes, [0, 1, 0]);
/// assert_eq!(table.page(), b"\x03\0\0\0AIR\x04\0\0\0RAIL");
/// # Ok::<(), lath_kernels::KernelError>(())
/// ```
#[derive(Debug)]
pub struct Strings<'a> {
    slots: &'a mut [StringSlot],
    page: &'a mut [u8],
    len: usize,
    page_len: usize,
    max_len: usize,
}

impl<'a> Strings<'a> {
    /// Creates an empty table; the contents of the slots do not matter.
    ///
    /// Its capacity is the size of `page` with four bytes for each string and [`SLACK`] for all, but no more than a
    /// quarter of the slots.
    ///
    /// # Errors
    /// [`KernelError::LengthMismatch`] if the number of slots is no power of two, or is one.
    pub fn new(slots: &'a mut [StringSlot], page: &'a mut [u8]) -> Result<Self, KernelError> {
        slots.fill(StringSlot::EMPTY);
        Self::resume(slots, page, 0, 0)
    }

    /// Creates a table of the `len` distinct strings in the first `page_len` bytes of `page`; the contents of the slots
    /// do not matter.
    ///
    /// # Errors
    /// The same as [`Strings::new`]; [`KernelError::LengthMismatch`] if the capacity is less than `len`;
    /// [`KernelError::InputTooShort`] and [`KernelError::NegativeLength`] if the page does not have these strings.
    pub fn rebuild(
        slots: &'a mut [StringSlot],
        page: &'a mut [u8],
        len: usize,
        page_len: usize,
    ) -> Result<Self, KernelError> {
        slots.fill(StringSlot::EMPTY);
        let table = Self::resume(slots, page, len, page_len)?;
        let mut offset = 0;
        for code in 0..len {
            let value = crate::byte_array::value_at(&table.page[..page_len], offset, code)?;
            let (hash, value_len) = (scalar::hash(value), value.len());
            let Some(at) = chain(hash, table.slots.len()).find(|&at| table.slots[at].code == NO_CODE) else {
                return Err(KernelError::LengthMismatch { expected: len, actual: code });
            };
            table.slots[at] = StringSlot { key: key(hash, value_len), offset: offset as u32, code: code as u32 };
            offset += 4 + value_len;
        }
        Ok(table)
    }

    /// The table that another one left in this memory, where it had `len` strings in `page_len` bytes.
    ///
    /// In other memory, codes are meaningless.
    ///
    /// # Errors
    /// The same as [`Strings::new`]; [`KernelError::LengthMismatch`] if the capacity is less than `len`.
    pub fn resume(
        slots: &'a mut [StringSlot],
        page: &'a mut [u8],
        len: usize,
        page_len: usize,
    ) -> Result<Self, KernelError> {
        let max_len = capacity(slots.len())?;
        if len > max_len {
            return Err(KernelError::LengthMismatch { expected: len, actual: max_len });
        }
        // Offsets have 32 bits.
        let room = page.len().min(u32::MAX as usize).saturating_sub(SLACK);
        if page_len > room {
            return Err(KernelError::LengthMismatch { expected: page_len, actual: room });
        }
        Ok(Self { slots, page, len, page_len, max_len })
    }

    /// The distinct strings in the order of their codes, PLAIN-encoded.
    pub fn page(&self) -> &[u8] {
        &self.page[..self.page_len]
    }

    /// The number of distinct strings.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no strings yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Writes the code of each string from number `first` on, as many as there is room for, and returns the number of
    /// strings taken: fewer if the table is full.
    ///
    /// # Errors
    /// [`KernelError::InputTooShort`] if there are fewer strings; [`KernelError::Malformed`] if a string lies outside
    /// of its bytes: the ones before it are in the table.
    pub fn intern(&mut self, strings: ByteStrings<'_>, first: usize, codes: &mut [u32]) -> Result<usize, KernelError> {
        byte_strings::with_source!(strings.slice(first, codes.len())?, |source| intern(self, source, codes))
    }

    /// The code of a string that is not in its first slot; `None` if the table is full.
    #[cold]
    #[inline(never)]
    fn find_or_add(&mut self, value: &[u8], hash: u64) -> Option<u32> {
        let key = key(hash, value.len());
        for at in chain(hash, self.slots.len()) {
            let slot = self.slots[at];
            if slot.code == NO_CODE {
                let (from, to) = (self.page_len + 4, self.page_len + 4 + value.len());
                let room = self.page.len().min(u32::MAX as usize).saturating_sub(SLACK);
                if self.len == self.max_len || to > room || value.len() > i32::MAX as usize {
                    return None;
                }
                self.page[self.page_len..from].copy_from_slice(&(value.len() as u32).to_le_bytes());
                self.page[from..to].copy_from_slice(value);
                let code = self.len as u32;
                self.slots[at] = StringSlot { key, offset: self.page_len as u32, code };
                self.page_len = to;
                self.len += 1;
                return Some(code);
            }
            if slot.key == key {
                let from = slot.offset as usize + 4;
                if self.page.get(from..from + value.len()) == Some(value) {
                    return Some(slot.code);
                }
            }
        }
        None
    }
}

fn intern<'s>(table: &mut Strings<'_>, source: impl Source<'s>, codes: &mut [u32]) -> Result<usize, KernelError> {
    dispatch!(intern(table, source, codes): avx2)
}

/// The slots in which a string may be, in probing order.
fn chain(hash: u64, slot_count: usize) -> impl Iterator<Item = usize> {
    let home = (hash >> (64 - slot_count.trailing_zeros())) as usize;
    (0..MAX_CHAIN.min(slot_count)).map(move |step| (home + step) & (slot_count - 1))
}

#[inline(always)]
fn key(hash: u64, len: usize) -> u64 {
    (len as u64) << 32 | hash & 0xFFFF_FFFF
}

/// Looks up strings of up to `W` bytes in their first slot, and all others with full checks.
///
/// `head` takes bytes and a mask of the ones to keep; `hash` hashes its result; `equals` compares that with other bytes
/// under the same mask.
#[inline(always)]
fn intern_by<'s, H: Copy, const W: usize>(
    table: &mut Strings<'_>,
    source: impl Source<'s>,
    codes: &mut [u32],
    head: impl Fn(&[u8; W], &[u8; W]) -> H,
    hash: impl Fn(H, usize) -> u64,
    equals: impl Fn(H, &[u8; W], &[u8; W]) -> bool,
) -> Result<usize, KernelError> {
    let shift = 64 - table.slots.len().trailing_zeros();
    let wanted = codes.len();
    for (taken, (span, code)) in source.spans().zip(codes).enumerate() {
        let span = span?;
        let hash = if span.len <= W
            && let Some(bytes) = span.head()
            && let Some(keep) = KEEP[span.len].first_chunk()
        {
            let head = head(bytes, keep);
            let hash = hash(head, span.len);
            let slot = &table.slots[(hash >> shift) as usize];
            let from = slot.offset as usize + 4;
            if slot.key == key(hash, span.len)
                && let Some(stored) = table.page.get(from..).and_then(<[u8]>::first_chunk)
                && equals(head, stored, keep)
            {
                *code = slot.code;
                continue;
            }
            hash
        } else {
            scalar::hash(span.bytes())
        };
        match table.find_or_add(span.bytes(), hash) {
            Some(found) => *code = found,
            None => return Ok(taken),
        }
    }
    Ok(wanted)
}
