//! Makes Bloom filters: of key columns of files with no filter or a weak one, and of several columns together.

use std::collections::HashSet;

use arrow_array::{Array, ArrayRef};
use lath_kernels::bloom::{self, BLOCK_LEN};
use lath_parquet::{FilterHash, ParquetFile};

use crate::error::Result;

/// The false positive rate of a made filter, if the budget allows. Each false positive opens a file in vain, which takes as long as
/// probing thousands of filters. At 1 % (257 of 100,000 files opened, because sizes are powers of two) a lookup took 29 ms, 10 ms of it
/// to choose the files.
const FALSE_POSITIVE_RATE: f64 = 0.0001;

/// The maximum false positive rate of a file's own filters with which no filter is made.
const SELECTIVE_RATE: f64 = 0.001;

/// The minimum bits a key. With fewer, about half of all lookups are false positives, and the filter is not worth its space.
const MIN_BITS_PER_KEY: usize = 4;

/// The maximum number of columns of a key: each takes 16 bits of [`KeyHash::code`].
pub(crate) const MAX_KEY_COLUMNS: usize = 4;

/// The hash function of one or several columns. For one column it is the hash of Parquet's Bloom filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyHash {
    columns: Vec<FilterHash>,
}

impl KeyHash {
    /// The hash function of the columns at `paths`; `None` if the type of one of them has no Bloom filters.
    pub(crate) fn new<S: AsRef<str>>(file: &ParquetFile, paths: &[S]) -> Option<Self> {
        let columns = paths.iter().map(|path| file.filter_hash(path.as_ref())).collect::<Option<Vec<_>>>()?;
        let fits = columns.len() == 1 || columns.iter().all(|hash| hash.code() <= u64::from(u16::MAX));
        (fits && !columns.is_empty() && columns.len() <= MAX_KEY_COLUMNS).then_some(Self { columns })
    }

    /// The number of the hash function. Different numbers of columns can have the same one.
    pub(crate) fn code(&self) -> u64 {
        match self.columns.as_slice() {
            [only] => only.code(),
            several => several.iter().rev().fold(0, |code, hash| code << 16 | hash.code()),
        }
    }

    pub(crate) fn from_code(code: u64, columns: usize) -> Option<Self> {
        let part = |at: usize| if columns == 1 { code } else { code >> (16 * at) & 0xFFFF };
        let columns = (0..columns.min(MAX_KEY_COLUMNS)).map(|at| FilterHash::from_code(part(at)));
        Some(Self { columns: columns.collect::<Option<_>>()? })
    }

    /// The hash function of each column.
    pub(crate) fn columns(&self) -> &[FilterHash] {
        &self.columns
    }

    /// Adds the hashes of the rows without nulls; `None` if the arrays have a type that cannot be hashed.
    fn add(&self, arrays: &[ArrayRef], hashes: &mut HashSet<u64>) -> Option<()> {
        let columns = arrays.iter().zip(&self.columns).map(|(array, hash)| hash.hash_array(array));
        let columns = columns.collect::<Option<Vec<_>>>()?;
        let rows = columns.first().map_or(0, Vec::len);
        for row in 0..rows {
            if arrays.iter().all(|array| array.is_valid(row)) {
                hashes.insert(combine(columns.iter().map(|column| column[row])));
            }
        }
        Some(())
    }
}

/// Combines the hashes of the columns of a row; the result depends on their order. A single hash stays as it is.
pub(crate) fn combine(hashes: impl IntoIterator<Item = u64>) -> u64 {
    hashes.into_iter().reduce(mix).unwrap_or(0)
}

/// Mixes two hashes by the finalizer of SplitMix64.
fn mix(one: u64, other: u64) -> u64 {
    let hash = one.rotate_left(31).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ other;
    let hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}

/// A filter of all keys of a file, of at most `budget` bytes; `None` if they cannot be hashed, or are too many for the budget.
pub(crate) fn make<S: AsRef<str>>(
    file: &ParquetFile,
    paths: &[S],
    hash: &KeyHash,
    budget: usize,
) -> Result<Option<Vec<u8>>> {
    let mut hashes = HashSet::new();
    let max_keys = budget * 8 / MIN_BITS_PER_KEY;
    for batch in file.scan().select(paths.iter().map(AsRef::as_ref)).build()? {
        if hash.add(batch?.columns(), &mut hashes).is_none() || hashes.len() > max_keys {
            return Ok(None);
        }
    }
    let mut bitset = vec![0; filter_bytes(hashes.len(), budget)];
    let hashes: Vec<u64> = hashes.into_iter().collect();
    let made = bloom::insert_many(&mut bitset, &hashes);
    Ok(made.is_ok().then_some(bitset))
}

/// Whether the filters of a file, one for each row group, have few enough false positives together.
pub(crate) fn is_selective<'b>(bitsets: impl Iterator<Item = &'b [u8]>) -> bool {
    bitsets.map(false_positive_rate).sum::<f64>() <= SELECTIVE_RATE
}

/// The false positive rate of a filter: the probability that all words of a random block have the bits of a random key.
fn false_positive_rate(bitset: &[u8]) -> f64 {
    let (blocks, _) = bitset.as_chunks::<BLOCK_LEN>();
    let rate = |block: &[u8; BLOCK_LEN]| -> f64 {
        let words = block.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
        words.map(|word| f64::from(word.count_ones()) / 32.0).product()
    };
    blocks.iter().map(rate).sum::<f64>() / blocks.len().max(1) as f64
}

/// The bytes of a filter for `distinct` keys: a power of two, at most the budget.
fn filter_bytes(distinct: usize, budget: usize) -> usize {
    let bits = -8.0 * distinct as f64 / (1.0 - FALSE_POSITIVE_RATE.powf(1.0 / 8.0)).ln();
    let budget = if budget.is_power_of_two() { budget } else { budget.next_power_of_two() / 2 };
    ((bits / 8.0) as usize).next_power_of_two().min(budget).max(BLOCK_LEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_as_large_as_their_values_need_within_the_budget() {
        let sizes = [0, 1, 100, 1000, 100_000].map(|distinct| filter_bytes(distinct, 1 << 16));
        assert_eq!(sizes, [32, 32, 512, 4096, 1 << 16]);
        assert_eq!(filter_bytes(1000, 1500), 1024);
    }

    #[test]
    fn the_computed_rate_is_the_measured_one() {
        let hashes = |seed: u64| (0..2000u64).map(move |key| mix(seed, key)).collect::<Vec<_>>();
        for (bytes, selective) in [(1 << 11, false), (1 << 12, false), (1 << 14, true)] {
            let mut bitset = vec![0; bytes];
            bloom::insert_many(&mut bitset, &hashes(1)).unwrap();
            let passing = hashes(2).iter().filter(|hash| bloom::check(&bitset, **hash).unwrap()).count();
            let (rate, found) = (false_positive_rate(&bitset), passing as f64 / 2000.0);
            assert!((rate - found).abs() < 0.02 + rate / 5.0, "{bytes}: {rate} and {found}");
            assert_eq!(is_selective([&bitset[..]].into_iter()), selective, "{bytes}: {rate}");
        }
    }

    #[test]
    fn the_combined_hash_depends_on_the_order_of_columns() {
        assert_eq!(combine([7]), 7);
        assert_ne!(combine([7, 8]), combine([8, 7]));
        assert_ne!(combine([0, 0]), combine([0]).wrapping_add(1));
    }
}
