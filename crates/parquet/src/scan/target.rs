//! From the columns of a file to those of the result: their order, and the columns that no file has.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, StringArray, StringViewArray};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};

use crate::error::{Error, Result};
use crate::options::Strings;

/// The columns of the result of a scan.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) schema: SchemaRef,
    places: Vec<Place>,
}

/// What a column of the result is.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// A column that files have, by its place among these.
    Column(usize),
    FileName,
    RowNumber,
}

/// Names of the columns that say where a row is from.
#[derive(Debug, Clone, Default)]
pub(super) struct VirtualColumns {
    pub(super) file_name: Option<String>,
    pub(super) row_number: Option<String>,
}

impl VirtualColumns {
    /// The paths that are those of files.
    pub(super) fn without<'a>(&self, paths: &'a [String]) -> impl Iterator<Item = &'a String> {
        paths.iter().filter(|path| !self.names().any(|name| name == *path))
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        self.file_name.iter().chain(&self.row_number)
    }
}

impl Target {
    /// The columns of `files`, whose order is settled, with virtual ones where `paths` have their names, else at the end.
    pub(super) fn new(
        files: &Schema,
        paths: Option<&[String]>,
        columns: &VirtualColumns,
        strings: Strings,
    ) -> Result<Self> {
        let mut fields: Vec<(usize, FieldRef, Place)> = Vec::new();
        let position = |name: &str| {
            let is_at =
                |path: &String| path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
            paths.and_then(|paths| paths.iter().position(is_at)).unwrap_or(usize::MAX)
        };
        for (index, field) in files.fields().iter().enumerate() {
            fields.push((position(field.name()), Arc::clone(field), Place::Column(index)));
        }
        let text = match strings {
            Strings::Views => DataType::Utf8View,
            Strings::Offsets => DataType::Utf8,
        };
        let virtual_columns =
            [(&columns.file_name, text, Place::FileName), (&columns.row_number, DataType::Int64, Place::RowNumber)];
        for (name, data_type, place) in virtual_columns {
            let Some(name) = name else { continue };
            if files.column_with_name(name).is_some() || fields.iter().any(|(_, field, _)| field.name() == name) {
                return Err(Error::invalid(format!("there is a column {name:?} already; choose another name")));
            }
            fields.push((position(name), Arc::new(Field::new(name, data_type, false)), place));
        }
        // Stable, so that columns keep their order where the paths say nothing.
        fields.sort_by_key(|(position, ..)| *position);
        let places = fields.iter().map(|(.., place)| *place).collect();
        let fields: Vec<FieldRef> = fields.into_iter().map(|(_, field, _)| field).collect();
        Ok(Self { schema: Arc::new(Schema::new_with_metadata(fields, files.metadata().clone())), places })
    }

    /// Whether rows have to know their numbers.
    pub(super) fn has_row_numbers(&self) -> bool {
        self.places.iter().any(|place| matches!(place, Place::RowNumber))
    }
}

/// How the batches of one file become those of the result.
#[derive(Debug)]
pub(super) struct FileTarget {
    target: Arc<Target>,
    /// For each column that files have, its place in the batches of this file.
    sources: Vec<usize>,
    name: Arc<str>,
}

impl FileTarget {
    /// For a file called `name` whose batches have `schema`; `files` is what all files have in common.
    pub(super) fn new(target: &Arc<Target>, files: &Schema, schema: &Schema, name: Arc<str>) -> Result<Self> {
        let source = |(position, field): (usize, &FieldRef)| {
            // Names may occur twice; then the order decides.
            let here = schema.fields().get(position).filter(|here| here.name() == field.name());
            let index = if here.is_some() { Some(position) } else { schema.index_of(field.name()).ok() };
            index.filter(|&index| schema.field(index).data_type() == field.data_type()).ok_or_else(|| {
                Error::invalid(format!("there is no column {:?} of type {}", field.name(), field.data_type()))
            })
        };
        let sources = files.fields().iter().enumerate().map(source).collect::<Result<_>>()?;
        Ok(Self { target: Arc::clone(target), sources, name })
    }

    /// The batch as the result has it. `row_numbers` are those of its rows, if they are wanted.
    pub(super) fn apply(&self, batch: &RecordBatch, row_numbers: Option<Int64Array>) -> Result<RecordBatch> {
        let Target { schema, places } = &*self.target;
        let row_count = batch.num_rows();
        let row_numbers: Option<ArrayRef> = row_numbers.map(|numbers| Arc::new(numbers) as _);
        let columns = places.iter().zip(schema.fields()).map(|(place, field)| match place {
            Place::Column(index) => Ok(Arc::clone(batch.column(self.sources[*index]))),
            Place::FileName => Ok(repeated(&self.name, row_count, field.data_type())),
            Place::RowNumber => row_numbers
                .as_ref()
                .map(Arc::clone)
                .ok_or_else(|| Error::corrupt("rows that do not know their numbers")),
        });
        let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
            .map_err(|error| Error::corrupt(error.to_string()))
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
