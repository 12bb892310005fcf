//! Columns whose values a table gives: identities, whose values are numbers of a sequence, and columns that are generated from others.
//!
//! | module | what it does |
//! | --- | --- |
//! | `expression` | plans expressions of generated columns |
//! | `sequence` | the functions `nextval`, `currval` and `setval` |

mod expression;
mod sequence;

use std::path::Path;

use arrow_schema::Schema;
use lath_table::{GENERATED_KEY, IDENTITY_KEY};

pub(crate) use self::expression::{generated_values, plan_generated, renamed_expression, uses_column};
pub(crate) use self::sequence::{
    SequenceValues, calls_sequence, named_sequences, sequence_functions, set_value_function,
};

/// The metadata key of a column's number.
const FIELD_ID: &str = "PARQUET:field_id";

/// The value of [`IDENTITY_KEY`] of a column for which statements may give no values.
pub(crate) const ALWAYS: &str = "always";

/// The value of [`IDENTITY_KEY`] of a column for which statements may give values.
pub(crate) const BY_DEFAULT: &str = "by default";

/// Begins the names of sequences of columns, which no statement has.
pub(crate) const OWN_SEQUENCE: char = '\u{1f}';

/// A column whose values a table gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ComputedColumn {
    pub(crate) name: String,
    pub(crate) computation: Computation,
}

/// The way to the values of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Computation {
    /// The numbers of a sequence. Statements may give other values unless they are `always` given.
    Identity { always: bool, sequence: String },
    /// The text of an expression of other columns.
    Generated(String),
}

impl ComputedColumn {
    pub(crate) fn is_generated(&self) -> bool {
        matches!(self.computation, Computation::Generated(_))
    }

    /// The text of the default.
    pub(crate) fn default_text(&self) -> Option<String> {
        match &self.computation {
            Computation::Identity { sequence, .. } => Some(format!("nextval('{sequence}')")),
            Computation::Generated(_) => None,
        }
    }
}

/// The columns whose values the table in a folder gives.
pub(crate) fn computed_columns(schema: &Schema, folder: &Path) -> Vec<ComputedColumn> {
    let column = |field: &arrow_schema::FieldRef| {
        let computation = match (field.metadata().get(GENERATED_KEY), field.metadata().get(IDENTITY_KEY)) {
            (Some(text), _) => Computation::Generated(text.clone()),
            (None, Some(kind)) => Computation::Identity {
                always: kind == ALWAYS,
                sequence: own_sequence(folder, field.metadata().get(FIELD_ID).map_or("", String::as_str)),
            },
            (None, None) => return None,
        };
        Some(ComputedColumn { name: field.name().clone(), computation })
    };
    schema.fields().iter().filter_map(column).collect()
}

/// The name of the sequence of a column of the table in a folder. Neither the folder's name nor the number of the column is used again.
fn own_sequence(folder: &Path, field_id: &str) -> String {
    format!("{}{field_id}", own_sequences(folder))
}

/// The beginning of the names of the sequences of the table in a folder.
pub(crate) fn own_sequences(folder: &Path) -> String {
    format!("{OWN_SEQUENCE}{}/", folder.file_name().unwrap_or_default().to_string_lossy())
}
