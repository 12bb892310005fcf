//! Portable interleaving: one loop per fixed width, which compilers turn into unpack instructions, and a blocked loop
//! for all other widths.

/// The number of values in one round: their bytes stay in L1 from pass to pass.
const BLOCK: usize = 256;

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

/// Interleaves streams two apart, and then the results: loops over two streams vectorise, a loop over four does not.
pub(super) fn interleave_4(streams: [&[u8]; 4], out: &mut [u8]) {
    let (mut ac, mut bd) = ([0; 2 * BLOCK], [0; 2 * BLOCK]);
    for (block, out) in out.chunks_mut(4 * BLOCK).enumerate() {
        let count = out.len() / 4;
        let [a, b, c, d] = streams.map(|stream| &stream[block * BLOCK..][..count]);
        let (ac, bd) = (&mut ac[..2 * count], &mut bd[..2 * count]);
        interleave([a, c], ac);
        interleave([b, d], bd);
        interleave([ac, bd], out);
    }
}

/// Like [`interleave_4`], from two times four.
pub(super) fn interleave_8(streams: [&[u8]; 8], out: &mut [u8]) {
    let (mut aceg, mut bdfh) = ([0; 4 * BLOCK], [0; 4 * BLOCK]);
    for (block, out) in out.chunks_mut(8 * BLOCK).enumerate() {
        let count = out.len() / 8;
        let [a, b, c, d, e, f, g, h] = streams.map(|stream| &stream[block * BLOCK..][..count]);
        let (aceg, bdfh) = (&mut aceg[..4 * count], &mut bdfh[..4 * count]);
        interleave_4([a, c, e, g], aceg);
        interleave_4([b, d, f, h], bdfh);
        interleave([aceg, bdfh], out);
    }
}

/// Like [`interleave`], for `width` streams that start `stride` bytes apart in `src`, each read from byte `first` on.
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
