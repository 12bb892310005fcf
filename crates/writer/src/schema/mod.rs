//! Converts the Arrow schema of the batches to the Parquet schema of the file.

mod column_type;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use lath_format::schema::KeyValue;
use lath_format::schema::{ARROW_SCHEMA_META_KEY, ArrowSchemaConverter, encode_arrow_schema};
use lath_format::schema::{ColumnDescPtr, ColumnDescriptor, SchemaDescPtr, SchemaDescriptor, Type};
use lath_format::schema::{LogicalType, PhysicalType};
use lath_format::schema::{PathMatch, find_path, write_path};
use lath_parquet::internal::{
    SchemaOptions, collect_columns, guard, prune, without_stored_type, without_unknown_types,
};
use lath_parquet::{Error, PARQUET_TYPE_KEY, ParquetFile, Projection, Result, Strings};

use super::options::{LeafOptions, WriteOptions};

/// Maximum size of all dictionaries, as a divisor of the memory budget.
const DICTIONARY_SHARE: usize = 16;

/// The Arrow and Parquet schemas of a new file, and the options of each leaf.
#[derive(Debug)]
pub(super) struct WriteSchema {
    pub(super) arrow: SchemaRef,
    /// The fields for striping: nullable where the Parquet type is OPTIONAL.
    pub(super) striped: Fields,
    pub(super) descr: SchemaDescPtr,
    pub(super) leaves: Vec<LeafSchema>,
    /// The schema of the original file, and the leaf numbers in it.
    like: Option<(SchemaDescPtr, Vec<usize>)>,
    /// Metadata of the original file; keys of the caller override it.
    inherited: Vec<KeyValue>,
    /// Whether Arrow data of the schema has the levels and types of the leaves: not always so for copied files.
    pub(super) is_encodable: bool,
}

/// A leaf column.
#[derive(Debug)]
pub(super) struct LeafSchema {
    pub(super) column: ColumnDescPtr,
    /// Number of leaves with the same path, and of those before this one: names may repeat.
    pub(super) namesakes: usize,
    pub(super) occurrence: usize,
    /// Arrow type of the values.
    pub(super) arrow_type: DataType,
    pub(super) options: Arc<LeafOptions>,
}

impl WriteSchema {
    /// # Errors
    /// [`Error::Invalid`] if Parquet has no such type, or if an option names a missing column.
    pub(super) fn new(arrow: &SchemaRef, options: &WriteOptions) -> Result<Self> {
        let (descr, striped) = types(arrow)?;
        let (descr, hint) = match options.inherited_schema() {
            // Readers then interpret it as they do the other file.
            Some(other) if other.descr.root_schema().get_fields() == descr.root_schema().get_fields() => {
                let has_all = arrow.metadata().keys().all(|key| !options.leaves_out(key));
                let hint = other.hint.clone();
                (
                    Arc::clone(&other.descr),
                    hint.map(|hint| if has_all { hint } else { encode_hint(&adapted(arrow, options)) }),
                )
            }
            Some(other) => (renamed(&descr, other.descr.name())?, Some(encode_hint(&adapted(arrow, options)))),
            None => (descr, Some(encode_hint(&adapted(arrow, options)))),
        };
        let hint = hint.map(|hint| KeyValue { key: ARROW_SCHEMA_META_KEY.to_owned(), value: Some(hint) });
        Self::of(Arc::clone(arrow), descr, Some(striped), hint.into_iter().collect(), options)
    }

    /// The schema of a file, or of a part of it, unchanged; with the indices of the file's columns.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `projection` or the options name a missing column.
    pub(super) fn like(file: &ParquetFile, projection: Option<&Projection>, options: &WriteOptions) -> Result<Self> {
        let (arrow, nodes) = file.build_schema(&file.schema_options(), projection)?;
        let metadata = file.metadata();
        let mut columns = Vec::new();
        nodes.iter().for_each(|node| collect_columns(node, &mut columns));
        let whole = Arc::clone(metadata.schema_descr());
        let is_whole = columns.len() == whole.num_columns();
        let descr = if is_whole { Arc::clone(&whole) } else { Arc::new(prune(&whole, &columns)?) };
        let descr = without_unknown(descr)?;

        let mut inherited = metadata.key_value_metadata();
        let has_all = arrow.metadata().keys().all(|key| !options.leaves_out(key));
        if !is_whole || !has_all {
            // An Arrow schema of all columns would not match a part of them, and may have keys that are left out.
            let schema_options = SchemaOptions { strings: Strings::Offsets, ..file.schema_options() };
            let (hint, _) = file.build_schema(&schema_options, projection)?;
            for pair in inherited.iter_mut().filter(|pair| pair.key == ARROW_SCHEMA_META_KEY) {
                pair.value = Some(encode_hint(&adapted(&hint, options)));
            }
        }
        let converted = guard(|| ArrowSchemaConverter::new().convert(&arrow)).ok();
        let striped = converted.and_then(|converted| column_type::fitting(&descr, arrow.fields(), &converted));
        let mut schema = Self::of(arrow, descr, striped, inherited, options)?;
        // Columns come in the order of the file.
        columns.sort_unstable();
        schema.like = Some((whole, columns));
        Ok(schema)
    }

    /// The leaf numbers in files of the schema `descr`, if this schema was made from it.
    pub(super) fn numbers_in(&self, descr: &SchemaDescPtr) -> Option<&[usize]> {
        let (like, numbers) = self.like.as_ref()?;
        let is_same = Arc::ptr_eq(like, descr) || like.root_schema() == descr.root_schema();
        is_same.then_some(numbers.as_slice())
    }

    /// `striped` is `None` if rows of `arrow` do not have the levels and types of the leaves.
    fn of(
        arrow: SchemaRef,
        descr: SchemaDescPtr,
        striped: Option<Fields>,
        inherited: Vec<KeyValue>,
        options: &WriteOptions,
    ) -> Result<Self> {
        let mut arrow_types = Vec::with_capacity(descr.num_columns());
        arrow.fields().iter().for_each(|field| collect_leaves(field.data_type(), &mut arrow_types));
        if arrow_types.len() != descr.num_columns() {
            return Err(Error::invalid("the schema cannot be written: its leaves do not match"));
        }
        // All dictionaries together, with their lookup tables, leave space for pages.
        let most_dictionary_bytes = (options.memory_budget() / DICTIONARY_SHARE / arrow_types.len().max(1)).max(1);
        let mut namesakes: HashMap<&[String], usize> = HashMap::new();
        let mut occurrences = Vec::with_capacity(arrow_types.len());
        for column in descr.columns() {
            let count = namesakes.entry(column.path().parts()).or_default();
            occurrences.push(*count);
            *count += 1;
        }
        let paths: Vec<&[String]> = descr.columns().iter().map(|column| column.path().parts()).collect();
        let keys = option_keys(options.column_paths(), &paths)?;
        let encryption = options.encryption_keys();
        let leaf = |((column, arrow_type), occurrence): ((&ColumnDescPtr, _), usize)| {
            let path = column.path().parts();
            let mut options = options.leaf(keys.get(path).copied(), &write_path(path), occurrence);
            options.dictionary_bytes = options.dictionary_bytes.min(most_dictionary_bytes);
            options.is_encrypted = encryption.is_some_and(|keys| keys.encrypts(&column.path().string()));
            let namesakes = namesakes.get(column.path().parts()).copied().unwrap_or(1);
            LeafSchema { column: Arc::clone(column), namesakes, occurrence, arrow_type, options: Arc::new(options) }
        };
        let leaves: Vec<_> = descr.columns().iter().zip(arrow_types).zip(occurrences).map(leaf).collect();
        let is_encodable = striped.is_some();
        let striped = striped.unwrap_or_else(|| arrow.fields().clone());
        Ok(Self { arrow, striped, descr, leaves, like: None, inherited, is_encodable })
    }

    /// The only leaf with this dotted path.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is none, or if there are several.
    pub(super) fn sorting_leaf(&self, path: &str) -> Result<usize> {
        let index = self.leaf_index(path)?;
        match self.leaves[index].namesakes {
            1 => Ok(index),
            count => Err(Error::invalid(format!(
                "sorting column {path} is ambiguous: {count} columns have this name; rename them, or sort by another column"
            ))),
        }
    }

    /// The first leaf with this path.
    pub(super) fn leaf_index(&self, path: &str) -> Result<usize> {
        let paths: Vec<&[String]> = self.leaves.iter().map(|leaf| leaf.column.path().parts()).collect();
        leaf_at(path, &paths)
    }

    /// Key-value metadata of the file: the caller's keys, the keys of the copied file, and the Arrow schema, with which readers
    /// restore the types that Parquet lacks.
    pub(super) fn key_values(&self, options: &WriteOptions) -> Vec<KeyValue> {
        let own = options.key_values().iter().filter(|(key, _)| key != ARROW_SCHEMA_META_KEY);
        let own: Vec<_> = own.map(|(key, value)| KeyValue { key: key.clone(), value: value.clone() }).collect();
        let is_kept = |pair: &&KeyValue| own.iter().all(|own| own.key != pair.key) && !options.leaves_out(&pair.key);
        let inherited = self.inherited.iter().filter(is_kept).cloned();
        let inherited: Vec<_> = inherited.collect();
        own.into_iter().chain(inherited).collect()
    }
}

impl LeafSchema {
    /// Whether the column's statistics follow IEEE 754's total order.
    pub(super) fn has_total_order(&self) -> bool {
        self.options.total_order && is_floating(&self.column)
    }
}

/// The Parquet schema of the files to which [`ParquetWriter`](crate::ParquetWriter) writes rows of an Arrow schema.
///
/// # Errors
/// [`Error::Invalid`] if Parquet has no such type.
pub fn parquet_schema(arrow: &Schema) -> Result<SchemaDescPtr> {
    types(arrow).map(|(descr, _)| descr)
}

/// For the names of each leaf with options, the path by which they were set.
fn option_keys<'k, 'p>(
    keys: impl Iterator<Item = &'k str>,
    leaves: &[&'p [String]],
) -> Result<HashMap<&'p [String], &'k str>> {
    let written: HashMap<String, &'p [String]> = leaves.iter().map(|path| (write_path(path), *path)).collect();
    let named = |key: &'k str| match written.get(key) {
        Some(path) => Ok((*path, key)),
        None => leaf_at(key, leaves).map(|at| (leaves[at], key)),
    };
    keys.map(named).collect()
}

/// The leaf that a text names: by its dotted path, or by its quoted names.
pub(super) fn leaf_at(text: &str, leaves: &[&[String]]) -> Result<usize> {
    if let Some(at) = leaves.iter().position(|path| write_path(path) == text) {
        return Ok(at);
    }
    let names = names_in(text, leaves)?;
    let is_leaf = |path: &&[String]| **path == *names;
    leaves.iter().position(is_leaf).ok_or_else(|| no_leaf(text, leaves))
}

/// The names of a leaf, or of a group above one, that a text names.
pub(super) fn names_in(text: &str, leaves: &[&[String]]) -> Result<Vec<String>> {
    match find_path(text, leaves) {
        PathMatch::Names(names) => Ok(names),
        PathMatch::Nothing => Err(no_leaf(text, leaves)),
        PathMatch::Ambiguous(several) => {
            let what = several.join(" or ");
            Err(Error::invalid(format!("{text} is ambiguous: {what}; write one of them")))
        }
    }
}

fn no_leaf(text: &str, leaves: &[&[String]]) -> Error {
    let paths: Vec<String> = leaves.iter().map(|path| write_path(path)).collect();
    Error::invalid(format!("there is no leaf column {text}; there are {}", paths.join(", ")))
}

/// The Parquet schema for rows of an Arrow schema, and the fields for striping.
fn types(arrow: &Schema) -> Result<(SchemaDescPtr, Fields)> {
    arrow.fields().iter().try_for_each(|field| check(field, field.name()))?;
    let refused = |error| Error::invalid(format!("the schema cannot be written: {error}"));
    let converted = guard(|| ArrowSchemaConverter::new().convert(arrow)).map_err(refused)?;
    if arrow.fields().iter().all(|field| !field.metadata().contains_key(PARQUET_TYPE_KEY)) {
        return Ok((Arc::new(converted), arrow.fields().clone()));
    }
    let root = converted.root_schema();
    let (mut types, mut striped) = (root.get_fields().to_vec(), arrow.fields().to_vec());
    for ((ty, striped), field) in types.iter_mut().zip(&mut striped).zip(arrow.fields()) {
        if let Some(carried) = column_type::carried(field, ty) {
            (*ty, *striped) = (carried.ty, carried.striped);
        }
    }
    let root = guard(|| Type::group_type_builder(root.name()).with_fields(types).build()).map_err(refused)?;
    Ok((Arc::new(SchemaDescriptor::new(Arc::new(root))), striped.into()))
}

fn renamed(descr: &SchemaDescPtr, name: &str) -> Result<SchemaDescPtr> {
    let fields = descr.root_schema().get_fields().to_vec();
    let root = guard(|| Type::group_type_builder(name).with_fields(fields).build())?;
    Ok(Arc::new(SchemaDescriptor::new(Arc::new(root))))
}

/// The schema without logical types that cannot be written.
fn without_unknown(descr: SchemaDescPtr) -> Result<SchemaDescPtr> {
    let root = descr.root_schema_ptr();
    let known = without_unknown_types(&root)?;
    Ok(if Arc::ptr_eq(&root, &known) { descr } else { Arc::new(SchemaDescriptor::new(known)) })
}

/// The schema with its metadata changed by the options; readers take metadata from the Arrow schema in a file.
fn adapted(arrow: &Schema, options: &WriteOptions) -> Schema {
    let mut metadata = arrow.metadata().clone();
    metadata.retain(|key, _| !options.leaves_out(key));
    for (key, value) in options.key_values() {
        if let Some(value) = value.as_ref().filter(|_| arrow.metadata().contains_key(key)) {
            metadata.insert(key.clone(), value.clone());
        }
    }
    Schema::new_with_metadata(arrow.fields().clone(), metadata)
}

/// The Arrow schema as a file stores it: as its rows are read again.
fn encode_hint(arrow: &Schema) -> String {
    let fields = arrow.fields().iter().map(|field| stored_form(&without_stored_type(field))).collect::<Fields>();
    encode_arrow_schema(&Schema::new_with_metadata(fields, arrow.metadata().clone()))
}

/// Whether leaves have the same levels and physical values.
pub(super) fn is_encoded_alike(a: &ColumnDescriptor, b: &ColumnDescriptor) -> bool {
    (a.max_def_level(), a.max_rep_level()) == (b.max_def_level(), b.max_rep_level())
        && (a.physical_type(), a.type_length()) == (b.physical_type(), b.type_length())
}

fn is_floating(column: &ColumnDescriptor) -> bool {
    matches!(column.physical_type(), PhysicalType::FLOAT | PhysicalType::DOUBLE)
        || column.logical_type_ref() == Some(&LogicalType::Float16)
}

/// Refuses types that the conversion accepts, but readers do not.
fn check(field: &Field, path: &str) -> Result<()> {
    let below = |fields: &Fields| fields.iter().try_for_each(|field| check(field, &format!("{path}.{}", field.name())));
    match field.data_type() {
        DataType::Null if !field.is_nullable() => {
            Err(Error::invalid(format!("column {path} has the type Null, but is not nullable")))
        }
        DataType::Union(..) => Err(Error::invalid(format!("column {path} is a union, which Parquet does not have"))),
        DataType::Struct(fields) if fields.is_empty() => {
            Err(Error::invalid(format!("column {path} is a struct without fields, which Parquet does not have")))
        }
        DataType::Dictionary(_, values) if values.is_nested() => {
            Err(Error::invalid(format!("column {path} is a dictionary of {values}, which Parquet does not have")))
        }
        DataType::Struct(fields) => below(fields),
        DataType::Map(item, _)
        | DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => check(item, &format!("{path}.{}", item.name())),
        DataType::RunEndEncoded(_, values) => {
            check(&Field::new(field.name(), values.data_type().clone(), field.is_nullable()), path)
        }
        _ => Ok(()),
    }
}

/// The types of the leaves below a type, in file order.
fn collect_leaves(data_type: &DataType, leaves: &mut Vec<DataType>) {
    match data_type {
        DataType::Struct(fields) => fields.iter().for_each(|field| collect_leaves(field.data_type(), leaves)),
        DataType::Map(item, _)
        | DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::RunEndEncoded(_, item) => collect_leaves(item.data_type(), leaves),
        leaf => leaves.push(leaf.clone()),
    }
}

/// The field as it is read again. Run ends and views are layouts in memory; pyarrow, which would read views again, compares none of them.
fn stored_form(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::RunEndEncoded(_, values) => stored_form(values).data_type().clone(),
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(keys, values) => {
            let values = stored_form(&Arc::new(Field::new("", values.as_ref().clone(), true)));
            DataType::Dictionary(keys.clone(), Box::new(values.data_type().clone()))
        }
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(stored_form).collect()),
        DataType::Map(item, sorted) => DataType::Map(stored_form(item), *sorted),
        DataType::List(item) => DataType::List(stored_form(item)),
        DataType::LargeList(item) => DataType::LargeList(stored_form(item)),
        DataType::FixedSizeList(item, len) => DataType::FixedSizeList(stored_form(item), *len),
        DataType::ListView(item) => DataType::ListView(stored_form(item)),
        DataType::LargeListView(item) => DataType::LargeListView(stored_form(item)),
        _ => return Arc::clone(field),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}
