//! Tests of dictionaries: once for each distinct dictionary, then by its codes.

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

/// Maximum number of dictionaries that are remembered. A column chunk has one, and threads decode several chunks at a time.
const MAX_ENTRIES: usize = 64;

/// The truths of the dictionaries that have been seen. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct TruthCache {
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
    /// The test of the values of a dictionary array. `test_values` tests those of an array that is no dictionary.
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

/// The keys of a dictionary array; of nulls, anything.
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

/// The bit of the entry of each row; of a null, any bit.
fn bits_of_codes(codes: &[u32], entries: &BooleanBuffer, dictionary: &dyn AnyDictionaryArray) -> Result<BooleanBuffer> {
    let words: Vec<u64> = entries.bit_chunks().iter_padded().collect();
    let truth = Truth::new(&words, entries.len())?;
    match fill_bitmap(codes.len(), |out| compare::codes(codes, truth, out)) {
        // Where there is a null, a key may name no entry.
        Err(_) if dictionary.keys().null_count() > 0 => {
            let codes = dictionary.normalized_keys();
            Ok(BooleanBuffer::collect_bool(codes.len(), |row| entries.value(codes[row])))
        }
        bits => bits,
    }
}
