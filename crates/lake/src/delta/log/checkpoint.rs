//! Reads the actions of a checkpoint from its Parquet files.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, ListArray, MapArray, RecordBatch, StringArray, StructArray};
use arrow_cast::cast;
use arrow_schema::{DataType, Fields};
use lath_parquet::{DatasetFile, Error, Result};

use crate::delta::actions::{Action, Add, DeletionVector, Format, Metadata, Protocol, Sidecar};
use crate::storage::Folder;

/// The columns of a checkpoint that readers need.
const COLUMNS: [(&str, &[&str]); 4] = [
    ("add", &["path", "partitionValues", "size", "deletionVector", "stats"]),
    ("metaData", &["id", "schemaString", "partitionColumns", "configuration", "format"]),
    ("protocol", &["minReaderVersion", "readerFeatures"]),
    ("sidecar", &["path"]),
];

/// The columns with actions that readers do not need.
const OTHER_COLUMNS: [&str; 6] = ["txn", "remove", "commitInfo", "domainMetadata", "checkpointMetadata", "cdc"];

/// Calls `each` with the actions of the file at `location`.
pub(super) fn read(folder: &Folder, location: &str, mut each: impl FnMut(Action) -> Result<()>) -> Result<()> {
    let options = Arc::new(folder.options().clone());
    let file = DatasetFile::at(location, None, [], &options)?.open()?;
    let mut paths = Vec::new();
    for (group, names) in COLUMNS {
        if let Ok(field) = file.schema().field_with_name(group)
            && let DataType::Struct(fields) = field.data_type()
        {
            let names = names.iter().filter(|name| has(fields, name));
            paths.extend(names.map(|name| format!("{group}.{name}")));
        }
    }
    if paths.is_empty() {
        // Some writers leave out the columns of actions that a part of a checkpoint does not have.
        if OTHER_COLUMNS.iter().any(|name| file.schema().field_with_name(name).is_ok()) {
            return Ok(());
        }
        return Err(Error::corrupt("a checkpoint without actions").locate(|at| at.file = Some(location.into())));
    }
    for batch in file.scan().select(paths).build()? {
        actions(&batch?, &mut each).map_err(|error| error.locate(|at| at.file = Some(location.into())))?;
    }
    Ok(())
}

fn has(fields: &Fields, name: &str) -> bool {
    fields.iter().any(|field| field.name() == name)
}

fn actions(batch: &RecordBatch, each: &mut impl FnMut(Action) -> Result<()>) -> Result<()> {
    let group = |name: &str| batch.column_by_name(name).and_then(|column| column.as_struct_opt());
    if let Some(group) = group("protocol") {
        let (version, features) = (integers(group, "minReaderVersion")?, texts_of_lists(group, "readerFeatures")?);
        for row in rows(group) {
            let Some(version) = value(version.as_ref(), row) else { continue };
            let min_reader_version =
                i32::try_from(version).map_err(|_| Error::corrupt(format!("the reader version {version}")))?;
            let protocol =
                Protocol { min_reader_version, reader_features: features.as_ref().and_then(|list| list.get(row)) };
            each(Action { protocol: Some(protocol), ..Action::default() })?;
        }
    }
    if let Some(group) = group("metaData") {
        let (schema, partitions) = (texts(group, "schemaString")?, texts_of_lists(group, "partitionColumns")?);
        let (ids, configuration) = (texts(group, "id")?, text_maps(group, "configuration")?);
        let provider = match group.column_by_name("format").and_then(|column| column.as_struct_opt()) {
            Some(format) => texts(format, "provider")?,
            None => None,
        };
        for row in rows(group) {
            let Some(schema_string) = text(schema.as_ref(), row) else { continue };
            let metadata = Metadata {
                id: text(ids.as_ref(), row),
                schema_string: Some(schema_string),
                partition_columns: partitions.as_ref().and_then(|lists| lists.get(row)).unwrap_or_default(),
                configuration: configuration.as_ref().and_then(|maps| maps.get(row)),
                format: Some(Format { provider: text(provider.as_ref(), row) }),
            };
            each(Action { metadata: Some(metadata), ..Action::default() })?;
        }
    }
    if let Some(group) = group("sidecar") {
        let paths = texts(group, "path")?;
        for row in rows(group) {
            let Some(path) = text(paths.as_ref(), row) else { continue };
            each(Action { sidecar: Some(Sidecar { path }), ..Action::default() })?;
        }
    }
    match group("add") {
        Some(group) => adds(group, each),
        None => Ok(()),
    }
}

fn adds(group: &StructArray, each: &mut impl FnMut(Action) -> Result<()>) -> Result<()> {
    let (paths, sizes) = (texts(group, "path")?, integers(group, "size")?);
    let partitions = text_maps(group, "partitionValues")?;
    let stats = texts(group, "stats")?;
    let vectors = group.column_by_name("deletionVector").and_then(|column| column.as_struct_opt());
    let vectors = vectors.map(Vectors::new).transpose()?;
    for row in rows(group) {
        let Some(path) = text(paths.as_ref(), row) else { continue };
        let add = Add {
            path,
            partition_values: partitions.as_ref().and_then(|maps| maps.get(row)),
            size: value(sizes.as_ref(), row).and_then(|size| u64::try_from(size).ok()),
            deletion_vector: vectors.as_ref().map_or(Ok(None), |vectors| vectors.get(row))?,
            stats: text(stats.as_ref(), row).map(String::into_boxed_str),
        };
        each(Action { add: Some(add), ..Action::default() })?;
    }
    Ok(())
}

/// The rows that have the action.
fn rows(group: &StructArray) -> impl Iterator<Item = usize> + '_ {
    (0..group.len()).filter(|&row| group.is_valid(row))
}

/// Descriptors of deletion vectors.
struct Vectors<'a> {
    group: &'a StructArray,
    storage_types: Option<StringArray>,
    paths: Option<StringArray>,
    offsets: Option<Int64Array>,
    sizes: Option<Int64Array>,
    cardinalities: Option<Int64Array>,
}

impl<'a> Vectors<'a> {
    fn new(group: &'a StructArray) -> Result<Self> {
        Ok(Self {
            group,
            storage_types: texts(group, "storageType")?,
            paths: texts(group, "pathOrInlineDv")?,
            offsets: integers(group, "offset")?,
            sizes: integers(group, "sizeInBytes")?,
            cardinalities: integers(group, "cardinality")?,
        })
    }

    fn get(&self, row: usize) -> Result<Option<DeletionVector>> {
        let (storage_type, path) = (text(self.storage_types.as_ref(), row), text(self.paths.as_ref(), row));
        if self.group.is_null(row) || (storage_type.is_none() && path.is_none()) {
            return Ok(None);
        }
        let lacks = || Error::corrupt("an incomplete deletion vector in a checkpoint");
        let number =
            |array: &Option<Int64Array>| value(array.as_ref(), row).and_then(|value| u64::try_from(value).ok());
        Ok(Some(DeletionVector {
            storage_type: storage_type.ok_or_else(lacks)?,
            path_or_inline_dv: path.ok_or_else(lacks)?,
            offset: number(&self.offsets),
            size_in_bytes: number(&self.sizes).ok_or_else(lacks)?,
            cardinality: number(&self.cardinalities).ok_or_else(lacks)?,
        }))
    }
}

/// Maps from text to text, one a row.
struct TextMaps {
    map: MapArray,
    keys: StringArray,
    values: StringArray,
}

impl TextMaps {
    fn get(&self, row: usize) -> Option<HashMap<String, Option<String>>> {
        let offsets = self.map.value_offsets();
        self.map.is_valid(row).then(|| {
            let range = offsets[row] as usize..offsets[row + 1] as usize;
            let entry = |at: usize| (self.keys.value(at).to_owned(), text(Some(&self.values), at));
            range.map(entry).collect()
        })
    }
}

/// Lists of texts, one a row.
struct TextLists {
    list: ListArray,
    values: StringArray,
}

impl TextLists {
    fn get(&self, row: usize) -> Option<Vec<String>> {
        let offsets = self.list.value_offsets();
        self.list.is_valid(row).then(|| {
            let range = offsets[row] as usize..offsets[row + 1] as usize;
            range.filter_map(|at| text(Some(&self.values), at)).collect()
        })
    }
}

fn as_text(array: &ArrayRef, name: &str) -> Result<StringArray> {
    let array = cast(array, &DataType::Utf8).ok();
    let texts = array.as_ref().and_then(|array| array.as_string_opt::<i32>()).cloned();
    texts.ok_or_else(|| Error::corrupt(format!("{name} of a checkpoint is not text")))
}

fn texts(group: &StructArray, name: &str) -> Result<Option<StringArray>> {
    group.column_by_name(name).map(|column| as_text(column, name)).transpose()
}

fn integers(group: &StructArray, name: &str) -> Result<Option<Int64Array>> {
    let Some(column) = group.column_by_name(name) else { return Ok(None) };
    let array = cast(column, &DataType::Int64).ok();
    let integers = array.as_ref().and_then(|array| array.as_primitive_opt::<Int64Type>()).cloned();
    integers.map(Some).ok_or_else(|| Error::corrupt(format!("{name} of a checkpoint is not an integer")))
}

fn text_maps(group: &StructArray, name: &str) -> Result<Option<TextMaps>> {
    let Some(column) = group.column_by_name(name) else { return Ok(None) };
    let map = column.as_map_opt().ok_or_else(|| Error::corrupt(format!("{name} of a checkpoint is not a map")))?;
    Ok(Some(TextMaps { map: map.clone(), keys: as_text(map.keys(), name)?, values: as_text(map.values(), name)? }))
}

fn texts_of_lists(group: &StructArray, name: &str) -> Result<Option<TextLists>> {
    let Some(column) = group.column_by_name(name) else { return Ok(None) };
    let list =
        column.as_list_opt::<i32>().ok_or_else(|| Error::corrupt(format!("{name} of a checkpoint is not a list")))?;
    Ok(Some(TextLists { list: list.clone(), values: as_text(list.values(), name)? }))
}

fn text(array: Option<&StringArray>, row: usize) -> Option<String> {
    array.filter(|array| array.is_valid(row)).map(|array| array.value(row).to_owned())
}

fn value(array: Option<&Int64Array>, row: usize) -> Option<i64> {
    array.filter(|array| array.is_valid(row)).map(|array| array.value(row))
}
