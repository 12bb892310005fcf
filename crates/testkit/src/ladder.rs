/// Lengths at which vector code fails: all of 0 to 67, then one below, at and above each power of two up to 4096, and
/// some round and odd thousands. Ascending, without repetition. If the environment variable `LATH_TEST_LENGTHS` is a
/// number, longer ones are left out, for machines that run tests slowly.
pub fn lengths() -> impl Iterator<Item = usize> {
    let longest = std::env::var("LATH_TEST_LENGTHS").ok().and_then(|text| text.parse().ok()).unwrap_or(usize::MAX);
    let around_powers = (7..=12).flat_map(|exponent| {
        let power = 1_usize << exponent;
        [power - 1, power, power + 1]
    });
    let all = (0..=67).chain(around_powers).chain([5_000, 6_007, 8_191, 8_192, 8_193, 10_000]);
    all.take_while(move |&length| length <= longest)
}

#[cfg(test)]
mod tests {
    use super::lengths;

    #[test]
    fn lengths_ascend_and_include_every_small_one() {
        let all: Vec<usize> = lengths().collect();
        assert!(all.is_sorted_by(|a, b| a < b));
        assert!((0..=67).all(|len| all.contains(&len)));
        assert!([127, 128, 129, 4095, 4096, 4097].iter().all(|len| all.contains(len)));
    }
}
