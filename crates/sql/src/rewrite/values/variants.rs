//! Casts of Variant values, which DataFusion would take for structs of byte strings.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, lit};
use datafusion::optimizer::AnalyzerRule;
use lath_text::is_variant;

use crate::json::text_function;
use crate::rewrite::expressions::rewrite_expressions;

/// Casts a Variant by way of its text, as `CAST(v ->> '$' AS …)`.
#[derive(Debug)]
pub(crate) struct VariantCasts;

impl AnalyzerRule for VariantCasts {
    fn name(&self) -> &str {
        "variant_casts"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let changed = plan.transform_up_with_subqueries(|plan| {
            rewrite_expressions(plan, |expr, schema| expr.transform_up(|expr| by_text(expr, schema)))
        })?;
        Ok(changed.data)
    }
}

fn by_text(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let (inner, target) = match &mut expr {
        Expr::Cast(cast) => (&mut cast.expr, &cast.field),
        Expr::TryCast(cast) => (&mut cast.expr, &cast.field),
        _ => return Ok(Transformed::no(expr)),
    };
    if target.data_type().is_nested() || !is_variant(&inner.get_type(schema)?) {
        return Ok(Transformed::no(expr));
    }
    **inner = text_function().call(vec![(**inner).clone(), lit("$")]);
    Ok(Transformed::yes(expr))
}
