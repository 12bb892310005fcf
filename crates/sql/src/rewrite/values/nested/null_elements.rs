//! Functions of lists that pass over nulls, as in DuckDB: a null is no element that two lists have in common, and none that is missing.
//!
//! DataFusion 55 takes nulls for equal in `array_has_any`, `array_has_all`, `array_intersect` and `array_distinct`, has `array_has_any` and
//! `array_has_all` true and false where a list is null, and has null in every empty list.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::functions_nested::expr_fn::{array_compact, array_empty};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Expr, ExprSchemable, lit, when};
use datafusion::scalar::ScalarValue;

#[derive(Debug)]
pub(crate) struct NullElements;

impl FunctionRewrite for NullElements {
    fn name(&self) -> &str {
        "lath_null_elements"
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        let Expr::ScalarFunction(ScalarFunction { func, mut args }) = expr else { return Ok(Transformed::no(expr)) };
        let name = func.name().to_owned();
        let has_nulls = |args: &[Expr], at: usize| args.get(at).is_some_and(|list| may_have_nulls(list, schema));
        let rewritten = match (name.as_str(), args.len()) {
            ("array_distinct", 1) if has_nulls(&args, 0) => {
                array_compact(Expr::ScalarFunction(ScalarFunction { func, args }))
            }
            ("array_intersect", 2) if has_nulls(&args, 0) && has_nulls(&args, 1) => {
                array_compact(Expr::ScalarFunction(ScalarFunction { func, args }))
            }
            ("array_has_any" | "array_has_all", 2) => {
                let lists = [args[0].clone(), args[1].clone()];
                if has_nulls(&args, 1) && (name == "array_has_all" || has_nulls(&args, 0)) {
                    args[1] = array_compact(args[1].clone());
                }
                let has = Expr::ScalarFunction(ScalarFunction { func, args });
                let nullable = lists.into_iter().filter(|list| list.nullable(schema).unwrap_or(true));
                match nullable.map(Expr::is_null).reduce(Expr::or) {
                    Some(is_null) => when(is_null, lit(ScalarValue::Boolean(None))).otherwise(has)?,
                    None => has,
                }
            }
            ("array_has", 2) if args[1].nullable(schema)? && !has_elements(&args[0]) => {
                let [list, element] = [args[0].clone(), args[1].clone()];
                let is_empty = element.is_null().and(array_empty(list));
                let has = Expr::ScalarFunction(ScalarFunction { func, args });
                when(is_empty, lit(false)).otherwise(has)?
            }
            _ => return Ok(Transformed::no(Expr::ScalarFunction(ScalarFunction { func, args }))),
        };
        Ok(Transformed::yes(rewritten))
    }
}

/// Whether a list may have null elements.
fn may_have_nulls(list: &Expr, schema: &DFSchema) -> bool {
    match list {
        Expr::ScalarFunction(call) if call.func.name() == "make_array" => {
            call.args.iter().any(|element| element.nullable(schema).unwrap_or(true))
        }
        Expr::ScalarFunction(call) => call.func.name() != "array_compact",
        _ => true,
    }
}

/// Whether a list is one that is written out, with elements.
fn has_elements(list: &Expr) -> bool {
    matches!(list, Expr::ScalarFunction(call) if call.func.name() == "make_array" && !call.args.is_empty())
}
