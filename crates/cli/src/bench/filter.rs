//! A filter that is as full as its false positives allow, and keys to probe it for.

use std::io;

use lath_kernels::{KernelError, bloom};
use lath_parquet::HugePages;

use crate::progress::Progress;

/// Bits a key that a filter needs for one per cent of false positives, by the formula of the specification:
/// `-8 / ln(1 - 0.01^(1/8))`.
const BITS_A_KEY: f64 = 9.681;

/// Hashes that are made before they are inserted or counted.
const BATCH: usize = 1 << 16;

/// Keys that no filter has: those that it has are numbered from 0 on.
const FIRST_ABSENT: u64 = 1 << 48;

#[derive(Debug)]
pub(crate) struct FilledFilter {
    bitset: HugePages,
    keys: u64,
    /// Hashes of neighbouring numbers fall into one of so many stretches of the filter, a power of two.
    stretches: u64,
}

impl FilledFilter {
    /// A filter of `len` bytes, rounded up to whole blocks.
    pub(crate) fn fill(len: usize, small_pages: bool, hidden: bool) -> io::Result<Self> {
        let len = len.next_multiple_of(bloom::BLOCK_LEN);
        let bitset = if small_pages { HugePages::zeroed_on_small_pages(len) } else { HugePages::zeroed(len) };
        let keys = (len as f64 * 8.0 / BITS_A_KEY) as u64;
        // Stretches that a second-level cache holds, filled one after the other, take an eighth of the time.
        let stretches = (len as u64 >> 19).max(1).next_power_of_two();
        let mut filter = Self { bitset: bitset?, keys: keys.max(1), stretches };
        filter.insert_all(hidden).map_err(io::Error::other)?;
        Ok(filter)
    }

    fn insert_all(&mut self, hidden: bool) -> Result<(), KernelError> {
        let mut progress = Progress::new("keys", self.keys, hidden);
        let mut hashes = Vec::with_capacity(BATCH);
        let mut next = 0;
        while next < self.keys {
            let end = self.keys.min(next + BATCH as u64);
            hashes.clear();
            hashes.extend((next..end).map(|number| self.hash_of_key(number)));
            bloom::insert_many(&mut self.bitset, &hashes)?;
            progress.advance(end - next);
            next = end;
        }
        Ok(())
    }

    /// The hash of a key that is in the filter, by its number.
    fn hash_of_key(&self, number: u64) -> u64 {
        let stretch = (u128::from(number) * u128::from(self.stretches) / u128::from(self.keys)) as u64;
        let bits = self.stretches.trailing_zeros();
        if bits == 0 { mix(number) } else { (stretch << (64 - bits)) | (mix(number) >> bits) }
    }

    pub(crate) fn bitset(&self) -> &[u8] {
        &self.bitset
    }

    pub(crate) fn keys(&self) -> u64 {
        self.keys
    }

    /// Hashes of `count` keys that the filter has, from all over it.
    pub(crate) fn present(&self, count: u64) -> Vec<u64> {
        (0..count)
            .map(|i| self.hash_of_key((u128::from(i) * u128::from(self.keys) / u128::from(count)) as u64))
            .collect()
    }

    /// Share of `count` absent keys that pass by chance. They are not those that [`absent`] gives for so few.
    pub(crate) fn false_positive_rate(&self, count: u64) -> Result<f64, KernelError> {
        let (mut passed, mut hashes) = (0, Vec::with_capacity(BATCH));
        let mut next = 0;
        while next < count {
            let end = count.min(next + BATCH as u64);
            hashes.clear();
            hashes.extend((next..end).map(|number| mix(2 * FIRST_ABSENT + number)));
            passed += bloom::count_many(&self.bitset, &hashes)? as u64;
            next = end;
        }
        Ok(passed as f64 / count as f64)
    }

    /// The share that is to be expected: of the keys of a block, each sets one bit in each of eight words of 32.
    pub(crate) fn expected_false_positive_rate(&self) -> f64 {
        let mean = self.keys as f64 / (self.bitset.len() / bloom::BLOCK_LEN) as f64;
        // Keys fall into blocks as Poisson has it.
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
pub(crate) fn absent(count: usize) -> Vec<u64> {
    (FIRST_ABSENT..).take(count).map(mix).collect()
}

/// A number as even as a hash; each has one of its own (SplitMix64).
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_has_its_keys_and_few_others() {
        for len in [32, 5000, 3 << 20] {
            let filter = FilledFilter::fill(len, true, true).unwrap();
            let present = filter.present(1000);
            assert_eq!(bloom::count_many(filter.bitset(), &present), Ok(1000), "{len}");
            let (rate, expected) =
                (filter.false_positive_rate(1 << 20).unwrap(), filter.expected_false_positive_rate());
            assert!(expected > 0.012 && expected < 0.016, "{len}: {expected}");
            // One block has as many keys as it has; many are as full as the mean.
            assert!(len == 32 || (rate / expected - 1.0).abs() < 0.2, "{len}: {rate}, {expected} expected");
        }
    }
}
