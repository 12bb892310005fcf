//! Converts columns of a file to columns of the result: their order, and the virtual columns.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, StringArray, StringViewArray};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use lath_format::schema::is_at_or_below;

use super::file_plan::FilePlan;
use crate::error::{Error, Result};
use crate::options::Strings;

/// The columns of a scan's result.
#[derive(Debug)]
pub(in crate::scan) struct Target {
    pub(in crate::scan) schema: SchemaRef,
    /// The columns that come from files and their partitions.
    pub(in crate::scan) of_files: SchemaRef,
    places: Vec<Place>,
    can_be_joined: bool,
    /// The selected paths, including virtual columns.
    pub(in crate::scan) paths: Option<Vec<String>>,
    pub(in crate::scan) virtual_columns: VirtualColumns,
}

/// Source of a column of the result.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// A column of the files, by its index in their schema.
    Column(usize),
    FileName,
    RowNumber,
}

/// Names of the columns that tell where a row is from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::scan) struct VirtualColumns {
    pub(in crate::scan) file_name: Option<String>,
    pub(in crate::scan) row_number: Option<String>,
}

impl VirtualColumns {
    /// The paths of columns in files.
    pub(in crate::scan) fn without<'a>(&self, paths: &'a [String]) -> impl Iterator<Item = &'a String> {
        paths.iter().filter(|path| !self.names().any(|name| name == *path))
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        self.file_name.iter().chain(&self.row_number)
    }
}

impl Target {
    /// The columns `of_files`, which are in the order of `paths`, with virtual columns where `paths` name them, else last.
    pub(in crate::scan) fn new(
        of_files: SchemaRef,
        paths: Option<&[String]>,
        columns: &VirtualColumns,
        strings: Strings,
    ) -> Result<Self> {
        let of_text = match strings {
            Strings::Views => DataType::Utf8View,
            Strings::Offsets => DataType::Utf8,
        };
        let virtual_columns =
            [(&columns.file_name, of_text, Place::FileName), (&columns.row_number, DataType::Int64, Place::RowNumber)];
        let mut fields: Vec<(FieldRef, Place)> = Vec::with_capacity(of_files.fields().len() + virtual_columns.len());
        fields.extend(of_files.fields().iter().enumerate().map(|(at, field)| (Arc::clone(field), Place::Column(at))));
        let position_of = |name: &str| paths.and_then(|paths| paths.iter().position(|path| path == name));
        let mut asked: Vec<(usize, (FieldRef, Place))> = Vec::new();
        for (name, data_type, place) in virtual_columns {
            let Some(name) = name else { continue };
            if fields.iter().any(|(field, _)| field.name() == name) {
                return Err(Error::invalid(format!("there is a column {name:?} already; choose another name")));
            }
            let field: FieldRef = Arc::new(Field::new(name, data_type, false));
            match position_of(name) {
                Some(position) => asked.push((position, (field, place))),
                None => fields.push((field, place)),
            }
        }
        asked.sort_by_key(|(position, _)| *position);
        for (position, column) in asked {
            // After the columns of the paths before; several paths may name parts of one column.
            let is_before = |(field, place): &(FieldRef, Place)| match (place, paths) {
                (Place::Column(_), Some(paths)) => {
                    paths.iter().position(|path| is_at_or_below(path, field.name())).is_some_and(|at| at < position)
                }
                _ => position_of(field.name()).is_some_and(|at| at < position),
            };
            let at = fields.iter().take_while(|column| is_before(column)).count();
            fields.insert(at, column);
        }
        let (fields, places): (Vec<FieldRef>, Vec<Place>) = fields.into_iter().unzip();
        let schema = Arc::new(Schema::new_with_metadata(fields, of_files.metadata().clone()));
        let can_be_joined = !schema.fields().iter().any(|field| has_narrow_keys(field.data_type()));
        let (paths, virtual_columns) = (paths.map(<[String]>::to_vec), columns.clone());
        Ok(Self { schema, of_files, places, can_be_joined, paths, virtual_columns })
    }

    /// Whether batches of one row group can be concatenated: Arrow panics if the keys of dictionaries within columns overflow.
    pub(in crate::scan) fn can_be_joined(&self) -> bool {
        self.can_be_joined
    }

    /// Whether the result has row numbers.
    pub(in crate::scan) fn has_row_numbers(&self) -> bool {
        self.places.iter().any(|place| matches!(place, Place::RowNumber))
    }
}

/// Converts batches of one file to batches of the result.
#[derive(Debug)]
pub(in crate::scan) struct FileTarget {
    target: Arc<Target>,
    plan: Arc<FilePlan>,
    name: Arc<str>,
}

impl FileTarget {
    /// Target for a file called `name`.
    pub(in crate::scan) fn new(target: &Arc<Target>, plan: &Arc<FilePlan>, name: &str) -> Self {
        let name = if target.places.iter().any(|place| matches!(place, Place::FileName)) { name } else { "" };
        Self { target: Arc::clone(target), plan: Arc::clone(plan), name: name.into() }
    }

    /// The batch as the result has it. `row_numbers` are the numbers of its rows, if the result has them.
    pub(in crate::scan) fn apply(&self, batch: &RecordBatch, row_numbers: Option<Int64Array>) -> Result<RecordBatch> {
        let Target { schema, places, of_files, .. } = &*self.target;
        let row_count = batch.num_rows();
        let aligned = self.plan.alignment.apply(batch)?;
        if places.len() == of_files.fields().len() {
            return Ok(aligned);
        }
        let row_numbers: Option<ArrayRef> = row_numbers.map(|numbers| Arc::new(numbers) as _);
        let columns = places.iter().zip(schema.fields()).map(|(place, field)| match place {
            Place::Column(index) => Ok(Arc::clone(aligned.column(*index))),
            Place::FileName => Ok(repeated(&self.name, row_count, field.data_type())),
            Place::RowNumber => {
                row_numbers.as_ref().map(Arc::clone).ok_or_else(|| Error::internal("row numbers are missing"))
            }
        });
        let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
            .map_err(|error| Error::from_arrow(&error))
    }
}

/// Whether the type contains a dictionary with keys of fewer than 32 bits.
fn has_narrow_keys(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(keys, _) => keys.primitive_width().is_none_or(|width| width < 4),
        DataType::Struct(fields) => fields.iter().any(|field| has_narrow_keys(field.data_type())),
        DataType::List(element)
        | DataType::LargeList(element)
        | DataType::FixedSizeList(element, _)
        | DataType::ListView(element)
        | DataType::LargeListView(element)
        | DataType::Map(element, _) => has_narrow_keys(element.data_type()),
        _ => false,
    }
}

fn repeated(text: &str, count: usize, data_type: &DataType) -> ArrayRef {
    match data_type {
        DataType::Utf8View => {
            let one = StringViewArray::from_iter_values([text]);
            let view = one.views()[0];
            let views = std::iter::repeat_n(view, count).collect();
            match StringViewArray::try_new(views, one.data_buffers().to_vec(), None) {
                Ok(array) => Arc::new(array),
                Err(_) => Arc::new(StringViewArray::from_iter_values(std::iter::repeat_n(text, count))),
            }
        }
        _ => Arc::new(StringArray::from_iter_values(std::iter::repeat_n(text, count))),
    }
}
