//! Looks up dictionary indices as they are decoded.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "dispatch to functions that need the features of their tier")
)]

#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

#[cfg(test)]
mod tests;

use super::Decoder;
#[cfg(target_arch = "x86_64")]
use super::decoder::Part;
use crate::KernelError;
use crate::tier::dispatch;

macro_rules! decode_entries_of {
    ($name:ident $value:ty, $what:literal) => {
        impl Decoder {
            #[doc = concat!("Decodes the next values, which are indices, and writes the entries of `dict` that they name, ", $what)]
            /// each, to `out`.
            ///
            /// # Errors
            /// The same as [`Decoder::decode_u32`], or if an index is not less than `dict.len()`. The contents of `out`
            /// are undefined then.
            pub fn $name(&mut self, src: &[u8], dict: &[$value], out: &mut [$value]) -> Result<usize, KernelError> {
                dispatch!($name(self, src, dict, out): avx512)
            }
        }
    };
}

decode_entries_of!(decode_entries_u32 u32, "four bytes");
decode_entries_of!(decode_entries_u64 u64, "eight bytes");

#[cfg(target_arch = "x86_64")]
impl Decoder {
    /// Decodes by a tier's `packed`, which takes bit-packed indices from a byte on. Short runs, and indices before the
    /// first byte boundary, take two passes. Inlined into each tier's function.
    #[inline(always)]
    fn decode_entries_with<T: Copy>(
        &mut self,
        src: &[u8],
        dict: &[T],
        out: &mut [T],
        packed: impl Fn(&[u8], &mut [T]) -> Result<(), KernelError>,
        in_two_passes: impl Fn(&mut Self, &mut [T]) -> Result<usize, KernelError>,
    ) -> Result<usize, KernelError> {
        let mut written = 0;
        while written < out.len() {
            let rest = &mut out[written..];
            let unfit = self.unfit_for_long_runs(src).min(rest.len());
            if unfit > 0 {
                let decoded = in_two_passes(self, &mut rest[..unfit])?;
                written += decoded;
                if decoded < unfit {
                    break;
                }
                continue;
            }
            match self.next_part(src, rest.len())? {
                Part::Repeated { value, count } => {
                    let entry = dict.get(value as usize);
                    let entry = entry.ok_or(KernelError::IndexOutOfRange { index: value, len: dict.len() })?;
                    rest[..count].fill(*entry);
                    written += count;
                }
                Part::Packed { at, count, .. } => {
                    packed(&src[at..], &mut rest[..count])?;
                    written += count;
                }
                Part::End => break,
            }
        }
        Ok(written)
    }
}
