//! Reads the actions of a checkpoint from its Parquet files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, ListArray, MapArray, RecordBatch, StringViewArray, StructArray};
use arrow_cast::cast;
use arrow_schema::DataType;
use bytes::Bytes;
use lath_parquet::{DatasetFile, Error, Int96Unit, OpenOptions, ParquetFile, Result};

use super::commit::parse;
use super::parsed_statistics::ParsedStatistics;
use crate::delta::actions::{DeletionVector, FileAction, Format, Metadata, Protocol, Settings, Sidecar};
use crate::storage::Folder;

/// The columns of a checkpoint with the files of the table.
const FILES: [(&str, &[&str]); 1] = [("add", &["path", "partitionValues", "size", "deletionVector", "stats"])];

/// The same columns, with statistics that are not JSON.
const FILES_WITH_PARSED: [(&str, &[&str]); 1] =
    [("add", &["path", "partitionValues", "size", "deletionVector", "stats", "stats_parsed"])];

/// The columns with other actions that readers need.
const SETTINGS: [(&str, &[&str]); 3] = [
    ("metaData", &["id", "schemaString", "partitionColumns", "configuration", "format"]),
    ("protocol", &["minReaderVersion", "readerFeatures"]),
    ("sidecar", &["path"]),
];

/// The columns with actions that readers do not need.
const OTHER_COLUMNS: [&str; 6] = ["txn", "remove", "commitInfo", "domainMetadata", "checkpointMetadata", "cdc"];

/// A file of a checkpoint.
#[derive(Debug, Clone)]
pub(super) struct Checkpoint {
    location: String,
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    Parquet(ParquetFile),
    Json(Bytes),
}

impl Checkpoint {
    /// Opens the file at a path or URL.
    pub(super) fn open(folder: &Folder, location: String) -> Result<Self> {
        let source = if location.ends_with(".json") {
            Source::Json(folder.read(&location)?)
        } else {
            // Times of all years, which statistics have.
            let open = OpenOptions::new().int96_unit(Int96Unit::Microseconds);
            let options = Arc::new(folder.options().clone().open_options(open));
            Source::Parquet(DatasetFile::at(&location, None, [], &options)?.open()?)
        };
        let checkpoint = Self { location, source };
        checkpoint.check()?;
        Ok(checkpoint)
    }

    /// An error if the file has no column of a checkpoint.
    fn check(&self) -> Result<()> {
        let Source::Parquet(file) = &self.source else { return Ok(()) };
        // Some writers leave out the columns of actions that a part of a checkpoint does not have.
        let is_there = |name: &&str| file.schema().field_with_name(name).is_ok();
        if columns(file, &FILES).is_empty()
            && columns(file, &SETTINGS).is_empty()
            && !OTHER_COLUMNS.iter().any(is_there)
        {
            return Err(self.locate(Error::corrupt("a checkpoint without actions")));
        }
        Ok(())
    }

    /// Number of actions, if it is known without reading them; else 0.
    pub(super) fn row_count(&self) -> usize {
        match &self.source {
            Source::Parquet(file) => usize::try_from(file.row_count()).unwrap_or(usize::MAX),
            Source::Json(_) => 0,
        }
    }

    fn locate(&self, error: Error) -> Error {
        error.locate(|at| {
            at.file.get_or_insert_with(|| self.location.as_str().into());
        })
    }

    /// Adds protocol and metadata, unless there are newer ones, and sidecars.
    pub(super) fn settings(&self, settings: &mut Settings, sidecars: &mut Vec<Sidecar>) -> Result<()> {
        match &self.source {
            Source::Json(bytes) => {
                for action in parse(&self.location, bytes)? {
                    settings.add(action.protocol, action.metadata);
                    sidecars.extend(action.sidecar);
                }
                Ok(())
            }
            Source::Parquet(file) => {
                let wanted = if settings.are_complete() { &SETTINGS[2..] } else { &SETTINGS[..] };
                self.batches(file, wanted, |batch| read_settings(batch, settings, sidecars))
            }
        }
    }

    /// Calls `each` with the files of the table.
    pub(super) fn files(&self, mut each: impl FnMut(FileAction<'_>) -> Result<()>) -> Result<()> {
        match &self.source {
            Source::Json(bytes) => parse(&self.location, bytes)?
                .into_iter()
                .filter_map(|action| action.add)
                .try_for_each(|add| add.with_file(&mut each)),
            Source::Parquet(file) => {
                let wanted = if has_json_statistics(file)? { &FILES } else { &FILES_WITH_PARSED };
                self.batches(file, wanted, |batch| match group(batch, "add") {
                    Some(group) => read_files(group, &mut each),
                    None => Ok(()),
                })
            }
        }
    }

    fn batches(
        &self,
        file: &ParquetFile,
        wanted: &[(&str, &[&str])],
        mut each: impl FnMut(&RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let paths = columns(file, wanted);
        if paths.is_empty() {
            return Ok(());
        }
        for batch in file.scan().select(paths).build()? {
            batch.and_then(|batch| each(&batch)).map_err(|error| self.locate(error))?;
        }
        Ok(())
    }
}

/// The wanted columns that a file has.
fn columns(file: &ParquetFile, wanted: &[(&str, &[&str])]) -> Vec<String> {
    let mut paths = Vec::new();
    for (group, names) in wanted {
        if let Ok(field) = file.schema().field_with_name(group)
            && let DataType::Struct(fields) = field.data_type()
        {
            let names = names.iter().filter(|name| fields.iter().any(|field| field.name() == **name));
            paths.extend(names.map(|name| format!("{group}.{name}")));
        }
    }
    paths
}

/// Whether a file has the statistics of files as JSON, too, and not only in columns.
fn has_json_statistics(file: &ParquetFile) -> Result<bool> {
    if columns(file, &[("add", &["stats"])]).is_empty() {
        return Ok(false);
    }
    let nulls = file.column_statistics("add.stats")?.null_count;
    Ok(nulls.value() != Some(&file.row_count()))
}

fn group<'b>(batch: &'b RecordBatch, name: &str) -> Option<&'b StructArray> {
    batch.column_by_name(name).and_then(|column| column.as_struct_opt())
}

fn read_settings(batch: &RecordBatch, settings: &mut Settings, sidecars: &mut Vec<Sidecar>) -> Result<()> {
    if let Some(group) = group(batch, "protocol") {
        let (version, features) = (integers(group, "minReaderVersion")?, texts_of_lists(group, "readerFeatures")?);
        for row in rows(group) {
            let Some(version) = value(version.as_ref(), row) else { continue };
            let min_reader_version =
                i32::try_from(version).map_err(|_| Error::corrupt(format!("the reader version {version}")))?;
            let reader_features = features.as_ref().and_then(|list| list.get(row));
            settings.add(Some(Protocol { min_reader_version, reader_features }), None);
        }
    }
    if let Some(group) = group(batch, "metaData") {
        let (schema, partitions) = (texts(group, "schemaString")?, texts_of_lists(group, "partitionColumns")?);
        let (ids, configuration) = (texts(group, "id")?, text_maps(group, "configuration")?);
        let provider = match group.column_by_name("format").and_then(|column| column.as_struct_opt()) {
            Some(format) => texts(format, "provider")?,
            None => None,
        };
        for row in rows(group) {
            let Some(schema_string) = owned(schema.as_ref(), row) else { continue };
            let metadata = Metadata {
                id: owned(ids.as_ref(), row),
                schema_string: Some(schema_string),
                partition_columns: partitions.as_ref().and_then(|lists| lists.get(row)).unwrap_or_default(),
                configuration: configuration.as_ref().and_then(|maps| maps.get(row)),
                format: Some(Format { provider: owned(provider.as_ref(), row) }),
            };
            settings.add(None, Some(metadata));
        }
    }
    if let Some(group) = group(batch, "sidecar") {
        let paths = texts(group, "path")?;
        sidecars.extend(rows(group).filter_map(|row| owned(paths.as_ref(), row)).map(|path| Sidecar { path }));
    }
    Ok(())
}

fn read_files(group: &StructArray, each: &mut impl FnMut(FileAction<'_>) -> Result<()>) -> Result<()> {
    let (paths, sizes) = (texts(group, "path")?, integers(group, "size")?);
    let partitions = text_maps(group, "partitionValues")?;
    let stats = texts(group, "stats")?;
    let parsed = group.column_by_name("stats_parsed").and_then(ParsedStatistics::new);
    let vectors = group.column_by_name("deletionVector").and_then(|column| column.as_struct_opt());
    let vectors = vectors.map(Vectors::new).transpose()?;
    for row in rows(group) {
        let Some(path) = text(paths.as_ref(), row) else { continue };
        let stats = text(stats.as_ref(), row).map(Cow::Borrowed);
        let stats = stats.or_else(|| parsed.as_ref().and_then(|parsed| parsed.json(row)).map(Cow::Owned));
        each(FileAction {
            path,
            size: value(sizes.as_ref(), row).and_then(|size| u64::try_from(size).ok()),
            deletion_vector: vectors.as_ref().map_or(Ok(None), |vectors| vectors.get(row))?,
            stats: stats.as_deref(),
            partition_value: &|name: &str| partitions.as_ref()?.value(row, name),
        })?;
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
    storage_types: Option<StringViewArray>,
    paths: Option<StringViewArray>,
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
        let (storage_type, path) = (owned(self.storage_types.as_ref(), row), owned(self.paths.as_ref(), row));
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
    keys: StringViewArray,
    values: StringViewArray,
}

impl TextMaps {
    fn range(&self, row: usize) -> Range<usize> {
        let offsets = self.map.value_offsets();
        if self.map.is_valid(row) { offsets[row] as usize..offsets[row + 1] as usize } else { 0..0 }
    }

    fn get(&self, row: usize) -> Option<HashMap<String, Option<String>>> {
        let entry = |at: usize| (self.keys.value(at).to_owned(), owned(Some(&self.values), at));
        self.map.is_valid(row).then(|| self.range(row).map(entry).collect())
    }

    /// The value of a key, of which the last one counts.
    fn value(&self, row: usize, key: &str) -> Option<&str> {
        let at = self.range(row).rev().find(|&at| self.keys.value(at) == key)?;
        text(Some(&self.values), at)
    }
}

/// Lists of texts, one a row.
struct TextLists {
    list: ListArray,
    values: StringViewArray,
}

impl TextLists {
    fn get(&self, row: usize) -> Option<Vec<String>> {
        let offsets = self.list.value_offsets();
        self.list.is_valid(row).then(|| {
            let range = offsets[row] as usize..offsets[row + 1] as usize;
            range.filter_map(|at| owned(Some(&self.values), at)).collect()
        })
    }
}

fn as_text(array: &ArrayRef, name: &str) -> Result<StringViewArray> {
    let array = cast(array, &DataType::Utf8View).ok();
    let texts = array.as_ref().and_then(|array| array.as_string_view_opt()).cloned();
    texts.ok_or_else(|| Error::corrupt(format!("{name} of a checkpoint is not text")))
}

fn texts(group: &StructArray, name: &str) -> Result<Option<StringViewArray>> {
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

fn text(array: Option<&StringViewArray>, row: usize) -> Option<&str> {
    array.filter(|array| array.is_valid(row)).map(|array| array.value(row))
}

fn owned(array: Option<&StringViewArray>, row: usize) -> Option<String> {
    text(array, row).map(str::to_owned)
}

fn value(array: Option<&Int64Array>, row: usize) -> Option<i64> {
    array.filter(|array| array.is_valid(row)).map(|array| array.value(row))
}
