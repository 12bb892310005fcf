//! Detects plans with side effects.

use std::sync::Arc;

use datafusion::datasource::sink::DataSinkExec;
use datafusion::physical_plan::ExecutionPlan;

use crate::change::is_change;

/// Whether executing a plan writes files or changes tables.
pub(crate) fn writes(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<DataSinkExec>() || is_change(plan) || plan.children().into_iter().any(writes)
}
