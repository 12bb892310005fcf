//! Columns of united schemas that are read as dictionaries.

use std::sync::Arc;

use arrow_schema::{DataType, FieldRef, Fields};

use super::lists::{list_element, with_element};
use crate::error::{Error, Result};
use crate::schema::dictionary_field;

/// Paths of columns to read as dictionaries; each stands for all leaves below it.
pub(in crate::dataset) struct Dictionaries<'a> {
    paths: Vec<&'a str>,
    /// The paths that are whole names of columns, even if these have dots.
    roots: Vec<&'a str>,
}

impl<'a> Dictionaries<'a> {
    /// # Errors
    /// [`Error::Invalid`] for a path that matches nothing in `fields`.
    pub(in crate::dataset) fn new(fields: &[FieldRef], paths: &'a [String]) -> Result<Self> {
        let is_root = |path: &&str| fields.iter().any(|field| field.name() == path);
        let (roots, paths): (Vec<&str>, Vec<&str>) = paths.iter().map(String::as_str).partition(is_root);
        match paths.iter().find(|path| !fields.iter().any(|field| leads_into(path, field))) {
            Some(path) => Err(Error::invalid(format!("no column '{path}' to read as a dictionary"))),
            None => Ok(Self { paths, roots }),
        }
    }

    /// The column, with the leaves of the paths as dictionaries.
    ///
    /// # Errors
    /// [`Error::Invalid`] for leaves whose values cannot be in a dictionary.
    pub(in crate::dataset) fn apply(&self, column: &FieldRef) -> Result<FieldRef> {
        match self.roots.iter().any(|root| *root == column.name()) {
            true => with_dictionaries(column, &[""]),
            false => below(column, &self.paths),
        }
    }
}

/// Whether `path`, which starts with the field's own name, matches the field or a field in it.
fn leads_into(path: &str, field: &FieldRef) -> bool {
    let Some(rest) = path_below(path, field) else { return false };
    rest.is_empty()
        || match field.data_type() {
            DataType::Struct(fields) => fields.iter().any(|child| leads_into(rest, child)),
            DataType::Map(entries, _) => leads_into(rest, entries),
            other => list_element(other).is_some_and(|element| leads_into(rest, element)),
        }
}

/// The part of `path` after the field's name; empty if there is none.
fn path_below<'p>(path: &'p str, field: &FieldRef) -> Option<&'p str> {
    match path.strip_prefix(field.name().as_str())? {
        "" => Some(""),
        rest => rest.strip_prefix('.'),
    }
}

/// The field, with the leaves of `paths` as dictionaries; the paths start with the field's own name.
fn below(field: &FieldRef, paths: &[&str]) -> Result<FieldRef> {
    let rests: Vec<&str> = paths.iter().filter_map(|path| path_below(path, field)).collect();
    if rests.is_empty() { Ok(Arc::clone(field)) } else { with_dictionaries(field, &rests) }
}

/// As [`below`], for paths that start below the field. The empty path stands for all leaves.
fn with_dictionaries(field: &FieldRef, paths: &[&str]) -> Result<FieldRef> {
    let is_whole = paths.contains(&"");
    let child = |child: &FieldRef| if is_whole { with_dictionaries(child, &[""]) } else { below(child, paths) };
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(child).collect::<Result<Fields>>()?),
        DataType::Map(entries, is_sorted) => DataType::Map(child(entries)?, *is_sorted),
        other => match list_element(other) {
            Some(element) => with_element(other, child(element)?),
            None if is_whole => {
                return dictionary_field(field).ok_or_else(|| {
                    let (name, data_type) = (field.name(), field.data_type());
                    Error::invalid(format!("column '{name}' of type {data_type} cannot be read as a dictionary"))
                });
            }
            None => return Ok(Arc::clone(field)),
        },
    };
    Ok(Arc::new(field.as_ref().clone().with_data_type(data_type)))
}
