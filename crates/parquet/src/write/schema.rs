//! From the Arrow schema of what is written to the Parquet schema of the file.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ArrowSchemaConverter, encode_arrow_schema};
use parquet::basic::{LogicalType, Type as PhysicalType};
use parquet::file::metadata::KeyValue;
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, SchemaDescPtr};

use super::options::{LeafOptions, WriteOptions};
use super::prune;
use crate::envelope::guard;
use crate::error::{Error, Result};
use crate::file::{ParquetFile, collect_columns};
use crate::options::Strings;
use crate::schema::{Projection, SchemaOptions};

/// Dictionaries take up at most this share of the memory budget.
const DICTIONARY_SHARE: usize = 16;

/// The two schemas of a file that is written, and what is asked for each leaf.
#[derive(Debug)]
pub(super) struct WriteSchema {
    pub(super) arrow: SchemaRef,
    pub(super) descr: SchemaDescPtr,
    pub(super) leaves: Vec<LeafSchema>,
    /// What the file's metadata holds, unless the caller's keys are the same.
    inherited: Vec<KeyValue>,
    /// Whether Arrow data of the schema has the levels and types of the leaves: files that are copied may have others.
    pub(super) is_encodable: bool,
}

/// A leaf column.
#[derive(Debug)]
pub(super) struct LeafSchema {
    pub(super) column: ColumnDescPtr,
    /// What its values come as.
    pub(super) arrow_type: DataType,
    pub(super) options: Arc<LeafOptions>,
}

impl WriteSchema {
    /// # Errors
    /// [`Error::Invalid`] if Parquet has no place for a type, or if an option names a column that is not there.
    pub(super) fn new(arrow: &SchemaRef, options: &WriteOptions) -> Result<Self> {
        arrow.fields().iter().try_for_each(|field| check(field, field.name()))?;
        let descr = guard(|| ArrowSchemaConverter::new().convert(arrow))
            .map_err(|error| Error::invalid(format!("the schema cannot be written: {error}")))?;
        let fields = arrow.fields().iter().map(without_runs).collect::<Fields>();
        let hint = encode_arrow_schema(&Schema::new_with_metadata(fields, arrow.metadata().clone()));
        let hint = KeyValue { key: ARROW_SCHEMA_META_KEY.to_owned(), value: Some(hint) };
        Self::of(Arc::clone(arrow), Arc::new(descr), vec![hint], true, options)
    }

    /// The schema of a file, or of a part of it, as it stands there; with the indices of the columns of the file.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `projection` or the options name a column that is not there.
    pub(super) fn like(file: &ParquetFile, projection: Option<&Projection>, options: &WriteOptions) -> Result<Self> {
        let (arrow, nodes) = file.build_schema(&file.schema_options(), projection)?;
        let metadata = file.metadata().file_metadata();
        let mut columns = Vec::new();
        nodes.iter().for_each(|node| collect_columns(node, &mut columns));
        let whole = metadata.schema_descr_ptr();
        let is_whole = columns.len() == whole.num_columns();
        let descr = if is_whole { whole } else { Arc::new(prune::prune(&whole, &columns)?) };

        let mut inherited = metadata.key_value_metadata().cloned().unwrap_or_default();
        if !is_whole {
            // The hint of all columns would be one of other columns than there are.
            let schema_options = SchemaOptions { strings: Strings::Offsets, ..file.schema_options() };
            let (hint, _) = file.build_schema(&schema_options, projection)?;
            for pair in inherited.iter_mut().filter(|pair| pair.key == ARROW_SCHEMA_META_KEY) {
                pair.value = Some(encode_arrow_schema(&hint));
            }
        }
        let own = guard(|| ArrowSchemaConverter::new().convert(&arrow)).ok();
        let is_encodable = own.is_some_and(|own| {
            let mut pairs = own.columns().iter().zip(descr.columns());
            own.num_columns() == descr.num_columns() && pairs.all(|(a, b)| is_encoded_alike(a, b))
        });
        Self::of(arrow, descr, inherited, is_encodable, options)
    }

    fn of(
        arrow: SchemaRef,
        descr: SchemaDescPtr,
        inherited: Vec<KeyValue>,
        is_encodable: bool,
        options: &WriteOptions,
    ) -> Result<Self> {
        let mut arrow_types = Vec::with_capacity(descr.num_columns());
        arrow.fields().iter().for_each(|field| collect_leaves(field.data_type(), &mut arrow_types));
        if arrow_types.len() != descr.num_columns() {
            return Err(Error::invalid("the schema cannot be written: its leaves do not match"));
        }
        // All dictionaries together, with the tables by which values are found in them, leave room for pages.
        let most_dictionary_bytes = (options.memory_budget() / DICTIONARY_SHARE / arrow_types.len().max(1)).max(1);
        let leaf = |(column, arrow_type): (&ColumnDescPtr, _)| {
            let mut options = options.leaf(&column.path().string());
            options.dictionary_bytes = options.dictionary_bytes.min(most_dictionary_bytes);
            LeafSchema { column: Arc::clone(column), arrow_type, options: Arc::new(options) }
        };
        let leaves: Vec<_> = descr.columns().iter().zip(arrow_types).map(leaf).collect();
        let schema = Self { arrow, descr, leaves, inherited, is_encodable };
        options.column_paths().try_for_each(|path| schema.leaf_index(path).map(drop))?;
        Ok(schema)
    }

    /// The leaf with this dotted path.
    pub(super) fn leaf_index(&self, path: &str) -> Result<usize> {
        let is_named = |leaf: &LeafSchema| leaf.column.path().string() == path;
        self.leaves.iter().position(is_named).ok_or_else(|| {
            let paths: Vec<_> = self.leaves.iter().map(|leaf| leaf.column.path().string()).collect();
            Error::invalid(format!("there is no leaf column {path}; there are {}", paths.join(", ")))
        })
    }

    /// What the metadata of the file holds: the caller's keys, those of the file that is copied, and the Arrow schema, by
    /// which readers restore the types that Parquet lacks.
    pub(super) fn key_values(&self, options: &WriteOptions) -> Vec<KeyValue> {
        let own = options.key_values().iter().filter(|(key, _)| key != ARROW_SCHEMA_META_KEY);
        let own: Vec<_> = own.map(|(key, value)| KeyValue { key: key.clone(), value: value.clone() }).collect();
        let inherited = self.inherited.iter().filter(|pair| own.iter().all(|own| own.key != pair.key)).cloned();
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

/// Whether leaves have the same levels and physical values.
pub(super) fn is_encoded_alike(a: &ColumnDescriptor, b: &ColumnDescriptor) -> bool {
    (a.max_def_level(), a.max_rep_level()) == (b.max_def_level(), b.max_rep_level())
        && (a.physical_type(), a.type_length()) == (b.physical_type(), b.type_length())
}

fn is_floating(column: &ColumnDescriptor) -> bool {
    matches!(column.physical_type(), PhysicalType::FLOAT | PhysicalType::DOUBLE)
        || column.logical_type_ref() == Some(&LogicalType::Float16)
}

/// Refuses what the conversion would take, but no reader.
fn check(field: &Field, path: &str) -> Result<()> {
    let below = |fields: &Fields| fields.iter().try_for_each(|field| check(field, &format!("{path}.{}", field.name())));
    match field.data_type() {
        DataType::Null if !field.is_nullable() => {
            Err(Error::invalid(format!("column {path} has nothing but nulls, but is not nullable")))
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

/// The field as it is read again: run ends are not kept.
fn without_runs(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::RunEndEncoded(_, values) => without_runs(values).data_type().clone(),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(without_runs).collect()),
        DataType::Map(item, sorted) => DataType::Map(without_runs(item), *sorted),
        DataType::List(item) => DataType::List(without_runs(item)),
        DataType::LargeList(item) => DataType::LargeList(without_runs(item)),
        DataType::FixedSizeList(item, len) => DataType::FixedSizeList(without_runs(item), *len),
        DataType::ListView(item) => DataType::ListView(without_runs(item)),
        DataType::LargeListView(item) => DataType::LargeListView(without_runs(item)),
        _ => return Arc::clone(field),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}
