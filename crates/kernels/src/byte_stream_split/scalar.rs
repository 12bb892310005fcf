//! Portable interleaving: one loop per fixed width, which compilers turn into unpack instructions, and a blocked loop
//! for all other widths.

/// Values that one round of [`interleave_any`] writes: their bytes stay in L1 while every stream passes over them.
const BLOCK: usize = 128;

/// Writes byte `i` of every stream, then byte `i + 1`, until `out` is full.
pub(super) fn interleave<const K: usize>(streams: [&[u8]; K], out: &mut [u8]) {
    let (values, _) = out.as_chunks_mut::<K>();
    let streams = streams.map(|stream| &stream[..values.len()]);
    for (i, value) in values.iter_mut().enumerate() {
        for (byte, stream) in value.iter_mut().zip(streams) {
            *byte = stream[i];
        }
    }
}

pub(super) fn interleave_2(streams: [&[u8]; 2], out: &mut [u8]) {
    interleave(streams, out);
}

pub(super) fn interleave_4(streams: [&[u8]; 4], out: &mut [u8]) {
    interleave(streams, out);
}

pub(super) fn interleave_8(streams: [&[u8]; 8], out: &mut [u8]) {
    interleave(streams, out);
}

/// As [`interleave`], for `width` streams that start `stride` bytes apart in `src`, each read from byte `first` on.
pub(super) fn interleave_any(src: &[u8], stride: usize, width: usize, first: usize, out: &mut [u8]) {
    for (block, values) in out.chunks_mut(BLOCK * width).enumerate() {
        let start = first + block * BLOCK;
        let count = values.len() / width;
        for k in 0..width {
            let stream = &src[k * stride + start..][..count];
            for (byte, &from) in values[k..].iter_mut().step_by(width).zip(stream) {
                *byte = from;
            }
        }
    }
}
