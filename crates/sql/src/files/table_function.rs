//! What table functions that open files have in common: their names, their arguments and their plans.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::LogicalPlanBuilder;
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlannerContext, RelationPlanning};
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, FunctionArg, FunctionArgExpr, TableFactor};

/// The function that `relation` calls, if it is one of `functions` (names, each with a value), and its arguments.
pub(super) fn called<'a, T: Copy>(
    relation: &'a TableFactor,
    functions: &[(&'static str, T)],
) -> Option<(&'static str, T, &'a [FunctionArg])> {
    let TableFactor::Table { name, args: Some(arguments), .. } = relation else { return None };
    let name = name.to_string();
    let &(own, value) = functions.iter().find(|(own, _)| name.eq_ignore_ascii_case(own))?;
    Some((own, value, &arguments.args))
}

/// The name of an argument, if it has one, and its value.
pub(super) fn named<'a>(
    function: &str,
    argument: &'a FunctionArg,
    context: &dyn RelationPlannerContext,
) -> Result<(Option<String>, &'a Expr)> {
    match argument {
        // DuckDB's form of a name and its value.
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::BinaryOp { left, op: BinaryOperator::Eq, right })) => {
            match left.as_ref() {
                Expr::Identifier(name) => Ok((Some(context.normalize_ident(name.clone())), right)),
                other => plan_err!("{function}: {other} is not the name of an argument"),
            }
        }
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Ok((None, value)),
        FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => {
            Ok((Some(context.normalize_ident(name.clone())), value))
        }
        FunctionArg::ExprNamed { name, arg: FunctionArgExpr::Expr(value), .. } => {
            Ok((Some(name.to_string().to_ascii_lowercase()), value))
        }
        other => plan_err!("{function}: {other} is not supported as an argument"),
    }
}

/// Plans a scan of the table that `open` returns, under the alias of the call.
pub(super) fn plan(
    function: &'static str,
    relation: TableFactor,
    open: impl FnOnce() -> Result<Arc<dyn TableProvider>> + Send,
) -> Result<RelationPlanning> {
    // Opening files blocks, and this thread may belong to an asynchronous runtime.
    let table = std::thread::scope(|scope| scope.spawn(open).join());
    let table = table.map_err(|_| plan_datafusion_err!("{function}: opening the files panicked"))??;
    let plan = LogicalPlanBuilder::scan(function, provider_as_source(table), None)?.build()?;
    let alias = match relation {
        TableFactor::Table { alias, .. } => alias,
        _ => None,
    };
    Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias))))
}
