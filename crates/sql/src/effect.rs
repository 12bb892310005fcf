//! Detects plans with side effects.

use std::sync::Arc;

use datafusion::datasource::sink::DataSinkExec;
use datafusion::physical_plan::ExecutionPlan;

use crate::change::is_change;

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
