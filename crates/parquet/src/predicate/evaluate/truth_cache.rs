//! Tests of dictionaries: once for each distinct dictionary, then by its codes.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};

use super::super::test::ValueTest;
use super::test_values;
use crate::error::Result;

/// Most dictionaries that are remembered; a column chunk has one, and threads decode several chunks at a time.
const MOST_ENTRIES: usize = 64;

/// The truths of the dictionaries that have been seen. Clones share them.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct TruthCache {
    entries: Arc<Mutex<Vec<Entry>>>,
}

/// The truths of one test of one dictionary, which is held so that its address stays its own.
#[derive(Debug)]
struct Entry {
    values: ArrayRef,
    test: ValueTest,
    truths: Arc<BooleanArray>,
}

impl TruthCache {
    /// The test of the values of a dictionary array.
    pub(super) fn test_dictionary(&self, test: &ValueTest, array: &dyn Array) -> Result<BooleanArray> {
        let dictionary = array.as_any_dictionary();
        let truths = self.truths(test, dictionary.values())?;
        if truths.is_empty() {
            return Ok(BooleanArray::new_null(array.len()));
        }
        let codes = dictionary.normalized_keys();
        let bits = BooleanBuffer::collect_bool(codes.len(), |row| truths.value(codes[row]));
        // A value of the dictionary may itself be null.
        let of_values = truths
            .nulls()
            .map(|nulls| NullBuffer::new(BooleanBuffer::collect_bool(codes.len(), |row| nulls.is_valid(codes[row]))));
        Ok(BooleanArray::new(bits, NullBuffer::union(dictionary.keys().nulls(), of_values.as_ref())))
    }

    fn truths(&self, test: &ValueTest, values: &ArrayRef) -> Result<Arc<BooleanArray>> {
        let known = |entry: &&Entry| Arc::ptr_eq(&entry.values, values) && entry.test == *test;
        if let Some(entry) = self.lock().iter().find(known) {
            return Ok(Arc::clone(&entry.truths));
        }
        let truths = Arc::new(test_values(test, values)?);
        let mut entries = self.lock();
        if entries.len() >= MOST_ENTRIES {
            entries.remove(0);
        }
        entries.push(Entry { values: Arc::clone(values), test: test.clone(), truths: Arc::clone(&truths) });
        Ok(truths)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
