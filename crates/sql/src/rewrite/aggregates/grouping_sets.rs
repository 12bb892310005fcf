//! `ROLLUP`, `CUBE` and `GROUPING SETS` over keys whose order, partition or constant value is known.
//!
//! DataFusion 55 says of the rows of an aggregate what it knows of the keys in its input: that they are sorted, equal to each other or to a
//! constant, that equal ones are in one partition. With grouping sets, keys are null in the totals, and all of this is false: the aggregate
//! that merges them returns a total once per change of a key (<https://github.com/apache/datafusion/issues/16965>, open in 55.2).

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};

/// Puts a [`PropertyBarrierExec`] above every aggregate with grouping sets. It runs first: the other rules believe what a plan says of its
/// rows.
#[derive(Debug)]
pub(crate) struct GroupingSets;

impl PhysicalOptimizerRule for GroupingSets {
    fn name(&self) -> &str {
        "lath_grouping_sets"
    }

    fn schema_check(&self) -> bool {
        true
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let hidden = plan.transform_up(|plan| {
            let has_sets =
                plan.downcast_ref::<AggregateExec>().is_some_and(|aggregate| aggregate.group_expr().has_grouping_set());
            Ok(if has_sets { Transformed::yes(PropertyBarrierExec::above(plan)) } else { Transformed::no(plan) })
        });
        hidden.map(|hidden| hidden.data)
    }
}

/// Passes on rows, and nothing of what is known of them.
#[derive(Debug)]
struct PropertyBarrierExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl PropertyBarrierExec {
    fn above(input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        Arc::new(Self { input, properties: Arc::new(properties) })
    }
}

impl DisplayAs for PropertyBarrierExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PropertyBarrierExec")
    }
}

impl ExecutionPlan for PropertyBarrierExec {
    fn name(&self) -> &'static str {
        "PropertyBarrierExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Self::above(input)),
            _ => internal_err!("a property barrier has one input"),
        }
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match inputs {
            [input] => Ok(Arc::clone(input)),
            _ => internal_err!("a property barrier has one input"),
        }
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }
}
