//! Functions of PostgreSQL and DuckDB that are written in another way here.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments,
    ObjectNamePart, OrderByExpr,
};
use datafusion::sql::sqlparser::parser::ParserError;

use crate::dialect::normal;
use crate::syntax::call;

/// Whether a function is replaced, so that its column needs the name of the text.
pub(crate) fn is_rewritten(function: &Function) -> bool {
    matches!((name(function).as_deref(), arguments(function).as_deref()), (Some("mod"), Some([_, _])))
        || name(function).as_deref() == Some("mode")
}

/// Rewrites `mod(a, b)` to `a % b`, `age(t)` to `age(current_date, t)`, and `mode() WITHIN GROUP (ORDER BY a)` to `mode(a)`.
#[expect(clippy::unnecessary_wraps, reason = "a step of the rewriter")]
pub(crate) fn rewrite(expr: &mut Expr) -> Result<(), ParserError> {
    let Expr::Function(function) = expr else { return Ok(()) };
    let Some(arguments) = arguments(function) else { return Ok(()) };
    let arguments: Vec<Expr> = match name(function).as_deref() {
        Some("mod" | "age" | "mode") => arguments.into_iter().cloned().collect(),
        _ => return Ok(()),
    };
    match (name(function).as_deref(), arguments.as_slice()) {
        (Some("mod"), [left, right]) if is_plain(function) => {
            let nested = |expr: &Expr| Box::new(Expr::Nested(Box::new(expr.clone())));
            let (left, right) = (nested(left), nested(right));
            *expr = Expr::Nested(Box::new(Expr::BinaryOp { left, op: BinaryOperator::Modulo, right }));
        }
        (Some("age"), [_]) => {
            if let FunctionArguments::List(FunctionArgumentList { args, .. }) = &mut function.args {
                args.insert(0, FunctionArg::Unnamed(FunctionArgExpr::Expr(call("current_date", Vec::new()))));
            }
        }
        (Some("mode"), []) => {
            if let [OrderByExpr { expr: ordered, .. }] = function.within_group.as_slice()
                && let FunctionArguments::List(FunctionArgumentList { args, .. }) = &mut function.args
            {
                args.push(FunctionArg::Unnamed(FunctionArgExpr::Expr(ordered.clone())));
                function.within_group.clear();
            }
        }
        _ => {}
    }
    Ok(())
}

/// Whether a call has nothing but arguments.
fn is_plain(function: &Function) -> bool {
    function.over.is_none()
        && function.filter.is_none()
        && function.within_group.is_empty()
        && matches!(&function.args, FunctionArguments::List(list) if list.duplicate_treatment.is_none() && list.clauses.is_empty())
}

fn name(function: &Function) -> Option<String> {
    match function.name.0.as_slice() {
        [ObjectNamePart::Identifier(name)] => Some(normal(name)),
        _ => None,
    }
}

/// The arguments, if all of them are expressions without names.
fn arguments(function: &Function) -> Option<Vec<&Expr>> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let expressions = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    });
    expressions.collect()
}
