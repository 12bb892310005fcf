//! Chooses the order of inner joins.
//!
//! DataFusion joins tables in the order in which a query names them. This rule collects inner hash joins directly below each other and puts
//! them in the order with the least estimated work, by the statistics of their inputs.
//!
//! | module | what it does |
//! | --- | --- |
//! | `graph` | Collects the joined inputs and their join columns. |
//! | `estimate` | Estimates how many rows the join of some inputs has. |
//! | `search` | Finds the order with the least work. |
//! | `build` | Builds the plan of an order. |

mod build;
mod estimate;
mod graph;
mod search;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};

use self::build::build;
use self::estimate::Estimate;
use self::graph::{JoinGraph, Order};
use self::search::{Work, search};

/// Another order is chosen only if its work is below this share of the present order's, because estimates are rough. Not measured.
const WORTH: f64 = 0.8;

/// Puts inner hash joins into the order with the least estimated work.
#[derive(Debug)]
pub(crate) struct JoinOrder;

impl PhysicalOptimizerRule for JoinOrder {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        reorder(plan)
    }

    fn name(&self) -> &'static str {
        "lath_join_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn reorder(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(graph) = JoinGraph::from_plan(&plan) {
        let better = better_order(&graph);
        // The joins are rebuilt in the same order, too, if two columns have the same name.
        if better.is_some() || graph.has_shared_names() {
            let order = better.as_ref().unwrap_or(&graph.order);
            if let Some(reordered) = build(&graph, order, &plan.schema())? {
                return below(reordered, &graph);
            }
        }
    }
    let children = plan.children().into_iter().map(|child| reorder(Arc::clone(child))).collect::<Result<_>>()?;
    replace_children_if_necessary(plan, children)
}

/// Returns an order with considerably less estimated work than the present one.
fn better_order(graph: &JoinGraph) -> Option<Order> {
    let estimate = Estimate::new(graph)?;
    let (order, least) = search(graph, &estimate)?;
    (least.work < WORTH * Work::new(&graph.order, &estimate).work).then_some(order)
}

/// Applies the rule to the inputs below the joins of a rebuilt plan.
fn below(plan: Arc<dyn ExecutionPlan>, graph: &JoinGraph) -> Result<Arc<dyn ExecutionPlan>> {
    if graph.inputs.iter().any(|input| Arc::ptr_eq(input, &plan)) {
        return reorder(plan);
    }
    let children = plan.children().into_iter().map(|child| below(Arc::clone(child), graph)).collect::<Result<_>>()?;
    replace_children_if_necessary(plan, children)
}
