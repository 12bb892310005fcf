//! Tests the entries of each distinct dictionary once, and rows by their codes.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{AnyDictionaryArray, Array, ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::DataType;
use lath_kernels::compare::{self, Truth};

use super::bitmap::fill_bitmap;
use crate::error::Result;
use crate::test::ValueTest;

/// Maximum number of cached dictionaries. A column chunk has one, and threads decode several chunks at a time.
const MAX_ENTRIES: usize = 64;

/// Caches the truths of the entries of dictionaries. Clones share the cache.
#[derive(Debug, Clone, Default)]
pub(crate) struct TruthCache {
    entries: Arc<Mutex<Vec<Entry>>>,
}

/// The truths of one test of one dictionary, which is kept alive so that its address identifies it.
#[derive(Debug)]
struct Entry {
    values: ArrayRef,
    test: ValueTest,
    truths: Arc<BooleanArray>,
}

impl TruthCache {
    /// Tests the values of a dictionary array. `test_values` tests an array that is not a dictionary.
    pub(super) fn test_dictionary(
        &self,
        test: &ValueTest,
        array: &dyn Array,
        test_values: fn(&ValueTest, &dyn Array) -> Result<BooleanArray>,
    ) -> Result<BooleanArray> {
        let dictionary = array.as_any_dictionary();
        let truths = self.truths(test, dictionary.values(), test_values)?;
        if truths.is_empty() {
            return Ok(BooleanArray::new_null(array.len()));
        }
        let codes = codes(dictionary.keys());
        let bits = bits_of_codes(&codes, truths.values(), dictionary)?;
        // A value of the dictionary may itself be null.
        let entry_nulls = match truths.nulls() {
            Some(nulls) => Some(NullBuffer::new(bits_of_codes(&codes, nulls.inner(), dictionary)?)),
            None => None,
        };
        Ok(BooleanArray::new(bits, NullBuffer::union(dictionary.keys().nulls(), entry_nulls.as_ref())))
    }

    fn truths(
        &self,
        test: &ValueTest,
        values: &ArrayRef,
        test_values: fn(&ValueTest, &dyn Array) -> Result<BooleanArray>,
    ) -> Result<Arc<BooleanArray>> {
        let known = |entry: &&Entry| Arc::ptr_eq(&entry.values, values) && entry.test == *test;
        if let Some(entry) = self.lock().iter().find(known) {
            return Ok(Arc::clone(&entry.truths));
        }
        let truths = Arc::new(test_values(test, values)?);
        let mut entries = self.lock();
        if entries.len() >= MAX_ENTRIES {
            entries.remove(0);
        }
        entries.push(Entry { values: Arc::clone(values), test: test.clone(), truths: Arc::clone(&truths) });
        Ok(truths)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The keys of a dictionary array; arbitrary for nulls.
fn codes(keys: &dyn Array) -> Cow<'_, [u32]> {
    macro_rules! widened {
        ($t:ty) => {
            keys.as_primitive::<$t>().values().iter().map(|&key| key as u32).collect::<Vec<_>>().into()
        };
    }
    match keys.data_type() {
        DataType::Int32 => bytemuck::cast_slice(keys.as_primitive::<Int32Type>().values()).into(),
        DataType::UInt32 => (&**keys.as_primitive::<UInt32Type>().values()).into(),
        DataType::Int8 => widened!(Int8Type),
        DataType::Int16 => widened!(Int16Type),
        DataType::Int64 => widened!(Int64Type),
        DataType::UInt8 => widened!(UInt8Type),
        DataType::UInt16 => widened!(UInt16Type),
        _ => widened!(UInt64Type),
    }
}

/// The bit of each row's entry; arbitrary for nulls.
fn bits_of_codes(codes: &[u32], entries: &BooleanBuffer, dictionary: &dyn AnyDictionaryArray) -> Result<BooleanBuffer> {
    let words: Vec<u64> = entries.bit_chunks().iter_padded().collect();
    let truth = Truth::new(&words, entries.len())?;
    match fill_bitmap(codes.len(), |out| compare::codes(codes, truth, out)) {
        // The key of a null can be out of range.
        Err(_) if dictionary.keys().null_count() > 0 => {
            let codes = dictionary.normalized_keys();
            Ok(BooleanBuffer::collect_bool(codes.len(), |row| entries.value(codes[row])))
        }
        bits => bits,
    }
}
