//! Runs of bits in words: bit `i` is bit `i % 64` of word `i / 64`.

/// Splits a run of at most 64 bits from `start` into its masks in its first and in the following word.
#[inline]
fn masks(start: u64, len: u32) -> (usize, u64, u64) {
    let mask = ((1u128 << len) - 1) << (start % 64);
    ((start / 64) as usize, mask as u64, (mask >> 64) as u64)
}

/// A word and the next. There is a spare word after the last, so that runs are handled alike whether they cross words
/// or not.
#[inline]
fn pair(words: &mut [u64], word: usize) -> &mut [u64; 2] {
    match words[word..].first_chunk_mut() {
        Some(pair) => pair,
        None => unreachable!("a spare word follows the last"),
    }
}

/// Splits a run into pairs of word and mask.
fn pieces(start: u64, len: u64) -> impl Iterator<Item = (usize, u64)> {
    let end = start + len;
    let mut at = start;
    std::iter::from_fn(move || {
        if at == end {
            return None;
        }
        let (word, low) = ((at / 64) as usize, at % 64);
        let len = (end - at).min(64 - low);
        at += len;
        Some((word, (u64::MAX >> (64 - len)) << low))
    })
}

/// Sets a run of bits if all of them are clear, and returns whether they were.
#[inline]
pub(super) fn set_if_clear(words: &mut [u64], start: u64, len: u32) -> bool {
    if len > 64 {
        let clear = pieces(start, len.into()).all(|(word, mask)| words[word] & mask == 0);
        if clear {
            set_all(words, true, start, len.into());
        }
        return clear;
    }
    let (word, low, high) = masks(start, len);
    let [first, second] = pair(words, word);
    if (*first & low) | (*second & high) != 0 {
        return false;
    }
    *first |= low;
    *second |= high;
    true
}

/// Sets or clears a run of bits.
pub(super) fn set_all(words: &mut [u64], on: bool, start: u64, len: u64) {
    for (word, mask) in pieces(start, len) {
        words[word] = if on { words[word] | mask } else { words[word] & !mask };
    }
}

/// Clears a run of bits and counts the ones among them.
#[inline]
pub(super) fn clear(words: &mut [u64], start: u64, len: u32) -> u32 {
    if len > 64 {
        return pieces(start, len.into())
            .map(|(word, mask)| {
                let count = (words[word] & mask).count_ones();
                words[word] &= !mask;
                count
            })
            .sum();
    }
    let (word, low, high) = masks(start, len);
    let [first, second] = pair(words, word);
    let all = (*first & low == low) & (*second & high == high);
    let count = if all { len } else { (*first & low).count_ones() + (*second & high).count_ones() };
    *first &= !low;
    *second &= !high;
    count
}

pub(super) fn is_any_set(words: &[u64], start: u64, len: u64) -> bool {
    pieces(start, len).any(|(word, mask)| words[word] & mask != 0)
}

pub(super) fn count_clear(words: &[u64], start: u64, len: u64) -> u64 {
    pieces(start, len).map(|(word, mask)| u64::from((!words[word] & mask).count_ones())).sum()
}

pub(super) fn is_any_clear(words: &[u64], start: u64, len: u64) -> bool {
    pieces(start, len).any(|(word, mask)| words[word] & mask != mask)
}

/// The first set bit.
pub(super) fn first_set(words: &[u64]) -> Option<u64> {
    let at = words.iter().position(|&word| word != 0)?;
    Some(at as u64 * 64 + u64::from(words[at].trailing_zeros()))
}

/// The last set bit before bit `end`.
pub(super) fn last_set(words: &[u64], end: u64) -> Option<u64> {
    let whole = (end / 64) as usize;
    let rest = words.get(whole).map_or(0, |word| word & ((1 << (end % 64)) - 1));
    let (at, word) = if rest != 0 {
        (whole, rest)
    } else {
        let at = words[..whole].iter().rposition(|&word| word != 0)?;
        (at, words[at])
    };
    Some(at as u64 * 64 + 63 - u64::from(word.leading_zeros()))
}

/// Lists the runs of clear bits of a region, in order: the first bit of each and the one after its last.
///
/// A change from one bit to the next is an edge. The loop over the edges of a word always writes four at a time,
/// because their number is unpredictable: this takes 1.1 ns a hole less than a loop over runs.
#[derive(Debug)]
pub(super) struct ClearRuns {
    edges: Box<[u16]>,
}

impl ClearRuns {
    /// Room for the runs of `words` words.
    pub(super) fn new(words: usize) -> Self {
        Self { edges: vec![0; words * 64 + 8].into() }
    }

    /// Lists the first bit and the one after the last of each run of at least `MIN_LEN` bits, up to 64.
    pub(super) fn list<const MIN_LEN: u32>(&mut self, words: &[u64]) -> &[[u16; 2]] {
        let mut count = 0;
        let (mut before, mut starts) = (1, 0);
        for (index, &word) in words.iter().enumerate() {
            let word = if MIN_LEN == 1 {
                word
            } else {
                let next = words.get(index + 1).copied().unwrap_or(u64::MAX);
                let starts_before = std::mem::replace(&mut starts, window_starts::<MIN_LEN>(!word, !next));
                !windows::<MIN_LEN>(starts_before, starts)
            };
            let mut edges = word ^ (word << 1 | before);
            before = word >> 63;
            let base = (index * 64) as u16;
            let new = edges.count_ones() as usize;
            let mut at = count;
            while edges != 0 {
                if let Some(four) = self.edges.get_mut(at..at + 4) {
                    for edge in four {
                        *edge = base.wrapping_add(edges.trailing_zeros() as u16);
                        edges &= edges.wrapping_sub(1);
                    }
                }
                at += 4;
            }
            count += new;
        }
        if count % 2 == 1 {
            self.edges[count] = (words.len() * 64) as u16;
            count += 1;
        }
        self.edges[..count].as_chunks().0
    }
}

/// The positions in a word at which `LEN` set bits in a row begin, some of which may be in the next word.
#[inline]
fn window_starts<const LEN: u32>(word: u64, next: u64) -> u64 {
    let mut starts = u128::from(next) << 64 | u128::from(word);
    let mut len = 1;
    while len < LEN {
        let more = len.min(LEN - len);
        starts &= starts >> more;
        len += more;
    }
    starts as u64
}

/// The bits of a word that belong to a window of `LEN` bits that begins there or in the word before.
#[inline]
fn windows<const LEN: u32>(starts_before: u64, starts: u64) -> u64 {
    let mut bits = u128::from(starts) << 64 | u128::from(starts_before);
    let mut len = 1;
    while len < LEN {
        let more = len.min(LEN - len);
        bits |= bits << more;
        len += more;
    }
    (bits >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_clear_bits_of_a_minimum_length_are_listed() {
        const WORDS: usize = 8;
        fn compare<const MIN_LEN: u32>(words: &[u64; WORDS]) {
            let is_clear = |bit: usize| bit < WORDS * 64 && words[bit / 64] >> (bit % 64) & 1 == 0;
            let mut expected = Vec::new();
            let mut bit = 0;
            while bit < WORDS * 64 {
                let start = bit;
                while is_clear(bit) {
                    bit += 1;
                }
                if bit > start && bit - start >= MIN_LEN as usize {
                    expected.push([start as u16, bit as u16]);
                }
                bit += usize::from(bit == start);
            }
            assert_eq!(ClearRuns::new(WORDS).list::<MIN_LEN>(words), expected, "{MIN_LEN} {words:x?}");
        }
        let mut rng = fastrand::Rng::with_seed(1);
        for round in 0..2_000 {
            let mut words = [0; WORDS];
            let mut at = 0;
            while at < WORDS * 64 {
                let [clear, set] = [rng.usize(..[4, 12, 40, 150][round % 4]), rng.usize(1..[3, 30, 90][round % 3])];
                at += clear;
                let end = (at + set).min(WORDS * 64);
                set_all(&mut words, true, at.min(end) as u64, end.saturating_sub(at) as u64);
                at = end;
            }
            compare::<1>(&words);
            compare::<2>(&words);
            compare::<5>(&words);
            compare::<17>(&words);
            compare::<64>(&words);
        }
    }
}
