//! Decides whether a dictionary saves space, when the first page is full.

/// Distinct values seen, by the number of values.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Worth {
    values: usize,
    distinct: usize,
    plain_bytes: usize,
    /// Values and distinct values at the time before the last.
    before: (usize, usize),
}

/// Projected size of a chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Projection {
    /// Distinct values of the chunk.
    pub(crate) distinct: f64,
    /// Bytes of dictionary and codes, relative to the bytes of the values that they replace.
    pub(crate) ratio: f64,
}

/// Maximum size of a dictionary and its codes relative to PLAIN values: codecs find repetition in PLAIN values too, and a
/// dictionary takes time.
const MAX_RATIO: f64 = 0.8;

impl Worth {
    pub(super) fn add(&mut self, values: usize, distinct: usize, plain_bytes: usize) {
        self.before = (self.values, self.distinct);
        self.values += values;
        self.distinct = distinct;
        self.plain_bytes += plain_bytes;
    }

    pub(crate) fn value_count(&self) -> usize {
        self.values
    }

    /// Whether a dictionary saves space in a chunk of `chunk_values` values, if it is closed at `max_bytes`.
    pub(crate) fn pays(&self, chunk_values: usize, max_bytes: usize, entry_bytes: usize) -> bool {
        self.project(chunk_values, max_bytes, entry_bytes).ratio <= MAX_RATIO
    }

    /// Projects the size of a chunk of `chunk_values` values, of which these are the first. `entry_bytes` is the size of the
    /// dictionary's entries so far.
    pub(crate) fn project(&self, chunk_values: usize, max_bytes: usize, entry_bytes: usize) -> Projection {
        let (values, distinct) = (self.values as f64, self.distinct as f64);
        if self.values == 0 || self.distinct == 0 || self.plain_bytes == 0 {
            return Projection { distinct, ratio: 0.0 };
        }
        let chunk_values = chunk_values.max(self.values) as f64;
        let plain_each = self.plain_bytes as f64 / values;
        let entry_each = entry_bytes as f64 / distinct;
        let of_chunk = self.distinct_after(chunk_values);
        let limit = max_bytes as f64 / entry_each;
        // Values until the dictionary is full: in proportion, as new values become rarer or come at a steady rate.
        let (distinct, covered) =
            if of_chunk <= limit { (of_chunk, chunk_values) } else { (limit, chunk_values * limit / of_chunk) };
        let width = distinct.max(2.0).log2().ceil();
        let cost = distinct * entry_each + covered * width / 8.0;
        Projection { distinct: of_chunk, ratio: cost / (covered * plain_each) }
    }

    /// Estimated distinct values after `count` values.
    ///
    /// Values drawn at random from `n` show `n (1 - e^(-v/n))` of them in `v` draws. If more new values come at the end than that
    /// predicts, for example in sorted data, the estimate continues at that rate.
    fn distinct_after(&self, count: f64) -> f64 {
        let (values, distinct) = (self.values as f64, self.distinct as f64);
        let shown = |from: f64, draws: f64| from * -(-draws / from).exp_m1();
        let source = if distinct >= values {
            f64::INFINITY
        } else {
            // The number of distinct values seen grows with the number that exist.
            let (mut low, mut high) = (distinct, distinct.max(1.0) * values);
            for _ in 0..60 {
                let middle = (low + high) / 2.0;
                if shown(middle, values) < distinct { low = middle } else { high = middle }
            }
            high
        };
        let (before_values, before_distinct) = (self.before.0 as f64, self.before.1 as f64);
        let recent = distinct - before_distinct;
        if source.is_infinite() {
            return count;
        }
        let foretold = distinct - shown(source, before_values);
        if recent > 1.3 * foretold + 8.0 {
            return distinct + recent / (values - before_values) * (count - values);
        }
        shown(source, count)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use lath_testkit::Seeded;

    use super::Worth;

    /// Projected size of a chunk of these values, eight bytes each, from the first `sample` of them.
    fn judged(values: &[u64], sample: usize) -> (Worth, f64) {
        let mut seen: HashSet<u64> = HashSet::new();
        let mut worth = Worth::default();
        for half in values[..sample].chunks(sample / 2) {
            seen.extend(half);
            worth.add(half.len(), seen.len(), 8 * half.len());
        }
        let distinct = seen.len();
        let projection = worth.project(values.len(), usize::MAX, 8 * distinct);
        (worth, projection.distinct)
    }

    #[test]
    fn distinct_values_are_foretold_for_values_drawn_at_random() {
        let mut random = Seeded::new("distinct_values_are_foretold_for_values_drawn_at_random");
        for source in [10, 1000, 20_000, 100_000] {
            let values: Vec<u64> = (0..500_000).map(|_| random.u64(..source)).collect();
            let (_, foretold) = judged(&values, 20_000);
            let actual = values.iter().collect::<HashSet<&u64>>().len() as f64;
            assert!((foretold / actual - 1.0).abs() < 0.2, "{foretold} foretold of {actual}");
        }
    }

    #[test]
    fn distinct_values_are_foretold_for_sorted_values() {
        for each in [2, 4, 50] {
            let values: Vec<u64> = (0..500_000).map(|i| i / each).collect();
            let (_, foretold) = judged(&values, 20_000);
            let actual = 500_000.0 / each as f64;
            assert!((foretold / actual - 1.0).abs() < 0.2, "{foretold} foretold of {actual}");
        }
    }

    #[test]
    fn few_values_pay_and_unique_ones_do_not() {
        let few: Vec<u64> = (0..500_000).map(|i| i % 50).collect();
        assert!(judged(&few, 20_000).0.pays(few.len(), 1 << 20, 8 * 50));
        let unique: Vec<u64> = (0..500_000).collect();
        assert!(!judged(&unique, 20_000).0.pays(unique.len(), 1 << 20, 8 * 20_000));
    }
}
