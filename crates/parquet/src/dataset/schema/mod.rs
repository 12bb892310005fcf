//! The schema of a dataset: the first file's, or the union of all.

mod alignment;
mod dictionaries;
mod lists;
mod union;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use lath_format::schema::{PathMatch, find_path, is_at_or_below, quoted_names};

use self::dictionaries::Dictionaries;
use self::lists::{list_element, with_element};
use self::union::Union;
use super::file::DatasetFile;
use super::location::PartitionColumn;
use super::open_all::read_each;
use crate::error::{Error, Result};
use crate::file::ParquetFile;
use crate::options::Strings;
use crate::schema::{ArrowLayout, Projection};

pub use self::alignment::Alignment;
pub(super) use self::alignment::Choice;

/// The schema of a dataset, and projections of it.
#[derive(Clone)]
pub(super) struct DatasetSchema {
    whole: SchemaRef,
    /// For each column, its index among the partition columns if it is one.
    partitions: Arc<[Option<usize>]>,
    /// The file whose schema it is; `None` if it is a union.
    first: Option<ParquetFile>,
    several_files: bool,
}

impl DatasetSchema {
    pub(super) fn of(
        files: &[DatasetFile],
        partitions: &[PartitionColumn],
        unites: bool,
        concurrency: usize,
    ) -> Result<Self> {
        let several_files = files.len() > 1;
        let (schema, first) = if unites {
            (unite(files, concurrency)?, None)
        } else {
            let first = files.first().map(DatasetFile::open).transpose()?;
            let schema = first.as_ref().map_or_else(|| Arc::new(Schema::empty()), |first| Arc::clone(first.schema()));
            (schema, first)
        };
        Ok(Self::new(&schema, first, partitions, several_files))
    }

    /// The columns of `schema`, which is the schema of `first` or the union of all, then the partition columns.
    pub(super) fn new(
        schema: &Schema,
        first: Option<ParquetFile>,
        partitions: &[PartitionColumn],
        several_files: bool,
    ) -> Self {
        let is_partition = |field: &&FieldRef| partitions.iter().any(|column| column.field().name() == field.name());
        let mut fields: Vec<FieldRef> = schema.fields().iter().filter(|field| !is_partition(field)).cloned().collect();
        let places = std::iter::repeat_n(None, fields.len()).chain((0..partitions.len()).map(Some)).collect();
        if several_files {
            fields.iter_mut().for_each(set_nullable);
        }
        fields.extend(partitions.iter().map(|column| Arc::clone(column.field())));
        let whole = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
        Self { whole, partitions: places, first, several_files }
    }

    /// The schema `whole`, as a union of schemas, whose columns with the names of `partitions` are the partition columns.
    pub(super) fn given(whole: SchemaRef, partitions: &[PartitionColumn]) -> Self {
        let by_name: HashMap<&str, usize> =
            partitions.iter().enumerate().map(|(at, column)| (column.field().name().as_str(), at)).collect();
        let places = whole.fields().iter().map(|field| by_name.get(field.name().as_str()).copied()).collect();
        Self { whole, partitions: places, first: None, several_files: true }
    }

    pub(super) fn whole(&self) -> &SchemaRef {
        &self.whole
    }

    /// The index among the partition columns of the column at `place`, if it is one.
    pub(super) fn partition_at(&self, place: usize) -> Option<usize> {
        self.partitions.get(place).copied().flatten()
    }

    /// The columns that come from the files.
    fn file_fields(&self) -> Vec<FieldRef> {
        let fields = self.whole.fields().iter().zip(&*self.partitions);
        fields.filter(|(_, partition)| partition.is_none()).map(|(field, _)| Arc::clone(field)).collect()
    }

    fn partition_fields(&self) -> impl Iterator<Item = &FieldRef> {
        let fields = self.whole.fields().iter().zip(&*self.partitions);
        fields.filter(|(_, partition)| partition.is_some()).map(|(field, _)| field)
    }

    pub(super) fn is_united(&self) -> bool {
        self.first.is_none()
    }

    /// The schema of `paths`, in their order, or all of it.
    pub(super) fn project(&self, paths: Option<&[String]>, layout: &ArrowLayout) -> Result<SchemaRef> {
        let file_fields = self.file_fields();
        let is_partition = |path: &str| self.partition_fields().any(|field| field.name() == path);
        let of_files: Option<Vec<String>> =
            paths.map(|paths| paths.iter().filter(|path| !is_partition(path)).cloned().collect());
        let mut fields = match &self.first {
            Some(first) => self.fields_of_first(first, of_files, layout)?,
            None => {
                let chosen = match of_files {
                    Some(paths) => choose(&file_fields, &paths)?,
                    None => file_fields.clone(),
                };
                let dictionaries = Dictionaries::new(&file_fields, &layout.dictionary_columns)?;
                let chosen = chosen.iter().map(|field| dictionaries.apply(field)).collect::<Result<Vec<_>>>()?;
                chosen.iter().map(|field| with_strings(field, layout.strings)).collect()
            }
        };
        let wanted = |field: &&FieldRef| paths.is_none_or(|paths| paths.iter().any(|path| path == field.name()));
        let chosen = self.partition_fields().filter(wanted).map(|field| with_strings(field, layout.strings));
        if paths.is_none() {
            // Partition columns may be anywhere in the table's order.
            let (mut of_files, mut of_partitions) = (fields.into_iter(), chosen);
            let field = |partition: &Option<usize>| match partition {
                Some(_) => of_partitions.next(),
                None => of_files.next(),
            };
            fields = self.partitions.iter().filter_map(field).collect();
        } else {
            fields.extend(chosen);
        }
        if let Some(paths) = paths {
            let places = places(paths, self.whole.fields());
            let position = |field: &FieldRef| {
                let name = field.name().as_str();
                let leads = |(names, path): &(Option<Vec<String>>, usize)| match names {
                    Some(names) => names.first().is_some_and(|first| first == name),
                    None => is_at_or_below(&paths[*path], name),
                };
                let within = places.within.iter().find(|within| leads(within)).map(|(_, at)| *at);
                places.whole.get(name).copied().into_iter().chain(within).min()
            };
            fields.sort_by_cached_key(|field| position(field).unwrap_or(usize::MAX));
        }
        Ok(Arc::new(Schema::new_with_metadata(fields, self.whole.metadata().clone())))
    }

    fn fields_of_first(
        &self,
        first: &ParquetFile,
        paths: Option<Vec<String>>,
        layout: &ArrowLayout,
    ) -> Result<Vec<FieldRef>> {
        let options = first.schema_options().with_layout(layout);
        let projection = paths.map(Projection::from_paths);
        let (schema, _) = first.build_schema(&options, projection.as_ref())?;
        let is_partition = |field: &&FieldRef| self.partition_fields().any(|column| column.name() == field.name());
        let mut fields: Vec<FieldRef> = schema.fields().iter().filter(|field| !is_partition(field)).cloned().collect();
        if self.several_files {
            fields.iter_mut().for_each(set_nullable);
        }
        Ok(fields)
    }
}

/// Positions of paths in the requested order of columns.
struct Places<'p> {
    /// By the whole text, which may be the name of a column.
    whole: HashMap<&'p str, usize>,
    /// Paths into columns: the names of a quoted text, and the position.
    within: Vec<(Option<Vec<String>>, usize)>,
}

fn places<'p>(paths: &'p [String], columns: &Fields) -> Places<'p> {
    let is_odd = |name: &str| name.contains(['.', '"']);
    let odd: HashSet<&str> = columns.iter().map(|field| field.name().as_str()).filter(|name| is_odd(name)).collect();
    let mut places = Places { whole: HashMap::with_capacity(paths.len()), within: Vec::new() };
    for (at, path) in paths.iter().enumerate() {
        places.whole.entry(path).or_insert(at);
        if is_odd(path) && !odd.contains(path.as_str()) {
            places.within.push((quoted_names(path), at));
        }
    }
    places
}

/// The union of schemas, as [`DatasetOptions::union_schemas`](super::DatasetOptions::union_schemas) makes it.
///
/// # Errors
/// [`Error::Invalid`] for schemas that cannot be united.
pub fn unite_schemas<'s>(schemas: impl IntoIterator<Item = &'s SchemaRef>) -> Result<SchemaRef> {
    let mut union = Union::default();
    schemas.into_iter().try_for_each(|schema| union.add(schema)).map_err(Error::invalid)?;
    Ok(union.finish())
}

/// A required column may be followed by an optional one in another file.
fn set_nullable(field: &mut FieldRef) {
    if !field.is_nullable() {
        *field = Arc::new(field.as_ref().clone().with_nullable(true));
    }
}

/// The union of the schemas of all files.
fn unite(files: &[DatasetFile], concurrency: usize) -> Result<SchemaRef> {
    let mut union = Union::default();
    // Files written alike share their schema, which is then added once.
    let mut last: Option<SchemaRef> = None;
    let schemas = read_each(files, concurrency, |file| Ok(Arc::clone(file.schema())));
    for (file, schema) in files.iter().zip(schemas) {
        let schema = schema?;
        if last.as_ref().is_none_or(|last| !Arc::ptr_eq(last, &schema)) {
            union.add(&schema).map_err(|what| Error::invalid(format!("{}: {what}", file.location())))?;
            last = Some(schema);
        }
    }
    Ok(union.finish())
}

/// The fields of `paths`, in the order of `fields`, with structs reduced to the requested fields.
fn choose(fields: &[FieldRef], paths: &[String]) -> Result<Vec<FieldRef>> {
    let is_root = |path: &str| fields.iter().any(|field| field.name() == path);
    let mut leaves = Vec::new();
    if !paths.iter().all(|path| is_root(path)) {
        fields.iter().for_each(|field| collect_leaves(field, &mut Vec::new(), &mut leaves));
    }
    let mut wanted: Vec<Vec<String>> = Vec::with_capacity(paths.len());
    for path in paths {
        if is_root(path) {
            wanted.push(vec![path.clone()]);
            continue;
        }
        match find_path(path, &leaves) {
            PathMatch::Names(names) => wanted.push(names),
            PathMatch::Ambiguous(several) => {
                let several: Vec<String> = several.iter().map(|path| format!("'{path}'")).collect();
                return Err(Error::invalid(format!(
                    "'{path}' is ambiguous: {}; write one of them",
                    several.join(" or ")
                )));
            }
            PathMatch::Nothing => {
                let names: Vec<String> = fields.iter().take(12).map(|field| format!("'{}'", field.name())).collect();
                let more = fields.len().saturating_sub(12);
                let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
                return Err(Error::invalid(format!("no column '{path}'; the files have {}{tail}", names.join(", "))));
            }
        }
    }
    let wanted: Vec<&[String]> = wanted.iter().map(Vec::as_slice).collect();
    Ok(fields.iter().filter_map(|field| cut(field, &wanted)).collect())
}

/// The names on the path to each leaf of a field.
fn collect_leaves<'f>(field: &'f FieldRef, above: &mut Vec<&'f str>, leaves: &mut Vec<Vec<&'f str>>) {
    above.push(field.name());
    match field.data_type() {
        DataType::Struct(fields) => fields.iter().for_each(|field| collect_leaves(field, above, leaves)),
        DataType::Map(entries, _) => collect_leaves(entries, above, leaves),
        other => match list_element(other) {
            Some(element) => collect_leaves(element, above, leaves),
            None => leaves.push(above.clone()),
        },
    }
    above.pop();
}

/// `field` with only the fields at or below one of the lists of names, which start with the field's own name.
fn cut(field: &FieldRef, wanted: &[&[String]]) -> Option<FieldRef> {
    let mut below: Vec<&[String]> = Vec::new();
    for names in wanted {
        match names.split_first() {
            Some((first, [])) if first == field.name() => return Some(Arc::clone(field)),
            Some((first, rest)) if first == field.name() => below.push(rest),
            _ => {}
        }
    }
    if below.is_empty() {
        return None;
    }
    let data_type = match field.data_type() {
        DataType::Struct(fields) => {
            let kept: Fields = fields.iter().filter_map(|field| cut(field, &below)).collect();
            (!kept.is_empty()).then_some(DataType::Struct(kept))
        }
        DataType::Map(entries, is_sorted) => match entries.data_type() {
            DataType::Struct(pair) if pair.len() == 2 => {
                let inside: Vec<&[String]> = below
                    .iter()
                    .filter_map(|names| names.split_first().filter(|(first, _)| *first == entries.name()))
                    .map(|(_, rest)| rest)
                    .collect();
                let is_whole = inside.iter().any(|names| names.is_empty());
                let key = cut(&pair[0], &inside);
                let value = cut(&pair[1], &inside);
                let value_field = value.clone().filter(|_| !is_whole).unwrap_or_else(|| Arc::clone(&pair[1]));
                let entries_type = DataType::Struct(vec![Arc::clone(&pair[0]), value_field].into());
                let entries = Arc::new(entries.as_ref().clone().with_data_type(entries_type));
                (is_whole || key.is_some() || value.is_some()).then_some(DataType::Map(entries, *is_sorted))
            }
            _ => None,
        },
        other => list_element(other).and_then(|element| Some(with_element(other, cut(element, &below)?))),
    }?;
    Some(Arc::new(field.as_ref().clone().with_data_type(data_type)))
}

/// The field with strings in the layout of `strings`, at any depth.
fn with_strings(field: &FieldRef, strings: Strings) -> FieldRef {
    if strings == Strings::Views {
        return Arc::clone(field);
    }
    let inner = |field: &FieldRef| with_strings(field, strings);
    let data_type = match field.data_type() {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        DataType::Map(entries, is_sorted) => DataType::Map(inner(entries), *is_sorted),
        other => match list_element(other) {
            Some(element) => with_element(other, inner(element)),
            None => return Arc::clone(field),
        },
    };
    Arc::new(Field::clone(field).with_data_type(data_type))
}
