//! `width | batch length | runs`: decoding at once, in batches and after skipping agree.

use crate::{Input, assert_agree, in_batches};
use lath_kernels::rle::Decoder;

/// Runs can announce any number of values; this many are enough.
const LIMIT: usize = 3_000;

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let width = u32::from(input.byte() % 36);
    let batch_len = input.short();
    let src = input.rest();
    let Ok(decoder) = Decoder::new(width) else { return };

    let mut at_once = decoder.clone();
    let at_once = in_batches(LIMIT, LIMIT, |out| at_once.decode_u32(&src, out));
    let mut batched = decoder.clone();
    let batched = in_batches(batch_len, LIMIT, |out| batched.decode_u32(&src, out));
    assert_agree(at_once.clone(), batched);

    let mut skipping = decoder.clone();
    if let Ok(skipped) = skipping.skip(&src, batch_len.min(LIMIT)) {
        let after = in_batches(LIMIT, LIMIT - skipped, |out| skipping.decode_u32(&src, out));
        assert_agree((at_once.0[skipped.min(at_once.0.len())..].to_vec(), at_once.1), after);
    }
    let dict: Vec<u32> = (0..batch_len as u32 % 300).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
    let mut looking_up = decoder.clone();
    let entries = in_batches(batch_len.max(1) * 5, LIMIT, |out| looking_up.decode_entries_u32(&src, &dict, out));
    let found = at_once.0.iter().map_while(|&index| dict.get(index as usize).copied());
    assert!(found.zip(&entries.0).all(|(found, &entry)| found == entry));
    if width <= 8 {
        let mut bytes = decoder.clone();
        let bytes = in_batches(batch_len, LIMIT, |out| bytes.decode_u8(&src, out));
        let bytes = (bytes.0.into_iter().map(u32::from).collect(), bytes.1);
        assert_agree((at_once.0.clone(), at_once.1), bytes);
    }
    if width <= 1 {
        let mut bits = decoder.clone();
        let mut out = [0; LIMIT / 8 + 1];
        if let Ok(count) = bits.decode_bits(&src, &mut out, batch_len % 8, LIMIT) {
            let bit = |i: usize| u32::from(out[(batch_len % 8 + i) / 8] >> ((batch_len % 8 + i) % 8) & 1);
            assert!(at_once.0.iter().take(count).enumerate().all(|(i, &v)| v == bit(i)));
            assert_eq!(bits.ones(), at_once.0.iter().take(count).filter(|&&v| v == 1).count());
        }
    }
}
