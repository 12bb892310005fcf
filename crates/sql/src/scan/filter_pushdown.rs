//! Pushes filters and dynamic filters down to scans, without three bugs of DataFusion 55.
//!
//! DataFusion looks up the columns of a pushed condition by name in the plan below. If two columns have the name, the condition may test
//! the other column: rows are lost, or rows stay that should not. Such plans keep their filters where they are and run without dynamic
//! filters. (Joins that `join_order` builds never have two columns of the same name.)
//!
//! Joins compute the minimum and maximum of their keys for dynamic filters. For lists of lists, structs and maps that is an error, and for
//! columns that are all null, INTERSECT loses rows. Such joins run without dynamic filters, too.
//!
//! For `SELECT min(a), max(b + 1)` the dynamic filter is on `a` alone, and so it is for `min(a), max(b)` while all values of `b` are null:
//! rows that the other function needs are lost. Only an aggregate with a single function sets a dynamic filter here.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;

/// DataFusion's rule that pushes filters down, applied where it is correct.
#[derive(Debug)]
pub(crate) struct StaticFilterPushdown(pub(crate) FilterPushdown);

impl PhysicalOptimizerRule for StaticFilterPushdown {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if has_ambiguous(&plan, filter_condition) { Ok(plan) } else { self.0.optimize(plan, config) }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// DataFusion's rule that pushes dynamic filters down, applied where it is correct.
#[derive(Debug)]
pub(crate) struct DynamicFilterPushdown(pub(crate) FilterPushdown);

impl PhysicalOptimizerRule for DynamicFilterPushdown {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let is_ambiguous = has_ambiguous(&plan, dynamic_filter_targets);
        let by_joins = !is_ambiguous && !has_keys_without_bounds(&plan)?;
        let by_aggregates = !is_ambiguous && !has_several_extrema(&plan);
        let mut with = config.clone();
        with.optimizer.enable_join_dynamic_filter_pushdown &= by_joins;
        with.optimizer.enable_aggregate_dynamic_filter_pushdown &= by_aggregates;
        with.optimizer.enable_topk_dynamic_filter_pushdown &= !is_ambiguous;
        self.0.optimize(plan, &with)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// Whether an aggregate with several functions may set a dynamic filter.
fn has_several_extrema(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let aggregate = plan.downcast_ref::<AggregateExec>();
    aggregate.is_some_and(|aggregate| aggregate.group_expr().is_empty() && aggregate.aggr_expr().len() > 1)
        || plan.children().into_iter().any(has_several_extrema)
}

/// Whether an operator has a condition on a column whose name is ambiguous somewhere below.
fn has_ambiguous(
    plan: &Arc<dyn ExecutionPlan>,
    conditions: fn(&Arc<dyn ExecutionPlan>) -> Vec<FilterTarget<'_>>,
) -> bool {
    conditions(plan)
        .iter()
        .any(|(child, condition)| collect_columns(condition).iter().any(|column| is_ambiguous(child, column.name())))
        || plan.children().into_iter().any(|child| has_ambiguous(child, conditions))
}

/// Whether a join compares lists, structs or maps.
fn has_keys_without_bounds(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        for (key, _) in join.on() {
            let data_type = key.data_type(&join.left().schema())?;
            if data_type.is_nested() || data_type == DataType::Null {
                return Ok(true);
            }
        }
    }
    plan.children().into_iter().try_fold(false, |any, child| Ok(any || has_keys_without_bounds(child)?))
}

/// An expression that a condition tests or may test, and the plan whose columns it uses.
type FilterTarget<'p> = (&'p Arc<dyn ExecutionPlan>, Arc<dyn PhysicalExpr>);

/// The condition of a filter, and nothing for other operators.
fn filter_condition(plan: &Arc<dyn ExecutionPlan>) -> Vec<FilterTarget<'_>> {
    let filter = plan.downcast_ref::<FilterExec>();
    filter.map(|filter| (filter.input(), Arc::clone(filter.predicate()))).into_iter().collect()
}

/// The expressions on its children on which an operator may set dynamic filters.
fn dynamic_filter_targets(plan: &Arc<dyn ExecutionPlan>) -> Vec<FilterTarget<'_>> {
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return join.on().iter().map(|(_, probe)| (join.right(), Arc::clone(probe))).collect();
    }
    if let Some(sort) = plan.downcast_ref::<SortExec>().filter(|sort| sort.fetch().is_some()) {
        return sort.expr().iter().map(|by| (sort.input(), Arc::clone(&by.expr))).collect();
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        let arguments = aggregate.aggr_expr().iter().flat_map(|function| function.expressions());
        return arguments.map(|argument| (aggregate.input(), argument)).collect();
    }
    Vec::new()
}

/// Whether two columns have the name in this plan, or in a plan below through which a condition is pushed.
fn is_ambiguous(plan: &Arc<dyn ExecutionPlan>, name: &str) -> bool {
    match plan.schema().fields().iter().filter(|field| field.name() == name).count() {
        0 => return false,
        1 => {}
        _ => return true,
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let named = projection.expr().iter().filter(|projected| projected.alias == name);
        let mut columns = named.flat_map(|projected| collect_columns(&projected.expr));
        return columns.any(|column| is_ambiguous(projection.input(), column.name()));
    }
    plan.children().into_iter().any(|child| is_ambiguous(child, name))
}
