use lath_testkit::{GuardedBytes, GuardedSlice, Seeded, lengths};

#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::{
    BLOCK_LEN, block_index, check, check_filters, check_many, count_filters, count_many, insert, insert_many, reference,
};
use crate::{KernelError, Tier};

const BLOCK_COUNTS: [usize; 9] = [1, 2, 3, 7, 8, 32, 100, 1000, 4096];

/// More blocks than fit the second-level cache of any processor.
const MANY_BLOCKS: usize = 1 << 17;

/// Hashes, including the ends of their range.
fn hashes(random: &mut Seeded, count: usize) -> Vec<u64> {
    let ends = [0, u64::MAX, 0xFFFF_FFFF, 0xFFFF_FFFF_0000_0000, 1, 1 << 63, 0x7FFF_FFFF_FFFF_FFFF];
    (0..count).map(|i| if i % 5 == 3 { ends[i / 5 % ends.len()] } else { random.u64(..) }).collect()
}

/// A filter of `block_count` blocks, with seven of eight bits set at random.
fn filled(random: &mut Seeded, block_count: usize) -> Vec<[u32; 8]> {
    let word = |random: &mut Seeded| random.u32(..) | random.u32(..) | random.u32(..);
    (0..block_count).map(|_| std::array::from_fn(|_| word(random))).collect()
}

/// A bitmap of answers in the functions' form.
fn bitmap(answers: impl IntoIterator<Item = bool>) -> Vec<u64> {
    let answers: Vec<bool> = answers.into_iter().collect();
    let word = |answers: &[bool]| answers.iter().rev().fold(0, |word, &answer| word << 1 | u64::from(answer));
    answers.chunks(64).map(word).collect()
}

/// The answer of all forms of the reference.
fn expected(blocks: &[[u32; 8]], hash: u64) -> bool {
    let answer = reference::check(blocks, hash);
    assert_eq!(reference::check_until_missing(blocks, hash), answer);
    assert_eq!(reference::check_by_mask(blocks, hash), answer);
    answer
}

/// Garbage in place of a bitmap of answers.
fn garbage(random: &mut Seeded, answers: usize) -> GuardedSlice<u64> {
    let words: Vec<u64> = (0..answers.div_ceil(64)).map(|_| random.u64(..)).collect();
    GuardedSlice::ending_at_guard(&words)
}

#[test]
fn bits_match_the_specification() {
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
fn many_keys_in_one_filter_match_the_specification() {
    let mut random = Seeded::new("many keys are found in a filter where the specification finds them");
    for block_count in BLOCK_COUNTS.into_iter().chain([MANY_BLOCKS]) {
        let mut blocks = filled(&mut random, block_count);
        let inside = hashes(&mut random, 50);
        for (to, from) in blocks.iter_mut().zip(reference::filter(block_count, &inside)) {
            to.iter_mut().zip(from).for_each(|(to, from)| *to |= from);
        }
        let bitset = reference::bitset(&blocks);
        let bitsets = [GuardedBytes::ending_at_guard(&bitset), GuardedBytes::starting_at_guard(&bitset)];
        for count in lengths().filter(|&count| count <= 1100) {
            let mut keys = hashes(&mut random, count);
            keys.iter_mut().step_by(3).for_each(|key| *key = inside[random.usize(..inside.len())]);
            let answers = bitmap(keys.iter().map(|&key| expected(&blocks, key)));
            let keys = GuardedSlice::ending_at_guard(&keys);
            Tier::for_each_available(|tier| {
                for bitset in &bitsets {
                    let mut out = garbage(&mut random, count);
                    check_many(bitset, &keys, &mut out).unwrap();
                    assert_eq!(*out, *answers, "{tier} {block_count} blocks, {count} keys");
                    let ones: u32 = answers.iter().map(|word| word.count_ones()).sum();
                    assert_eq!(
                        count_many(bitset, &keys),
                        Ok(ones as usize),
                        "{tier} {block_count} blocks, {count} keys"
                    );
                    if count <= 200 {
                        let single = bitmap(keys.iter().map(|&key| check(bitset, key).unwrap()));
                        assert_eq!(single, answers, "{tier} {block_count} blocks, {count} keys one by one");
                    }
                }
            });
        }
    }
}

#[test]
fn one_key_in_many_filters_matches_the_specification() {
    let mut random = Seeded::new("one key is found in many filters where the specification finds it");
    for count in lengths().filter(|&count| count <= 600) {
        let key = hashes(&mut random, 4)[3 * random.usize(..2)];
        let filters: Vec<Vec<[u32; 8]>> = (0..count)
            .map(|_| {
                let block_count = BLOCK_COUNTS[random.usize(..BLOCK_COUNTS.len() - 2)];
                let mut filter = filled(&mut random, block_count);
                if random.bool() {
                    let block = block_index(key, block_count);
                    filter[block] = reference::filter(1, &[key])[0];
                }
                filter
            })
            .collect();
        let answers = bitmap(filters.iter().map(|filter| expected(filter, key)));
        let bitsets: Vec<GuardedBytes> = filters
            .iter()
            .map(|filter| match random.bool() {
                true => GuardedBytes::ending_at_guard(&reference::bitset(filter)),
                false => GuardedBytes::starting_at_guard(&reference::bitset(filter)),
            })
            .collect();
        let slices: Vec<&[u8]> = bitsets.iter().map(|bitset| &**bitset).collect();
        Tier::for_each_available(|tier| {
            let mut out = garbage(&mut random, count);
            check_filters(&slices, key, &mut out).unwrap();
            assert_eq!(*out, *answers, "{tier} {count} filters");
            let ones: u32 = answers.iter().map(|word| word.count_ones()).sum();
            assert_eq!(count_filters(&slices, key), Ok(ones as usize), "{tier} {count} filters");
        });
    }
}

/// Checks `64 · batches · keys` pairs of a key and a filter, with every function at every tier, and returns their
/// number.
fn check_pairs(random: &mut Seeded, batches: usize, keys: usize) -> usize {
    for batch in 0..batches {
        let filters: Vec<Vec<[u32; 8]>> = (0..64)
            .map(|_| {
                let most = [1, 10, 300, 4096][random.usize(..4)];
                let block_count = random.usize(1..=most);
                let inside: Vec<u64> = (0..block_count * random.usize(..40)).map(|_| random.u64(..)).collect();
                reference::filter(block_count, &inside)
            })
            .collect();
        let keys = hashes(random, keys);
        let expected: Vec<Vec<u64>> =
            filters.iter().map(|filter| bitmap(keys.iter().map(|&key| expected(filter, key)))).collect();
        let bitsets: Vec<Vec<u8>> = filters.iter().map(|filter| reference::bitset(filter)).collect();
        let slices: Vec<&[u8]> = bitsets.iter().map(Vec::as_slice).collect();
        Tier::for_each_available(|tier| {
            let mut out = vec![0; keys.len().div_ceil(64)];
            for (bitset, expected) in slices.iter().zip(&expected) {
                check_many(bitset, &keys, &mut out).unwrap();
                assert_eq!(out, *expected, "{tier} batch {batch}");
                let ones: u32 = expected.iter().map(|word| word.count_ones()).sum();
                assert_eq!(count_many(bitset, &keys), Ok(ones as usize), "{tier} batch {batch}");
                let single = bitmap(keys.iter().map(|&key| check(bitset, key) == Ok(true)));
                assert_eq!(single, *expected, "{tier} batch {batch}");
            }
            for (i, &key) in keys.iter().enumerate() {
                let column = expected.iter().rev().fold(0, |word, row| word << 1 | row[i / 64] >> (i % 64) & 1);
                let mut out = [0];
                check_filters(&slices, key, &mut out).unwrap();
                assert_eq!(out, [column], "{tier} batch {batch}");
                assert_eq!(count_filters(&slices, key), Ok(column.count_ones() as usize), "{tier} batch {batch}");
            }
        });
    }
    64 * batches * keys
}

#[test]
fn pairs_of_keys_and_filters_match_the_specification() {
    let mut random = Seeded::new("pairs of keys and filters are answered as by the specification");
    check_pairs(&mut random, 2, 200);
}

/// `just bloom-pairs`
#[test]
#[ignore = "minutes, even where it is optimised"]
fn millions_of_pairs_match_the_specification() {
    let mut random = Seeded::new("many millions of pairs are answered as by the specification");
    let started = std::time::Instant::now();
    let pairs = check_pairs(&mut random, 640, 4096);
    assert!(pairs > 167_000_000);
    let tiers: Vec<String> = Tier::under_test().iter().map(Tier::to_string).collect();
    println!("{pairs} pairs without a mismatch at {} in {:.0?}", tiers.join(", "), started.elapsed());
}

#[test]
fn every_missing_bit_is_detected() {
    let mut random = Seeded::new("every bit that is missing is noticed");
    Tier::for_each_available(|tier| {
        for _ in 0..20 {
            let hash = random.u64(..);
            let needed = reference::filter(1, &[hash])[0];
            let mut filters = vec![needed];
            for word in 0..8 {
                for bit in 0..32 {
                    let mut filter = [u32::MAX; 8];
                    filter[word] ^= 1 << bit;
                    filters.push(filter);
                }
                let mut filter = needed;
                filter[word] = 0;
                filters.push(filter);
            }
            for filter in filters {
                let answer = (0..8).all(|word| filter[word] & needed[word] == needed[word]);
                let bitset = reference::bitset(&[filter]);
                assert_eq!(check(&bitset, hash), Ok(answer), "{tier} {hash:x} {filter:x?}");
                assert_eq!(
                    count_many(&bitset, &[hash; 70]),
                    Ok(70 * usize::from(answer)),
                    "{tier} {hash:x} {filter:x?}"
                );
                assert_eq!(
                    count_filters(&[bitset.as_slice(); 70], hash),
                    Ok(70 * usize::from(answer)),
                    "{tier} {hash:x} {filter:x?}"
                );
            }
        }
    });
}

#[test]
fn inserted_keys_are_found_and_most_others_are_not() {
    let mut random = Seeded::new("what is in the filter is found");
    for block_count in BLOCK_COUNTS {
        let inside = hashes(&mut random, 16 * block_count);
        let bitset = reference::bitset(&reference::filter(block_count, &inside));
        assert_eq!(count_many(&bitset, &inside), Ok(inside.len()));
        // 16 hashes a block are 16 bits a hash: one in some hundreds is found by chance.
        let others: Vec<u64> = (0..10_000).map(|_| random.u64(..)).collect();
        let found = count_many(&bitset, &others).unwrap();
        assert!(block_count < 100 || found < 200, "{found} of 10,000");
    }
}

#[test]
fn block_index_is_below_any_block_count() {
    for count in [1, 2, 3, 1000, 1 << 32, (1 << 32) + 1, usize::MAX] {
        assert_eq!(block_index(0, count), 0);
        assert_eq!(block_index(u64::from(u32::MAX), count), 0);
        assert_eq!(block_index(1 << 63, count), count / 2);
        assert!(block_index(u64::MAX, count) < count);
    }
    assert_eq!(block_index(u64::MAX, 0), 0);
    assert_eq!(block_index(u64::MAX, 1000), 999);
}

#[test]
fn partial_blocks_are_refused() {
    for len in [0, 1, 31, 33, 63, 100] {
        let mut bitset = vec![0; len];
        let expected = KernelError::LengthMismatch { expected: len.max(1).next_multiple_of(32), actual: len };
        assert_eq!(insert_many(&mut bitset, &[1, 2]), Err(expected));
        assert_eq!(insert(&mut bitset, 1), Err(expected));
        assert_eq!(check(&bitset, 1), Err(expected));
        assert_eq!(check_many(&bitset, &[1, 2], &mut [0]), Err(expected));
        assert_eq!(count_many(&bitset, &[]), Err(expected));
        for place in [0, 1, 63, 64, 99] {
            let mut filters: Vec<&[u8]> = vec![&[0; 64]; 100];
            filters[place] = &bitset;
            assert_eq!(check_filters(&filters, 1, &mut [0; 2]), Err(expected));
            assert_eq!(count_filters(&filters, 1), Err(expected));
        }
    }
}

#[test]
fn a_bitmap_that_is_too_short_or_too_long_is_refused() {
    for (answers, words) in [(0, 1), (1, 0), (1, 2), (64, 2), (65, 1), (200, 3)] {
        let expected = Err(KernelError::LengthMismatch { expected: usize::div_ceil(answers, 64), actual: words });
        let mut out = vec![0; words];
        assert_eq!(check_many(&[0; 32], &vec![0; answers], &mut out), expected);
        assert_eq!(check_filters(&vec![[0; 32].as_slice(); answers], 1, &mut out), expected);
    }
}

/// The check does not change the registers of surrounding code that uses all vector registers.
#[cfg(target_arch = "x86_64")]
#[test]
fn check_preserves_callers_registers() {
    use std::arch::x86_64::{_mm512_add_epi32, _mm512_mullo_epi32, _mm512_reduce_add_epi32, _mm512_set1_epi32};

    /// The values in the registers of the check after it, which must be 7 and 9 in each of 16 lanes.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
    fn held(block: &[u8; BLOCK_LEN], hash: u64) -> [i32; 2] {
        let (mut first, mut second) = (_mm512_set1_epi32(7), _mm512_set1_epi32(9));
        // SAFETY: nothing is executed; this only assigns the registers.
        unsafe { std::arch::asm!("", inout("zmm16") first, inout("zmm17") second) };
        // SAFETY: this function has the features.
        std::hint::black_box(unsafe { avx512::check(block, hash) });
        // SAFETY: as above, nothing is executed.
        unsafe { std::arch::asm!("", inout("zmm16") first, inout("zmm17") second) };
        [_mm512_reduce_add_epi32(first), _mm512_reduce_add_epi32(second)]
    }

    /// The number of hashes in the block, and a sum over 28 registers.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
    fn count<const HERE: bool>(block: &[u8; BLOCK_LEN], hashes: &[u64]) -> (usize, i32) {
        let mut sums: [_; 28] = std::array::from_fn(|i| _mm512_set1_epi32(i as i32));
        let mut count = 0;
        for &hash in hashes {
            // SAFETY: this function has the features.
            let is_found = if HERE { unsafe { avx512::check(block, hash) } } else { check(block, hash) == Ok(true) };
            count += usize::from(is_found);
            let factor = _mm512_set1_epi32(hash as i32 | 1);
            for sum in &mut sums {
                *sum = _mm512_add_epi32(_mm512_mullo_epi32(*sum, factor), factor);
            }
        }
        let sum =
            sums.into_iter().fold(_mm512_set1_epi32(0), |all, sum| _mm512_mullo_epi32(_mm512_add_epi32(all, sum), sum));
        (count, _mm512_reduce_add_epi32(sum))
    }

    if !Tier::available().contains(&Tier::Avx512) {
        return;
    }
    let mut random = Seeded::new("a check leaves the registers of the code around it alone");
    let hashes = hashes(&mut random, 5000);
    let mut block = [0; BLOCK_LEN];
    insert_many(&mut block, &hashes[..10]).unwrap();
    // SAFETY: the tier with these features is available.
    let here = unsafe { count::<true>(&block, &hashes) };
    // SAFETY: as above.
    let called = unsafe { count::<false>(&block, &hashes) };
    // SAFETY: as above.
    assert_eq!(unsafe { held(&block, hashes[0]) }, [16 * 7, 16 * 9]);
    assert_eq!(here, called);
    assert_eq!(here.0, count_many(&block, &hashes).unwrap());
}
