//! Random numbers that depend on the seed alone: the same on every machine and in every version.

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The sequence that belongs to `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number of 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in [0, 1) with 53 random bits.
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A uniform number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        // Rejection sampling: the last values, which would favour small numbers, are drawn again.
        let excess = (u64::MAX % bound + 1) % bound;
        loop {
            let value = self.next();
            if value <= u64::MAX - excess {
                return value % bound;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_of_a_seed_is_the_published_one() {
        let mut random = Random::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }
}
