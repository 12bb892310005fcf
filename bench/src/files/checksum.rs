//! A digest of each column's logical values: the same for views, offsets and dictionaries, and for any batch size.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Digest {
    /// Rows of a column, elements of a list.
    pub slots: u64,
    state: u64,
    elements: Option<Box<Digest>>,
}

const NULL: u64 = 0x6e75_6c6c;

impl Digest {
    fn mix(&mut self, value: u64) {
        self.slots += 1;
        self.state = (self.state.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// Leaf slots: a list's elements, otherwise rows.
    pub fn leaves(&self) -> u64 {
        self.elements.as_ref().map_or(self.slots, |elements| elements.leaves())
    }

    fn primitive<T: ArrowPrimitiveType>(&mut self, array: &dyn Array, bits: impl Fn(T::Native) -> u64) {
        let array = array.as_primitive::<T>();
        for row in 0..array.len() {
            self.mix(if array.is_valid(row) { bits(array.value(row)) } else { NULL });
        }
    }

    fn strings<'a>(&mut self, values: impl Iterator<Item = Option<&'a str>>) {
        for value in values {
            self.mix(value.map_or(NULL, |text| {
                let mut hash = text.len() as u64;
                for chunk in text.as_bytes().chunks(8) {
                    let mut word = [0; 8];
                    word[..chunk.len()].copy_from_slice(chunk);
                    hash = (hash.rotate_left(29) ^ u64::from_le_bytes(word)).wrapping_mul(0xff51_afd7_ed55_8ccd);
                }
                hash
            }));
        }
    }

    fn add(&mut self, array: &dyn Array) {
        match array.data_type() {
            DataType::Int32 => self.primitive::<Int32Type>(array, |v| v as u64),
            DataType::Int64 => self.primitive::<Int64Type>(array, |v| v as u64),
            DataType::Date32 => self.primitive::<Date32Type>(array, |v| v as u64),
            DataType::Float32 => self.primitive::<Float32Type>(array, |v| v.to_bits().into()),
            DataType::Float64 => self.primitive::<Float64Type>(array, f64::to_bits),
            DataType::Decimal128(..) => self.primitive::<Decimal128Type>(array, |v| v as u64 ^ (v >> 64) as u64),
            DataType::Utf8 => self.strings(array.as_string::<i32>().iter()),
            DataType::Utf8View => self.strings(array.as_string_view().iter()),
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                for row in 0..list.len() {
                    self.mix(if list.is_valid(row) { list.value_length(row) as u64 } else { NULL });
                }
                let (first, last) = (list.value_offsets()[0] as usize, list.value_offsets()[list.len()] as usize);
                self.elements.get_or_insert_default().add(&list.values().slice(first, last - first));
            }
            other => panic!("no digest for {other}"),
        }
    }
}

/// Adds a batch to one digest per column.
pub fn add(digests: &mut Vec<Digest>, batch: &RecordBatch) {
    digests.resize(batch.num_columns(), Digest::default());
    for (digest, column) in digests.iter_mut().zip(batch.columns()) {
        digest.add(column);
    }
}
