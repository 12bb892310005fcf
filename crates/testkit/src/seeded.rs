use std::ops::{Deref, DerefMut};

/// An arbitrary number.
const FIXED_SEED: u64 = 0x5eed_1a74;

/// Random numbers for a test, which prints its seed if the test fails while this lives.
///
/// The seed is [`seed`]. Dereferences to [`fastrand::Rng`], whose methods generate the numbers.
#[derive(Debug)]
pub struct Seeded {
    test: String,
    seed: u64,
    random: fastrand::Rng,
}

impl Seeded {
    /// A generator for the test that the failure message calls `test`.
    ///
    /// # Panics
    /// If `LATH_SEED` is set to anything that is not a number.
    pub fn new(test: impl Into<String>) -> Self {
        Self::with_seed(test, seed())
    }

    /// A generator with a fixed seed, which `LATH_SEED` does not change.
    pub fn with_seed(test: impl Into<String>, seed: u64) -> Self {
        Self { test: test.into(), seed, random: fastrand::Rng::with_seed(seed) }
    }

    /// The seed: [`Seeded::with_seed`] with it repeats the numbers.
    pub fn seed(&self) -> u64 {
        self.seed
    }
}

/// The seed of a random test: the same in every run, so that only a change decides whether it passes or fails.
///
/// `LATH_SEED` (decimal, or hexadecimal after `0x`) sets another one, to repeat a failure; `LATH_NEW_SEEDS` makes every
/// call return a new one.
///
/// # Panics
/// If `LATH_SEED` is set to anything that is not a number.
pub fn seed() -> u64 {
    match std::env::var("LATH_SEED") {
        Ok(text) => parse_seed(&text).unwrap_or_else(|| panic_on_seed(&text)),
        Err(_) if std::env::var_os("LATH_NEW_SEEDS").is_some() => fastrand::u64(..),
        Err(_) => FIXED_SEED,
    }
}

fn parse_seed(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

#[expect(clippy::panic, reason = "a seed that cannot be read must not be ignored")]
fn panic_on_seed(text: &str) -> ! {
    panic!("LATH_SEED is not a number: {text:?}")
}

impl Deref for Seeded {
    type Target = fastrand::Rng;

    fn deref(&self) -> &fastrand::Rng {
        &self.random
    }
}

impl DerefMut for Seeded {
    fn deref_mut(&mut self) -> &mut fastrand::Rng {
        &mut self.random
    }
}

impl Drop for Seeded {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}: failed with LATH_SEED={:#x}", self.test, self.seed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Seeded, parse_seed};

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let numbers = |seed| {
            let mut random = Seeded::with_seed("numbers", seed);
            std::iter::repeat_with(|| random.u64(..)).take(8).collect::<Vec<_>>()
        };
        assert_eq!(numbers(7), numbers(7));
        assert_ne!(numbers(7), numbers(8));
    }

    #[test]
    fn seeds_are_read_in_both_notations() {
        assert_eq!(parse_seed("17"), Some(17));
        assert_eq!(parse_seed("0x11"), Some(17));
        assert_eq!(parse_seed("seventeen"), None);
    }
}
