//! Random numbers of other distributions than the uniform one.
//!
//! Only additions, multiplications, divisions and comparisons of doubles are used, whose results IEEE 754 defines exactly: a seed
//! gives the same data on every machine. `exp` and `ln` of a system's library differ between machines.

use crate::random::Random;

/// Ranks 0, 1, 2, … with weights 1, 1/2, 1/3, … (Zipf's law with exponent 1).
#[derive(Debug)]
pub(super) struct Zipf {
    /// Sums of the weights up to each rank.
    cumulative: Vec<f64>,
}

impl Zipf {
    /// Ranks below `count`, which is not 0.
    pub(super) fn new(count: usize) -> Self {
        let weights = (1..=count).scan(0.0, |sum, rank| {
            *sum += 1.0 / rank as f64;
            Some(*sum)
        });
        Self { cumulative: weights.collect() }
    }

    /// A rank.
    pub(super) fn draw(&self, random: &mut Random) -> usize {
        let total = self.cumulative.last().copied().unwrap_or(1.0);
        let place = random.fraction() * total;
        self.cumulative.partition_point(|&sum| sum <= place).min(self.cumulative.len() - 1)
    }
}

/// A number whose logarithm is normal: `median` × 2^(`spread` × N), with N of mean 0 and variance 1 (the sum of twelve
/// uniform numbers, less 6).
pub(super) fn log_normal(median: f64, spread: f64, random: &mut Random) -> f64 {
    let normal = (0..12).map(|_| random.fraction()).sum::<f64>() - 6.0;
    median * power_of_two(spread * normal)
}

/// 2 to the `exponent`, which lies within ±1000, to six digits.
fn power_of_two(exponent: f64) -> f64 {
    let whole = exponent.floor();
    let rest = exponent - whole;
    // The Taylor series of 2^x = e^(x ln 2) by Horner's rule; x is below 1.
    let x = rest * std::f64::consts::LN_2;
    let series = (1..=9).rev().fold(1.0, |sum, n| 1.0 + sum * x / f64::from(n));
    let scale = (0..whole.abs() as u32).fold(1.0, |scale, _| scale * 2.0);
    if whole < 0.0 { series / scale } else { series * scale }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_those_of_the_standard_library() {
        for step in -2000..2000 {
            let exponent = f64::from(step) / 173.0;
            let (here, there) = (power_of_two(exponent), exponent.exp2());
            assert!((here / there - 1.0).abs() < 1e-6, "2^{exponent}: {here}, {there}");
        }
    }

    #[test]
    fn a_rank_is_as_likely_as_its_weight() {
        let zipf = Zipf::new(20);
        let mut random = Random::new(5);
        let mut counts = [0u32; 20];
        for _ in 0..100_000 {
            counts[zipf.draw(&mut random)] += 1;
        }
        let total: f64 = (1..=20).map(|rank| 1.0 / f64::from(rank)).sum();
        for (rank, count) in counts.into_iter().enumerate() {
            let expected = 100_000.0 / total / (rank + 1) as f64;
            // Five standard deviations.
            assert!((f64::from(count) - expected).abs() < 5.0 * expected.sqrt(), "{rank}: {count}, not {expected}");
        }
    }

    #[test]
    fn logarithms_of_log_normal_numbers_are_normal() {
        let mut random = Random::new(9);
        let logs: Vec<f64> = (0..50_000).map(|_| log_normal(800.0, 1.5, &mut random).log2()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / logs.len() as f64;
        assert!((mean - 800f64.log2()).abs() < 0.03, "{mean}");
        assert!((variance - 1.5 * 1.5).abs() < 0.06, "{variance}");
    }
}
