//! `start | length | key | surrounding bytes`: every search in a node's arrays answers as defined, wherever its bytes
//! lie in the surrounding ones, and even if they lie after its end.

use crate::Input;
use lath_kernels::bytesearch::{
    find_byte_mask, find_byte_mask_padded, find_byte_mask_within, find_u32x16, lower_bound, lower_bound_padded,
    lower_bound_within, min_index_32, min_index_64, remap_branches, slot_ranks, upper_bound, upper_bound_padded,
    upper_bound_within,
};

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let (start, len, key) = (input.short(), input.short(), input.byte());
    let around = input.rest();
    let bytes: Vec<u8> = around.iter().copied().skip(start).take(len).collect();

    let mut sorted = bytes.clone();
    sorted.sort_unstable();
    for bytes in [&bytes, &sorted] {
        let below = bytes.iter().filter(|byte| **byte < key).count();
        let at_most = bytes.iter().filter(|byte| **byte <= key).count();
        assert_eq!([lower_bound(bytes, key), upper_bound(bytes, key)], [below, at_most]);
        assert_eq!(find_byte_mask(bytes, key), mask(bytes, key));
    }
    assert_eq!(lower_bound(&sorted, key), sorted.partition_point(|byte| *byte < key));
    assert_eq!(lower_bound_within(&around, start, len, key), lower_bound(&bytes, key));
    assert_eq!(upper_bound_within(&around, start, len, key), upper_bound(&bytes, key));
    assert_eq!(find_byte_mask_within(&around, start, len, key), mask(&bytes, key));

    let blocks = around.as_chunks::<64>().0;
    let first: Vec<u8> = blocks.as_flattened().iter().copied().take(len).collect();
    assert_eq!(lower_bound_padded(blocks, len, key), lower_bound(&first, key));
    assert_eq!(upper_bound_padded(blocks, len, key), upper_bound(&first, key));
    if let Some(block) = blocks.first() {
        assert_eq!(find_byte_mask_padded(block, len, key), mask(&first, key));
    }

    for numbers in around.as_chunks::<64>().0 {
        let numbers: [u32; 16] = std::array::from_fn(|i| u32::from_le_bytes(numbers.as_chunks().0[i]));
        for wanted in numbers.into_iter().chain([key.into(), 0]) {
            let expected = numbers.iter().position(|number| *number == wanted).unwrap_or(16);
            assert_eq!(find_u32x16(&numbers, wanted), expected);
        }
    }
    for ages in around.as_chunks::<128>().0 {
        let ages: [u16; 64] = std::array::from_fn(|i| u16::from_le_bytes(ages.as_chunks().0[i]));
        assert_eq!(min_index_64(&ages), least(&ages));
        for half in ages.as_chunks().0 {
            assert_eq!(min_index_32(half), least(half));
        }
    }
    let taken = start as u16;
    let ranks: [u8; 16] = std::array::from_fn(|i| (taken & ((1 << i) - 1)).count_ones() as u8);
    assert_eq!(slot_ranks(taken), ranks);

    if let Some(table) = around.first_chunk() {
        let mut out = vec![0; bytes.len()];
        remap_branches(&bytes, table, &mut out).unwrap();
        let remapped = |branch: &u8| table[usize::from(branch / 16)] % 16 * 16 + branch % 16;
        assert_eq!(out, bytes.iter().map(remapped).collect::<Vec<u8>>());
        out.push(0);
        assert!(remap_branches(&bytes, table, &mut out).is_err());
    }
}

fn mask(bytes: &[u8], needle: u8) -> u64 {
    bytes.iter().take(64).enumerate().fold(0, |mask, (i, &byte)| mask | u64::from(byte == needle) << i)
}

/// The first of the smallest.
fn least(ages: &[u16]) -> usize {
    let least = ages.iter().min().copied().unwrap_or(0);
    ages.iter().position(|&age| age == least).unwrap_or(0)
}
