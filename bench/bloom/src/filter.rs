//! A filter that is as full as its false positive rate allows, and keys to probe.

use lath_kernels::bloom;
use lath_parquet::HugePages;

/// The bits per key of a filter with one per cent of false positives, by the formula of the specification: `-8 / ln(1 -
/// 0.01^(1/8))`.
const BITS_A_KEY: f64 = 9.681;

/// The number of hashes that are computed before they are inserted or counted.
const BATCH: u64 = 1 << 16;

/// The first of the absent keys. Keys in filters are numbered from 0.
const FIRST_ABSENT: u64 = 1 << 48;

pub struct FilledFilter {
    bitset: HugePages,
    key_count: u64,
    /// The number of parts of the filter, a power of two, that neighbouring keys fall into. Each part is small enough
    /// for a second-level cache, so that filling the filter takes an eighth of the time.
    part_count: u64,
}

impl FilledFilter {
    /// A filter of `len` bytes, a whole number of blocks.
    pub fn new(len: usize) -> Self {
        let mut filter = Self {
            bitset: HugePages::zeroed(len).expect("there is memory"),
            key_count: (len as f64 * 8.0 / BITS_A_KEY) as u64,
            part_count: (len as u64 >> 19).max(1).next_power_of_two(),
        };
        for start in (0..filter.key_count).step_by(BATCH as usize) {
            let end = filter.key_count.min(start + BATCH);
            let hashes: Vec<u64> = (start..end).map(|number| filter.hash_of_key(number)).collect();
            bloom::insert_many(&mut filter.bitset, &hashes).expect("blocks are whole");
        }
        filter
    }

    /// The hash of the key with this number in the filter.
    fn hash_of_key(&self, number: u64) -> u64 {
        let part = (u128::from(number) * u128::from(self.part_count) / u128::from(self.key_count)) as u64;
        let bits = self.part_count.trailing_zeros();
        if bits == 0 { mix(number) } else { (part << (64 - bits)) | (mix(number) >> bits) }
    }

    pub fn bitset(&self) -> &[u8] {
        &self.bitset
    }

    pub fn key_count(&self) -> u64 {
        self.key_count
    }

    /// Hashes of at most `count` keys in the filter, spread over all of it.
    pub fn present(&self, count: u64) -> Vec<u64> {
        let count = count.min(self.key_count);
        let number = |i: u64| (u128::from(i) * u128::from(self.key_count) / u128::from(count)) as u64;
        (0..count).map(|i| self.hash_of_key(number(i))).collect()
    }

    /// The share of `count` absent keys that pass. They are other keys than the ones that [`absent`] returns.
    pub fn false_positive_rate(&self, count: u64) -> f64 {
        let mut passed = 0;
        for start in (0..count).step_by(BATCH as usize) {
            let end = count.min(start + BATCH);
            let hashes: Vec<u64> = (start..end).map(|number| mix(2 * FIRST_ABSENT + number)).collect();
            passed += bloom::count_many(&self.bitset, &hashes).expect("blocks are whole");
        }
        passed as f64 / count as f64
    }

    /// The expected share: each key of a block sets one bit in each of eight words of 32.
    pub fn expected_false_positive_rate(&self) -> f64 {
        let mean = self.key_count as f64 / (self.bitset.len() / bloom::BLOCK_LEN) as f64;
        // The keys of a block are Poisson distributed.
        let mut share = (-mean).exp();
        let mut rate = 0.0;
        for keys in 0..(mean as i32 + 1) * 10 {
            rate += share * (1.0 - (31.0f64 / 32.0).powi(keys)).powi(8);
            share *= mean / f64::from(keys + 1);
        }
        rate
    }
}

/// Hashes of `count` keys that no filter has.
pub fn absent(count: usize) -> Vec<u64> {
    (FIRST_ABSENT..).take(count).map(mix).collect()
}

/// A uniform hash of a number, distinct for each number (SplitMix64).
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
