//! A set of rows of a window: a bitmap with the number of set bits.

use std::ops::Range;

use arrow_array::{Array, BooleanArray};
use arrow_buffer::bit_iterator::BitSliceIterator;
use arrow_buffer::{BooleanBuffer, Buffer};
use lath_kernels::{levels, select};

use crate::error::Result;
use crate::scan::thresholds::GAP_WORDS;

/// A set of the rows of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::scan) struct Mask {
    /// LSB first; bits from `len` on are zero.
    words: Vec<u64>,
    len: usize,
    count: usize,
}

impl Mask {
    /// All of `len` rows.
    pub(in crate::scan) fn all(len: usize) -> Self {
        let mut words = vec![u64::MAX; len.div_ceil(64)];
        clear_tail(&mut words, len);
        Self { words, len, count: len }
    }

    /// The rows in `ranges`, which are sorted and disjoint, of `len`.
    pub(in crate::scan) fn from_ranges(ranges: &[Range<usize>], len: usize) -> Result<Self> {
        let mut words = vec![0; len.div_ceil(64)];
        let mut count = 0;
        for range in ranges {
            select::fill_bits(bytemuck::cast_slice_mut(&mut words), range.start, range.len(), true)?;
            count += range.len();
        }
        Ok(Self { words, len, count })
    }

    /// The rows whose bits are set in `words`, of `len`.
    pub(in crate::scan) fn from_words(mut words: Vec<u64>, len: usize) -> Self {
        words.resize(len.div_ceil(64), 0);
        clear_tail(&mut words, len);
        let count = levels::count(&words);
        Self { words, len, count }
    }

    /// The rows for which `truth` is true.
    pub(in crate::scan) fn from_truth(truth: &BooleanArray) -> Self {
        let mut words: Vec<u64> = truth.values().bit_chunks().iter_padded().collect();
        if let Some(nulls) = truth.nulls() {
            let valid = nulls.inner().bit_chunks();
            words.iter_mut().zip(valid.iter_padded()).for_each(|(word, valid)| *word &= valid);
        }
        Self::from_words(words, truth.len())
    }

    /// Rows of the window.
    pub(in crate::scan) fn len(&self) -> usize {
        self.len
    }

    /// Number of rows in the set.
    pub(in crate::scan) fn count(&self) -> usize {
        self.count
    }

    pub(in crate::scan) fn is_all(&self) -> bool {
        self.count == self.len
    }

    /// Whether fewer than one row in `sparse` of `decoded` is in this set.
    pub(in crate::scan) fn is_sparse_in(&self, decoded: &Self, sparse: usize) -> bool {
        self.count.saturating_mul(sparse) < decoded.count
    }

    pub(in crate::scan) fn words(&self) -> &[u64] {
        &self.words
    }

    pub(in crate::scan) fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.words)
    }

    /// The mask as an Arrow array.
    pub(in crate::scan) fn to_array(&self) -> BooleanArray {
        let words = Buffer::from_vec(self.words.clone());
        BooleanArray::new(BooleanBuffer::new(words, 0, self.len), None)
    }

    /// Keeps the rows that are also in `other`, a mask of the same window.
    pub(in crate::scan) fn and(&mut self, other: &Self) -> Result<()> {
        levels::and(&mut self.words, &other.words)?;
        self.count = levels::count(&self.words);
        Ok(())
    }

    /// Keeps the first `max_rows` rows.
    pub(in crate::scan) fn truncate(&mut self, max_rows: usize) {
        if self.count > max_rows
            && let Some(end) = levels::nth_set(&self.words, max_rows)
        {
            self.words[end / 64..].iter_mut().skip(1).for_each(|word| *word = 0);
            self.words[end / 64] &= (1 << (end % 64)) - 1;
            self.count = max_rows;
        }
    }

    /// The mask restricted to the rows of `domain`: bit `i` stands for the `i`-th row of `domain`.
    pub(in crate::scan) fn within(&self, domain: &Self) -> Result<Self> {
        if domain.is_all() {
            return Ok(self.clone());
        }
        let mut words = vec![0; domain.count.div_ceil(64)];
        levels::extract(&self.words, &domain.words, bytemuck::cast_slice_mut(&mut words), 0)?;
        Ok(Self::from_words(words, domain.count))
    }

    /// The inverse of [`Mask::within`]: expands a mask of the rows of `domain` to the whole window.
    pub(in crate::scan) fn spread(self, domain: &Self) -> Result<Self> {
        if domain.is_all() {
            return Ok(self);
        }
        let mut words = vec![0u64; domain.words.len()];
        let out = bytemuck::cast_slice_mut(&mut words);
        select::expand_bits(self.bytes(), 0, self.len, domain.bytes(), 0, domain.len, out, 0)?;
        Ok(Self { words, len: domain.len, count: self.count })
    }

    /// The rows as ranges.
    pub(in crate::scan) fn ranges(&self) -> Vec<Range<usize>> {
        BitSliceIterator::new(self.bytes(), 0, self.len).map(|(start, end)| start..end).collect()
    }

    /// The rows as ranges, which are merged if fewer than [`GAP_WORDS`] empty words (64 rows each) lie between them.
    pub(in crate::scan) fn joined_ranges(&self) -> Vec<Range<usize>> {
        // With random rows, branches on empty words are unpredictable: compute one bit for each word, then handle 64 words at
        // once.
        let of_64 = |words: &[u64]| words.iter().rev().fold(0, |bits, &word| bits << 1 | u64::from(word != 0));
        let with_rows: Vec<u64> = self.words.chunks(64).map(of_64).collect();
        let gaps: Vec<u64> =
            with_rows.iter().enumerate().map(|(index, &bits)| gap_starts(bits, with_rows.get(index + 1))).collect();
        let mut ranges = Vec::new();
        let mut next = 0;
        while let Some(first) = first_one(&with_rows, next) {
            let gap = first_one(&gaps, first).unwrap_or(self.words.len());
            let start = 64 * first + self.words[first].trailing_zeros() as usize;
            ranges.push(start..64 * gap - self.words[gap - 1].leading_zeros() as usize);
            next = gap;
        }
        ranges
    }
}

/// Bits of the words where [`GAP_WORDS`] empty words begin. `with_rows` has a bit for each of 64 words that is not empty,
/// `behind` for the next 64 words; without next words they count as empty.
fn gap_starts(with_rows: u64, behind: Option<&u64>) -> u64 {
    const { assert!(GAP_WORDS == 8, "gaps are found by doubling") };
    let mut without = !(u128::from(*behind.unwrap_or(&0)) << 64 | u128::from(with_rows));
    for len in [1, 2, 4] {
        without &= without >> len;
    }
    without as u64
}

/// The first bit from `from` on that is set.
fn first_one(bits: &[u64], from: usize) -> Option<usize> {
    let mut mask = u64::MAX << (from % 64);
    bits.iter().enumerate().skip(from / 64).find_map(|(index, &word)| {
        let rest = word & std::mem::replace(&mut mask, u64::MAX);
        (rest != 0).then(|| 64 * index + rest.trailing_zeros() as usize)
    })
}

fn clear_tail(words: &mut [u64], len: usize) {
    if !len.is_multiple_of(64)
        && let Some(last) = words.last_mut()
    {
        *last &= (1 << (len % 64)) - 1;
    }
}

#[cfg(test)]
mod tests {
    use lath_testkit::Seeded;

    use super::*;

    fn random(random: &mut Seeded, len: usize, of_eight: u8) -> (Vec<bool>, Mask) {
        let bits: Vec<bool> = (0..len).map(|_| random.u8(..8) < of_eight).collect();
        let mask = Mask::from_truth(&BooleanArray::from(bits.clone()));
        (bits, mask)
    }

    fn bits(mask: &Mask) -> Vec<bool> {
        (0..mask.len()).map(|i| mask.words()[i / 64] >> (i % 64) & 1 == 1).collect()
    }

    #[test]
    fn masks_do_what_vectors_of_booleans_do() {
        let mut seeded = Seeded::new("masks do what vectors of booleans do");
        for len in [0, 1, 63, 64, 65, 100, 1000, 5000] {
            for of_eight in [0, 1, 4, 8] {
                let (domain_bits, domain) = random(&mut seeded, len, of_eight);
                let (other_bits, other) = random(&mut seeded, len, 4);
                assert_eq!(bits(&domain), domain_bits);
                assert_eq!(domain.count(), domain_bits.iter().filter(|&&bit| bit).count());

                let mut both = other.clone();
                both.and(&domain).unwrap();
                let expected: Vec<bool> = domain_bits.iter().zip(&other_bits).map(|(a, b)| *a && *b).collect();
                assert_eq!(bits(&both), expected);

                let within = other.within(&domain).unwrap();
                let of_domain: Vec<bool> =
                    domain_bits.iter().zip(&other_bits).filter(|(domain, _)| **domain).map(|(_, bit)| *bit).collect();
                assert_eq!(bits(&within), of_domain);
                assert_eq!(within.spread(&domain).unwrap(), both);

                for most in [0, 1, 10, len] {
                    let mut first = domain.clone();
                    first.truncate(most);
                    let mut left = most;
                    let expected: Vec<bool> = domain_bits
                        .iter()
                        .map(|&bit| {
                            let kept = bit && left > 0;
                            left -= usize::from(kept);
                            kept
                        })
                        .collect();
                    assert_eq!(bits(&first), expected);
                    assert_eq!(first.count(), domain.count().min(most));
                }

                assert_eq!(Mask::from_ranges(&domain.ranges(), len).unwrap(), domain);
                let joined = domain.joined_ranges();
                assert!(joined.windows(2).all(|pair| pair[1].start - pair[0].end >= 64 * GAP_WORDS));
                assert!(joined.iter().all(|range| domain_bits[range.start] && domain_bits[range.end - 1]));
                let mut all = Mask::from_ranges(&joined, len).unwrap();
                all.and(&domain).unwrap();
                assert_eq!(all, domain);
            }
        }
    }

    #[test]
    fn ranges_are_joined_unless_eight_whole_words_lie_between() {
        let mask = Mask::from_ranges(&[3..5, 60..61, 513..516, 1087..1088, 1664..1665], 1700).unwrap();
        assert_eq!(mask.joined_ranges(), [3..1088, 1664..1665]);
        assert_eq!(mask.ranges(), [3..5, 60..61, 513..516, 1087..1088, 1664..1665]);
    }

    #[test]
    fn gaps_are_found_wherever_they_begin() {
        for start in 1..200 {
            for gap in [1, GAP_WORDS - 1, GAP_WORDS, GAP_WORDS + 1, 70] {
                let rows = [0..64 * start, 64 * (start + gap)..64 * 300];
                let joined = Mask::from_ranges(&rows, 64 * 300).unwrap().joined_ranges();
                assert_eq!(joined.len(), 1 + usize::from(gap >= GAP_WORDS), "{gap} words after {start}");
            }
        }
    }

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "a list of one range is meant")]
    fn null_is_not_true() {
        let truth = BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]);
        assert_eq!(Mask::from_truth(&truth.slice(1, 3)).ranges(), [2..3]);
        assert_eq!(Mask::from_truth(&truth).count(), 2);
    }
}
