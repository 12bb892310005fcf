//! Categories of dictionary columns, in order, including categories without rows.
//!
//! Rows store values instead of codes, so the categories of a column are kept separately, next to the schema. New categories are only
//! appended: the dictionary of an older commit or file is always a prefix of the current one.
//!
//! | column | a batch with new categories |
//! | --- | --- |
//! | unordered | appends them. Beyond [`UNORDERED_BYTES`], or the maximum number of dictionary keys, categories are no longer kept |
//! | ordered | appends them if its order agrees with the table's, else is refused |

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowDictionaryKeyType;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, PrimitiveArray, UInt64Array, downcast_dictionary_array, new_empty_array,
};
use arrow_buffer::{ArrowNativeType, Buffer};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, Field, FieldRef};
use arrow_select::concat::concat;
use arrow_select::interleave::interleave;
use arrow_select::take::take;
use lath_store::{RecordReader, RecordWriter, Tree, TreeMut};

use super::array_bytes::{array_from_bytes, array_to_bytes};
use crate::error::{Error, Result};

/// Prefix of the keys of categories in the tree of meta data.
const CATEGORIES_PREFIX: &[u8] = b"categories/";

/// The key of the categories of a column in the tree of meta data.
fn categories_key(column: u32) -> Vec<u8> {
    [CATEGORIES_PREFIX, &column.to_be_bytes()].concat()
}

/// The number of the column whose categories have this key; `None` if the key is another one.
fn categories_column(key: &[u8]) -> Result<Option<u32>> {
    let Some(column) = key.strip_prefix(CATEGORIES_PREFIX) else { return Ok(None) };
    let column = column.try_into().map_err(|_| Error::corrupt("the number of a column has not four bytes"))?;
    Ok(Some(u32::from_be_bytes(column)))
}

/// Maximum bytes of the categories of an unordered column. A column with more is compressed text, not an enumeration: each of its files
/// would begin with a dictionary of which its rows use little.
const UNORDERED_BYTES: usize = 64 << 10;

/// Maximum bytes of the categories of an ordered column: the limit of the dictionary page of a Parquet file.
const ORDERED_BYTES: usize = 1 << 20;

/// The categories of the columns of a table, by the numbers of the columns.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Categories {
    columns: BTreeMap<u32, Arc<ColumnCategories>>,
}

impl Categories {
    /// Reads the categories of a commit from its tree of metadata.
    pub(crate) fn read(meta: Option<Tree<'_>>) -> Result<Self> {
        let mut columns = BTreeMap::new();
        let Some(meta) = meta else { return Ok(Self { columns }) };
        let mut cursor = meta.cursor();
        let mut has_entry = cursor.lower_bound(CATEGORIES_PREFIX)?;
        while has_entry && let (Some(key), Some(value)) = (cursor.key(), cursor.value()?) {
            let Some(column) = categories_column(key)? else { break };
            columns.insert(column, Arc::new(ColumnCategories::from_bytes(value)?));
            has_entry = cursor.next()?;
        }
        Ok(Self { columns })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The categories of a column; `None` if they are not kept.
    pub(crate) fn get(&self, column: u32) -> Option<&Arc<ColumnCategories>> {
        self.columns.get(&column)
    }

    /// Sets the categories of a column, or stops keeping them.
    pub(crate) fn set(&mut self, column: u32, categories: Option<ColumnCategories>) {
        match categories {
            Some(categories) => drop(self.columns.insert(column, Arc::new(categories))),
            None => drop(self.columns.remove(&column)),
        }
    }

    /// Writes the categories that differ from those before to the tree of metadata.
    pub(crate) fn write(&self, meta: &mut TreeMut<'_>, before: &Self) -> Result<()> {
        for column in before.columns.keys().filter(|column| !self.columns.contains_key(column)) {
            meta.remove(&categories_key(*column))?;
        }
        for (column, categories) in &self.columns {
            if before.columns.get(column).is_none_or(|other| !Arc::ptr_eq(other, categories)) {
                meta.put(&categories_key(*column), &categories.to_bytes()?)?;
            }
        }
        Ok(())
    }
}

/// The categories of one column.
#[derive(Debug)]
pub(crate) struct ColumnCategories {
    is_ordered: bool,
    /// Distinct and not null.
    values: ArrayRef,
    /// The position of each value, by its bytes.
    codes: HashMap<Box<[u8]>, usize>,
}

impl PartialEq for ColumnCategories {
    fn eq(&self, other: &Self) -> bool {
        self.is_ordered == other.is_ordered && self.values.to_data() == other.values.to_data()
    }
}

impl Eq for ColumnCategories {}

impl ColumnCategories {
    /// No categories yet; `None` if the field is not a dictionary, or has values whose categories are not kept.
    pub(crate) fn new(field: &Field) -> Option<Self> {
        match field.data_type() {
            DataType::Dictionary(keys, values) if keys.is_integer() && has_bytes(values) => Some(Self {
                is_ordered: field.dict_is_ordered() == Some(true),
                values: new_empty_array(values),
                codes: HashMap::new(),
            }),
            _ => None,
        }
    }

    fn with_values(is_ordered: bool, values: ArrayRef) -> Result<Self> {
        let bytes = ValueBytes::new(&values)?;
        let codes: HashMap<Box<[u8]>, usize> = (0..values.len()).map(|at| (Box::from(bytes.get(at)), at)).collect();
        match values.null_count() == 0 && codes.len() == values.len() {
            true => Ok(Self { is_ordered, values, codes }),
            false => Err(Error::corrupt("a category of a column is null or there twice")),
        }
    }

    /// A record of the store.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        let ipc = array_to_bytes(&self.values)?;
        Ok(RecordWriter::default().u32(self.is_ordered.into()).bytes(&ipc).finish())
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut record = RecordReader::new("the categories of a column", bytes)?;
        let is_ordered = record.u32()? == 1;
        let values = array_from_bytes(record.bytes()?)?;
        match has_bytes(values.data_type()) {
            true => Self::with_values(is_ordered, values),
            false => Err(Error::corrupt(format!("there are categories of the type {}", values.data_type()))),
        }
    }

    pub(crate) fn is_ordered(&self) -> bool {
        self.is_ordered
    }

    /// Whether a field can have these categories.
    pub(crate) fn fits(&self, field: &Field) -> bool {
        matches!(field.data_type(), DataType::Dictionary(_, values) if **values == *self.values.data_type())
    }

    /// These categories, followed by the new ones of a dictionary. `is_ordered`: the order of the dictionary has a meaning.
    pub(crate) fn extend(&self, field: &Field, dictionary: &ArrayRef, is_ordered: bool) -> Result<Growth> {
        let Some(dictionary) = dictionary.as_any_dictionary_opt() else { return Ok(Growth::Unchanged) };
        let values = dictionary.values();
        if Arc::ptr_eq(values, &self.values) {
            return Ok(Growth::Unchanged);
        }
        if self.is_ordered && !is_ordered {
            self.check_values(field, dictionary)?;
            return Ok(Growth::Unchanged);
        }
        let bytes = ValueBytes::new(values)?;
        let (mut added, mut added_codes): (Vec<u64>, HashMap<&[u8], usize>) = Default::default();
        let (mut seen, mut last): (HashSet<usize>, Option<(usize, usize)>) = Default::default();
        for at in (0..values.len()).filter(|&at| values.is_valid(at)) {
            let value = bytes.get(at);
            let code = match self.codes.get(value).or_else(|| added_codes.get(value)) {
                Some(&code) => code,
                None => {
                    let code = self.values.len() + added.len();
                    added.push(at as u64);
                    added_codes.insert(value, code);
                    code
                }
            };
            // A dictionary may repeat an entry.
            if !self.is_ordered || !seen.insert(code) {
                continue;
            }
            if let Some((last, _)) = last.filter(|&(_, last_code)| last_code > code) {
                return Err(Error::batch(format!(
                    "column {:?} is ordered: the batch has {} before {}, and the table has them the other way; give the categories in \
                     the order of the table, and new ones last",
                    field.name(),
                    shown(values, last),
                    shown(values, at),
                )));
            }
            last = Some((at, code));
        }
        if added.is_empty() {
            return Ok(Growth::Unchanged);
        }
        let added = take(values, &UInt64Array::from(added), None)?;
        self.append(field, &added)
    }

    fn append(&self, field: &Field, added: &ArrayRef) -> Result<Growth> {
        let extended = Self::with_values(self.is_ordered, concat(&[&*self.values, &**added])?)?;
        let max_count = max_categories(field.data_type());
        let bytes: usize = extended.codes.keys().map(|value| value.len()).sum();
        match (bytes, self.is_ordered) {
            _ if extended.values.len() as u64 > max_count && self.is_ordered => Err(Error::batch(format!(
                "column {:?} is {}, whose keys number {max_count} categories, and the batch brings more: create the table with wider keys",
                field.name(),
                field.data_type(),
            ))),
            (ORDERED_BYTES.., true) => Err(Error::batch(format!(
                "column {:?} is ordered, and its categories would take {bytes} bytes, which is more than {ORDERED_BYTES}: create the \
                 table with unordered categories or text",
                field.name(),
            ))),
            (UNORDERED_BYTES.., false) => Ok(Growth::TooMany),
            _ if extended.values.len() as u64 > max_count => Ok(Growth::TooMany),
            _ => Ok(Growth::Grown(extended)),
        }
    }

    /// Refuses values that are not in these categories.
    fn check_values(&self, field: &Field, dictionary: &dyn arrow_array::array::AnyDictionaryArray) -> Result<()> {
        let values = dictionary.values();
        let bytes = ValueBytes::new(values)?;
        let is_unknown: Vec<bool> =
            (0..values.len()).map(|at| values.is_valid(at) && !self.codes.contains_key(bytes.get(at))).collect();
        if !is_unknown.contains(&true) {
            return Ok(());
        }
        let keys = dictionary.normalized_keys();
        let unknown = (0..dictionary.len()).find(|&row| dictionary.keys().is_valid(row) && is_unknown[keys[row]]);
        match unknown {
            None => Ok(()),
            Some(row) => Err(Error::batch(format!(
                "column {:?} is ordered and has no category {} (row {row} of the batch): put it once in a batch whose column is an \
                 ordered dictionary with the new category last",
                field.name(),
                shown(values, keys[row]),
            ))),
        }
    }

    /// The array with these categories as its dictionary.
    pub(crate) fn apply(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let Some(dictionary) = array.as_any_dictionary_opt() else { return Ok(Arc::clone(array)) };
        if Arc::ptr_eq(dictionary.values(), &self.values) || dictionary.values().data_type() != self.values.data_type()
        {
            return Ok(Arc::clone(array));
        }
        downcast_dictionary_array!(
            array => self.recode(array),
            _ => Ok(Arc::clone(array))
        )
    }

    fn recode<K: ArrowDictionaryKeyType>(&self, array: &DictionaryArray<K>) -> Result<ArrayRef> {
        let values = array.values();
        let bytes = ValueBytes::new(values)?;
        let mut codes: Vec<Option<K::Native>> = vec![None; values.len()];
        let mut code = |key: K::Native| -> Result<Option<K::Native>> {
            let entry = key.as_usize();
            if codes[entry].is_none() && values.is_valid(entry) {
                let code = self.codes.get(bytes.get(entry)).and_then(|&code| K::Native::from_usize(code));
                let missing = || Error::corrupt(format!("a row has {}, which is no category", shown(values, entry)));
                codes[entry] = Some(code.ok_or_else(missing)?);
            }
            Ok(codes[entry])
        };
        let recoded = array.keys().iter().map(|key| key.map_or(Ok(None), &mut code));
        let keys = recoded.collect::<Result<PrimitiveArray<K>>>()?;
        Ok(Arc::new(DictionaryArray::try_new(keys, Arc::clone(&self.values))?))
    }
}

/// Change of the categories of a column by a dictionary.
#[derive(Debug)]
pub(crate) enum Growth {
    Unchanged,
    Grown(ColumnCategories),
    /// The categories of the unordered column are no longer kept.
    TooMany,
}

/// The field with the order of these categories, and without an order where none is kept.
pub(crate) fn with_category_order(field: &FieldRef, categories: Option<&ColumnCategories>) -> FieldRef {
    let is_ordered = categories.is_some_and(ColumnCategories::is_ordered);
    let field = Field::clone(field);
    let data_type = without_order(field.data_type());
    Arc::new(field.with_data_type(data_type).with_dict_is_ordered(is_ordered))
}

/// The type without an order of the categories in nested fields, where they are not kept.
fn without_order(data_type: &DataType) -> DataType {
    let inner = |field: &FieldRef| with_category_order(field, None);
    match data_type {
        DataType::List(field) => DataType::List(inner(field)),
        DataType::LargeList(field) => DataType::LargeList(inner(field)),
        DataType::FixedSizeList(field, len) => DataType::FixedSizeList(inner(field), *len),
        DataType::Map(field, is_sorted) => DataType::Map(inner(field), *is_sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        other => other.clone(),
    }
}

/// Interleaves rows of several arrays. Dictionaries that share their values keep them as they are, which Arrow concatenates.
pub(crate) fn interleave_rows(arrays: &[&dyn Array], rows: &[(usize, usize)]) -> Result<ArrayRef> {
    let dictionaries = arrays.iter().map(|array| array.as_any_dictionary_opt()).collect::<Option<Vec<_>>>();
    let Some((dictionaries, first)) = dictionaries.as_ref().and_then(|all| Some((all, *all.first()?))) else {
        return Ok(interleave(arrays, rows)?);
    };
    if !dictionaries.iter().all(|dictionary| Arc::ptr_eq(dictionary.values(), first.values())) {
        return Ok(interleave(arrays, rows)?);
    }
    let keys: Vec<&dyn Array> = dictionaries.iter().map(|dictionary| dictionary.keys()).collect();
    let keys = interleave(&keys, rows)?;
    let array = arrays[0];
    downcast_dictionary_array!(
        array => with_keys(array, &keys),
        _ => Err(Error::internal("a dictionary has another type"))
    )
}

fn with_keys<K: ArrowDictionaryKeyType>(array: &DictionaryArray<K>, keys: &ArrayRef) -> Result<ArrayRef> {
    let keys = keys.as_primitive::<K>().clone();
    Ok(Arc::new(DictionaryArray::try_new(keys, Arc::clone(array.values()))?))
}

/// The maximum number of categories for a type of dictionary keys.
fn max_categories(data_type: &DataType) -> u64 {
    let DataType::Dictionary(keys, _) = data_type else { return 0 };
    match **keys {
        DataType::Int8 => 1 << 7,
        DataType::UInt8 => 1 << 8,
        DataType::Int16 => 1 << 15,
        DataType::UInt16 => 1 << 16,
        _ => 1 << 31,
    }
}

fn shown(values: &ArrayRef, at: usize) -> String {
    array_value_to_string(values, at).unwrap_or_else(|error| error.to_string())
}

/// Whether [`ValueBytes`] has the values of a type.
fn has_bytes(data_type: &DataType) -> bool {
    data_type.is_string() || data_type.is_binary() || data_type.primitive_width().is_some()
}

/// The values of an array as bytes that are equal if the values are.
enum ValueBytes<'a> {
    Text(&'a dyn Array),
    Numbers { bytes: Buffer, width: usize },
}

impl<'a> ValueBytes<'a> {
    fn new(values: &'a ArrayRef) -> Result<Self> {
        match values.data_type().primitive_width() {
            Some(width) => {
                let data = values.to_data();
                let bytes = data.buffers().first().map(|buffer| buffer.slice(data.offset() * width));
                Ok(Self::Numbers { bytes: bytes.unwrap_or_default(), width })
            }
            None if has_bytes(values.data_type()) => Ok(Self::Text(&**values)),
            None => Err(Error::internal("categories have a type without bytes")),
        }
    }

    /// The bytes of a value, which is not null.
    fn get(&self, at: usize) -> &[u8] {
        let values = match self {
            Self::Numbers { bytes, width } => return bytes.get(at * width..(at + 1) * width).unwrap_or_default(),
            Self::Text(values) => *values,
        };
        match values.data_type() {
            DataType::Utf8 => values.as_string::<i32>().value(at).as_bytes(),
            DataType::LargeUtf8 => values.as_string::<i64>().value(at).as_bytes(),
            DataType::Utf8View => values.as_string_view().value(at).as_bytes(),
            DataType::Binary => values.as_binary::<i32>().value(at),
            DataType::LargeBinary => values.as_binary::<i64>().value(at),
            DataType::BinaryView => values.as_binary_view().value(at),
            _ => values.as_fixed_size_binary().value(at),
        }
    }
}
