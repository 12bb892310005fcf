//! Which pairs of exponent and factor are tried.

use super::super::page::{OFFSET, PAGE_HEADER, exception, vector_header};
use super::super::private;
use super::super::scale::Scale;
use super::vector::Integers;
use super::{BLOCK, Float, VECTOR};

/// Pairs that are kept at most, as the paper has it.
const MAX_PAIRS: usize = 5;
/// Vectors of which values are tried: as many again make no difference where data are alike.
const SAMPLED: usize = 8;
/// Another pair is kept if it saves one part in this many of what the sample takes.
const WORTHWHILE: usize = 100;

/// The pairs of exponent and factor that vectors are encoded with, up to five: each vector takes the best of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidates<T: private::Float> {
    pairs: [Scale<T>; MAX_PAIRS],
    count: usize,
}

impl<T: Float> Candidates<T> {
    /// Finds pairs that suit the values, by 64 of each of up to eight vectors: 190 pairs (for `f32` 66) are tried on them.
    ///
    /// That takes about as long as encoding 100,000 values, so it pays to find them once for a column chunk.
    pub fn find(values: &[T]) -> Self {
        let sample = Sample::new(values);
        let mut integers = Integers::default();
        // What each of the sampled vectors takes with the pairs so far, from having exceptions alone.
        let mut best = [BLOCK * exception::<T>(); SAMPLED];
        let mut candidates = Self { pairs: [Scale::integers(); MAX_PAIRS], count: 0 };
        let mut lens = [[0_u16; SAMPLED]; MAX_ALL_PAIRS];
        for (scale, lens) in Scale::all().zip(&mut lens) {
            for (values, len) in sample.blocks().iter().zip(lens) {
                *len = integers.measure(values, &scale).len_bytes as u16;
            }
        }
        let sampled = sample.blocks().len();
        let best = &mut best[..sampled];
        while candidates.count < MAX_PAIRS {
            let together =
                |lens: &[u16; SAMPLED]| -> usize { best.iter().zip(lens).map(|(&a, &b)| a.min(b.into())).sum() };
            // Of pairs that are as good, the first: the one with the largest exponent.
            let Some((len, scale, lens)) =
                Scale::all().zip(&lens).map(|(scale, lens)| (together(lens), scale, lens)).min_by_key(|&(len, ..)| len)
            else {
                break;
            };
            let before: usize = best.iter().sum();
            if candidates.count > 0 && len + before / WORTHWHILE >= before || len == before {
                break;
            }
            candidates.pairs[candidates.count] = scale;
            candidates.count += 1;
            for (best, &len) in best.iter_mut().zip(lens) {
                *best = (*best).min(len.into());
            }
        }
        candidates.count = candidates.count.max(1);
        candidates
    }

    /// The pairs of exponent and factor, those that save most first; never none.
    pub fn pairs(&self) -> impl Iterator<Item = (u8, u8)> {
        self.pairs[..self.count].iter().map(|scale| (scale.exponent, scale.factor))
    }

    /// The pair that at most a vector of values is encoded with, by 64 of them.
    pub(super) fn best_for(&self, vector: &[T], integers: &mut Integers<T>) -> Scale<T> {
        let pairs = &self.pairs[..self.count];
        if let [only] = pairs {
            return *only;
        }
        let sample = spread(vector);
        pairs.iter().copied().min_by_key(|scale| integers.measure(&sample, scale).len_bytes).unwrap_or(self.pairs[0])
    }
}

/// Pairs of the type that has more.
const MAX_ALL_PAIRS: usize = 190;

/// About how long the page would be that [`encode`](super::encode) makes of the values: exact up to eight vectors, of more
/// values reckoned from as many.
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

/// Values of sampled vectors.
struct Sample<T> {
    blocks: [[T; BLOCK]; SAMPLED],
    count: usize,
}

impl<T: Float> Sample<T> {
    fn new(values: &[T]) -> Self {
        let mut sample = Self { blocks: [[T::default(); BLOCK]; SAMPLED], count: 0 };
        for (block, vector) in sample.blocks.iter_mut().zip(sampled_vectors(values)) {
            *block = spread(vector);
            sample.count += 1;
        }
        sample
    }

    fn blocks(&self) -> &[[T; BLOCK]] {
        &self.blocks[..self.count]
    }
}

/// A block of values from all over a vector; of a short one, some of them twice.
fn spread<T: Float>(vector: &[T]) -> [T; BLOCK] {
    std::array::from_fn(|index| vector.get(index * vector.len() / BLOCK).copied().unwrap_or_default())
}
