//! Two passes: decodes indices for a part that stays in L1, then looks up their entries, each with the tier's kernels.

use crate::rle::Decoder;
use crate::{KernelError, gather};

/// The number of indices in a part.
const PART: usize = 1024;

pub(super) fn decode_entries_u32(
    decoder: &mut Decoder,
    src: &[u8],
    dict: &[u32],
    out: &mut [u32],
) -> Result<usize, KernelError> {
    in_two_passes(decoder, src, out, |indices, out| gather::gather_u32(dict, indices, out))
}

pub(super) fn decode_entries_u64(
    decoder: &mut Decoder,
    src: &[u8],
    dict: &[u64],
    out: &mut [u64],
) -> Result<usize, KernelError> {
    in_two_passes(decoder, src, out, |indices, out| gather::gather_u64(dict, indices, out))
}

fn in_two_passes<T>(
    decoder: &mut Decoder,
    src: &[u8],
    out: &mut [T],
    gather: impl Fn(&[u32], &mut [T]) -> Result<(), KernelError>,
) -> Result<usize, KernelError> {
    let mut indices = [0; PART];
    let mut written = 0;
    for out in out.chunks_mut(PART) {
        let indices = &mut indices[..out.len()];
        let decoded = decoder.decode_u32(src, indices)?;
        gather(&indices[..decoded], &mut out[..decoded])?;
        written += decoded;
        if decoded < out.len() {
            break;
        }
    }
    Ok(written)
}
