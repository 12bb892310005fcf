//! Keys as the API takes them.

mod range;

use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray,
    UInt64Array,
};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat;

use crate::error::{Error, Result};
use crate::row::{KeyCodec, TableSchema};

pub(crate) use self::range::KeyRange;

/// A value of one column: of a key, or the default of a column that is added.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub enum KeyValue {
    /// A whole number: also a date, time or timestamp, in the unit of the column.
    Integer(i128),
    /// A floating-point number, for columns of floats.
    Float(f64),
    /// A boolean.
    Boolean(bool),
    /// A string; also for dates and timestamps, which Arrow parses from it.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// An array of one value, of the type of the column.
    Array(ArrayRef),
}

impl fmt::Display for KeyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Text(value) => write!(f, "{value:?}"),
            Self::Bytes(value) => write!(f, "{value:?}"),
            Self::Array(value) => write!(f, "{value:?}"),
        }
    }
}

/// The key of a row, or the first columns of a key as the bound of a range.
///
/// Numbers, strings, bytes and booleans convert to keys, and tuples of them to keys of several columns. Values of other Arrow types are
/// given as an array of one value.
///
/// ```
/// use lath_table::Key;
///
/// let number = Key::from(17);
/// let two_columns = Key::from(("Oslo", 17));
/// ```
#[derive(Debug, Clone)]
pub struct Key {
    values: Vec<KeyValue>,
}

impl Key {
    /// The key with these values, in the order of the key columns.
    pub fn new(values: impl IntoIterator<Item = KeyValue>) -> Self {
        Self { values: values.into_iter().collect() }
    }

    /// The values, in the order of the key columns.
    pub fn values(&self) -> &[KeyValue] {
        &self.values
    }
}

macro_rules! from_integers {
    ($($integer:ty),*) => {$(
        impl From<$integer> for KeyValue {
            fn from(value: $integer) -> Self {
                Self::Integer(value as i128)
            }
        }
    )*};
}
from_integers!(i8, i16, i32, i64, i128, u8, u16, u32, u64, usize, isize);

impl From<f32> for KeyValue {
    fn from(value: f32) -> Self {
        Self::Float(value.into())
    }
}

impl From<f64> for KeyValue {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<bool> for KeyValue {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<&str> for KeyValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for KeyValue {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&[u8]> for KeyValue {
    fn from(value: &[u8]) -> Self {
        Self::Bytes(value.to_vec())
    }
}

impl From<Vec<u8>> for KeyValue {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}

impl From<ArrayRef> for KeyValue {
    fn from(array: ArrayRef) -> Self {
        Self::Array(array)
    }
}

macro_rules! from_single_values {
    ($($value:ty),*) => {$(
        impl From<$value> for Key {
            fn from(value: $value) -> Self {
                Self { values: vec![value.into()] }
            }
        }
    )*};
}
from_single_values!(
    i8,
    i16,
    i32,
    i64,
    i128,
    u8,
    u16,
    u32,
    u64,
    usize,
    isize,
    f32,
    f64,
    bool,
    &str,
    String,
    &[u8],
    Vec<u8>,
    ArrayRef,
    KeyValue
);

macro_rules! from_tuples {
    ($($name:ident)*) => {
        impl<$($name: Into<KeyValue>),*> From<($($name,)*)> for Key {
            #[allow(non_snake_case, reason = "variables are named after types")]
            fn from(($($name,)*): ($($name,)*)) -> Self {
                Self { values: vec![$($name.into()),*] }
            }
        }
    };
}
from_tuples!(A);
from_tuples!(A B);
from_tuples!(A B C);
from_tuples!(A B C D);
from_tuples!(A B C D E);
from_tuples!(A B C D E F);

mod sealed {
    pub trait Sealed {}
}

/// Several keys: a list of values that convert to a [`Key`], or the key columns of a record batch, which may have other columns too.
///
/// For many keys a record batch is faster.
pub trait Keys: sealed::Sealed {
    #[doc(hidden)]
    fn to_arrays(&self, columns: &KeyColumns<'_>) -> Result<Vec<ArrayRef>>;
}

/// The key columns of a table.
#[doc(hidden)]
#[derive(Debug)]
pub struct KeyColumns<'t>(pub(crate) &'t TableSchema);

impl sealed::Sealed for RecordBatch {}
impl Keys for RecordBatch {
    fn to_arrays(&self, columns: &KeyColumns<'_>) -> Result<Vec<ArrayRef>> {
        columns.0.conform_key(self)
    }
}

impl<K: Clone + Into<Key>> sealed::Sealed for [K] {}
impl<K: Clone + Into<Key>> Keys for [K] {
    fn to_arrays(&self, columns: &KeyColumns<'_>) -> Result<Vec<ArrayRef>> {
        let keys: Vec<Key> = self.iter().cloned().map(Into::into).collect();
        to_arrays(&keys, columns.0)
    }
}

impl<K: Clone + Into<Key>> sealed::Sealed for Vec<K> {}
impl<K: Clone + Into<Key>> Keys for Vec<K> {
    fn to_arrays(&self, columns: &KeyColumns<'_>) -> Result<Vec<ArrayRef>> {
        self.as_slice().to_arrays(columns)
    }
}

impl<K: Clone + Into<Key>, const N: usize> sealed::Sealed for [K; N] {}
impl<K: Clone + Into<Key>, const N: usize> Keys for [K; N] {
    fn to_arrays(&self, columns: &KeyColumns<'_>) -> Result<Vec<ArrayRef>> {
        self.as_slice().to_arrays(columns)
    }
}

impl<T: Keys + ?Sized> sealed::Sealed for &T {}
impl<T: Keys + ?Sized> Keys for &T {
    fn to_arrays(&self, columns: &KeyColumns<'_>) -> Result<Vec<ArrayRef>> {
        (**self).to_arrays(columns)
    }
}

impl Key {
    /// The key columns, of one value each.
    pub(crate) fn to_columns(&self, schema: &TableSchema) -> Result<Vec<ArrayRef>> {
        match (&self.values[..], schema.key().fields()) {
            // The most frequent kind of key, for which the general way takes as long as the search.
            ([KeyValue::Integer(integer)], [field]) if *field.data_type() == DataType::Int64 => {
                match i64::try_from(*integer) {
                    Ok(integer) => Ok(vec![Arc::new(Int64Array::from(vec![integer]))]),
                    Err(_) => to_arrays(std::slice::from_ref(self), schema),
                }
            }
            _ => to_arrays(std::slice::from_ref(self), schema),
        }
    }
}

/// The key columns of these keys.
fn to_arrays(keys: &[Key], schema: &TableSchema) -> Result<Vec<ArrayRef>> {
    let fields = schema.key().fields();
    if let Some(key) = keys.iter().find(|key| key.values.len() != fields.len()) {
        return Err(Error::key(format!(
            "a key has {} values, and there are {} key columns",
            key.values.len(),
            fields.len()
        )));
    }
    let column = |(at, field): (usize, &Arc<Field>)| {
        let values: Vec<&KeyValue> = keys.iter().map(|key| &key.values[at]).collect();
        to_column(&values, field)
    };
    schema.key().one_form(&fields.iter().enumerate().map(column).collect::<Result<Vec<_>>>()?)
}

/// The encoded range between these bounds.
pub(crate) fn key_range<K: Clone + Into<Key>>(bounds: &impl RangeBounds<K>, codec: &KeyCodec) -> Result<KeyRange> {
    let bound = |bound: Bound<&K>| {
        Ok::<_, Error>(match bound {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Included(key) => Bound::Included(key_prefix(&key.clone().into(), codec)?),
            Bound::Excluded(key) => Bound::Excluded(key_prefix(&key.clone().into(), codec)?),
        })
    };
    Ok(KeyRange::from_prefixes(bound(bounds.start_bound())?, bound(bounds.end_bound())?))
}

/// The encoded form of the first columns of a key, or of all.
pub(crate) fn key_prefix(key: &Key, codec: &KeyCodec) -> Result<Vec<u8>> {
    let fields = codec.fields();
    if key.values.is_empty() || key.values.len() > fields.len() {
        let what = format!("a bound has {} values, and there are {} key columns", key.values.len(), fields.len());
        return Err(Error::key(what));
    }
    let columns = key.values.iter().zip(fields).map(|(value, field)| to_column(&[value], field));
    codec.encode_prefix(&columns.collect::<Result<Vec<_>>>()?)
}

/// The value as an array of the column's type.
pub(crate) fn default_array(value: &KeyValue, field: &Field) -> Result<ArrayRef> {
    if let KeyValue::Array(array) = value
        && array.is_nullable()
    {
        return Err(Error::schema(format!("the default of column {:?} is null: leave it out", field.name())));
    }
    to_column(&[value], field).map_err(|error| Error::schema(format!("a default that does not fit: {error}")))
}

/// The values as an array of the column's type.
fn to_column(values: &[&KeyValue], field: &Field) -> Result<ArrayRef> {
    let array = plain_array(values)?;
    let unfit = |why: &str| {
        let shown = values.first().map_or_else(String::new, |value| format!("{value} "));
        Error::key(format!("{shown}as a value of column {:?} ({}): {why}", field.name(), field.data_type()))
    };
    if array.null_count() > 0 {
        return Err(unfit("a key has no nulls"));
    }
    if array.data_type() == field.data_type() {
        return Ok(array);
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let typed = cast_with_options(&array, field.data_type(), &options).map_err(|error| unfit(&error.to_string()))?;
    // A rounded number would find the wrong rows.
    if array.data_type().is_numeric() && !matches!(field.data_type(), DataType::Boolean) {
        let back = cast_with_options(&typed, array.data_type(), &options).map_err(|error| unfit(&error.to_string()))?;
        if back.to_data() != array.to_data() {
            return Err(unfit("the type has no such value"));
        }
    }
    if typed.null_count() > 0 { Err(unfit("the type has no such value")) } else { Ok(typed) }
}

/// The values as an array of the type that they have by themselves.
fn plain_array(values: &[&KeyValue]) -> Result<ArrayRef> {
    if let Some(array) = array_of_integers(values) {
        return Ok(array);
    }
    if let Some(texts) =
        collect(values, |value| if let KeyValue::Text(text) = value { Some(text.as_str()) } else { None })
    {
        return Ok(Arc::new(StringArray::from(texts)));
    }
    if let Some(floats) = collect(values, |value| if let KeyValue::Float(float) = value { Some(*float) } else { None })
    {
        return Ok(Arc::new(Float64Array::from(floats)));
    }
    if let Some(bytes) =
        collect(values, |value| if let KeyValue::Bytes(bytes) = value { Some(&bytes[..]) } else { None })
    {
        return Ok(Arc::new(BinaryArray::from(bytes)));
    }
    if let Some(truths) =
        collect(values, |value| if let KeyValue::Boolean(truth) = value { Some(*truth) } else { None })
    {
        return Ok(Arc::new(BooleanArray::from(truths)));
    }
    let arrays = collect(values, |value| if let KeyValue::Array(array) = value { Some(&**array) } else { None });
    let arrays = arrays.ok_or_else(|| Error::key("keys have values of different kinds in one column"))?;
    if let Some(array) = arrays.iter().find(|array| array.len() != 1) {
        return Err(Error::key(format!(
            "a value of a key is an array of {} values, and has to be of one",
            array.len()
        )));
    }
    Ok(concat(&arrays)?)
}

fn array_of_integers(values: &[&KeyValue]) -> Option<ArrayRef> {
    let integers = collect(values, |value| if let KeyValue::Integer(integer) = value { Some(*integer) } else { None })?;
    if let Ok(small) = integers.iter().map(|&integer| i64::try_from(integer)).collect::<Result<Vec<_>, _>>() {
        return Some(Arc::new(Int64Array::from(small)));
    }
    if let Ok(large) = integers.iter().map(|&integer| u64::try_from(integer)).collect::<Result<Vec<_>, _>>() {
        return Some(Arc::new(UInt64Array::from(large)));
    }
    let decimals = Decimal128Array::from(integers).with_precision_and_scale(38, 0).ok()?;
    Some(Arc::new(decimals))
}

fn collect<'v, T>(values: &[&'v KeyValue], part: impl Fn(&'v KeyValue) -> Option<T>) -> Option<Vec<T>> {
    values.iter().map(|value| part(value)).collect()
}
