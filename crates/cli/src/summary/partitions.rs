//! What became of the columns that the names of directories have.

use arrow_schema::Schema;
use lath_parquet::PartitionColumn;
use serde_json::{Value, json};

use crate::output::layout::printable;

/// Name of each column, and the type that it is stored as; `None` if it is not.
#[derive(Debug, Default)]
pub(super) struct Partitions(Vec<(String, Option<String>)>);

impl Partitions {
    /// Looks for `columns` in the schema that is written. Of a column that was not among `chosen`, a file may have another one.
    pub(super) fn new(columns: &[PartitionColumn], schema: &Schema, chosen: Option<&[String]>) -> Self {
        let stored = |name: &String| {
            let is_chosen = chosen.is_none_or(|chosen| chosen.contains(name));
            let field = schema.column_with_name(name).filter(|_| is_chosen);
            field.map(|(_, field)| field.data_type().to_string())
        };
        let names = columns.iter().map(|column| column.field().name().clone());
        Self(names.map(|name| (name.clone(), stored(&name))).collect())
    }

    /// A line for each column.
    pub(super) fn lines(&self) -> String {
        let line = |(name, stored): &(String, Option<String>)| {
            let what = match stored {
                Some(data_type) => format!("stored as a column of type {data_type}"),
                None => "left out".to_owned(),
            };
            format!("partition column {}: {what}\n", printable(name.clone()))
        };
        self.0.iter().map(line).collect()
    }

    /// The columns for programs; `None` if there is none.
    pub(super) fn json(&self) -> Option<Value> {
        let column = |(name, stored): &(String, Option<String>)| json!({ "name": name, "stored_as": stored });
        (!self.0.is_empty()).then(|| self.0.iter().map(column).collect())
    }
}
