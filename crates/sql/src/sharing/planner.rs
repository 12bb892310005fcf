//! Plans shared tables before the plans that use them.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{Result, internal_err};
use datafusion::execution::SessionState;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};

use super::read::PlannedTables;
use super::resolve::{ResolvedPlan, resolve};

/// The plan with its rows in one partition. Workers may run parts of the plan, which changes the number of other partitions.
fn in_one_partition(plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    match plan.output_partitioning().partition_count() {
        1 => plan,
        _ => Arc::new(CoalescePartitionsExec::new(plan)),
    }
}

/// DataFusion's planner, extended by shared rows, and by what `others` plan.
pub(crate) struct SharingPlanner {
    pub(crate) others: Vec<Arc<dyn ExtensionPlanner + Send + Sync>>,
    pub(crate) has_workers: bool,
}

impl fmt::Debug for SharingPlanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharingPlanner")
    }
}

#[async_trait]
impl QueryPlanner for SharingPlanner {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(state) = session.as_any().downcast_ref::<SessionState>() else {
            return internal_err!("a session without a state cannot plan shared rows");
        };
        let ResolvedPlan { plan, tables } = resolve(plan, state)?;
        let planned = Arc::new(PlannedTables::default());
        let sharing: Arc<dyn ExtensionPlanner + Send + Sync> = Arc::clone(&planned) as _;
        let planners = self.others.iter().cloned().chain([sharing]).collect();
        let planner = DefaultPhysicalPlanner::with_extension_planners(planners);
        for (table, plan) in tables {
            let plan = planner.create_physical_plan(&plan, session).await?;
            planned.add(&table, if self.has_workers { in_one_partition(plan) } else { plan });
        }
        planner.create_physical_plan(&plan, session).await
    }
}
