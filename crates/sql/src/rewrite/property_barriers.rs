//! Hides wrong properties that DataFusion 55 derives for the rows of some operators.
//!
//! - An aggregate with `ROLLUP`, `CUBE` or `GROUPING SETS` gets the properties of its keys: sorted, equal to each other or to a constant,
//!   partitioned. But keys are null in totals: the aggregate that merges partial results returned a total once per change of a key
//!   (<https://github.com/apache/datafusion/issues/16965>, open in 55.2).
//! - An outer join gets the constants of both sides, even of the side that is null if no row matches (`LEFT JOIN (SELECT id, true AS found
//!   …)`).
//!
//! Sorts above such operators were left out, and windows had wrong partitions.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{ConstExpr, EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterDescription, FilterPushdownPhase, FilterPushdownPropagation,
};
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};

/// Puts a [`PropertyBarrierExec`] above the operators. The rule runs first, because the other rules rely on the properties of a plan.
#[derive(Debug)]
pub(crate) struct PropertyBarriers;

impl PhysicalOptimizerRule for PropertyBarriers {
    fn name(&self) -> &str {
        "lath_property_barriers"
    }

    fn schema_check(&self) -> bool {
        true
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let hidden = plan.transform_up(|plan| match Barrier::above(&plan) {
            Some(barrier) => Ok(Transformed::yes(PropertyBarrierExec::with_input(barrier, plan)?)),
            None => Ok(Transformed::no(plan)),
        });
        hidden.map(|hidden| hidden.data)
    }
}

/// The properties to hide.
#[derive(Debug, Clone, PartialEq)]
enum Barrier {
    All,
    /// Everything except the partitioning and constants of columns outside of this range.
    Nullable(Range<usize>),
}

impl Barrier {
    /// The barrier that an operator needs.
    fn above(plan: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
            return aggregate.group_expr().has_grouping_set().then_some(Self::All);
        }
        let join_type = if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
            *join.join_type()
        } else if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
            *join.join_type()
        } else if let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() {
            join.join_type()
        } else {
            return None;
        };
        let [left, right] = plan.children()[..] else { return None };
        let (left_len, right_len) = (left.schema().fields().len(), right.schema().fields().len());
        let all = 0..plan.schema().fields().len();
        let (sides, nullable) = match join_type {
            JoinType::Left => (vec![right], left_len..left_len + right_len),
            JoinType::Right => (vec![left], 0..left_len),
            JoinType::Full => (vec![left, right], all.clone()),
            _ => return None,
        };
        let has_constants = sides.iter().any(|side| has_constants(side.equivalence_properties()));
        // The join's projection changes the indices of columns.
        let nullable = if all.end == left_len + right_len { nullable } else { all };
        has_constants.then_some(Self::Nullable(nullable))
    }
}

/// Whether expressions equal constants or expressions other than columns, which may not hold if they are null.
fn has_constants(known: &EquivalenceProperties) -> bool {
    !known.constants().is_empty() || known.eq_group().iter().any(|class| class.iter().any(|expr| !expr.is::<Column>()))
}

/// The columns that a barrier takes for nullable: all as `None`. `None` for other operators.
#[cfg(feature = "remote")]
pub(crate) fn barrier_columns(plan: &Arc<dyn ExecutionPlan>) -> Option<Option<Range<usize>>> {
    plan.downcast_ref::<PropertyBarrierExec>().map(|exec| match &exec.barrier {
        Barrier::All => None,
        Barrier::Nullable(columns) => Some(columns.clone()),
    })
}

/// Puts a barrier above a plan, as [`barrier_columns`] describes it.
#[cfg(feature = "remote")]
pub(crate) fn with_barrier(
    columns: Option<Range<usize>>,
    input: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    PropertyBarrierExec::with_input(columns.map_or(Barrier::All, Barrier::Nullable), input)
}

/// Passes rows on and hides their properties.
#[derive(Debug)]
struct PropertyBarrierExec {
    barrier: Barrier,
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl PropertyBarrierExec {
    fn with_input(barrier: Barrier, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let mut known = EquivalenceProperties::new(input.schema());
        let partitioning = match &barrier {
            Barrier::All => Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            Barrier::Nullable(nullable) => {
                let is_kept = |constant: &ConstExpr| {
                    collect_columns(&constant.expr).iter().all(|column| !nullable.contains(&column.index()))
                };
                known.add_constants(input.equivalence_properties().constants().into_iter().filter(is_kept))?;
                input.output_partitioning().clone()
            }
        };
        let properties = PlanProperties::new(known, partitioning, input.pipeline_behavior(), input.boundedness());
        Ok(Arc::new(Self { barrier, input, properties: Arc::new(properties) }))
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
            (Some(input), true) => Self::with_input(self.barrier.clone(), input),
            _ => internal_err!("a property barrier has one input"),
        }
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn gather_filters_for_pushdown(
        &self,
        _: FilterPushdownPhase,
        parent_filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterDescription> {
        match self.barrier {
            Barrier::All => Ok(FilterDescription::all_unsupported(&parent_filters, &self.children())),
            Barrier::Nullable(_) => FilterDescription::from_children(parent_filters, &self.children()),
        }
    }

    fn handle_child_pushdown_result(
        &self,
        _: FilterPushdownPhase,
        child_pushdown_result: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        Ok(FilterPushdownPropagation::if_all(child_pushdown_result))
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
