//! `kind | width | values`: encoded values decode to the input, and take no more bytes than announced.

use crate::Input;
use lath_kernels::{KernelError, bitpack, delta, rle};

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let (kind, width) = (input.byte() % 5, u32::from(input.byte()));
    let src = input.rest();
    let words: Vec<u32> = src.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
    let longs: Vec<u64> = src.as_chunks().0.iter().map(|&bytes| u64::from_le_bytes(bytes)).collect();
    match kind {
        0 => {
            let width = width % 9;
            // Bytes reduced to small numbers repeat.
            let values: Vec<u8> = src.iter().map(|&value| (u32::from(value) & ((1 << width) - 1)) as u8).collect();
            let wide: Vec<u32> = values.iter().map(|&value| value.into()).collect();
            let narrow = run_lengths(width, values.len(), |out| rle::encode_u8(&values, width, out));
            let encoded = run_lengths(width, wide.len(), |out| rle::encode_u32(&wide, width, out));
            assert_eq!(narrow, encoded);
            assert_eq!(decoded_runs(&encoded, width, wide.len()), wide);
        }
        1 => {
            let (offset, count) = (width as usize % 64, src.len() * 8);
            let count = count.saturating_sub(offset);
            let offset = offset.min(src.len() * 8);
            let bits: Vec<u32> = (offset..offset + count).map(|bit| u32::from(src[bit / 8] >> (bit % 8) & 1)).collect();
            let encoded = run_lengths(1, count, |out| rle::encode_bits(&src, offset, count, out));
            assert_eq!(decoded_runs(&encoded, 1, count), bits);
        }
        2 => {
            let width = width % 33;
            let values: Vec<u32> = words.iter().map(|value| (u64::from(*value) & ((1 << width) - 1)) as u32).collect();
            let encoded = run_lengths(width, values.len(), |out| rle::encode_u32(&values, width, out));
            assert_eq!(decoded_runs(&encoded, width, values.len()), values);
        }
        3 => {
            let narrow: Vec<i32> = words.iter().map(|value| value.cast_signed()).collect();
            decodes_to(&narrow, delta::encode_i32);
            let wide: Vec<i64> = longs.iter().map(|value| value.cast_signed()).collect();
            decodes_to(&wide, delta::encode_i64);
            let small: Vec<i64> = src.iter().map(|&value| value.into()).collect();
            decodes_to(&small, delta::encode_i64);
        }
        _ => {
            let width = width % 65;
            let mut packed = vec![0; bitpack::packed_len(longs.len(), width)];
            assert_eq!(bitpack::pack_u64(&longs, width, &mut packed), Ok(packed.len()));
            let mut out = vec![0; longs.len()];
            bitpack::unpack_u64(&packed, width, &mut out).expect("as many as were packed");
            let kept = u64::MAX.checked_shr(64 - width).unwrap_or(0);
            assert!(out.iter().zip(&longs).all(|(&out, &value)| out == value & kept));
        }
    }
}

fn run_lengths(width: u32, count: usize, encode: impl Fn(&mut [u8]) -> Result<usize, KernelError>) -> Vec<u8> {
    let mut out = vec![0xa5; rle::max_encoded_len(count, width)];
    let len = encode(&mut out).expect("there is room");
    out.truncate(len);
    out
}

fn decoded_runs(encoded: &[u8], width: u32, count: usize) -> Vec<u32> {
    let mut out = vec![0; count];
    let mut decoder = rle::Decoder::new(width).expect("width is in range");
    assert_eq!(decoder.decode_u32(encoded, &mut out), Ok(count));
    out
}

fn decodes_to<T: delta::Integer>(values: &[T], encode: fn(&[T], &mut [u8]) -> Result<usize, KernelError>) {
    let mut encoded = vec![0xa5; delta::max_encoded_len::<T>(values.len())];
    let len = encode(values, &mut encoded).expect("there is room");
    let mut decoder = delta::Decoder::<T>::new(&encoded[..len]).expect("header is sound");
    let mut out = vec![T::default(); values.len()];
    assert_eq!(decoder.decode(&encoded[..len], &mut out), Ok(values.len()));
    assert!(out == values);
    assert_eq!(decoder.end(&encoded[..len]), Ok(len));
}
