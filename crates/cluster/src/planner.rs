//! Plans queries so that larger ones run on workers.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::execution::SessionState;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};
use lath_sql::remote::{DividedTables, RemoteScan};

use crate::exec::ClusterExec;
use crate::planning::Planning;
use crate::split::is_divisible;
use crate::workers::Workers;

/// Plans as another planner does, and runs what is large on workers.
pub(crate) struct ClusterPlanner {
    workers: Arc<Workers>,
    inner: Arc<dyn QueryPlanner + Send + Sync>,
}

impl ClusterPlanner {
    pub(crate) fn new(workers: Arc<Workers>, inner: Arc<dyn QueryPlanner + Send + Sync>) -> Self {
        Self { workers, inner }
    }
}

#[async_trait]
impl QueryPlanner for ClusterPlanner {
    async fn create_physical_plan(
        &self,
        logical: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = self.inner.create_physical_plan(logical, session).await?;
        let Some(state) = session.as_any().downcast_ref::<SessionState>() else { return Ok(plan) };
        // The plan below is the one that is run; its operators are shown with what they counted.
        if let LogicalPlan::Analyze(analyze) = logical
            && let [analyzed] = plan.children()[..]
        {
            let analyzed = self.on_workers(Arc::clone(analyzed), &analyze.input, state).await?;
            return replace_children_if_necessary(plan, vec![analyzed]);
        }
        match logical {
            LogicalPlan::Explain(_) => Ok(plan),
            _ => self.on_workers(plan, logical, state).await,
        }
    }
}

impl ClusterPlanner {
    /// The plan as one that runs on workers, if it reads enough.
    async fn on_workers(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        logical: &LogicalPlan,
        state: &SessionState,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (bytes, min_bytes) = (divisible_bytes(&plan), self.workers.min_bytes.max(1));
        // No file of small tables is opened here.
        if bytes + DividedTables::max_byte_count(&plan)? < min_bytes {
            return Ok(plan);
        }
        let tables = DividedTables::of(&plan).await?;
        if bytes + tables.byte_count() < min_bytes {
            return Ok(plan);
        }
        let plan = tables.put_into(plan).await?;
        let again = Planning::new(Arc::clone(&self.inner), logical.clone(), state.clone());
        Ok(Arc::new(ClusterExec::new(plan, Arc::clone(&self.workers), Arc::new(again))))
    }
}

impl fmt::Debug for ClusterPlanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterPlanner").finish_non_exhaustive()
    }
}

/// Compressed bytes of scans that can be divided.
fn divisible_bytes(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let own = match RemoteScan::of(plan) {
        Some(scan) if is_divisible(&scan) => scan.tasks().iter().map(lath_parquet::ScanTask::byte_count).sum(),
        _ => 0,
    };
    own + plan.children().into_iter().map(divisible_bytes).sum::<u64>()
}
