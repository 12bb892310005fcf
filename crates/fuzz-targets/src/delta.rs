//! `batch length | DELTA_BINARY_PACKED`: decoding at once, in batches and after skipping agree, for both types.

use crate::{Input, assert_agree, in_batches};
use lath_kernels::delta::{Decoder, Integer};

/// Values with widths of zero can announce any number of values; this many are enough.
const LIMIT: usize = 3_000;

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let batch_len = input.short();
    let src = input.rest();
    check::<i32>(&src, batch_len);
    check::<i64>(&src, batch_len);
}

fn check<T: Integer>(src: &[u8], batch_len: usize) {
    let Ok(decoder) = Decoder::<T>::new(src) else { return };

    let mut at_once = decoder.clone();
    let at_once = in_batches(LIMIT, LIMIT, |out| at_once.decode(src, out));
    let mut batched = decoder.clone();
    let batched = in_batches(batch_len, LIMIT, |out| batched.decode(src, out));
    assert_agree(at_once.clone(), batched);

    let mut skipping = decoder.clone();
    if let Ok(skipped) = skipping.skip(src, batch_len.min(LIMIT)) {
        let after = in_batches(LIMIT, LIMIT - skipped, |out| skipping.decode(src, out));
        assert_agree((at_once.0[skipped.min(at_once.0.len())..].to_vec(), at_once.1), after);
    }
    if decoder.value_count() <= 1 << 20
        && let Ok(end) = decoder.end(src)
    {
        assert!(end <= src.len());
    }
}
