//! `length of the bitset | keys | bitset`: every way of checking a filter agrees with the specification, whatever its
//! bytes; all reject lengths that no filter has; inserted values are found.

use crate::Input;
use lath_kernels::bloom::{
    BLOCK_LEN, check, check_filters, check_many, count_filters, count_many, insert, insert_many,
};

const SALT: [u32; 8] = [0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31];

/// `filter_check` of the specification.
fn is_found(bitset: &[u8], hash: u64) -> bool {
    let block = ((hash >> 32) * (bitset.len() / 32) as u64) >> 32;
    (0..8).all(|i| {
        let word =
            bitset[block as usize * 32 + i * 4..][..4].iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
        word >> ((hash as u32).wrapping_mul(SALT[i]) >> 27) & 1 == 1
    })
}

fn bitmap(answers: &[bool]) -> Vec<u64> {
    let word = |answers: &[bool]| answers.iter().rev().fold(0, |word, &answer| word << 1 | u64::from(answer));
    answers.chunks(64).map(word).collect()
}

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let len = input.short() % 4200;
    let key_count = input.short() % 300;
    let mut rest = input.rest().into_iter();
    // Keys beyond the input are derived from their number.
    let keys: Vec<u64> = (0..key_count as u64)
        .map(|i| match rest.next_chunk_of_8() {
            Some(bytes) => u64::from_le_bytes(bytes),
            None => i.wrapping_mul(0x9E37_79B9_7F4A_7C15),
        })
        .collect();
    let mut bitset: Vec<u8> = rest.take(len).collect();
    bitset.resize(len, 0xFF);

    let mut out = vec![7; keys.len().div_ceil(64)];
    if len == 0 || !len.is_multiple_of(BLOCK_LEN) {
        assert!(check(&bitset, 1).is_err() && check_many(&bitset, &keys, &mut out).is_err());
        assert!(count_many(&bitset, &keys).is_err() && insert_many(&mut bitset, &keys).is_err());
        assert!(check_filters(&[&bitset], 1, &mut [0]).is_err() && count_filters(&[&bitset], 1).is_err());
        return;
    }
    let answers: Vec<bool> = keys.iter().map(|&key| is_found(&bitset, key)).collect();
    assert!(keys.iter().zip(&answers).all(|(&key, &answer)| check(&bitset, key) == Ok(answer)));
    check_many(&bitset, &keys, &mut out).unwrap();
    assert_eq!(out, bitmap(&answers));
    assert_eq!(count_many(&bitset, &keys), Ok(answers.iter().filter(|answer| **answer).count()));

    // Every tail of whole blocks is a filter too.
    let filters: Vec<&[u8]> = (0..len / BLOCK_LEN).map(|block| &bitset[block * BLOCK_LEN..]).collect();
    for &key in keys.iter().take(20) {
        let answers: Vec<bool> = filters.iter().map(|filter| is_found(filter, key)).collect();
        let mut out = vec![7; filters.len().div_ceil(64)];
        check_filters(&filters, key, &mut out).unwrap();
        assert_eq!(out, bitmap(&answers));
        assert_eq!(count_filters(&filters, key), Ok(answers.iter().filter(|answer| **answer).count()));
    }

    let mut one_by_one = bitset.clone();
    insert_many(&mut bitset, &keys).unwrap();
    keys.iter().for_each(|&key| insert(&mut one_by_one, key).unwrap());
    assert_eq!(bitset, one_by_one);
    assert_eq!(count_many(&bitset, &keys), Ok(keys.len()));
}

/// Takes eight bytes from the front, if there are that many.
trait NextChunk {
    fn next_chunk_of_8(&mut self) -> Option<[u8; 8]>;
}

impl NextChunk for std::vec::IntoIter<u8> {
    fn next_chunk_of_8(&mut self) -> Option<[u8; 8]> {
        let bytes = *self.as_slice().first_chunk()?;
        self.by_ref().take(8).for_each(drop);
        Some(bytes)
    }
}
