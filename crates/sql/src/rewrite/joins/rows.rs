//! Rewrites comparisons of rows, `(a, b) < (1, 2)`, to comparisons of their columns.
//!
//! DataFusion 55 compares rows as structs, in which null is the smallest value. In standard SQL, the result is null if the deciding columns
//! are null.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CaseWhen, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator,
};
use datafusion::sql::sqlparser::parser::ParserError;

use crate::dialect::error_in;
use crate::syntax::is_volatile;

pub(crate) fn rewrite(expr: &mut Expr) -> Result<(), ParserError> {
    if let Some(compared) = compared(expr)? {
        *expr = Expr::Nested(Box::new(compared));
    }
    Ok(())
}

fn compared(expr: &Expr) -> Result<Option<Expr>, ParserError> {
    match expr {
        Expr::BinaryOp { left, op, right } => binary(left, op, right),
        Expr::IsDistinctFrom(left, right) => on_rows(left, right, distinct),
        Expr::IsNotDistinctFrom(left, right) => on_rows(left, right, |left, right| Ok(negated(distinct(left, right)?))),
        Expr::IsNull(operand) => Ok(row(operand).and_then(|row| {
            combined(row.into_iter().map(|column| Expr::IsNull(Box::new(column))).collect(), BinaryOperator::And)
        })),
        Expr::IsNotNull(operand) => Ok(row(operand).and_then(|row| {
            combined(row.into_iter().map(|column| Expr::IsNotNull(Box::new(column))).collect(), BinaryOperator::And)
        })),
        Expr::Between { expr, negated: is_negated, low, high } => between(expr, low, high, *is_negated),
        Expr::InList { expr, list, negated: is_negated } => in_list(expr, list, *is_negated),
        Expr::Case { case_token, end_token, operand: Some(operand), conditions, else_result } => {
            let Some(operand) = row(operand) else { return Ok(None) };
            once(&operand)?;
            let mut met = Vec::new();
            for CaseWhen { condition, result } in conditions {
                let condition = compare(&operand, &BinaryOperator::Eq, &row_like(condition)?)?;
                met.push(CaseWhen { condition, result: result.clone() });
            }
            Ok(Some(Expr::Case {
                case_token: case_token.clone(),
                end_token: end_token.clone(),
                operand: None,
                conditions: met,
                else_result: else_result.clone(),
            }))
        }
        _ => Ok(None),
    }
}

fn binary(left: &Expr, op: &BinaryOperator, right: &Expr) -> Result<Option<Expr>, ParserError> {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq, Spaceship};
    match op {
        Eq | NotEq | Lt | LtEq | Gt | GtEq => on_rows(left, right, |left, right| compare(left, op, right)),
        Spaceship => on_rows(left, right, |left, right| Ok(negated(distinct(left, right)?))),
        _ => Ok(None),
    }
}

fn between(expr: &Expr, low: &Expr, high: &Expr, is_negated: bool) -> Result<Option<Expr>, ParserError> {
    let Some(columns) = row(expr) else { return Ok(None) };
    once(&columns)?;
    let low = compare(&columns, &BinaryOperator::GtEq, &row_like(low)?)?;
    let high = compare(&columns, &BinaryOperator::LtEq, &row_like(high)?)?;
    let within = pair(low, BinaryOperator::And, high);
    Ok(Some(if is_negated { negated(within) } else { within }))
}

fn in_list(expr: &Expr, list: &[Expr], is_negated: bool) -> Result<Option<Expr>, ParserError> {
    let Some(columns) = row(expr) else { return Ok(None) };
    if list.len() > 1 {
        once(&columns)?;
    }
    let equal = |value| compare(&columns, &BinaryOperator::Eq, &row_like(value)?);
    let any = combined(list.iter().map(equal).collect::<Result<_, _>>()?, BinaryOperator::Or);
    Ok(any.map(|any| if is_negated { negated(any) } else { any }))
}

/// Applies a comparison to two rows; `None` if neither side is a row, or one is a value that may be a struct.
fn on_rows(
    left: &Expr,
    right: &Expr,
    compare: impl FnOnce(&[Expr], &[Expr]) -> Result<Expr, ParserError>,
) -> Result<Option<Expr>, ParserError> {
    match (row(left), row(right)) {
        (Some(left), Some(right)) => compare(&left, &right).map(Some),
        _ => Ok(None),
    }
}

/// The columns of a row `(a, b)` or `ROW(a, b)`.
pub(crate) fn row(expr: &Expr) -> Option<Vec<Expr>> {
    match expr {
        Expr::Nested(inner) => row(inner),
        Expr::Tuple(columns) => Some(columns.clone()),
        Expr::Function(function) if function.over.is_none() && function.filter.is_none() => {
            let name = function.name.to_string();
            let FunctionArguments::List(list) = &function.args else { return None };
            if !name.eq_ignore_ascii_case("row") || list.args.is_empty() || !list.clauses.is_empty() {
                return None;
            }
            let column = |argument: &FunctionArg| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(column)) => Some(column.clone()),
                _ => None,
            };
            list.args.iter().map(column).collect()
        }
        _ => None,
    }
}

fn row_like(expr: &Expr) -> Result<Vec<Expr>, ParserError> {
    row(expr).ok_or_else(|| error_in("a row can only be compared with a row; write its columns in parentheses", expr))
}

/// Builds `left op right`, decided by the first columns that differ.
pub(crate) fn compare(left: &[Expr], op: &BinaryOperator, right: &[Expr]) -> Result<Expr, ParserError> {
    use BinaryOperator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or};
    let columns = columns(left, right)?;
    match op {
        Eq | NotEq => {
            let each = columns.iter().map(|(left, right)| column(left, op, right)).collect::<Result<_, _>>()?;
            let word = if *op == Eq { And } else { Or };
            combined(each, word).ok_or_else(empty)
        }
        _ => {
            let strict = if matches!(op, Lt | LtEq) { Lt } else { Gt };
            let Some(((last_left, last_right), before)) = columns.split_last() else { return Err(empty()) };
            let mut all = column(last_left, if matches!(op, LtEq | GtEq) { op } else { &strict }, last_right)?;
            for (left, right) in before.iter().rev() {
                once(&[(*left).clone(), (*right).clone()])?;
                let equal = column(left, &Eq, right)?;
                all = pair(column(left, &strict, right)?, Or, pair(equal, And, all));
            }
            Ok(all)
        }
    }
}

fn distinct(left: &[Expr], right: &[Expr]) -> Result<Expr, ParserError> {
    let each = |(left, right): &(&Expr, &Expr)| -> Result<Expr, ParserError> {
        let of_rows = on_rows(left, right, distinct)?;
        match of_rows {
            Some(distinct) => Ok(distinct),
            None => {
                let distinct = Expr::IsDistinctFrom(Box::new((*left).clone()), Box::new((*right).clone()));
                Ok(Expr::Nested(Box::new(distinct)))
            }
        }
    };
    let each = columns(left, right)?.iter().map(each).collect::<Result<_, _>>()?;
    combined(each, BinaryOperator::Or).ok_or_else(empty)
}

/// Compares one column of two rows, which may be a row itself.
fn column(left: &Expr, op: &BinaryOperator, right: &Expr) -> Result<Expr, ParserError> {
    match on_rows(left, right, |left, right| compare(left, op, right))? {
        Some(compared) => Ok(compared),
        None => Ok(pair(left.clone(), op.clone(), right.clone())),
    }
}

fn columns<'r>(left: &'r [Expr], right: &'r [Expr]) -> Result<Vec<(&'r Expr, &'r Expr)>, ParserError> {
    if left.len() != right.len() {
        let message = format!("a row of {} columns cannot be compared with a row of {}", left.len(), right.len());
        return Err(right.first().map_or_else(empty, |first| error_in(&message, first)));
    }
    Ok(left.iter().zip(right).collect())
}

fn empty() -> ParserError {
    ParserError::ParserError("a row has at least one column".to_owned())
}

/// Returns an error for volatile functions, because the comparison evaluates these columns more than once.
pub(crate) fn once(columns: &[Expr]) -> Result<(), ParserError> {
    match columns.iter().find(|column| is_volatile(*column)) {
        None => Ok(()),
        Some(column) => {
            let message = format!("{column} has a different value at each evaluation; compute it in a subquery");
            Err(error_in(&message, column))
        }
    }
}

pub(crate) fn pair(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    let binary = Expr::BinaryOp { left: Box::new(in_parentheses(left)), op, right: Box::new(in_parentheses(right)) };
    Expr::Nested(Box::new(binary))
}

pub(crate) fn negated(expr: Expr) -> Expr {
    Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(in_parentheses(expr)) }
}

/// Adds the parentheses that the text of an expression needs: views store the text.
fn in_parentheses(expr: Expr) -> Expr {
    match expr {
        Expr::Nested(_) | Expr::Value(_) | Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Function(_) => {
            expr
        }
        other => Expr::Nested(Box::new(other)),
    }
}

/// Joins conditions by AND or OR as a balanced tree, so that long lists do not exceed the planner's depth.
pub(crate) fn combined(mut conditions: Vec<Expr>, word: BinaryOperator) -> Option<Expr> {
    while conditions.len() > 1 {
        let mut halved = Vec::with_capacity(conditions.len().div_ceil(2));
        let mut rest = conditions.into_iter();
        while let Some(left) = rest.next() {
            halved.push(match rest.next() {
                Some(right) => pair(left, word.clone(), right),
                None => left,
            });
        }
        conditions = halved;
    }
    conditions.pop()
}
