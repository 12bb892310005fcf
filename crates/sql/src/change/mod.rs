//! Statements that change tables with a primary key: DataFusion's plan becomes a query for rows and a writer that applies them.
//!
//! A change happens when its plan is executed. The writer begins a transaction, and the query then reads the commit that the transaction
//! begins with. The rows go through a channel to the transaction's thread, which commits after the last row; if the query fails or is
//! stopped before, nothing has changed.

mod answer;
mod assignments;
mod by_name;
mod chosen_rows;
mod computed_values;
mod conflict;
mod copy_from;
mod derived;
mod exec;
mod in_order;
mod insertion;
mod merge;
mod plan;
mod returning;
mod target;
mod touched;
mod uuids;
mod without_key;
mod writer;

pub(crate) use answer::ChangePlanner;
pub(crate) use assignments::adapt_assignments;
pub(crate) use by_name::name_columns;
pub(crate) use chosen_rows::plan_chosen_rows;
pub(crate) use computed_values::adapt_computed;
pub(crate) use conflict::{Conflicts, OnConflict, adapt_conflict};
pub(crate) use copy_from::plan_copy_from;
pub(crate) use exec::is_change;
pub(crate) use insertion::plan_insertion;
pub(crate) use plan::{insert_into, plan_change};
pub(crate) use returning::take_returning;
pub(crate) use uuids::adapt_uuids;
pub(crate) use without_key::adapt_row_target;

use lath_table::Predicate;

/// A change of a table by the rows of a query.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    /// Inserts the rows, which have the columns of the table.
    Insert,
    /// Inserts the rows and replaces existing rows with the same keys.
    Replace,
    /// Inserts rows without conflicts, and ignores the others.
    InsertNew(Conflicts),
    /// Deletes rows by key. The rows have the columns of the key, followed by the table's if the statement returns rows.
    Delete,
    /// Deletes the rows for which a condition is true. The query returns no rows.
    DeleteWhere(Predicate),
    /// Replaces rows. The columns are the table's, followed by the old key if a key may change.
    Update { moves_keys: bool },
    /// The first column is the number of the MERGE clause that applies to a row, from 1, or 0; then come the columns of the table and the old
    /// key. With `checks_proposed`, the row that was to be inserted follows, and is checked even if it conflicts.
    Merge { actions: Vec<MergeAction>, moves_keys: bool, checks_proposed: bool },
}

/// The action of a MERGE clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergeAction {
    Update,
    Delete,
    Insert,
}

impl Change {
    /// Whether the order of two rows with the same key matters.
    fn depends_on_order(&self) -> bool {
        matches!(self, Self::Replace | Self::InsertNew(_))
    }

    /// The name of the statement.
    fn name(&self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Replace => "insert or replace",
            Self::InsertNew(_) => "insert or ignore",
            Self::Delete | Self::DeleteWhere(_) => "delete",
            Self::Update { .. } => "update",
            Self::Merge { .. } => "merge",
        }
    }
}

/// The name of a column with a part of a row's old key.
fn key_name(number: usize) -> String {
    format!("__lath_key_{number}")
}
