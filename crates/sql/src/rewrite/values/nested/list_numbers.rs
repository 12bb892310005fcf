//! Refuses lists of lists as arguments of functions over lists of numbers, which raise an internal error in DataFusion
//! 55.

use arrow_schema::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, plan_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;

/// Functions that compute with the numbers of lists.
const FUNCTIONS: [&str; 9] = [
    "array_add",
    "array_avg",
    "array_distance",
    "array_normalize",
    "array_product",
    "array_scale",
    "array_subtract",
    "cosine_distance",
    "inner_product",
];

/// Checks the types of arguments. The rule runs after type coercion.
#[derive(Debug)]
pub(crate) struct ListNumbers;

impl AnalyzerRule for ListNumbers {
    fn name(&self) -> &'static str {
        "lath_list_numbers"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.apply_with_subqueries(|node| {
            let mut schema = None;
            node.apply_expressions(|expr| {
                expr.apply(|expr| {
                    if let Expr::ScalarFunction(call) = expr
                        && FUNCTIONS.contains(&call.func.name())
                    {
                        check(call, schema.get_or_insert_with(|| merge_schema(&node.inputs())))?;
                    }
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })?;
        Ok(plan)
    }
}

fn check(call: &ScalarFunction, schema: &DFSchema) -> Result<()> {
    for argument in &call.args {
        let Ok(data_type) = argument.get_type(schema) else { continue };
        if let DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) = data_type
            && item.data_type().is_nested()
        {
            return plan_err!(
                "{} takes lists of numbers, and got a list of lists; unnest or flatten it first",
                call.func.name()
            );
        }
    }
    Ok(())
}
