//! Statements that change tables with a primary key: what DataFusion plans of them becomes a query for rows and a writer that applies them.
//!
//! A change happens where its plan is executed. The writer begins a transaction, and only then is it settled which commit the query reads:
//! the one that the transaction begins with. The rows go through a channel to the thread of the transaction, which commits when all have
//! come; if the query fails or is stopped before that, nothing has changed.

mod assignments;
mod conflict;
mod exec;
mod in_order;
mod insertion;
mod merge;
mod named_target;
mod plan;
mod target;
mod touched;
mod writer;

pub(crate) use assignments::adapt_assignments;
pub(crate) use conflict::{OnConflict, adapt_conflict};
pub(crate) use exec::is_change;
pub(crate) use insertion::plan_insertion;
pub(crate) use named_target::plan_delete_from_alias;
pub(crate) use plan::{insert_into, plan_change};

use lath_table::Predicate;

/// What becomes of the rows of a query.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    /// They are inserted: their columns are those of the table.
    Insert,
    /// They are inserted, and replace those with the same keys.
    Replace,
    /// They are inserted where there is no row with their key.
    InsertNew,
    /// The rows with their keys are deleted: their columns are those of the key.
    Delete,
    /// The rows for which a condition is true are deleted. The query has none.
    DeleteWhere(Predicate),
    /// They replace rows. Their columns are those of the table, and behind them the keys of before where these may be others.
    Update { moves_keys: bool },
    /// The first column counts the clause of MERGE that a row meets, from 1; then come the columns of the table and the keys of before.
    Merge { actions: Vec<MergeAction>, moves_keys: bool },
}

/// What a clause of MERGE does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergeAction {
    Update,
    Delete,
    Insert,
}

impl Change {
    /// Whether it matters which of two rows of the query with one key comes first.
    fn depends_on_order(&self) -> bool {
        matches!(self, Self::Replace | Self::InsertNew)
    }

    /// The statement.
    fn name(&self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Replace => "insert or replace",
            Self::InsertNew => "insert or ignore",
            Self::Delete | Self::DeleteWhere(_) => "delete",
            Self::Update { .. } => "update",
            Self::Merge { .. } => "merge",
        }
    }
}

/// The name of a column with a part of the key that a row had.
fn key_name(number: usize) -> String {
    format!("__lath_key_{number}")
}
