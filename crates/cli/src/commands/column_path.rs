//! Columns and fields of structs by their paths, for the SQL engine.

use std::sync::Arc;

use arrow_schema::{DataType, FieldRef, Schema};
use lath_format::schema::{PathMatch, find_path};

use crate::commands::engine::quoted;
use crate::failure::{Failure, Result};

/// A column, or a field of structs in it.
#[derive(Debug, Clone)]
pub(in crate::commands) struct ColumnPath {
    /// Its names, from the outside to the inside.
    names: Vec<String>,
    pub(in crate::commands) field: FieldRef,
}

impl ColumnPath {
    /// A column of a schema.
    pub(in crate::commands) fn of(field: &FieldRef) -> Self {
        Self { names: vec![field.name().clone()], field: Arc::clone(field) }
    }

    /// Finds a column by its path: a column whose name is the whole path, or else names with dots between them, which are literal in double
    /// quotes. If no name is equal, a single one that differs only in case matches.
    pub(in crate::commands) fn find(path: &str, schema: &Schema, option: &str) -> Result<Self> {
        let no_column = || {
            let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            Failure::Usage(format!("{option}: there is no column {path:?}; there are {}", names.join(", ")))
        };
        let mut leaves = Vec::new();
        schema.fields().iter().for_each(|field| collect_paths(Self::of(field), &mut leaves));
        match find_path(path, &leaves) {
            PathMatch::Names(names) => leaves.into_iter().find(|leaf| leaf.names == names).ok_or_else(no_column),
            PathMatch::Nothing => within(path, schema.fields()).ok_or_else(no_column),
            PathMatch::Ambiguous(several) => Err(Failure::Usage(format!(
                "{option}: {path} is ambiguous: {}; write one of them",
                several.join(" or ")
            ))),
        }
    }

    /// The fields of this struct; `None` if it is something else.
    pub(in crate::commands) fn fields(&self) -> Option<Vec<Self>> {
        let DataType::Struct(fields) = self.field.data_type() else { return None };
        let of_field = |field: &FieldRef| {
            let names = self.names.iter().chain([field.name()]).cloned().collect();
            Self { names, field: Arc::clone(field) }
        };
        Some(fields.iter().map(of_field).collect())
    }

    /// Its names, from the outside to the inside.
    pub(in crate::commands) fn names(&self) -> &[String] {
        &self.names
    }

    /// The path with dots between the names.
    pub(in crate::commands) fn path(&self) -> String {
        self.names.join(".")
    }

    /// The name of the column that it is in.
    pub(in crate::commands) fn column(&self) -> &str {
        &self.names[0]
    }

    /// The path as an SQL expression.
    pub(in crate::commands) fn expression(&self) -> String {
        let column = quoted(self.column(), '"');
        self.names[1..].iter().fold(column, |of, name| format!("get_field({of}, {})", quoted(name, '\'')))
    }
}

impl AsRef<[String]> for ColumnPath {
    fn as_ref(&self) -> &[String] {
        &self.names
    }
}

/// Adds a column and its nested fields.
fn collect_paths(column: ColumnPath, paths: &mut Vec<ColumnPath>) {
    let fields = column.fields();
    paths.push(column);
    fields.into_iter().flatten().for_each(|field| collect_paths(field, paths));
}

/// The only column among `fields` that `path` names, ignoring case. A name may contain dots.
fn within(path: &str, fields: &[FieldRef]) -> Option<ColumnPath> {
    let begins = |name: &str| {
        let is_same = path.get(..name.len())?.eq_ignore_ascii_case(name);
        let rest = &path[name.len()..];
        (is_same && (rest.is_empty() || rest.starts_with('.'))).then(|| rest.trim_start_matches('.'))
    };
    let mut found = fields.iter().filter_map(|field| {
        let rest = begins(field.name())?;
        if rest.is_empty() {
            return Some(ColumnPath::of(field));
        }
        let DataType::Struct(inner) = field.data_type() else { return None };
        let inner = within(rest, inner)?;
        Some(ColumnPath { names: [vec![field.name().clone()], inner.names].concat(), field: inner.field })
    });
    let first = found.next();
    first.filter(|_| found.next().is_none())
}

#[cfg(test)]
mod tests {
    use arrow_schema::Field;

    use super::*;

    #[test]
    fn paths_name_columns_and_fields_whatever_their_case_if_that_is_clear() {
        let inner = DataType::Struct(vec![Field::new("Age", DataType::UInt8, true)].into());
        let fields = [("rider", inner), ("a.b", DataType::Int8), ("x", DataType::Int8), ("X", DataType::Int16)];
        let schema = Schema::new(fields.map(|(name, data_type)| Field::new(name, data_type, true)).to_vec());
        let expression = |path| ColumnPath::find(path, &schema, "--by").map(|column| column.expression());
        assert_eq!(expression("rider.age").unwrap(), "get_field(\"rider\", 'Age')");
        assert_eq!(expression("a.b").unwrap(), "\"a.b\"");
        assert_eq!(expression("X").unwrap(), "\"X\"");
        assert!(expression("rider.name").is_err() && expression("ride").is_err() && expression("é").is_err());
    }
}
