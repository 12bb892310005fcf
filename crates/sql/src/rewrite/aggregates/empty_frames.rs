//! Frames that end before they start, `ROWS BETWEEN 2 FOLLOWING AND 1 FOLLOWING`: they have no rows, and DataFusion 55 refuses them. A null
//! offset of `lag` and `lead` selects no row, either; DataFusion uses it as an offset.
//!
//! PostgreSQL refuses only frames that can never have rows, regardless of the numbers, such as `1 FOLLOWING AND CURRENT ROW`.

use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    CaseWhen, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart, Value, WindowFrame,
    WindowFrameBound, WindowFrameUnits, WindowType,
};
use datafusion::sql::sqlparser::parser::ParserError;

use crate::dialect::normal;

/// Functions that use all rows of a partition, regardless of the frame.
const WITHOUT_FRAME: [&str; 8] =
    ["row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead"];

/// Functions that are 0 over no rows; others are null.
const COUNTS: [&str; 3] = ["count", "regr_count", "approx_distinct"];

/// Replaces a function over an empty frame by its value over no rows, with its type.
#[expect(clippy::unnecessary_wraps, reason = "a step of the rewriter")]
pub(crate) fn rewrite(expr: &mut Expr) -> Result<(), ParserError> {
    let Expr::Function(function) = expr else { return Ok(()) };
    let name = match function.name.0.as_slice() {
        [ObjectNamePart::Identifier(name)] => normal(name),
        _ => return Ok(()),
    };
    if ["lag", "lead"].contains(&name.as_str()) && has_null_offset(function) {
        *expr = never(expr.clone(), None);
        return Ok(());
    }
    let Some(WindowType::WindowSpec(spec)) = &mut function.over else { return Ok(()) };
    let Some(frame) = spec.window_frame.as_mut().filter(|frame| is_empty(frame)) else { return Ok(()) };
    if WITHOUT_FRAME.contains(&name.as_str()) {
        spec.window_frame = None;
        return Ok(());
    }
    frame.end_bound = Some(frame.start_bound.clone());
    let zero = COUNTS.contains(&name.as_str()).then(|| Box::new(Expr::value(Value::Number("0".to_owned(), false))));
    *expr = never(expr.clone(), zero);
    Ok(())
}

/// `otherwise`, or null, with the type of `value`.
fn never(value: Expr, otherwise: Option<Box<Expr>>) -> Expr {
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen { condition: Expr::value(Value::Boolean(false)), result: value }],
        else_result: otherwise,
    }
}

fn has_null_offset(function: &Function) -> bool {
    let FunctionArguments::List(list) = &function.args else { return false };
    match list.args.as_slice() {
        [_, FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(offset))), ..] => offset.value == Value::Null,
        _ => false,
    }
}

/// Whether a frame ends before it starts. A frame of RANGE may not: all nulls are in the frame of a null.
pub(super) fn is_empty(frame: &WindowFrame) -> bool {
    use WindowFrameBound::{Following, Preceding};
    if !matches!(frame.units, WindowFrameUnits::Rows | WindowFrameUnits::Groups) {
        return false;
    }
    match (&frame.start_bound, &frame.end_bound) {
        (Following(Some(start)), Some(Following(Some(end)))) => rows(start).zip(rows(end)).is_some_and(|(s, e)| s > e),
        (Preceding(Some(start)), Some(Preceding(Some(end)))) => rows(start).zip(rows(end)).is_some_and(|(s, e)| s < e),
        _ => false,
    }
}

fn rows(bound: &Expr) -> Option<u64> {
    match bound {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => number.to_string().parse().ok(),
            _ => None,
        },
        _ => None,
    }
}
