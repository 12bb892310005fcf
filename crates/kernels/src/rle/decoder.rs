//! Walks runs, and passes values to unpack to a tier's kernels.

use super::bits;
#[cfg(target_arch = "x86_64")]
use super::short_runs;
use crate::KernelError;
use crate::bitpack::packed_len;
use crate::varint::read_uleb128;

/// A decoder of the RLE/bit-packing hybrid that stops and resumes at any value.
///
/// It stores only its position: every call takes the same bytes again. Calls of different methods may be mixed. All
/// return the number of values they passed, which is less than requested only if the input is exhausted. After an error
/// the decoder cannot be used.
///
/// ```
/// use lath_kernels::rle::Decoder;
///
/// // 100 times the value 4, then one group of eight values of 3 bits.
/// let bytes = [200, 1, 4, 3, 0b1000_1000, 0b1100_0110, 0b1111_1010];
/// let mut decoder = Decoder::new(3)?;
/// assert_eq!(decoder.skip(&bytes, 98)?, 98);
/// let mut values = [0; 12];
/// assert_eq!(decoder.decode_u32(&bytes, &mut values)?, 10);
/// assert_eq!(values[..10], [4, 4, 0, 1, 2, 3, 4, 5, 6, 7]);
/// # Ok::<(), lath_kernels::KernelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Decoder {
    width: u32,
    /// The offset of the next run's header or, in a bit-packed run, of the group of eight with the next value.
    position: usize,
    run: Run,
    /// The number of values of the run that have not been passed.
    left: usize,
    ones: usize,
}

#[derive(Debug, Clone, Copy)]
enum Run {
    Repeated {
        value: u32,
    },
    Packed {
        /// The number of values of the current group that have been passed, less than 8.
        phase: usize,
    },
}

/// The minimum number of values in a short run for which it is handled as one.
#[cfg(target_arch = "x86_64")]
const NEAR_SHORT: usize = 1024;

/// A piece of a run: the next values.
pub(super) enum Part {
    /// A value, this many times.
    Repeated { value: u32, count: usize },
    /// This many values, bit-packed from `at` on, the first `phase` (less than 8) of which are skipped.
    Packed { at: usize, phase: usize, count: usize },
    /// No values: the input is exhausted.
    End,
}

/// The element types that values are decoded to.
pub(super) trait Element: Copy + Default {
    /// Keeps the low bits.
    fn truncate(value: u32) -> Self;
}

impl Element for u8 {
    #[inline]
    fn truncate(value: u32) -> Self {
        value as Self
    }
}

impl Element for u32 {
    #[inline]
    fn truncate(value: u32) -> Self {
        value
    }
}

impl Decoder {
    /// Creates a decoder of values of `width` bits, at the first run's header. Width 0 gives zeros without end and
    /// reads nothing.
    ///
    /// # Errors
    /// If `width` is over 32.
    pub fn new(width: u32) -> Result<Self, KernelError> {
        if width > 32 {
            return Err(KernelError::WidthOutOfRange { width, max: 32 });
        }
        Ok(Self { width, position: 0, run: Run::Repeated { value: 0 }, left: 0, ones: 0 })
    }

    /// The width in bits of the values.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The number of ones among the values that [`Decoder::decode_bits`] has written since the start.
    pub fn ones(&self) -> usize {
        self.ones
    }

    /// Skips the next `count` values.
    ///
    /// # Errors
    /// The same as [`Decoder::decode_u32`].
    pub fn skip(&mut self, src: &[u8], count: usize) -> Result<usize, KernelError> {
        let mut skipped = 0;
        while skipped < count {
            match self.next_part(src, count - skipped)? {
                Part::Repeated { count, .. } | Part::Packed { count, .. } => skipped += count,
                Part::End => break,
            }
        }
        Ok(skipped)
    }

    /// Decodes by a tier's `unpack`, which takes bit-packed values from a byte on, and `short_runs`, which takes whole
    /// short runs while there is room for its reads and writes, moves the position and returns the number of values.
    #[inline(always)]
    pub(super) fn decode_with<T: Element>(
        &mut self,
        src: &[u8],
        out: &mut [T],
        unpack: impl Fn(&[u8], u32, &mut [T]),
        short_runs: impl Fn(&[u8], u32, &mut usize, &mut [T]) -> usize,
    ) -> Result<usize, KernelError> {
        let mut written = 0;
        while written < out.len() {
            if self.left == 0 && self.width != 0 {
                written += short_runs(src, self.width, &mut self.position, &mut out[written..]);
            }
            let rest = &mut out[written..];
            if rest.is_empty() {
                // The next header is not read before its values are needed.
                break;
            }
            match self.next_part(src, rest.len())? {
                Part::Repeated { value, count } => {
                    rest[..count].fill(T::truncate(value));
                    written += count;
                }
                Part::Packed { mut at, phase, count } => {
                    let mut values = &mut rest[..count];
                    written += count;
                    if phase != 0 {
                        let mut group = [T::default(); 8];
                        unpack(&src[at..], self.width, &mut group);
                        let head = count.min(8 - phase);
                        values[..head].copy_from_slice(&group[phase..phase + head]);
                        values = &mut values[head..];
                        at = src.len().min(at + self.width as usize);
                    }
                    unpack(&src[at..], self.width, values);
                }
                Part::End => break,
            }
        }
        Ok(written)
    }

    /// Decodes to bits. Inlined into each tier's function for its instructions.
    #[inline(always)]
    pub(super) fn decode_bits_with(
        &mut self,
        src: &[u8],
        out: &mut [u8],
        out_bit_offset: usize,
        count: usize,
    ) -> Result<usize, KernelError> {
        let mut written = 0;
        while written < count {
            if self.left == 0 && self.width != 0 {
                let target = bits::Target { out, bit: out_bit_offset + written, count: count - written };
                let (passed, ones) = bits::append_short_runs(src, &mut self.position, target);
                self.ones += ones;
                written += passed;
            }
            let at = out_bit_offset + written;
            match self.next_part(src, count - written)? {
                Part::Repeated { value, count } => {
                    bits::fill(out, at, count, value == 1);
                    self.ones += if value == 1 { count } else { 0 };
                    written += count;
                }
                Part::Packed { at: byte, phase, count } => {
                    self.ones += bits::copy(&src[byte..], phase, out, at, count);
                    written += count;
                }
                Part::End => break,
            }
        }
        Ok(written)
    }

    /// The number of next values that do not belong to a long run that begins at a byte: short runs and values around
    /// them, or the rest of a group.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(super) fn unfit_for_long_runs(&self, src: &[u8]) -> usize {
        match self.run {
            Run::Packed { phase: phase @ 1.. } if self.left > 0 => 8 - phase,
            _ if self.left == 0 && self.width != 0 && short_runs::may_begin(src, self.position) => NEAR_SHORT,
            _ => 0,
        }
    }

    /// Passes the next values of one run, at most `wanted` and at least one unless the input is exhausted.
    #[inline]
    pub(super) fn next_part(&mut self, src: &[u8], wanted: usize) -> Result<Part, KernelError> {
        if self.width == 0 {
            return Ok(Part::Repeated { value: 0, count: wanted });
        }
        // Empty runs are skipped: each takes at least a byte.
        while self.left == 0 {
            if self.position >= src.len() {
                return Ok(Part::End);
            }
            self.read_header(src)?;
        }
        let count = wanted.min(self.left);
        match self.run {
            Run::Repeated { value } => {
                self.left -= count;
                Ok(Part::Repeated { value, count })
            }
            Run::Packed { phase } => {
                // The last run may lack the bits of values after the last.
                let at = self.position.min(src.len());
                let available = src.len() - at;
                // A division here would be most of the cost of a run.
                let groups = phase.saturating_add(count).div_ceil(8);
                let count = if groups.saturating_mul(self.width as usize) <= available {
                    count
                } else {
                    let stored = available.saturating_mul(8) / self.width as usize;
                    count.min(stored.saturating_sub(phase))
                };
                if count == 0 {
                    return Ok(Part::End);
                }
                self.left -= count;
                self.position = at + packed_len((phase + count) / 8 * 8, self.width);
                self.run = Run::Packed { phase: (phase + count) % 8 };
                Ok(Part::Packed { at, phase, count })
            }
        }
    }

    #[inline]
    fn read_header(&mut self, src: &[u8]) -> Result<(), KernelError> {
        let mut position = self.position;
        let header = read_uleb128(src, &mut position, "run header")?;
        // Lengths and group counts are limited to 2^31 − 1.
        let header = u32::try_from(header).map_err(|_| KernelError::Malformed { what: "run header" })?;
        let length = (header >> 1) as usize;
        if header & 1 == 1 {
            self.run = Run::Packed { phase: 0 };
            self.left = length.saturating_mul(8);
        } else {
            let bytes = self.width.div_ceil(8) as usize;
            let Some(stored) = src.get(position..position + bytes) else {
                return Err(KernelError::InputTooShort { needed: bytes, available: src.len() - position });
            };
            let mut value = [0; 8];
            value[..bytes].copy_from_slice(stored);
            let value = u64::from_le_bytes(value);
            if value >> self.width != 0 {
                return Err(KernelError::Malformed { what: "repeated value, wider than the bit width" });
            }
            self.run = Run::Repeated { value: value as u32 };
            self.left = length;
            position += bytes;
        }
        self.position = position;
        Ok(())
    }
}
