//! The specification transliterated, and the two other forms in readers: a loop over the words that ends at the first
//! missing bit, and a mask of a whole block that is compared with it. One value at a time.

const SALT: [u32; 8] = [0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31];

/// `mask(x)`: a block with one bit set in each word.
fn mask(x: u32) -> [u32; 8] {
    let mut result = [0; 8];
    for i in 0..8 {
        let y = (u64::from(x) * u64::from(SALT[i]) % (1 << 32)) as u32;
        result[i] |= 1 << (y >> 27);
    }
    result
}

/// The filter of `block_count` blocks into which `filter_insert` has inserted the hashes.
pub(super) fn filter(block_count: usize, hashes: &[u64]) -> Vec<[u32; 8]> {
    let mut blocks = vec![[0; 8]; block_count];
    for &hash in hashes {
        let block = (u128::from(hash >> 32) * block_count as u128) >> 32;
        for (word, bit) in blocks[block as usize].iter_mut().zip(mask(hash as u32)) {
            *word |= bit;
        }
    }
    blocks
}

/// `filter_check`, with `block_check` as written in the specification: bit by bit.
pub(super) fn check(blocks: &[[u32; 8]], hash: u64) -> bool {
    let block = (u128::from(hash >> 32) * blocks.len() as u128) >> 32;
    let masked = mask(hash as u32);
    let mut all = true;
    for i in 0..8 {
        for j in 0..32 {
            let in_mask = masked[i] >> j & 1 == 1;
            let in_block = blocks[block as usize][i] >> j & 1 == 1;
            all &= !in_mask || in_block;
        }
    }
    all
}

/// Checks the words one after the other, until one lacks its bit.
pub(super) fn check_until_missing(blocks: &[[u32; 8]], hash: u64) -> bool {
    let block = &blocks[(((hash >> 32) * blocks.len() as u64) >> 32) as usize];
    for (word, salt) in block.iter().zip(SALT) {
        if word & 1 << ((hash as u32).wrapping_mul(salt) >> 27) == 0 {
            return false;
        }
    }
    true
}

/// Compares the mask of the whole block with the block.
pub(super) fn check_by_mask(blocks: &[[u32; 8]], hash: u64) -> bool {
    let mask = mask(hash as u32);
    let mut common = blocks[(((hash >> 32) * blocks.len() as u64) >> 32) as usize];
    common.iter_mut().zip(mask).for_each(|(word, bit)| *word &= bit);
    common == mask
}

/// The blocks in their form in a file.
pub(super) fn bitset(blocks: &[[u32; 8]]) -> Vec<u8> {
    blocks.iter().flatten().flat_map(|word| word.to_le_bytes()).collect()
}
