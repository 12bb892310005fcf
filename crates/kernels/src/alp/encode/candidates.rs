//! Selects the pairs of exponent and factor to try.

use super::super::page::{OFFSET, PAGE_HEADER, exception, vector_header};
use super::super::private;
use super::super::scale::Scale;
use super::vector::Integers;
use super::{BLOCK, Float, VECTOR};

/// The maximum number of pairs kept, as in the paper.
const MAX_PAIRS: usize = 5;
/// The number of sampled vectors; `SAMPLE` values of each are tried.
const SAMPLED: usize = 8;
const SAMPLE: usize = 256;
/// Another pair is kept if it reduces the size of the sample by one part in this many.
const WORTHWHILE: usize = 50;
/// Other pairs with the same difference of exponent and factor are tried if one of them encodes one value in this many.
const PROMISING: usize = 8;

/// The pairs of exponent and factor for encoding vectors, up to five: each vector uses the best of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidates<T: private::Float> {
    pairs: [Scale<T>; MAX_PAIRS],
    count: usize,
}

impl<T: Float> Candidates<T> {
    /// Finds pairs that suit the values, from 256 values of each of up to eight vectors.
    ///
    /// This takes about as long as encoding 50,000 values, so it pays to do it once per column chunk.
    pub fn find(values: &[T]) -> Self {
        let mut integers = Integers::default();
        let mut lens = [[u16::MAX; SAMPLED]; MAX_ALL_PAIRS];
        let mut best = [0_u16; SAMPLED];
        let mut sampled = 0;
        for (index, vector) in sampled_vectors(values).enumerate() {
            best[index] = (SAMPLE * exception::<T>()) as u16;
            measure_promising(&spread::<T, SAMPLE>(vector), &mut integers, |pair, len| lens[pair][index] = len);
            sampled += 1;
        }
        let best = &mut best[..sampled];
        let mut candidates = Self { pairs: [Scale::integers(); MAX_PAIRS], count: 0 };
        while candidates.count < MAX_PAIRS {
            let total = |scale: &Scale<T>| -> usize {
                best.iter().zip(&lens[scale.number()]).map(|(&best, &len)| usize::from(best.min(len))).sum()
            };
            // If pairs are equally good, the first.
            let Some(scale) = Scale::all().min_by_key(total) else { break };
            let (before, after): (usize, usize) = (best.iter().map(|&len| usize::from(len)).sum(), total(&scale));
            let needed = if candidates.count == 0 { 1 } else { before / WORTHWHILE + 1 };
            if before - after < needed {
                break;
            }
            candidates.pairs[candidates.count] = scale;
            candidates.count += 1;
            for (best, &len) in best.iter_mut().zip(&lens[scale.number()]) {
                *best = len.min(*best);
            }
        }
        candidates.count = candidates.count.max(1);
        candidates
    }

    /// The pairs of exponent and factor, in descending order of their savings; at least one.
    pub fn pairs(&self) -> impl Iterator<Item = (u8, u8)> {
        self.pairs[..self.count].iter().map(|scale| (scale.exponent, scale.factor))
    }

    /// The best pair for a vector of values, judged by 64 of them.
    pub(super) fn best_for(&self, vector: &[T], integers: &mut Integers<T>) -> Scale<T> {
        let pairs = &self.pairs[..self.count];
        if let [only] = pairs {
            return *only;
        }
        let sample = spread::<T, BLOCK>(vector);
        pairs.iter().copied().min_by_key(|scale| integers.measure(&sample, scale).len_bytes).unwrap_or(self.pairs[0])
    }
}

/// The number of pairs of the type with more pairs.
const MAX_ALL_PAIRS: usize = 190;

/// Calls `found` with the number of a pair and the size of the sample in bytes. Skips pairs whose difference of
/// exponent and factor leaves few integers in the sample, or exceeds the best pair's.
fn measure_promising<T: Float>(sample: &[T; SAMPLE], integers: &mut Integers<T>, mut found: impl FnMut(usize, u16)) {
    let mut best = usize::MAX;
    for digits in 0..Scale::<T>::count_exponents() {
        let with_factor = |factor: u8| Scale::new(digits + factor, factor);
        let Some(first) = with_factor(0) else { break };
        let measure = integers.measure(sample, &first);
        // Each further digit lengthens all integers.
        if measure.packed_len() >= best {
            break;
        }
        let mut take = |scale: &Scale<T>, len: usize| {
            best = best.min(len);
            found(scale.number(), len as u16);
        };
        take(&first, measure.len_bytes);
        if SAMPLE - measure.miss_count < SAMPLE / PROMISING {
            continue;
        }
        for scale in (1..).map_while(with_factor) {
            take(&scale, integers.measure(sample, &scale).len_bytes);
        }
    }
}

/// Estimates the length of the page that [`encode`](super::encode) writes for the values: exact up to eight vectors,
/// extrapolated from eight for more.
pub fn estimate_len<T: Float>(values: &[T], candidates: &Candidates<T>) -> usize {
    let vectors = values.len().div_ceil(VECTOR);
    let mut integers = Integers::default();
    let (mut len, mut count) = (0, 0);
    for vector in sampled_vectors(values) {
        let scale = candidates.best_for(vector, &mut integers);
        len += integers.measure(vector, &scale).len_bytes.min(vector.len() * exception::<T>());
        count += vector.len();
    }
    let of_all = if count == values.len() { len } else { (len as f64 / count as f64 * values.len() as f64) as usize };
    PAGE_HEADER + vectors * (OFFSET + vector_header::<T>()) + of_all
}

/// Up to [`SAMPLED`] vectors, as far apart as they can be.
fn sampled_vectors<T>(values: &[T]) -> impl Iterator<Item = &[T]> {
    let vectors = values.len().div_ceil(VECTOR);
    let sampled = vectors.min(SAMPLED);
    (0..sampled).map(move |index| {
        let at = index * vectors / sampled * VECTOR;
        &values[at..values.len().min(at + VECTOR)]
    })
}

/// Values from all over a vector; for a short one, some of them twice.
fn spread<T: Float, const COUNT: usize>(vector: &[T]) -> [T; COUNT] {
    std::array::from_fn(|index| vector.get(index * vector.len() / COUNT).copied().unwrap_or_default())
}
