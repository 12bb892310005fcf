//! Conditions that go down to scans once a plan is made: those of filters, and those that joins and sorts set while a query runs.
//!
//! DataFusion looks for the columns of such a condition by their names in what lies below. Where two columns have the name, the condition may
//! go to the other one, whose rows are left out, or stay though they are not to be there. Such plans keep their filters where they are, and run
//! without the other conditions. (Version 55; joins that `join_order` has made have no two columns of a name.)
//!
//! Joins find the least and the greatest of their keys for such conditions, which version 55 cannot for lists of lists, structs and maps: a
//! join by them was an error; nor for columns of nulls alone, whose rows INTERSECT left out. They run without these conditions, too.
//!
//! For `SELECT min(a), max(b + 1)` it sets a condition on `a` alone, and so it does for `min(a), max(b)` while all values of `b` are null: rows
//! that the other function needs are left out. Only an aggregate with one function sets a condition here.

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

/// DataFusion's rule that moves filters down, where it can be trusted.
#[derive(Debug)]
pub(crate) struct MovedFilters(pub(crate) FilterPushdown);

impl PhysicalOptimizerRule for MovedFilters {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if has_ambiguous(&plan, filter_of) { Ok(plan) } else { self.0.optimize(plan, config) }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// DataFusion's rule that gives conditions to scans while a query runs, where it can be trusted.
#[derive(Debug)]
pub(crate) struct RunningFilters(pub(crate) FilterPushdown);

impl PhysicalOptimizerRule for RunningFilters {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let is_ambiguous = has_ambiguous(&plan, set_by);
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

/// Whether an aggregate with several functions may set a condition.
fn has_several_extrema(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let aggregate = plan.downcast_ref::<AggregateExec>();
    aggregate.is_some_and(|aggregate| aggregate.group_expr().is_empty() && aggregate.aggr_expr().len() > 1)
        || plan.children().into_iter().any(has_several_extrema)
}

/// Whether an operator has a condition on a column whose name two columns have somewhere below.
fn has_ambiguous(plan: &Arc<dyn ExecutionPlan>, conditions: fn(&Arc<dyn ExecutionPlan>) -> Vec<Filtered<'_>>) -> bool {
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

/// An expression that a condition is or may be about, and the plan whose columns it has.
type Filtered<'p> = (&'p Arc<dyn ExecutionPlan>, Arc<dyn PhysicalExpr>);

/// The condition of a filter.
fn filter_of(plan: &Arc<dyn ExecutionPlan>) -> Vec<Filtered<'_>> {
    let filter = plan.downcast_ref::<FilterExec>();
    filter.map(|filter| (filter.input(), Arc::clone(filter.predicate()))).into_iter().collect()
}

/// What an operator may set conditions on while a query runs: expressions on a child.
fn set_by(plan: &Arc<dyn ExecutionPlan>) -> Vec<Filtered<'_>> {
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

/// Whether two columns have a name in this plan, or in what lies below it on the way of a condition.
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
