//! What the data of a page or a column chunk holds, counted.

use arrow_array::Array;
use arrow_schema::ArrowError;

use super::bound::Bound;
use super::leaf::Leaf;

/// Counts and bounds of some values.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    /// Values and nulls, as the file's `num_values` counts them.
    pub(super) entries: u64,
    /// Nulls among the values, not counting those that stand for a null or empty list.
    pub(super) nulls: u64,
    /// Entries that stand for a null or empty list.
    pub(super) missing: u64,
    pub(super) range: Option<(Bound, Bound)>,
}

impl Tally {
    /// Counts `leaf` in. `ordered` says whether its values have an order.
    pub(super) fn add(&mut self, leaf: &Leaf, ordered: bool) -> Result<(), ArrowError> {
        self.merge(Self {
            entries: leaf.values.len() as u64 + leaf.missing,
            nulls: leaf.values.logical_null_count() as u64,
            missing: leaf.missing,
            range: if ordered { Bound::range_of(&leaf.values) } else { None },
        });
        Ok(())
    }

    /// Counts another tally in.
    pub(super) fn merge(&mut self, other: Self) {
        self.entries += other.entries;
        self.nulls += other.nulls;
        self.missing += other.missing;
        self.range = match (self.range.take(), other.range) {
            (Some((min, max)), Some((other_min, other_max))) => Some((
                if other_min.is_less(&min) { other_min } else { min },
                if max.is_less(&other_max) { other_max } else { max },
            )),
            (range, other) => range.or(other),
        };
    }

    /// Whether `count` is a right number of nulls. Writers differ in whether null and empty lists count.
    pub(super) fn has_null_count(&self, count: u64) -> bool {
        count == self.nulls || count == self.nulls + self.missing
    }

    /// Whether there is no value at all.
    pub(super) fn is_all_null(&self) -> bool {
        self.nulls + self.missing == self.entries
    }
}
