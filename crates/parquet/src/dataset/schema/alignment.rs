//! Aligns the batches of one file to the schema of a dataset.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, MapArray, OffsetSizeTrait, RecordBatch, RecordBatchOptions,
    StructArray, UInt32Array, cast::AsArray, new_null_array,
};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use arrow_select::take::take;
use lath_format::schema::is_column;

use super::lists::list_element;
use crate::dataset::location::PartitionColumn;
use crate::error::{Error, Result};
use crate::schema::{ColumnMapping, MappedColumn};

/// Converts the columns of a file to the requested schema: order, layout, wider types, nulls for missing columns, and the
/// constants of the file's partition.
///
/// A [`Dataset`](crate::dataset::Dataset) does this for its own files. [`Alignment::from_source`] does it for rows from
/// elsewhere.
#[derive(Debug, Clone)]
pub struct Alignment {
    target: SchemaRef,
    sources: Vec<Source>,
    names: Option<Vec<Vec<String>>>,
    /// Why the file does not have the target's columns as a whole. It is an error of rows rather than of planning, because a plan for whole
    /// columns may then read some of their fields.
    refusal: Option<String>,
}

/// Source of a column.
#[derive(Debug, Clone)]
enum Source {
    /// The column of the batches with this index. The fields are the mapped ones within it, if any of them has a default.
    Column(usize, Arc<[MappedColumn]>),
    /// A value for all rows, as an array of one element.
    Constant(ArrayRef),
}

/// Why a file does not have the schema of the first.
#[derive(Debug)]
pub(in crate::dataset) struct Difference(String);

impl Difference {
    fn describe(self, file: &str, first: &str) -> String {
        format!("{file}: {}, unlike in {first}; choose columns that they share, or unite the schemas", self.0)
    }

    pub(in crate::dataset) fn into_error(self, file: &str, first: &str) -> Error {
        Error::invalid(self.describe(file, first))
    }
}

/// The schema of a dataset, and what is read of it.
pub(in crate::dataset) struct Choice<'a> {
    /// All columns.
    pub(in crate::dataset) whole: &'a Schema,
    /// The columns and fields that are read, or `None` for all.
    pub(in crate::dataset) paths: Option<&'a [String]>,
    /// Whether the schemas of the files were united.
    pub(in crate::dataset) is_united: bool,
}

impl Choice<'_> {
    /// Whether a column is read whole, and not fields of it.
    fn is_whole(&self, name: &str) -> bool {
        self.paths.is_none_or(|paths| paths.iter().any(|path| is_column(path, name)))
    }
}

impl Alignment {
    /// The way from a file of schema `file`, whose partition is `constants` (columns and rows of their values), to `target`;
    /// `columns` has the defaults of columns that the file lacks. Unless schemas are united, the file has to have the columns of the target,
    /// with the same values in them. The file is called `name` and the first file `first` in the error for rows with further fields.
    pub(in crate::dataset) fn new(
        target: &SchemaRef,
        file: &Schema,
        constants: &[(&PartitionColumn, usize)],
        columns: Option<&ColumnMapping>,
        choice: &Choice<'_>,
        (name, first): (&str, &str),
    ) -> Result<Self, Difference> {
        let resolved = resolve(target, file, constants, columns, choice)?;
        let ResolvedSources { mut sources, paths, roots, further } = resolved;
        // Batches have the columns in the order of the file: all columns with a chosen name.
        let is_read = |field: &FieldRef| roots.iter().any(|&root| file.field(root).name() == field.name());
        let mut rank = 0;
        let mut ranks = vec![usize::MAX; file.fields().len()];
        for (at, field) in file.fields().iter().enumerate() {
            if is_read(field) {
                ranks[at] = rank;
                rank += 1;
            }
        }
        for source in &mut sources {
            if let Source::Column(at, _) = source {
                *at = ranks[*at];
            }
        }
        let reads_all =
            rank == file.fields().len() && paths.len() == roots.len() && paths.iter().all(|names| names.len() == 1);
        let refusal = further.map(|further| further.describe(name, first));
        Ok(Self { target: Arc::clone(target), sources, names: (!reads_all).then_some(paths), refusal })
    }

    /// The way from whole batches of schema `source`, all rows of which have the values `partition` (columns and rows of their
    /// values), to `target`. Every column of the target has to be there with the same type, but for the layout of text, and no
    /// others.
    ///
    /// # Errors
    /// [`Error::Invalid`] says what differs.
    pub fn from_source(target: &SchemaRef, source: &Schema, partition: &[(&PartitionColumn, usize)]) -> Result<Self> {
        let choice = Choice { whole: target, paths: None, is_united: false };
        let refused = |Difference(what): Difference| Error::invalid(what);
        let ResolvedSources { sources, further, .. } =
            resolve(target, source, partition, None, &choice).map_err(refused)?;
        match further {
            Some(further) => Err(refused(further)),
            None => Ok(Self { target: Arc::clone(target), sources, names: None, refusal: None }),
        }
    }

    /// The alignment of batches that have the target's schema already.
    pub(crate) fn identity(schema: &SchemaRef) -> Self {
        let sources = (0..schema.fields().len()).map(|at| Source::Column(at, Arc::default())).collect();
        Self { target: Arc::clone(schema), sources, names: None, refusal: None }
    }

    /// The fields of the target that the file has, as names from the root down. `None` for all of its columns.
    pub(crate) fn names(&self) -> Option<&[Vec<String>]> {
        self.names.as_deref()
    }

    /// A batch of the file or source, in the schema of the target.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a value that the target's type cannot hold, for fields that the target lacks, and for a batch of another
    /// schema.
    pub fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        if let Some(refusal) = &self.refusal {
            return Err(Error::invalid(refusal.clone()));
        }
        let row_count = batch.num_rows();
        let failed = |error| Error::invalid(format!("columns do not fit the schema of the dataset: {error}"));
        let columns = self.sources.iter().zip(self.target.fields()).map(|(source, field)| match source {
            Source::Constant(value) => repeat(value, row_count).map_err(failed),
            Source::Column(at, fields) => {
                let column = batch.columns().get(*at).ok_or_else(|| Error::internal("a batch lacks a column"))?;
                conform(column, field.data_type(), fields).map_err(|error| {
                    Error::invalid(format!(
                        "column {:?}: a value of type {} does not fit {}: {error}",
                        field.name(),
                        column.data_type(),
                        field.data_type()
                    ))
                })
            }
        });
        let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        RecordBatch::try_new_with_options(Arc::clone(&self.target), columns, &options).map_err(failed)
    }
}

/// Sources of the columns of a target.
struct ResolvedSources {
    sources: Vec<Source>,
    /// Fields to read from the file, as names from the root down, and the columns with these fields.
    paths: Vec<Vec<String>>,
    roots: Vec<usize>,
    /// A field that the target lacks, of a column that is read whole.
    further: Option<Difference>,
}

fn resolve(
    target: &SchemaRef,
    file: &Schema,
    constants: &[(&PartitionColumn, usize)],
    columns: Option<&ColumnMapping>,
    choice: &Choice<'_>,
) -> Result<ResolvedSources, Difference> {
    let &Choice { whole, is_united, .. } = choice;
    if target.fields().len() == whole.fields().len() && !is_united {
        let is_known = |at: usize| namesake(file.fields(), at, target.fields()).is_some();
        if let Some(at) = (0..file.fields().len()).find(|&at| !is_known(at)) {
            let name = file.field(at).name();
            let more = if target.fields().find(name).is_some() { "another" } else { "a" };
            return Err(Difference(format!("there is {more} column {name:?}")));
        }
    }
    let constant = |name: &str| constants.iter().find(|(column, _)| column.field().name() == name);
    let mut sources = Vec::with_capacity(target.fields().len());
    let mut paths = Vec::new();
    let mut roots = Vec::new();
    let mut further = None;
    // So far the target has the columns of the file in their order.
    let mut has_same_order = true;
    let constant_of = |value: &ArrayRef, field: &Field| {
        let value = conform(value, field.data_type(), &[]).map_err(|error| Difference(error.to_string()))?;
        Ok(Source::Constant(value))
    };
    for (position, field) in target.fields().iter().enumerate() {
        if let Some((column, row)) = constant(field.name()) {
            sources.push(constant_of(&column.values().slice(*row, 1), field)?);
            continue;
        }
        // Names may occur several times; then the order decides.
        let here = file.fields().get(position).filter(|here| has_same_order && here.name() == field.name());
        has_same_order = here.is_some();
        let found = here.map(|_| position).or_else(|| namesake(target.fields(), position, file.fields()));
        let Some((at, here)) = found.and_then(|at| Some((at, file.fields().get(at)?))) else {
            if !is_united && file.fields().find(field.name()).is_some() {
                return Err(Difference(format!("there are fewer columns {:?}", field.name())));
            }
            if !is_united {
                return Err(Difference(format!("there is no column {:?}", field.name())));
            }
            let default = columns.and_then(|columns| columns.column(field.name())?.known_default());
            sources.push(match default {
                Some(default) => constant_of(default, field)?,
                None => Source::Constant(new_null_array(field.data_type(), 1)),
            });
            continue;
        };
        if !is_united && !is_same_but_layout(here.data_type(), field.data_type()) {
            let (name, here, there) = (field.name(), here.data_type(), field.data_type());
            return Err(Difference(format!("column {name:?} is {here} here and {there} there")));
        }
        // A struct that is read whole keeps all its fields.
        if !is_united
            && choice.is_whole(field.name())
            && let Some(names) = further_field(here.data_type(), field.data_type())
        {
            let path: Vec<&str> = std::iter::once(field.name().as_str()).chain(names.into_iter().rev()).collect();
            further.get_or_insert_with(|| Difference(format!("there is a field {:?}", path.join("."))));
        }
        collect_paths(here, field, &mut Vec::new(), &mut paths);
        let mapped = columns.filter(|_| field.data_type().is_nested()).and_then(|columns| columns.column(field.name()));
        let mapped = mapped.filter(|column| column.has_defaults_below());
        sources.push(Source::Column(at, mapped.map_or_else(Arc::default, |column| column.fields.clone().into())));
        roots.push(at);
    }
    Ok(ResolvedSources { sources, paths, roots, further })
}

/// The place among `others` of the field at `position` of `fields`, by its name: names may occur several times, and then the order
/// decides.
fn namesake(fields: &Fields, position: usize, others: &Fields) -> Option<usize> {
    let name = fields.get(position)?.name();
    let before = fields[..position].iter().filter(|other| other.name() == name).count();
    let mut namesakes = others.iter().enumerate().filter(|(_, other)| other.name() == name);
    namesakes.nth(before).map(|(at, _)| at)
}

/// The paths of what both `file` and `target` have, which are fields of the same name; a field that the target has whole is one.
fn collect_paths(file: &Field, target: &Field, above: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    above.push(file.name().clone());
    if !has_more(file.data_type(), target.data_type()) {
        paths.push(above.clone());
    } else {
        match (file.data_type(), target.data_type()) {
            (DataType::Struct(fields), DataType::Struct(wanted)) => {
                let before = paths.len();
                for (at, field) in fields.iter().enumerate() {
                    if let Some(wanted) = namesake(fields, at, wanted).and_then(|at| wanted.get(at)) {
                        collect_paths(field, wanted, above, paths);
                    }
                }
                if paths.len() == before {
                    // Nothing is wanted but where the struct is null: its first field has that too.
                    above.extend(fields.first().map(|field| field.name().clone()));
                    paths.push(above.clone());
                    above.truncate(above.len() - usize::from(!fields.is_empty()));
                }
            }
            (DataType::Map(entries, _), DataType::Map(wanted, _)) => collect_paths(entries, wanted, above, paths),
            (here, there) => match (list_element(here), list_element(there)) {
                (Some(element), Some(wanted)) => collect_paths(element, wanted, above, paths),
                _ => paths.push(above.clone()),
            },
        }
    }
    above.pop();
}

/// Whether the type of a file has a field that the target lacks.
fn has_more(file: &DataType, target: &DataType) -> bool {
    match (file, target) {
        (DataType::Struct(fields), DataType::Struct(wanted)) => fields.iter().enumerate().any(|(at, field)| {
            let wanted = namesake(fields, at, wanted).and_then(|at| wanted.get(at));
            wanted.is_none_or(|wanted| has_more(field.data_type(), wanted.data_type()))
        }),
        (DataType::Map(entries, _), DataType::Map(wanted, _)) => has_more(entries.data_type(), wanted.data_type()),
        (here, there) => match (list_element(here), list_element(there)) {
            (Some(element), Some(wanted)) => has_more(element.data_type(), wanted.data_type()),
            _ => false,
        },
    }
}

/// Whether two types hold the same values, maybe in other layouts of text, with the target's struct fields among the file's.
fn is_same_but_layout(file: &DataType, target: &DataType) -> bool {
    match (file, target) {
        (left, right) if left == right => true,
        (DataType::Dictionary(_, value), other) | (other, DataType::Dictionary(_, value)) => {
            is_same_but_layout(value, other)
        }
        (left, right) if left.is_string() && right.is_string() || left.is_binary() && right.is_binary() => true,
        (DataType::Struct(fields), DataType::Struct(wanted)) => wanted.iter().enumerate().all(|(at, field)| {
            let here = namesake(wanted, at, fields).and_then(|at| fields.get(at));
            here.is_some_and(|here| is_same_but_layout(here.data_type(), field.data_type()))
        }),
        (DataType::Map(entries, _), DataType::Map(wanted, _)) => {
            is_same_but_layout(entries.data_type(), wanted.data_type())
        }
        // Lists of any length hold the same values, whichever way they are laid out.
        (left, right)
            if std::mem::discriminant(left) == std::mem::discriminant(right)
                || is_any_list(left) && is_any_list(right) =>
        {
            match (list_element(left), list_element(right)) {
                (Some(element), Some(wanted)) => is_same_but_layout(element.data_type(), wanted.data_type()),
                _ => false,
            }
        }
        _ => false,
    }
}

/// The names, from the last to the first, that lead to a field of structs in `file` that `target` does not have.
fn further_field<'f>(file: &'f DataType, target: &DataType) -> Option<Vec<&'f str>> {
    match (file, target) {
        (DataType::Struct(fields), DataType::Struct(wanted)) => {
            fields.iter().enumerate().find_map(|(at, field)| match namesake(fields, at, wanted) {
                None => Some(vec![field.name().as_str()]),
                Some(there) => {
                    let mut names = further_field(field.data_type(), wanted.get(there)?.data_type())?;
                    names.push(field.name());
                    Some(names)
                }
            })
        }
        (DataType::Map(entries, _), DataType::Map(wanted, _)) => further_field(entries.data_type(), wanted.data_type()),
        (list, wanted) => further_field(list_element(list)?.data_type(), list_element(wanted)?.data_type()),
    }
}

/// Whether the type is one of lists that may have any length.
fn is_any_list(data_type: &DataType) -> bool {
    use DataType::{LargeList, LargeListView, List, ListView};
    matches!(data_type, List(_) | LargeList(_) | ListView(_) | LargeListView(_))
}

/// The one value of `value`, `row_count` times.
fn repeat(value: &ArrayRef, row_count: usize) -> Result<ArrayRef, arrow_schema::ArrowError> {
    if value.is_null(0) || value.data_type() == &DataType::Null {
        return Ok(new_null_array(value.data_type(), row_count));
    }
    take(value, &UInt32Array::from(vec![0; row_count]), None)
}

/// The array as `target`: structs field by field by name, lists by their elements, leaves cast; a value that does not fit is an
/// error. A field that the array lacks has the default of its column among `columns`, else nulls.
fn conform(
    array: &ArrayRef,
    target: &DataType,
    columns: &[MappedColumn],
) -> Result<ArrayRef, arrow_schema::ArrowError> {
    let column = |name: &str| columns.iter().find(|column| column.name == name);
    let below = |name: &str| column(name).map_or(&[][..], |column| &column.fields);
    // An element is the only column.
    let of_element = || columns.first().map_or(&[][..], |column| &column.fields);
    if array.data_type() == target {
        return Ok(Arc::clone(array));
    }
    match (array.data_type(), target) {
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let array = array.as_struct();
            let child = |at| array.columns().get(namesake(fields, at, array.fields())?);
            let children = fields.iter().enumerate().map(|(at, field)| match child(at) {
                Some(child) => conform(child, field.data_type(), below(field.name())),
                None => match column(field.name()).and_then(MappedColumn::known_default) {
                    Some(default) => repeat(&conform(default, field.data_type(), &[])?, array.len()),
                    None => Ok(new_null_array(field.data_type(), array.len())),
                },
            });
            let children = children.collect::<Result<Vec<_>, _>>()?;
            let nulls = array.nulls().cloned();
            Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), children, nulls, array.len())?))
        }
        (DataType::List(_), DataType::List(element)) => conform_list::<i32>(array, element, of_element()),
        (DataType::LargeList(_), DataType::LargeList(element)) => conform_list::<i64>(array, element, of_element()),
        (DataType::List(_), other) if is_any_list(other) => match list_element(other) {
            Some(element) => change_layout(&conform_list::<i32>(array, element, of_element())?, target),
            None => change_layout(array, target),
        },
        (DataType::LargeList(_), other) if is_any_list(other) => match list_element(other) {
            Some(element) => change_layout(&conform_list::<i64>(array, element, of_element())?, target),
            None => change_layout(array, target),
        },
        // Views become lists with offsets, whose elements can then be changed.
        (DataType::ListView(element), other) if is_any_list(other) => {
            conform(&change_layout(array, &DataType::List(Arc::clone(element)))?, target, columns)
        }
        (DataType::LargeListView(element), other) if is_any_list(other) => {
            conform(&change_layout(array, &DataType::LargeList(Arc::clone(element)))?, target, columns)
        }
        (DataType::FixedSizeList(_, len), DataType::FixedSizeList(element, target_len)) if len == target_len => {
            let array = array.as_fixed_size_list();
            let values = conform(array.values(), element.data_type(), of_element())?;
            let list = FixedSizeListArray::try_new(Arc::clone(element), *len, values, array.nulls().cloned())?;
            Ok(Arc::new(list))
        }
        (DataType::Map(_, _), DataType::Map(entries, is_sorted)) => {
            let array = array.as_map();
            let pairs: ArrayRef = Arc::new(array.entries().clone());
            let pairs = conform(&pairs, entries.data_type(), columns)?.as_struct().clone();
            let (offsets, nulls) = (array.offsets().clone(), array.nulls().cloned());
            Ok(Arc::new(MapArray::try_new(Arc::clone(entries), offsets, pairs, nulls, *is_sorted)?))
        }
        _ => change_layout(array, target),
    }
}

/// The array as `target`; a value that does not fit is an error.
fn change_layout(array: &ArrayRef, target: &DataType) -> Result<ArrayRef, arrow_schema::ArrowError> {
    cast_with_options(array, target, &CastOptions { safe: false, ..CastOptions::default() })
}

fn conform_list<O: OffsetSizeTrait>(
    array: &ArrayRef,
    element: &FieldRef,
    columns: &[MappedColumn],
) -> Result<ArrayRef, arrow_schema::ArrowError> {
    let array = array.as_list::<O>();
    let values = conform(array.values(), element.data_type(), columns)?;
    let (offsets, nulls) = (array.offsets().clone(), array.nulls().cloned());
    Ok(Arc::new(GenericListArray::<O>::try_new(Arc::clone(element), offsets, values, nulls)?))
}
