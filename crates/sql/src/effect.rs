//! Detects statements and plans with side effects.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::datasource::sink::DataSinkExec;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    ObjectName, ObjectType, Statement as SqlStatement, TransactionAccessMode, TransactionMode, visit_relations,
};

use crate::change::is_change;
use crate::dialect::normal;

#[cfg(feature = "remote")]
fn is_divided_write(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<crate::write::WritePartExec>() || plan.is::<crate::write::CompleteFilesExec>()
}

/// No process completes what others write.
#[cfg(not(feature = "remote"))]
fn is_divided_write(_: &Arc<dyn ExecutionPlan>) -> bool {
    false
}

/// Whether executing a plan writes files or changes tables.
pub(crate) fn writes(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<DataSinkExec>() || is_change(plan) || is_divided_write(plan) || plan.children().into_iter().any(writes)
}

/// Whether a statement may change the session's database, other than by numbers of sequences. `is_stored` tells whether a table or view of the database has a name.
pub(crate) fn changes_database(statement: &Statement, is_stored: impl Fn(&str) -> Result<bool>) -> Result<bool> {
    match statement {
        Statement::Statement(statement) => changes(statement, &is_stored),
        Statement::Explain(explain) => changes_database(&explain.statement, is_stored),
        Statement::CreateExternalTable(_) | Statement::CopyTo(_) | Statement::Reset(_) => Ok(false),
    }
}

fn changes(statement: &SqlStatement, is_stored: &impl Fn(&str) -> Result<bool>) -> Result<bool> {
    let any_stored = |names: &[ObjectName]| -> Result<bool> {
        for name in names {
            let last = name.0.last().and_then(|part| part.as_ident());
            if last.is_none_or(|last| is_stored(&normal(last)).unwrap_or(true)) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    match statement {
        SqlStatement::Insert(_) | SqlStatement::Update(_) | SqlStatement::Delete(_) | SqlStatement::Merge(_) => {
            let mut names = Vec::new();
            let _: ControlFlow<()> = visit_relations(statement, |name| {
                names.push(name.clone());
                ControlFlow::Continue(())
            });
            any_stored(&names)
        }
        SqlStatement::CreateTable(create) => Ok(!create.temporary),
        SqlStatement::CreateView(create) => Ok(!create.temporary),
        SqlStatement::Drop { object_type: ObjectType::Table | ObjectType::View, names, .. } => any_stored(names),
        SqlStatement::StartTransaction { modes, .. } => {
            Ok(!modes.contains(&TransactionMode::AccessMode(TransactionAccessMode::ReadOnly)))
        }
        SqlStatement::AlterTable(_)
        | SqlStatement::Call(_)
        | SqlStatement::Comment { .. }
        | SqlStatement::Copy { .. }
        | SqlStatement::CreateIndex(_)
        | SqlStatement::CreateSequence { .. }
        | SqlStatement::Drop { .. }
        | SqlStatement::Truncate(_) => Ok(true),
        SqlStatement::Explain { statement, .. } => changes(statement, is_stored),
        _ => Ok(false),
    }
}
