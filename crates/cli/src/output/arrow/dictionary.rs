//! One dictionary per column for all batches: values get keys in order of first appearance.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowDictionaryKeyType;
use arrow_array::{
    AnyDictionaryArray, Array, ArrayRef, PrimitiveArray, UInt64Array, downcast_integer_array, make_array,
    new_empty_array,
};
use arrow_buffer::ArrowNativeType;
use arrow_data::ArrayData;
use arrow_row::{RowConverter, SortField};
use arrow_schema::{ArrowError, DataType, Field, FieldRef};
use arrow_select::concat::concat;
use arrow_select::take::take;

/// Whether a column of this type has a dictionary, at any depth.
pub(super) fn has_dictionaries(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Dictionary(..)) || key_type(data_type) != *data_type
}

/// The type with dictionaries replaced by the keys into them.
pub(super) fn key_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(key, _) => key.as_ref().clone(),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(key_field).collect()),
        DataType::List(field) => DataType::List(key_field(field)),
        DataType::LargeList(field) => DataType::LargeList(key_field(field)),
        DataType::ListView(field) => DataType::ListView(key_field(field)),
        DataType::LargeListView(field) => DataType::LargeListView(key_field(field)),
        DataType::FixedSizeList(field, length) => DataType::FixedSizeList(key_field(field), *length),
        DataType::Map(entries, sorted) => DataType::Map(key_field(entries), *sorted),
        DataType::RunEndEncoded(ends, values) => DataType::RunEndEncoded(Arc::clone(ends), key_field(values)),
        DataType::Union(fields, mode) => {
            DataType::Union(fields.iter().map(|(id, field)| (id, key_field(field))).collect(), *mode)
        }
        other => other.clone(),
    }
}

pub(super) fn key_field(field: &FieldRef) -> FieldRef {
    Arc::new(Field::new(field.name(), key_type(field.data_type()), field.is_nullable()))
}

/// The dictionaries of a schema, in depth-first order of its columns.
#[derive(Debug, Default)]
pub(super) struct Dictionaries(Vec<Dictionary>);

impl Dictionaries {
    /// An empty dictionary for every one in `data_type`.
    pub(super) fn add(&mut self, data_type: &DataType) -> Result<(), ArrowError> {
        self.add_within(&ArrayData::new_empty(data_type))
    }

    fn add_within(&mut self, data: &ArrayData) -> Result<(), ArrowError> {
        if let DataType::Dictionary(_, value) = data.data_type() {
            self.0.push(Dictionary::new(value)?);
            return Ok(());
        }
        data.child_data().iter().try_for_each(|child| self.add_within(child))
    }

    /// The column with keys in place of values. `next` is the index of its first dictionary, and is advanced to the next column's.
    pub(super) fn keys(&mut self, column: &ArrayRef, next: &mut usize) -> Result<ArrayRef, ArrowError> {
        if !has_dictionaries(column.data_type()) {
            return Ok(Arc::clone(column));
        }
        self.keys_within(&column.to_data(), next).map(make_array)
    }

    fn keys_within(&mut self, data: &ArrayData, next: &mut usize) -> Result<ArrayData, ArrowError> {
        if let DataType::Dictionary(..) = data.data_type() {
            let array = make_array(data.clone());
            *next += 1;
            return Ok(self.0[*next - 1].keys(array.as_any_dictionary())?.to_data());
        }
        if !has_dictionaries(data.data_type()) {
            return Ok(data.clone());
        }
        let children = data.child_data().iter().map(|child| self.keys_within(child, next));
        let children = children.collect::<Result<Vec<_>, _>>()?;
        data.clone().into_builder().data_type(key_type(data.data_type())).child_data(children).build()
    }

    /// A column of `data_type` without rows, whose dictionaries hold all values.
    pub(super) fn empty_column(&self, data_type: &DataType, next: &mut usize) -> Result<ArrayRef, ArrowError> {
        self.filled(ArrayData::new_empty(data_type), next).map(make_array)
    }

    fn filled(&self, data: ArrayData, next: &mut usize) -> Result<ArrayData, ArrowError> {
        if let DataType::Dictionary(_, value) = data.data_type() {
            *next += 1;
            let values = self.0[*next - 1].values(value)?;
            return data.into_builder().child_data(vec![values.to_data()]).build();
        }
        let children = data.child_data().iter().map(|child| self.filled(child.clone(), next));
        let children = children.collect::<Result<Vec<_>, _>>()?;
        data.into_builder().child_data(children).build()
    }
}

/// All values of a column's dictionaries.
#[derive(Debug)]
struct Dictionary {
    converter: RowConverter,
    /// Keys by value; values are in row format.
    keys: HashMap<Box<[u8]>, usize>,
    /// The values in the order of their keys.
    parts: Vec<ArrayRef>,
    /// The dictionary of the last batch with the new keys of its values: batches often share a dictionary.
    last: Option<(ArrayRef, Vec<usize>)>,
}

impl Dictionary {
    fn new(value: &DataType) -> Result<Self, ArrowError> {
        let converter = RowConverter::new(vec![SortField::new(value.clone())])?;
        Ok(Self { converter, keys: HashMap::new(), parts: Vec::new(), last: None })
    }

    fn values(&self, value: &DataType) -> Result<ArrayRef, ArrowError> {
        let parts: Vec<&dyn Array> = self.parts.iter().map(AsRef::as_ref).collect();
        if parts.is_empty() { Ok(new_empty_array(value)) } else { concat(&parts) }
    }

    fn keys(&mut self, array: &dyn AnyDictionaryArray) -> Result<ArrayRef, ArrowError> {
        let values = array.values();
        let is_last = self.last.as_ref().is_some_and(|(last, _)| last.to_data().ptr_eq(&values.to_data()));
        if !is_last {
            let keys = self.insert(values)?;
            self.last = Some((Arc::clone(values), keys));
        }
        let numbers = self.last.as_ref().map(|(_, numbers)| numbers.as_slice()).unwrap_or_default();
        let keys = array.keys();
        downcast_integer_array!(
            keys => renumbered(keys, numbers),
            other => Err(ArrowError::InvalidArgumentError(format!("{other} is not a key type")))
        )
    }

    /// Adds new values, and returns the key of each value.
    fn insert(&mut self, values: &ArrayRef) -> Result<Vec<usize>, ArrowError> {
        let rows = self.converter.convert_columns(std::slice::from_ref(values))?;
        let mut added = Vec::new();
        let mut numbers = Vec::with_capacity(values.len());
        for (index, row) in rows.iter().enumerate() {
            let number = match self.keys.get(row.as_ref()) {
                Some(&number) => number,
                None => {
                    let number = self.keys.len();
                    self.keys.insert(row.as_ref().into(), number);
                    added.push(index as u64);
                    number
                }
            };
            numbers.push(number);
        }
        if !added.is_empty() {
            let part = take(values, &UInt64Array::from(added), None)?;
            self.parts.push(compact(part));
        }
        Ok(numbers)
    }
}

/// Copies values out of views, which would keep whole pages in memory.
fn compact(values: ArrayRef) -> ArrayRef {
    match values.data_type() {
        DataType::Utf8View => Arc::new(values.as_string_view().gc()),
        DataType::BinaryView => Arc::new(values.as_binary_view().gc()),
        _ => values,
    }
}

fn renumbered<K: ArrowDictionaryKeyType>(keys: &PrimitiveArray<K>, numbers: &[usize]) -> Result<ArrayRef, ArrowError> {
    if numbers.iter().enumerate().all(|(index, &number)| index == number) {
        return Ok(Arc::new(keys.clone()));
    }
    let number = |key: K::Native| {
        let number = numbers.get(key.as_usize()).copied().unwrap_or_default();
        K::Native::from_usize(number).ok_or(ArrowError::DictionaryKeyOverflowError)
    };
    let renumbered = keys.try_unary::<_, K, _>(number)?;
    Ok(Arc::new(renumbered))
}
