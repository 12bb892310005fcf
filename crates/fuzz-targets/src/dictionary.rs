//! `entries | width | runs of indices`: gathering of every width agrees with indexing.

use crate::{Input, in_batches};
use lath_kernels::gather::{gather_bytes, gather_u32, gather_u64, gather_u128, max_index};
use lath_kernels::rle::Decoder;

const LIMIT: usize = 5_000;

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let entries = input.short() as u32;
    let width = u32::from(input.byte());
    let runs = input.rest();
    let Ok(mut decoder) = Decoder::new(width) else { return };
    let (indices, _) = in_batches(LIMIT, LIMIT, |out| decoder.decode_u32(&runs, out));
    assert_eq!(max_index(&indices), indices.iter().copied().max());
    let sound = indices.iter().all(|&index| index < entries);

    macro_rules! check {
        ($gather:ident $value:ty) => {
            let dict: Vec<$value> = (0..entries).map(|i| <$value>::from(i).wrapping_mul(0x9E37_79B1)).collect();
            let mut out = vec![0; indices.len()];
            assert_eq!($gather(&dict, &indices, &mut out).is_ok(), sound);
            assert!(!sound || out.iter().zip(&indices).all(|(&v, &index)| v == dict[index as usize]));
        };
    }
    check!(gather_u32 u32);
    check!(gather_u64 u64);
    check!(gather_u128 u128);
    for width in [1, 2, 3, 7, 12, 17, 32] {
        let dict: Vec<u8> = (0..entries as usize * width).map(|i| i as u8).collect();
        let mut out = vec![0; indices.len() * width];
        assert_eq!(gather_bytes(&dict, width, &indices, &mut out).is_ok(), sound);
        let entry = |index: u32| &dict[index as usize * width..][..width];
        assert!(!sound || out.chunks_exact(width).zip(&indices).all(|(v, &index)| v == entry(index)));
    }
}
