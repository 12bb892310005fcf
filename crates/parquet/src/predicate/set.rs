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

    /// Whether `value` is among them.
    pub(crate) fn contains(&self, value: &Value) -> bool {
        self.values.binary_search(value).is_ok()
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
    }
}
