//! Counts and bounds of the data of a page or a column chunk.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::{ArrowError, DataType};

use super::bound::Bound;
use super::leaf::Leaf;

/// Counts and bounds of some values.
#[derive(Debug, Clone, Default)]
pub(super) struct ObservedValues {
    /// Values and nulls, as the file's `num_values` counts them.
    pub(super) entries: u64,
    /// Nulls among the values, without entries that stand for a null or empty list.
    pub(super) nulls: u64,
    /// Entries that stand for a null or empty list.
    pub(super) missing: u64,
    pub(super) range: Option<(Bound, Bound)>,
    /// Histograms of definition and repetition levels.
    pub(super) def_levels: Vec<u64>,
    pub(super) rep_levels: Vec<u64>,
    /// Total bytes of the byte strings, for types that are byte strings.
    pub(super) string_bytes: Option<u64>,
}

impl ObservedValues {
    /// Adds the values of `leaf`. `ordered` says whether its values have an order.
    pub(super) fn add(&mut self, leaf: &Leaf, ordered: bool) -> Result<(), ArrowError> {
        self.merge(Self {
            entries: leaf.values.len() as u64 + leaf.missing,
            nulls: leaf.values.logical_null_count() as u64,
            missing: leaf.missing,
            range: if ordered { Bound::value_range(&leaf.values) } else { None },
            def_levels: leaf.def_levels.clone(),
            rep_levels: leaf.rep_levels.clone(),
            string_bytes: string_bytes(&leaf.values),
        });
        Ok(())
    }

    /// Adds the counts and bounds of other values.
    pub(super) fn merge(&mut self, other: Self) {
        self.entries += other.entries;
        self.nulls += other.nulls;
        self.missing += other.missing;
        add_all(&mut self.def_levels, &other.def_levels);
        add_all(&mut self.rep_levels, &other.rep_levels);
        if let Some(bytes) = other.string_bytes {
            *self.string_bytes.get_or_insert(0) += bytes;
        }
        self.range = match (self.range.take(), other.range) {
            (Some((min, max)), Some((other_min, other_max))) => Some((
                if other_min.is_less(&min) { other_min } else { min },
                if max.is_less(&other_max) { other_max } else { max },
            )),
            (range, other) => range.or(other),
        };
    }

    /// Whether `count` is a valid number of nulls. Writers differ in whether null and empty lists count.
    pub(super) fn has_null_count(&self, count: u64) -> bool {
        count == self.nulls || count == self.nulls + self.missing
    }

    /// Whether there are only nulls.
    pub(super) fn is_all_null(&self) -> bool {
        self.nulls + self.missing == self.entries
    }
}

fn add_all(sums: &mut Vec<u64>, others: &[u64]) {
    sums.resize(sums.len().max(others.len()), 0);
    for (sum, other) in sums.iter_mut().zip(others) {
        *sum += other;
    }
}

fn string_bytes(values: &dyn Array) -> Option<u64> {
    fn sum<'a>(values: impl Iterator<Item = Option<&'a [u8]>>) -> Option<u64> {
        Some(values.flatten().map(|value| value.len() as u64).sum())
    }
    fn sum_of_text<'a>(values: impl Iterator<Item = Option<&'a str>>) -> Option<u64> {
        sum(values.map(|value| value.map(str::as_bytes)))
    }
    match values.data_type() {
        DataType::Utf8 => sum_of_text(values.as_string::<i32>().iter()),
        DataType::LargeUtf8 => sum_of_text(values.as_string::<i64>().iter()),
        DataType::Utf8View => sum_of_text(values.as_string_view().iter()),
        DataType::Binary => sum(values.as_binary::<i32>().iter()),
        DataType::LargeBinary => sum(values.as_binary::<i64>().iter()),
        DataType::BinaryView => sum(values.as_binary_view().iter()),
        _ => None,
    }
}
