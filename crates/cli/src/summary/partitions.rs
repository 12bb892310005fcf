//! Partition columns in the summary: stored, or left out.

use arrow_schema::Schema;
use lath_parquet::PartitionColumn;
use serde_json::{Value, json};

use crate::output::layout::printable;

/// Name of each column, and the type that it is stored as, if it is.
#[derive(Debug, Default)]
pub(super) struct Partitions(Vec<(String, Option<String>)>);

impl Partitions {
    /// Looks for `columns` in the schema that is written. A column that is not among `chosen` is not stored, even if a file has
    /// one of its name.
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

    /// The columns as JSON; `None` if there is none.
    pub(super) fn json(&self) -> Option<Value> {
        let column = |(name, stored): &(String, Option<String>)| json!({ "name": name, "stored_as": stored });
        (!self.0.is_empty()).then(|| self.0.iter().map(column).collect())
    }
}
