//! Planning a query again.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::SessionState;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use lath_sql::remote::DividedTables;

/// All that is needed to plan a query again.
pub(crate) struct Planning {
    planner: Arc<dyn QueryPlanner + Send + Sync>,
    logical: LogicalPlan,
    pub(crate) state: SessionState,
}

impl Planning {
    pub(crate) fn new(planner: Arc<dyn QueryPlanner + Send + Sync>, logical: LogicalPlan, state: SessionState) -> Self {
        Self { planner, logical, state }
    }

    pub(crate) async fn plan(&self) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = self.planner.create_physical_plan(&self.logical, &self.state).await?;
        DividedTables::of(&plan).await?.put_into(plan).await
    }
}

impl fmt::Debug for Planning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planning").finish_non_exhaustive()
    }
}
