//! Which rows of a window are meant: a bitmap and how many bits of it are set.

use std::ops::Range;

use arrow_array::{Array, BooleanArray};
use arrow_buffer::bit_iterator::BitSliceIterator;
use arrow_buffer::{BooleanBuffer, Buffer};
use lath_kernels::{levels, select};

use crate::error::Result;

/// Words without a row that end a range. Where a range ends, rows are passed over and decoding begins anew, for each column:
/// of 64 rows that took longer than to decode them (TPC-H Q12's filter: .24 s, at 256 rows .21, as at 512 and without any end;
/// of DELTA values .50, .49, .51), and of 256 where one row in a hundred at random passes, which cut a window into five.
const GAP_WORDS: usize = 8;

/// A set of the rows of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mask {
    /// LSB first; bits from `len` on are zero.
    words: Vec<u64>,
    len: usize,
    count: usize,
}

impl Mask {
    /// All of `len` rows.
    pub(super) fn all(len: usize) -> Self {
        let mut words = vec![u64::MAX; len.div_ceil(64)];
        clear_tail(&mut words, len);
        Self { words, len, count: len }
    }

    /// The rows in `ranges`, which are sorted and disjoint, of `len`.
    pub(super) fn of_ranges(ranges: &[Range<usize>], len: usize) -> Result<Self> {
        let mut words = vec![0; len.div_ceil(64)];
        let mut count = 0;
        for range in ranges {
            select::fill_bits(bytemuck::cast_slice_mut(&mut words), range.start, range.len(), true)?;
            count += range.len();
        }
        Ok(Self { words, len, count })
    }

    /// The rows whose bits are set in `words`, of `len`.
    pub(super) fn of_words(mut words: Vec<u64>, len: usize) -> Self {
        words.resize(len.div_ceil(64), 0);
        clear_tail(&mut words, len);
        let count = levels::count(&words);
        Self { words, len, count }
    }

    /// The rows for which `truth` is true.
    pub(super) fn of_truth(truth: &BooleanArray) -> Self {
        let mut words: Vec<u64> = truth.values().bit_chunks().iter_padded().collect();
        if let Some(nulls) = truth.nulls() {
            let valid = nulls.inner().bit_chunks();
            words.iter_mut().zip(valid.iter_padded()).for_each(|(word, valid)| *word &= valid);
        }
        Self::of_words(words, truth.len())
    }

    /// Rows of the window.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Rows that are meant.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn is_all(&self) -> bool {
        self.count == self.len
    }

    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    pub(super) fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.words)
    }

    /// As Arrow has it.
    pub(super) fn to_array(&self) -> BooleanArray {
        let words = Buffer::from_vec(self.words.clone());
        BooleanArray::new(BooleanBuffer::new(words, 0, self.len), None)
    }

    /// Keeps the rows that `other`, of the same window, has too.
    pub(super) fn and(&mut self, other: &Self) -> Result<()> {
        levels::and(&mut self.words, &other.words)?;
        self.count = levels::count(&self.words);
        Ok(())
    }

    /// Keeps the first `most` rows.
    pub(super) fn truncate(&mut self, most: usize) {
        if self.count > most
            && let Some(end) = levels::nth_set(&self.words, most)
        {
            self.words[end / 64..].iter_mut().skip(1).for_each(|word| *word = 0);
            self.words[end / 64] &= (1 << (end % 64)) - 1;
            self.count = most;
        }
    }

    /// This mask, of the rows of `domain` alone: bit `i` is that of the `i`-th row of `domain`.
    pub(super) fn within(&self, domain: &Self) -> Result<Self> {
        if domain.is_all() {
            return Ok(self.clone());
        }
        let mut words = vec![0; domain.count.div_ceil(64)];
        levels::extract(&self.words, &domain.words, bytemuck::cast_slice_mut(&mut words), 0)?;
        Ok(Self::of_words(words, domain.count))
    }

    /// The inverse of [`Mask::within`]: this mask is of the rows of `domain`, the result of the window's.
    pub(super) fn spread(self, domain: &Self) -> Result<Self> {
        if domain.is_all() {
            return Ok(self);
        }
        let mut words = vec![0u64; domain.words.len()];
        let out = bytemuck::cast_slice_mut(&mut words);
        select::expand_bits(self.bytes(), 0, self.len, domain.bytes(), 0, domain.len, out, 0)?;
        Ok(Self { words, len: domain.len, count: self.count })
    }

    /// The rows as ranges.
    pub(super) fn ranges(&self) -> Vec<Range<usize>> {
        BitSliceIterator::new(self.bytes(), 0, self.len).map(|(start, end)| start..end).collect()
    }

    /// The rows as ranges, joined unless [`GAP_WORDS`] words between, 64 rows each, are without any.
    pub(super) fn joined_ranges(&self) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        if self.longest_gap() < GAP_WORDS {
            let first = self.words.iter().position(|&word| word != 0);
            let last = self.words.iter().rposition(|&word| word != 0);
            ranges.extend(first.zip(last).map(|(first, last)| {
                let start = 64 * first + self.words[first].trailing_zeros() as usize;
                start..64 * (last + 1) - self.words[last].leading_zeros() as usize
            }));
            return ranges;
        }
        let mut empty_words = 0;
        for (index, &word) in self.words.iter().enumerate() {
            if word == 0 {
                empty_words += 1;
                continue;
            }
            let end = 64 * (index + 1) - word.leading_zeros() as usize;
            match ranges.last_mut() {
                Some(last) if empty_words < GAP_WORDS => last.end = end,
                _ => ranges.push(64 * index + word.trailing_zeros() as usize..end),
            }
            empty_words = 0;
        }
        ranges
    }

    /// Most words in a row without a row. Of rows at random some words have none, as no branch can foresee.
    fn longest_gap(&self) -> usize {
        let mut gap = 0;
        self.words.iter().fold(0, |longest, &word| {
            gap = (gap + 1) * usize::from(word == 0);
            longest.max(gap)
        })
    }
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
        let mask = Mask::of_truth(&BooleanArray::from(bits.clone()));
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

                assert_eq!(Mask::of_ranges(&domain.ranges(), len).unwrap(), domain);
                let joined = domain.joined_ranges();
                assert!(joined.windows(2).all(|pair| pair[1].start - pair[0].end >= 64 * GAP_WORDS));
                assert!(joined.iter().all(|range| domain_bits[range.start] && domain_bits[range.end - 1]));
                let mut all = Mask::of_ranges(&joined, len).unwrap();
                all.and(&domain).unwrap();
                assert_eq!(all, domain);
            }
        }
    }

    #[test]
    fn ranges_are_joined_unless_eight_whole_words_lie_between() {
        let mask = Mask::of_ranges(&[3..5, 60..61, 513..516, 1087..1088, 1664..1665], 1700).unwrap();
        assert_eq!(mask.joined_ranges(), [3..1088, 1664..1665]);
        assert_eq!(mask.ranges(), [3..5, 60..61, 513..516, 1087..1088, 1664..1665]);
    }

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "a list of one range is meant")]
    fn null_is_not_true() {
        let truth = BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]);
        assert_eq!(Mask::of_truth(&truth.slice(1, 3)).ranges(), [2..3]);
        assert_eq!(Mask::of_truth(&truth).count(), 2);
    }
}
