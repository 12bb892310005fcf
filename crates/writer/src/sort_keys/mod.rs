//! Keys by which rows are ordered, as byte strings.

mod check;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, make_array};
use arrow_buffer::NullBuffer;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{ArrowError, DataType, Fields, Schema, SortOptions};
use lath_format::schema::{PathMatch, find_path, write_path};
use lath_parquet::{Error, Result};

use crate::SortingColumn;

pub(super) use self::check::SortCheck;

/// Converts batches to keys.
#[derive(Debug)]
pub(super) struct SortKeys {
    converter: RowConverter,
    /// The path to each column: an index at the root, then within each struct.
    paths: Vec<Vec<usize>>,
}

impl SortKeys {
    /// # Errors
    /// [`Error::Invalid`] without columns, and for a column that is missing or whose name several columns have.
    pub(super) fn new(schema: &Schema, columns: &[SortingColumn]) -> Result<Self> {
        if columns.is_empty() {
            return Err(Error::invalid("no columns are named to sort by"));
        }
        let mut leaves = Vec::new();
        collect_leaves(schema.fields(), &mut Vec::new(), &mut Vec::new(), &mut leaves);
        let mut paths = Vec::with_capacity(columns.len());
        let mut fields = Vec::with_capacity(columns.len());
        for column in columns {
            let leaf = find(&leaves, &column.path)
                .ok_or_else(|| Error::invalid(format!("there is no column {} to sort by", column.path)))?;
            if leaves.iter().filter(|other| other.names == leaf.names).count() > 1 {
                return Err(Error::invalid(format!(
                    "column {} to sort by is ambiguous: several columns have this name",
                    column.path
                )));
            }
            let options = SortOptions { descending: column.descending, nulls_first: column.nulls_first };
            fields.push(SortField::new_with_options(leaf.data_type.clone(), options));
            paths.push(leaf.way.clone());
        }
        Ok(Self { converter: RowConverter::new(fields).map_err(failed)?, paths })
    }

    /// The key of each row.
    pub(super) fn rows(&self, batch: &RecordBatch) -> Result<Rows> {
        let column = |path: &Vec<usize>| {
            let (root, below) = path.split_first()?;
            let mut column = ArrayRef::clone(batch.columns().get(*root)?);
            for &index in below {
                let child = ArrayRef::clone(column.as_struct_opt()?.columns().get(index)?);
                column = within(child, column.nulls());
            }
            Some(column)
        };
        let columns: Option<Vec<_>> = self.paths.iter().map(column).collect();
        let columns = columns.ok_or_else(|| Error::invalid("a batch lacks a column to sort by"))?;
        self.converter.convert_columns(&columns).map_err(failed)
    }
}

/// A leaf within structs.
struct Leaf<'a> {
    names: Vec<String>,
    way: Vec<usize>,
    data_type: &'a DataType,
}

impl AsRef<[String]> for Leaf<'_> {
    fn as_ref(&self) -> &[String] {
        &self.names
    }
}

/// The named leaf, with its type and path.
fn find<'a>(leaves: &'a [Leaf<'_>], path: &str) -> Option<&'a Leaf<'a>> {
    let is_written = |leaf: &&Leaf<'_>| write_path(&leaf.names) == path;
    leaves.iter().find(is_written).or_else(|| match find_path(path, leaves) {
        PathMatch::Names(names) => leaves.iter().find(|leaf| leaf.names == names),
        _ => None,
    })
}

fn collect_leaves<'a>(fields: &'a Fields, names: &mut Vec<String>, way: &mut Vec<usize>, leaves: &mut Vec<Leaf<'a>>) {
    for (index, field) in fields.iter().enumerate() {
        names.push(field.name().clone());
        way.push(index);
        match field.data_type() {
            DataType::Struct(fields) => collect_leaves(fields, names, way, leaves),
            leaf if !leaf.is_nested() => leaves.push(Leaf { names: names.clone(), way: way.clone(), data_type: leaf }),
            _ => {}
        }
        names.pop();
        way.pop();
    }
}

/// The child of a struct, null where the struct is.
fn within(child: ArrayRef, nulls: Option<&NullBuffer>) -> ArrayRef {
    if nulls.is_none() || child.data_type() == &DataType::Null {
        return child;
    }
    let both = NullBuffer::union(child.nulls(), nulls);
    let data = child.to_data().into_builder().nulls(both);
    data.build().map_or(child, make_array)
}

/// Converts an error of Arrow.
pub(super) fn failed(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, error) => Error::io("use a temporary file", error),
        other => Error::invalid(format!("the rows cannot be sorted: {other}")),
    }
}
