//! Portable code: loops over two streams, which compilers vectorise, in steps; a blocked loop for all other widths.

/// The number of values in one round: their bytes stay in L1 from step to step.
const BLOCK: usize = 256;

/// Writes byte `first + n` of every value of `K` bytes to stream `n` of `N`.
pub(super) fn deal<const K: usize, const N: usize>(values: &[u8], streams: [&mut [u8]; N], first: usize) {
    let (values, _) = values.as_chunks::<K>();
    for (n, stream) in streams.into_iter().enumerate() {
        for (byte, value) in stream.iter_mut().zip(values) {
            *byte = value[first + n];
        }
    }
}

/// Like [`deal`]; the two bytes of a word are separated as numbers, which vectorises.
pub(super) fn deal_2(values: &[u8], [a, b]: [&mut [u8]; 2]) {
    let (values, _) = values.as_chunks();
    for ((a, b), &value) in a.iter_mut().zip(b).zip(values) {
        let word = u16::from_le_bytes(value);
        *a = word as u8;
        *b = (word >> 8) as u8;
    }
}

/// Writes pairs of streams two apart, and splits these into streams.
pub(super) fn deal_4(values: &[u8], streams: [&mut [u8]; 4]) {
    let (mut ac, mut bd) = ([0; 2 * BLOCK], [0; 2 * BLOCK]);
    let [mut a, mut b, mut c, mut d] = streams.map(|stream| stream.chunks_mut(BLOCK));
    for values in values.chunks(4 * BLOCK) {
        let (Some(a), Some(b), Some(c), Some(d)) = (a.next(), b.next(), c.next(), d.next()) else { return };
        let (ac, bd) = (&mut ac[..values.len() / 2], &mut bd[..values.len() / 2]);
        deal_2(values, [ac, bd]);
        deal_2(ac, [a, c]);
        deal_2(bd, [b, d]);
    }
}

/// Like [`deal_4`], to two times four.
pub(super) fn deal_8(values: &[u8], streams: [&mut [u8]; 8]) {
    let (mut aceg, mut bdfh) = ([0; 4 * BLOCK], [0; 4 * BLOCK]);
    let mut streams = streams.map(|stream| stream.chunks_mut(BLOCK));
    for values in values.chunks(8 * BLOCK) {
        let [a, b, c, d, e, f, g, h] = streams.each_mut().map(|stream| stream.next().unwrap_or_default());
        let (aceg, bdfh) = (&mut aceg[..values.len() / 2], &mut bdfh[..values.len() / 2]);
        deal_2(values, [aceg, bdfh]);
        deal_4(aceg, [a, c, e, g]);
        deal_4(bdfh, [b, d, f, h]);
    }
}

/// Like [`deal`], to `width` streams that start `stride` bytes apart in `out`, each written from byte `first` on.
pub(super) fn deal_any(values: &[u8], width: usize, out: &mut [u8], stride: usize, first: usize) {
    for (block, values) in values.chunks(BLOCK * width).enumerate() {
        let start = first + block * BLOCK;
        let count = values.len() / width;
        for k in 0..width {
            let stream = &mut out[k * stride + start..][..count];
            for (byte, &from) in stream.iter_mut().zip(values[k..].iter().step_by(width)) {
                *byte = from;
            }
        }
    }
}
