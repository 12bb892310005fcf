//! DELTA_BYTE_ARRAY: prefix lengths, suffix lengths, suffixes; compared with joining value by value.

use crate::in_batches;
use lath_kernels::byte_array::{prefix_join, prefix_join_len};
use lath_kernels::delta::Decoder;

const LIMIT: usize = 5_000;
/// A prefix can be all of the value before, so a few bytes can stand for gigabytes.
const LIMIT_BYTES: usize = 1 << 22;

fn lengths(src: &[u8]) -> Option<(Vec<i32>, usize)> {
    let mut decoder = Decoder::<i32>::new(src).ok()?;
    if decoder.value_count() > LIMIT {
        return None;
    }
    let end = decoder.end(src).ok()?;
    let (lengths, error) = in_batches(LIMIT, LIMIT, |out| decoder.decode(src, out));
    error.is_none().then_some((lengths, end))
}

fn join(prefixes: &[i32], suffixes: &[i32], mut bytes: &[u8]) -> Option<Vec<u8>> {
    let (mut all, mut last) = (Vec::new(), Vec::new());
    for (&prefix, &suffix) in prefixes.iter().zip(suffixes) {
        let (prefix, suffix) = (usize::try_from(prefix).ok()?, usize::try_from(suffix).ok()?);
        let mut value = Vec::from(last.get(..prefix)?);
        value.extend_from_slice(bytes.split_off(..suffix)?);
        all.extend_from_slice(&value);
        last = value;
    }
    Some(all)
}

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let Some((prefixes, end)) = lengths(data) else { return };
    let Some((suffixes, start)) = lengths(&data[end..]) else { return };
    let bytes = data[end + start..].to_vec();
    let Ok(len) = prefix_join_len(&prefixes, &suffixes) else { return };
    if len > LIMIT_BYTES {
        return;
    }
    let (mut out, mut out_lengths) = (vec![0; len], vec![0; prefixes.len()]);
    let joined = prefix_join(&prefixes, &suffixes, &bytes, &[], &mut out, &mut out_lengths);
    assert_eq!(joined.is_ok().then_some(out), join(&prefixes, &suffixes, &bytes));
}
