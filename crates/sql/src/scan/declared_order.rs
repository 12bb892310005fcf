//! Verifies the declared order of files while they are read, if the plan relies on it.
//!
//! A file can declare an order that its rows do not have, and DataFusion then leaves out the sort.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::sorts::partial_sort::PartialSortExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{
    ExecutionPlan, ExecutionPlanProperties, InputOrderMode, replace_children_if_necessary,
};

use super::source::LathSource;

/// Makes scans verify their order. The rule runs last, when it is settled which operators rely on which order.
#[derive(Debug)]
pub(crate) struct VerifiedOrder;

impl PhysicalOptimizerRule for VerifiedOrder {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        // If the result is sorted, the query may have asked for that order.
        let is_relied_on = plan.output_ordering().is_some();
        verified(plan, is_relied_on)
    }

    fn name(&self) -> &str {
        "lath_verified_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Makes the scans of `plan` verify their order where an operator above or within the plan relies on it.
fn verified(plan: Arc<dyn ExecutionPlan>, is_relied_on: bool) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(exec) = plan.downcast_ref::<DataSourceExec>() {
        let source = exec.data_source().downcast_ref::<LathSource>();
        return Ok(match source.filter(|source| is_relied_on && !source.ordering.is_empty()) {
            Some(source) => DataSourceExec::from_data_source(LathSource { verifies_order: true, ..source.clone() }),
            None => plan,
        });
    }
    let (required, maintained) = (plan.required_input_ordering(), plan.maintains_input_order());
    let relies = relies_on_input(&plan);
    let mut children = Vec::new();
    for (at, child) in plan.children().into_iter().enumerate() {
        let is_required = required.get(at).is_some_and(Option::is_some);
        let is_passed_on = is_relied_on && maintained.get(at) == Some(&true);
        let new = verified(Arc::clone(child), relies || is_required || is_passed_on)?;
        children.push(new);
    }
    replace_children_if_necessary(plan, children)
}

/// Whether the operator uses an order of its input that it does not require.
fn relies_on_input(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        return *aggregate.input_order_mode() != InputOrderMode::Linear;
    }
    // A sort with a limit stops reading once a row sorts behind the first rows.
    let stops_early = plan.downcast_ref::<SortExec>().is_some_and(|sort| sort.fetch().is_some());
    stops_early || plan.is::<PartialSortExec>() || plan.is::<DataSinkExec>()
}
