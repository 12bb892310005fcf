//! Tests dictionary-encoded rows: each entry of the dictionary is tested once, and rows are looked up by their indices.

use arrow_array::{Array, ArrayRef, new_null_array};
use lath_kernels::{compare, select};
use lath_predicate::BoundPredicate;

use super::mask::Mask;
use crate::decode::Codes;
use crate::error::Result;

/// The results of a predicate for each entry of a dictionary, and for null.
#[derive(Debug)]
pub(in crate::scan) struct Truth {
    entries: Mask,
    of_null: bool,
    /// The result, if it is the same for every entry and null.
    constant: Option<bool>,
}

impl Truth {
    /// Tests the dictionary with `predicate`, which has a single operand.
    pub(in crate::scan) fn new(predicate: &BoundPredicate, dictionary: &ArrayRef) -> Result<Self> {
        let truth = predicate.evaluate(std::slice::from_ref(dictionary), dictionary.len())?;
        let entries = Mask::from_truth(&truth);
        let null = predicate.evaluate(&[new_null_array(dictionary.data_type(), 1)], 1)?;
        let of_null = null.is_valid(0) && null.value(0);
        let constant = match (entries.count(), of_null) {
            (0, false) => Some(false),
            (count, true) if count == entries.len() => Some(true),
            _ => None,
        };
        Ok(Self { entries, of_null, constant })
    }

    /// The rows of `codes` for which the predicate is true. The indices must be within the dictionary.
    pub(in crate::scan) fn of(&self, codes: &Codes) -> Result<Mask> {
        if let Some(truth) = self.constant {
            return if truth { Ok(Mask::all(codes.row_count)) } else { Mask::from_ranges(&[], codes.row_count) };
        }
        let of_values = self.look_up(codes.keys())?;
        let Some(valid) = codes.nulls() else { return Ok(Mask::from_words(of_values, codes.row_count)) };
        let mut words = vec![0u64; codes.row_count.div_ceil(64)];
        let (values, out) = (bytemuck::cast_slice(&of_values), bytemuck::cast_slice_mut(&mut words));
        select::expand_bits(values, 0, codes.keys().len(), valid, 0, codes.row_count, out, 0)?;
        if self.of_null {
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
            bytes.iter_mut().zip(valid).for_each(|(byte, valid)| *byte |= !valid);
        }
        Ok(Mask::from_words(words, codes.row_count))
    }

    fn look_up(&self, keys: &[u32]) -> Result<Vec<u64>> {
        let mut words = vec![0; compare::word_count(keys.len())];
        compare::codes(keys, compare::Truth::new(self.entries.words(), self.entries.len())?, &mut words)?;
        Ok(words)
    }
}
