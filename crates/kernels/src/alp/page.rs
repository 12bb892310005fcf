//! Pages and vectors: checks their headers, and locates their parts.

use super::Float;
use super::scale::Scale;
use crate::KernelError;
use crate::bitpack::packed_len;

/// Bytes before the offsets.
pub(super) const PAGE_HEADER: usize = 7;
/// Bytes of an offset.
pub(super) const OFFSET: usize = 4;
/// Bytes of a vector before its packed integers.
pub(super) const fn vector_header<T>() -> usize {
    4 + size_of::<T>() + 1
}
/// Bytes of an exception and its position.
pub(super) const fn exception<T>() -> usize {
    2 + size_of::<T>()
}

/// A page whose header is valid and whose offsets are complete.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page<'a> {
    /// The offsets and everything after them.
    body: &'a [u8],
    vector_len: usize,
    value_count: usize,
}

impl<'a> Page<'a> {
    #[inline]
    pub(super) fn open(src: &'a [u8]) -> Result<Self, KernelError> {
        let Some((header, body)) = src.split_first_chunk::<PAGE_HEADER>() else {
            return Err(KernelError::InputTooShort { needed: PAGE_HEADER, available: src.len() });
        };
        let [mode, integer_encoding, log_vector_len, count @ ..] = *header;
        if mode != 0 {
            return Err(KernelError::Malformed { what: "ALP compression mode" });
        }
        if integer_encoding != 0 {
            return Err(KernelError::Malformed { what: "ALP integer encoding" });
        }
        if !(3..=15).contains(&log_vector_len) {
            return Err(KernelError::Malformed { what: "ALP vector size" });
        }
        let Ok(value_count) = usize::try_from(i32::from_le_bytes(count)) else {
            return Err(KernelError::Malformed { what: "ALP number of values" });
        };
        let page = Self { body, vector_len: 1 << log_vector_len, value_count };
        let needed = page.vector_count() * OFFSET;
        if body.len() < needed {
            return Err(KernelError::InputTooShort { needed: PAGE_HEADER + needed, available: src.len() });
        }
        Ok(page)
    }

    #[inline]
    pub(super) fn value_count(&self) -> usize {
        self.value_count
    }

    #[inline]
    fn vector_count(&self) -> usize {
        self.value_count.div_ceil(self.vector_len)
    }

    /// Decodes the values from `first` on, as many as fit into `out`.
    pub(super) fn decode<T: Float>(&self, first: usize, mut out: &mut [T]) -> Result<(), KernelError> {
        let end = first.saturating_add(out.len());
        if end > self.value_count {
            let needed = end.saturating_mul(size_of::<T>());
            return Err(KernelError::InputTooShort { needed, available: self.value_count * size_of::<T>() });
        }
        let (mut index, mut skipped) = (first / self.vector_len, first % self.vector_len);
        while !out.is_empty() {
            let vector = self.vector::<T>(index)?;
            let (part, rest) = out.split_at_mut(out.len().min(vector.len - skipped));
            vector.decode(skipped, part);
            out = rest;
            index += 1;
            skipped = 0;
        }
        Ok(())
    }

    /// The offset of vector `index` in the body of a page that has at least as many.
    #[inline]
    fn offset(&self, index: usize) -> usize {
        // For the vector after the last one, the end of the page.
        if index == self.vector_count() {
            return self.body.len();
        }
        let mut bytes = [0; OFFSET];
        bytes.copy_from_slice(&self.body[index * OFFSET..][..OFFSET]);
        u32::from_le_bytes(bytes) as usize
    }

    /// Checks vector `index` completely.
    fn vector<T: Float>(&self, index: usize) -> Result<Vector<'a, T>, KernelError> {
        let first_vector = self.vector_count() * OFFSET;
        let (start, end) = (self.offset(index), self.offset(index + 1));
        if start < first_vector || index == 0 && start != first_vector || end < start {
            return Err(KernelError::Malformed { what: "ALP vector offset" });
        }
        if end > self.body.len() {
            return Err(too_short(end, self.body.len()));
        }
        let len = (self.value_count - index * self.vector_len).min(self.vector_len);
        let header_len = vector_header::<T>();
        let Some((header, bytes)) = self.body[start..].split_at_checked(header_len) else {
            return Err(too_short(start + header_len, self.body.len()));
        };
        let [exponent, factor, exceptions_low, exceptions_high, ref base @ .., width] = *header else {
            return Err(too_short(start + header_len, self.body.len()));
        };
        let Some(scale) = Scale::new(exponent, factor) else {
            return Err(KernelError::Malformed { what: "ALP exponent or factor" });
        };
        let exception_count = usize::from(u16::from_le_bytes([exceptions_low, exceptions_high]));
        if exception_count > len {
            return Err(KernelError::Malformed { what: "ALP number of exceptions" });
        }
        let (width, max) = (u32::from(width), 8 * size_of::<T>() as u32);
        if width > max {
            return Err(KernelError::WidthOutOfRange { width, max });
        }
        let positions_at = packed_len(len, width);
        let exceptions_at = positions_at + 2 * exception_count;
        let vector_len = header_len + exceptions_at + size_of::<T>() * exception_count;
        let Some(exceptions) = bytes.get(exceptions_at..vector_len - header_len) else {
            return Err(too_short(start + vector_len, self.body.len()));
        };
        // There may be anything after the last vector, but nothing between two of them.
        if start + vector_len != end && (index + 1 < self.vector_count() || start + vector_len > end) {
            return Err(KernelError::Malformed { what: "ALP vector offset" });
        }
        let positions = bytes[positions_at..exceptions_at].as_chunks().0;
        // Without an early exit, so that the compiler vectorises it.
        let last = positions.iter().fold(0, |last, &position| u16::from_le_bytes(position).max(last));
        if exception_count > 0 && usize::from(last) >= len {
            return Err(KernelError::Malformed { what: "ALP exception position" });
        }
        let packed = PackedIntegers { bytes, width, base: T::truncate(little_endian(base)), scale: scale.to_value };
        Ok(Vector { len, packed, positions, exceptions })
    }
}

/// Converts lengths within the body to lengths within the page.
#[cold]
fn too_short(needed: usize, available: usize) -> KernelError {
    KernelError::InputTooShort { needed: PAGE_HEADER + needed, available: PAGE_HEADER + available }
}

/// An integer of at most eight bytes.
#[inline]
fn little_endian(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(all)
}

/// A vector whose parts are complete and whose exceptions have positions within it.
#[derive(Debug)]
struct Vector<'a, T: Float> {
    len: usize,
    packed: PackedIntegers<'a, T>,
    positions: &'a [[u8; 2]],
    exceptions: &'a [u8],
}

/// Bit-packed integers with the parameters of their conversion to values.
#[derive(Debug, Clone, Copy)]
pub struct PackedIntegers<'a, T: super::private::Float> {
    /// The packed bytes and the bytes after them in the page, so that loads may reach past the packed bytes.
    pub(super) bytes: &'a [u8],
    /// The width in bits, at most the type's.
    pub(super) width: u32,
    /// The frame of reference.
    pub(super) base: T::Bits,
    /// `10^factor` and `10^-exponent`.
    pub(super) scale: [T; 2],
}

impl<T: Float> PackedIntegers<'_, T> {
    /// The integers from `count` on, a multiple of eight.
    #[inline]
    pub(super) fn skip(self, count: usize) -> Self {
        let bytes = self.bytes.get(count / 8 * self.width as usize..).unwrap_or_default();
        Self { bytes, ..self }
    }
}

impl<T: Float> Vector<'_, T> {
    /// Decodes the values from `first` on, which are as many as `out` has room for.
    fn decode(&self, first: usize, out: &mut [T]) {
        // Groups of eight values begin at bytes.
        let packed = self.packed.skip(first / 8 * 8);
        let within = first % 8;
        let in_group = if within == 0 { 0 } else { out.len().min(8 - within) };
        if in_group > 0 {
            let mut group = [T::default(); 8];
            T::decode(&packed, &mut group[..within + in_group]);
            out[..in_group].copy_from_slice(&group[within..within + in_group]);
        }
        let (_, rest) = out.split_at_mut(in_group);
        if packed.width == 0 {
            let mut value = [T::default()];
            T::decode(&packed, &mut value);
            rest.fill(value[0]);
        } else if !rest.is_empty() {
            T::decode(&if in_group > 0 { packed.skip(8) } else { packed }, rest);
        }
        for (position, bits) in self.positions.iter().zip(self.exceptions.chunks_exact(size_of::<T>())) {
            let position = usize::from(u16::from_le_bytes(*position));
            // Positions before `first` wrap to indices outside of `out`.
            if let Some(value) = out.get_mut(position.wrapping_sub(first)) {
                *value = T::from_bits(T::truncate(little_endian(bits)));
            }
        }
    }
}
