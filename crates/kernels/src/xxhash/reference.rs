//! The specification transliterated, step by step.

const PRIME64_1: u64 = 0b1001111000110111011110011011000110000101111010111100101010000111;
const PRIME64_2: u64 = 0b1100001010110010101011100011110100100111110101001110101101001111;
const PRIME64_3: u64 = 0b0001011001010110011001111011000110011110001101110111100111111001;
const PRIME64_4: u64 = 0b1000010111101011110010100111011111000010101100101010111001100011;
const PRIME64_5: u64 = 0b0010011111010100111010110010111100010110010101100110011111000101;

fn round(acc: u64, lane: u64) -> u64 {
    acc.wrapping_add(lane.wrapping_mul(PRIME64_2)).rotate_left(31).wrapping_mul(PRIME64_1)
}

fn merge(acc: u64, other: u64) -> u64 {
    (acc ^ round(0, other)).wrapping_mul(PRIME64_1).wrapping_add(PRIME64_4)
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

pub(super) fn xxh64(input: &[u8]) -> u64 {
    let mut rest = input;
    let mut acc = if input.len() < 32 {
        PRIME64_5
    } else {
        let mut accs = [PRIME64_1.wrapping_add(PRIME64_2), PRIME64_2, 0, 0_u64.wrapping_sub(PRIME64_1)];
        while rest.len() >= 32 {
            for acc in &mut accs {
                *acc = round(*acc, word(&rest[..8]));
                rest = &rest[8..];
            }
        }
        let mut acc = accs[0]
            .rotate_left(1)
            .wrapping_add(accs[1].rotate_left(7))
            .wrapping_add(accs[2].rotate_left(12))
            .wrapping_add(accs[3].rotate_left(18));
        for other in accs {
            acc = merge(acc, other);
        }
        acc
    };
    acc = acc.wrapping_add(input.len() as u64);
    while rest.len() >= 8 {
        acc = (acc ^ round(0, word(&rest[..8]))).rotate_left(27).wrapping_mul(PRIME64_1).wrapping_add(PRIME64_4);
        rest = &rest[8..];
    }
    if rest.len() >= 4 {
        acc = (acc ^ word(&rest[..4]).wrapping_mul(PRIME64_1)).rotate_left(23);
        acc = acc.wrapping_mul(PRIME64_2).wrapping_add(PRIME64_3);
        rest = &rest[4..];
    }
    for &byte in rest {
        acc = (acc ^ u64::from(byte).wrapping_mul(PRIME64_5)).rotate_left(11).wrapping_mul(PRIME64_1);
    }
    acc ^= acc >> 33;
    acc = acc.wrapping_mul(PRIME64_2);
    acc ^= acc >> 29;
    acc = acc.wrapping_mul(PRIME64_3);
    acc ^ acc >> 32
}
