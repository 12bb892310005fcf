//! Reads the metadata of a file that a catalog stores.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{FieldRef, SchemaRef};
use bytes::Bytes;
use lath_parquet::{ColumnStatistics, DatasetFile, DatasetOptions, FileVersion, ParquetFile, StoredFilter};
use lath_predicate::value_at;

use crate::error::{Error, Result};
use crate::records::ColumnKind;
use crate::slots::{Bounds, KeyHash, made_filter, rank};

/// The maximum size of a page index in the catalog.
const MAX_PAGE_INDEX_BYTES: u64 = 1 << 20;

/// The maximum number of attempts to read a file that changes while it is read.
const MAX_READS: usize = 3;

/// The contents that are read in addition to the footer.
#[derive(Debug, Clone)]
pub(crate) struct ContentOptions {
    /// The columns of each key: one column, or several that are looked up together.
    pub(crate) keys: Vec<Vec<String>>,
    /// Maximum bytes of the filters of a column, for one file.
    pub(crate) filter_budget_bytes: usize,
}

/// A version of a file, and its metadata.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) version: FileVersion,
    /// The metadata, or the error that prevented reading it.
    pub(crate) read: Result<ReadFacts, String>,
}

/// Metadata of a file.
#[derive(Debug)]
pub(crate) struct ReadFacts {
    pub(crate) rows: u64,
    pub(crate) row_groups: u32,
    pub(crate) schema: SchemaRef,
    /// The end of the file, starting with the footer.
    pub(crate) end: Bytes,
    /// Offset and bytes of the page index.
    pub(crate) page_index: Option<(u64, Bytes)>,
    pub(crate) bounds: Vec<(FieldRef, Bounds)>,
    pub(crate) filters: Vec<ColumnFilters>,
}

/// Filters of one or several columns that together cover all rows of a file.
#[derive(Debug)]
pub(crate) struct ColumnFilters {
    pub(crate) fields: Vec<FieldRef>,
    /// The kind of the filters' planning column.
    pub(crate) kind: ColumnKind,
    pub(crate) hash: u64,
    pub(crate) filters: Vec<Filter>,
}

#[derive(Debug)]
pub(crate) enum Filter {
    /// A filter of one row group, copied from the file.
    Stored(StoredFilter),
    /// A filter of the whole file, made by the catalog.
    Made(Vec<u8>),
}

impl Filter {
    pub(crate) fn bitset(&self) -> &[u8] {
        match self {
            Self::Stored(filter) => filter.bitset(),
            Self::Made(bitset) => bitset,
        }
    }
}

/// Reads a file; `None` if it was removed.
pub(crate) fn read(
    location: &str,
    listed: Option<&FileVersion>,
    options: &Arc<DatasetOptions>,
    content: &ContentOptions,
) -> Result<Option<Facts>> {
    let mut listed = listed.cloned();
    for _ in 0..MAX_READS {
        let version = match listed.take() {
            Some(version) => version,
            None => match current_version(location, options)? {
                Some(version) => version,
                None => return Ok(None),
            },
        };
        let file = DatasetFile::known(location, version.clone(), [], options)?;
        let read = file.open().map_err(Error::from).and_then(|open| read_open(&open, content));
        if file.current_version()?.as_ref() == Some(&version) {
            return Ok(Some(Facts { version, read: read.map_err(|error| error.to_string()) }));
        }
    }
    match current_version(location, options)? {
        Some(version) => Ok(Some(Facts {
            version,
            read: Err(format!("{location}: the file keeps changing while it is read; try again when it is complete")),
        })),
        None => Ok(None),
    }
}

/// The current version of a file; `None` if there is no file.
pub(crate) fn current_version(location: &str, options: &Arc<DatasetOptions>) -> Result<Option<FileVersion>> {
    // The known version does not matter here.
    let any = FileVersion::Local { len: 0, modified: (0, 0), identity: (0, 0), changed: (0, 0) };
    Ok(DatasetFile::known(location, any, [], options)?.current_version()?)
}

fn read_open(file: &ParquetFile, content: &ContentOptions) -> Result<ReadFacts> {
    let statistics = file.statistics()?;
    let page_index = file.page_index_range().filter(|range| range.end - range.start <= MAX_PAGE_INDEX_BYTES);
    let page_index = match page_index {
        Some(range) => Some((range.start, file.read_range(range)?)),
        None => None,
    };
    let mut filters = stored_filters(file, content)?;
    for key in &content.keys {
        filters.extend(made_filter(file, key, &filters, content)?);
    }
    Ok(ReadFacts {
        rows: file.row_count(),
        row_groups: u32::try_from(file.metadata().row_group_count()).unwrap_or(u32::MAX),
        schema: Arc::clone(file.schema()),
        end: file.read_end()?,
        page_index,
        bounds: statistics.columns.iter().map(|column| (Arc::clone(&column.field), bounds(column))).collect(),
        filters,
    })
}

fn bounds(column: &ColumnStatistics) -> Bounds {
    let (min, max) = (column.min.value(), column.max.value());
    let is_null = |array: &ArrayRef| array.len() == 1 && array.is_null(0);
    if min.is_some_and(is_null) && max.is_some_and(is_null) {
        return Bounds::NO_VALUE;
    }
    // If floats may be NaN, the largest value is unknown.
    let rank = |array: Option<&ArrayRef>| array.and_then(|array| value_at(array, 0)).map(|value| rank(&value));
    Bounds { min: rank(min).unwrap_or(0), max: rank(max).unwrap_or(u64::MAX) }
}

/// The filters of the columns that have one in every row group.
fn stored_filters(file: &ParquetFile, content: &ContentOptions) -> Result<Vec<ColumnFilters>> {
    let first = file.metadata().row_groups().next();
    let has_filters = first.is_some_and(|first| first.columns().flatten().any(|chunk| chunk.bloom_filter().is_some()));
    let mut kept = Vec::new();
    if !has_filters {
        return Ok(kept);
    }
    for field in file.schema().fields() {
        let Some(hash) = file.filter_hash(field.name()) else { continue };
        let filters: Option<Vec<StoredFilter>> = file.read_bloom_filters(field.name())?.into_iter().collect();
        let Some(filters) = filters else { continue };
        let bytes: usize = filters.iter().map(|filter| filter.bytes.len()).sum();
        if bytes <= content.filter_budget_bytes {
            let filters = filters.into_iter().map(Filter::Stored).collect();
            let fields = vec![Arc::clone(field)];
            kept.push(ColumnFilters { fields, kind: ColumnKind::File, hash: hash.code(), filters });
        }
    }
    Ok(kept)
}

/// The filter of a key, unless the file's own filters of that column are as selective.
fn made_filter(
    file: &ParquetFile,
    key: &[String],
    stored: &[ColumnFilters],
    content: &ContentOptions,
) -> Result<Option<ColumnFilters>> {
    let field =
        |name: &String| file.schema().column_with_name(name).map(|(at, _)| Arc::clone(&file.schema().fields()[at]));
    let Some(fields) = key.iter().map(field).collect::<Option<Vec<_>>>() else { return Ok(None) };
    let stored = stored.iter().find(|stored| stored.fields == fields);
    if stored.is_some_and(|stored| made_filter::is_selective(stored.filters.iter().map(Filter::bitset))) {
        return Ok(None);
    }
    let Some(hash) = KeyHash::new(file, key) else { return Ok(None) };
    let kind = if fields.len() == 1 && stored.is_none() { ColumnKind::File } else { ColumnKind::Made };
    let bitset = made_filter::make(file, key, &hash, content.filter_budget_bytes)?;
    Ok(bitset.map(|bitset| ColumnFilters { fields, kind, hash: hash.code(), filters: vec![Filter::Made(bitset)] }))
}
