use lath_testkit::{GuardedBytes, Seeded};

use super::{BLOCK_LEN, check, fold, insert, insert_many, reference};
use crate::{KernelError, Tier};

const BLOCK_COUNTS: [usize; 9] = [1, 2, 3, 7, 8, 32, 100, 1000, 4096];

/// Hashes at the ends of their range among others.
fn hashes(random: &mut Seeded, count: usize) -> Vec<u64> {
    let ends = [0, u64::MAX, 0xFFFF_FFFF, 0xFFFF_FFFF_0000_0000, 1, 1 << 63, 0x7FFF_FFFF_FFFF_FFFF];
    (0..count).map(|i| if i % 5 == 3 { ends[i / 5 % ends.len()] } else { random.u64(..) }).collect()
}

#[test]
fn the_bits_are_those_of_the_specification() {
    let mut random = Seeded::new("the bits are those of the specification");
    Tier::for_each_available(|tier| {
        for block_count in BLOCK_COUNTS {
            for count in [0, 1, 2, 7, 100, 3000] {
                let hashes = hashes(&mut random, count);
                let expected = reference::bitset(&reference::filter(block_count, &hashes));
                let empty = vec![0; block_count * BLOCK_LEN];
                for mut bitset in [GuardedBytes::ending_at_guard(&empty), GuardedBytes::starting_at_guard(&empty)] {
                    insert_many(&mut bitset, &hashes).unwrap();
                    assert_eq!(*bitset, *expected, "{tier} {block_count} blocks, {count} hashes");
                }
                let mut bitset = empty;
                for &hash in &hashes {
                    insert(&mut bitset, hash).unwrap();
                }
                assert_eq!(bitset, expected, "{tier} {block_count} blocks, {count} hashes one by one");
            }
        }
    });
}

#[test]
fn what_is_in_the_filter_is_found_and_most_of_the_rest_is_not() {
    let mut random = Seeded::new("what is in the filter is found");
    for block_count in BLOCK_COUNTS {
        let inside = hashes(&mut random, 16 * block_count);
        let blocks = reference::filter(block_count, &inside);
        let bitset = reference::bitset(&blocks);
        assert!(inside.iter().all(|&hash| check(&bitset, hash) == Ok(true)));
        let others = hashes(&mut random, 10_000);
        assert!(others.iter().all(|&hash| check(&bitset, hash) == Ok(reference::check(&blocks, hash))));
        // 16 hashes a block are 16 bits a hash: one in some hundreds is found by chance.
        let found = others.iter().filter(|hash| check(&bitset, **hash) == Ok(true)).count();
        assert!(block_count < 100 || found < 2000 + 200, "{found} of 10,000, of which 2,000 are not random");
    }
}

#[test]
fn half_a_filter_is_the_filter_of_half_the_blocks() {
    let mut random = Seeded::new("half a filter is the filter of half the blocks");
    for block_count in BLOCK_COUNTS.into_iter().filter(|count| count % 2 == 0) {
        let hashes = hashes(&mut random, 500);
        let mut bitset = reference::bitset(&reference::filter(block_count, &hashes));
        let half = fold(&mut bitset).unwrap();
        assert_eq!(bitset[..half], reference::bitset(&reference::filter(block_count / 2, &hashes)));
    }
}

#[test]
fn what_is_no_whole_number_of_blocks_is_refused() {
    for len in [0, 1, 31, 33, 63, 100] {
        let mut bitset = vec![0; len];
        let expected = KernelError::LengthMismatch { expected: len.max(1).next_multiple_of(32), actual: len };
        assert_eq!(insert_many(&mut bitset, &[1, 2]), Err(expected));
        assert_eq!(insert(&mut bitset, 1), Err(expected));
        assert_eq!(check(&bitset, 1), Err(expected));
        assert_eq!(fold(&mut bitset), Err(expected));
    }
    assert!(fold(&mut [0; 96]).is_err());
}
