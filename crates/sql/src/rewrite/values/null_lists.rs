//! Lists of columns that have no type but null.
//!
//! DataFusion 55 makes one list of them where it has to make one for each row, which is an internal error. With a type they are lists of
//! nulls.

use arrow_schema::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, cast};
use datafusion::optimizer::AnalyzerRule;

use crate::rewrite::expressions::rewrite_expressions;

/// Gives the elements of such lists a type. The rule runs after type coercion.
#[derive(Debug)]
pub(crate) struct NullLists;

impl AnalyzerRule for NullLists {
    fn name(&self) -> &'static str {
        "lath_null_lists"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let rewritten = plan.transform_up_with_subqueries(|plan| {
            rewrite_expressions(plan, |expr, schema| expr.transform_up(|expr| Ok(with_type(expr, schema))))
        })?;
        Ok(rewritten.data)
    }
}

fn with_type(mut expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    if let Expr::ScalarFunction(call) = &mut expr
        && ["make_array", "array_append", "array_prepend"].contains(&call.func.name())
        && call.args.iter().any(|arg| !matches!(arg, Expr::Literal(..)))
        && call.args.iter().all(|arg| arg.get_type(schema).is_ok_and(|data_type| data_type.is_null()))
    {
        call.args = std::mem::take(&mut call.args).into_iter().map(|arg| cast(arg, DataType::Int64)).collect();
        return Transformed::yes(expr);
    }
    Transformed::no(expr)
}
