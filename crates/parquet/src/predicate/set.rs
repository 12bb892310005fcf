//! The values of an IN list.

use std::sync::Arc;

use super::value::Value;

/// Distinct values in ascending order, none of them null. Clones share the values.
#[derive(Debug, Clone)]
pub(crate) struct ValueSet {
    values: Arc<[Value]>,
}

impl ValueSet {
    /// The distinct ones of `values`, which are all of one kind.
    pub(crate) fn new(mut values: Vec<Value>) -> Self {
        values.sort_unstable();
        values.dedup();
        Self { values: values.into() }
    }

    /// The values in ascending order.
    pub(crate) fn values(&self) -> &[Value] {
        &self.values
    }

    /// Those for which `keep` is true.
    pub(crate) fn retain(&self, keep: impl Fn(&Value) -> bool) -> Self {
        Self { values: self.values.iter().filter(|value| keep(value)).cloned().collect() }
    }

    /// Whether `value` is among them.
    pub(crate) fn contains(&self, value: &Value) -> bool {
        self.values.binary_search(value).is_ok()
    }

    /// Whether any value lies between `low` and `high`, both included.
    pub(crate) fn intersects(&self, low: &Value, high: &Value) -> bool {
        let first = self.values.partition_point(|value| value < low);
        self.values.get(first).is_some_and(|value| value <= high)
    }

    /// The least and the greatest value.
    pub(crate) fn bounds(&self) -> Option<(&Value, &Value)> {
        Some((self.values.first()?, self.values.last()?))
    }
}

impl PartialEq for ValueSet {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.values, &other.values) || self.values == other.values
    }
}

impl Eq for ValueSet {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_sorted_and_distinct() {
        let set = ValueSet::new([5, 1, 3, 1].map(Value::Int).to_vec());
        assert_eq!(set.values(), [1, 3, 5].map(Value::Int));
        assert!(set.contains(&Value::Int(3)) && !set.contains(&Value::Int(2)));
        assert!(set.intersects(&Value::Int(2), &Value::Int(3)) && !set.intersects(&Value::Int(6), &Value::Int(9)));
        assert!(!set.intersects(&Value::Int(2), &Value::Int(2)));
        assert_eq!(set.bounds(), Some((&Value::Int(1), &Value::Int(5))));
        assert_eq!(set.retain(|value| *value > Value::Int(1)).values(), [3, 5].map(Value::Int));
    }
}
