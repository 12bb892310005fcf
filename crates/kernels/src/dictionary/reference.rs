//! A straightforward implementation of interning.

use std::collections::HashMap;
use std::hash::Hash;

/// The code of each value, and the distinct values in the order of their codes.
pub(super) fn intern<T: Clone + Eq + Hash>(values: impl IntoIterator<Item = T>) -> (Vec<u32>, Vec<T>) {
    let (mut codes, mut distinct, mut known) = (Vec::new(), Vec::new(), HashMap::new());
    for value in values {
        let code = *known.entry(value.clone()).or_insert_with(|| {
            distinct.push(value);
            distinct.len() as u32 - 1
        });
        codes.push(code);
    }
    (codes, distinct)
}
