//! Plans queries so that rows come in source order: the order of files and of the rows in them, of VALUES, of the parts of a UNION ALL, or
//! of ORDER BY.
//!
//! If rows to insert repeat a key, one is kept, and it has to be the same one on any number of threads. Partitions of a query run in
//! parallel, and the operator that merges them takes the first batch to arrive. So the query is planned with one partition, and if there
//! are several nevertheless, they are read one after the other. The writer's thread, which takes longer than most queries, still runs in
//! parallel to the query.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_expr::{Partitioning, PhysicalExpr};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};
use futures_util::{StreamExt, TryStreamExt};

/// Whether the rows of a query's plan come in source order anyway.
pub(super) fn is_in_order(query: &LogicalPlan, plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    // The planner may drop the query's own sort if there is an operator above the query.
    let has_sort = query.exists(|node| Ok(matches!(node, LogicalPlan::Sort(_))))?;
    Ok(!has_sort && !plan.exists(|node| Ok(node.output_partitioning().partition_count() > 1))?)
}

/// Plans a query with one partition, so that rows come in source order.
pub(super) async fn plan_in_order(state: &SessionState, query: &LogicalPlan) -> Result<Arc<dyn ExecutionPlan>> {
    let mut state = state.clone();
    state.config_mut().options_mut().execution.target_partitions = 1;
    let plan = state.create_physical_plan(query).await?;
    let plan = plan.transform_up(|node| match node.downcast_ref::<CoalescePartitionsExec>() {
        None => Ok(Transformed::no(node)),
        Some(coalesced) => {
            let ordered = PartitionsInOrder::join(Arc::clone(coalesced.input()));
            Ok(Transformed::yes(match coalesced.fetch() {
                None => ordered,
                fetch => Arc::new(GlobalLimitExec::new(ordered, 0, fetch)),
            }))
        }
    });
    plan.data().map(PartitionsInOrder::join)
}

/// Reads the partitions one after the other.
#[derive(Debug)]
struct PartitionsInOrder {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl PartitionsInOrder {
    /// Reduces a plan to one partition.
    fn join(input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        if input.output_partitioning().partition_count() == 1 {
            return input;
        }
        let mut equivalences = input.equivalence_properties().clone();
        equivalences.clear_orderings();
        equivalences.clear_per_partition_constants();
        let (behaviour, boundedness) = (input.pipeline_behavior(), input.boundedness());
        let properties =
            PlanProperties::new(equivalences, Partitioning::UnknownPartitioning(1), behaviour, boundedness);
        Arc::new(Self { input, properties: Arc::new(properties) })
    }
}

impl ExecutionPlan for PartitionsInOrder {
    fn name(&self) -> &'static str {
        "PartitionsInOrder"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let [input] = children.as_slice() else { return internal_err!("partitions in order have one input") };
        Ok(Self::join(Arc::clone(input)))
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("partitions in order are one");
        }
        let input = Arc::clone(&self.input);
        let partitions = futures_util::stream::iter(0..input.output_partitioning().partition_count());
        let rows = partitions.map(move |partition| input.execute(partition, Arc::clone(&context))).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}

impl DisplayAs for PartitionsInOrder {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PartitionsInOrder")
    }
}
