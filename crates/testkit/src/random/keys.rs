use std::iter::repeat_with;

use super::pick;

/// The sequence of values in a column.
#[derive(Debug, Clone, Copy)]
enum Distribution {
    Constant,
    Runs,
    /// Ascending by steps up to this size.
    Sorted(u64),
    /// Any value of this many bits.
    Uniform(u32),
    /// Any of this many values.
    LowCardinality(usize),
    /// Small steps up and down, with an occasional leap.
    Walk,
}

/// `len` numbers with the distribution of a realistic column, from which values are made.
pub(super) fn keys(random: &mut fastrand::Rng, len: usize) -> Vec<u64> {
    let distribution = match random.u8(..12) {
        0 => Distribution::Constant,
        1 | 2 => Distribution::Runs,
        3 => Distribution::Sorted(pick(random, &[1, 1, 3, 1000])),
        4..7 => Distribution::Uniform(pick(random, &[1, 3, 7, 8, 13, 16, 24, 31, 32, 33, 48, 63, 64])),
        7..11 => Distribution::LowCardinality(pick(random, &[1, 2, 3, 7, 33, 255, 257, 1000])),
        _ => Distribution::Walk,
    };
    match distribution {
        Distribution::Constant => vec![random.u64(..); len],
        Distribution::Runs => {
            let longest = pick(random, &[8, 50, 600]);
            let mut keys = Vec::with_capacity(len);
            while keys.len() < len {
                let run = random.usize(1..=longest).min(len - keys.len());
                let key = random.u64(..1000);
                keys.resize(keys.len() + run, key);
            }
            keys
        }
        Distribution::Sorted(step) => scan(random, len, |random, key| key.wrapping_add(random.u64(..=step))),
        Distribution::Uniform(bits) => repeat_with(|| random.u64(..) >> (64 - bits)).take(len).collect(),
        Distribution::LowCardinality(count) => {
            let values: Vec<u64> = repeat_with(|| random.u64(..)).take(count).collect();
            repeat_with(|| pick(random, &values)).take(len).collect()
        }
        Distribution::Walk => scan(random, len, |random, key| match random.u8(..) {
            0 => random.u64(..),
            step => key.wrapping_add(u64::from(step)).wrapping_sub(128),
        }),
    }
}

fn scan(random: &mut fastrand::Rng, len: usize, next: impl Fn(&mut fastrand::Rng, u64) -> u64) -> Vec<u64> {
    let mut key = random.u64(..);
    repeat_with(|| {
        key = next(random, key);
        key
    })
    .take(len)
    .collect()
}
