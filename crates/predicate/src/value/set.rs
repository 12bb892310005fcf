//! The values of an IN list.

use std::sync::Arc;

use super::Value;

/// Distinct values in ascending order, none of them null. Clones share the values.
///
/// ```
/// use lath_predicate::{Value, ValueSet};
///
/// let set = ValueSet::new(vec![Value::Int(5), Value::Int(1), Value::Int(5)]);
/// assert_eq!(set.values(), [Value::Int(1), Value::Int(5)]);
/// assert!(set.contains(&Value::Int(5)));
/// ```
#[derive(Debug, Clone)]
pub struct ValueSet {
    values: Arc<[Value]>,
}

impl ValueSet {
    /// The distinct values among `values`, which must all have the same variant.
    pub fn new(mut values: Vec<Value>) -> Self {
        values.sort_unstable();
        values.dedup();
        Self { values: values.into() }
    }

    /// The values in ascending order.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// Whether `value` is among them.
    pub fn contains(&self, value: &Value) -> bool {
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
