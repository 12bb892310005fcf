//! Converts parsed expressions to conditions.

use lath_kernels::compare::Comparison;
use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Spanned, UnaryOperator, Value,
};

use super::operand::operand;
use super::position::at;
use crate::syntax::{Condition, Literal, Operand};
use crate::value::with_backslash_escapes;

pub(super) fn condition(expr: &Expr) -> Result<Condition, String> {
    Ok(match expr {
        Expr::Nested(inner) => condition(inner)?,
        Expr::BinaryOp { op: BinaryOperator::And, .. } => Condition::And(chain(expr, &BinaryOperator::And)?),
        Expr::BinaryOp { op: BinaryOperator::Or, .. } => Condition::Or(chain(expr, &BinaryOperator::Or)?),
        Expr::BinaryOp { left, op, right } => {
            Condition::Compare { op: comparison(op, right)?, left: operand(left)?, right: operand(right)? }
        }
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => Condition::Not(Box::new(condition(expr)?)),
        Expr::IsNull(inner) => is_null(inner)?,
        Expr::IsNotNull(inner) => negated(true, is_null(inner)?),
        Expr::IsTrue(inner) => is_truth(inner, Some(true))?,
        Expr::IsNotTrue(inner) => negated(true, is_truth(inner, Some(true))?),
        Expr::IsFalse(inner) => is_truth(inner, Some(false))?,
        Expr::IsNotFalse(inner) => negated(true, is_truth(inner, Some(false))?),
        Expr::IsUnknown(inner) => is_truth(inner, None)?,
        Expr::IsNotUnknown(inner) => negated(true, is_truth(inner, None)?),
        Expr::IsDistinctFrom(left, right) => negated(true, Condition::Same(operand(left)?, operand(right)?)),
        Expr::IsNotDistinctFrom(left, right) => Condition::Same(operand(left)?, operand(right)?),
        Expr::Between { expr, negated: not, low, high } => {
            negated(*not, between(operand(expr)?, operand(low)?, operand(high)?))
        }
        Expr::InList { expr, list, negated: not } => negated(*not, in_list(operand(expr)?, list)?),
        Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } => match operand(left)? {
            Operand::Literal(element) => Condition::Contains { operand: operand(right)?, element },
            other => return Err(format!("= ANY needs a literal on its left, not {other}")),
        },
        Expr::AnyOp { compare_op, .. } => {
            return Err(format!("{compare_op} ANY is not supported; there is = ANY (list)"));
        }
        Expr::AllOp { compare_op, .. } => {
            return Err(format!("{compare_op} ALL is not supported; there is = ANY (list)"));
        }
        Expr::Function(function) => contains(function)?,
        Expr::Like { negated: not, any: false, expr, pattern, escape_char } => {
            negated(*not, like(expr, pattern, escape_char.as_ref().map(|escape| &escape.value), false)?)
        }
        Expr::ILike { negated: not, any: false, expr, pattern, escape_char } => {
            negated(*not, like(expr, pattern, escape_char.as_ref().map(|escape| &escape.value), true)?)
        }
        other => Condition::Truth(operand(other)?),
    })
}

/// The conditions that one operator joins. Chains lean to the left, so a loop follows them.
fn chain(mut expr: &Expr, operator: &BinaryOperator) -> Result<Vec<Condition>, String> {
    let mut links = Vec::new();
    while let Expr::BinaryOp { left, op, right } = expr
        && op == operator
    {
        links.push(right.as_ref());
        expr = left;
    }
    links.push(expr);
    links.into_iter().rev().map(condition).collect()
}

fn negated(not: bool, condition: Condition) -> Condition {
    if not { Condition::Not(Box::new(condition)) } else { condition }
}

/// `IS NULL` of a condition is `IS UNKNOWN`.
fn is_null(inner: &Expr) -> Result<Condition, String> {
    Ok(match condition(inner)? {
        Condition::Truth(operand) => Condition::IsNull(operand),
        condition => Condition::Is(Box::new(condition), None),
    })
}

fn is_truth(inner: &Expr, truth: Option<bool>) -> Result<Condition, String> {
    Ok(Condition::Is(Box::new(condition(inner)?), truth))
}

fn between(value: Operand, low: Operand, high: Operand) -> Condition {
    match (value, low, high) {
        (operand, Operand::Literal(low), Operand::Literal(high)) if !matches!(operand, Operand::Literal(_)) => {
            Condition::Between { operand, low, high }
        }
        (value, low, high) => Condition::And(vec![
            Condition::Compare { left: value.clone(), op: Comparison::GreaterOrEqual, right: low },
            Condition::Compare { left: value, op: Comparison::LessOrEqual, right: high },
        ]),
    }
}

/// A list of literals stays a list; a list with columns becomes comparisons.
fn in_list(value: Operand, items: &[Expr]) -> Result<Condition, String> {
    let items: Vec<Operand> = items.iter().map(operand).collect::<Result<_, _>>()?;
    let is_literal = |operand: &Operand| matches!(operand, Operand::Literal(_));
    if is_literal(&value) || !items.iter().all(is_literal) {
        let equal = |right| Condition::Compare { left: value.clone(), op: Comparison::Equal, right };
        let mut each: Vec<Condition> = items.into_iter().map(equal).collect();
        return Ok(match (each.pop(), each.is_empty()) {
            // No value is in an empty list.
            (None, _) => Condition::Truth(Operand::Literal(Literal::Boolean(false))),
            (Some(only), true) => only,
            (Some(last), false) => {
                each.push(last);
                Condition::Or(each)
            }
        });
    }
    let literal = |operand| if let Operand::Literal(literal) = operand { Some(literal) } else { None };
    Ok(Condition::In { operand: value, list: items.into_iter().filter_map(literal).collect() })
}

/// `list_contains(list, element)`, by any of its names; the dialect reads no other function.
fn contains(function: &Function) -> Result<Condition, String> {
    let Function { name, args, .. } = function;
    let arguments = if let FunctionArguments::List(list) = args { &*list.args } else { &[] };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(list)), FunctionArg::Unnamed(FunctionArgExpr::Expr(element))] =
        arguments
    else {
        return Err(format!("{name} takes a list and an element{}", at(name.span().start)));
    };
    match operand(element)? {
        Operand::Literal(element) => Ok(Condition::Contains { operand: operand(list)?, element }),
        other => Err(format!("{name} needs a literal as its element, not {other}{}", at(element.span().start))),
    }
}

fn comparison(op: &BinaryOperator, right: &Expr) -> Result<Comparison, String> {
    Ok(match op {
        BinaryOperator::Eq => Comparison::Equal,
        BinaryOperator::NotEq => Comparison::NotEqual,
        BinaryOperator::Lt => Comparison::Less,
        BinaryOperator::LtEq => Comparison::LessOrEqual,
        BinaryOperator::Gt => Comparison::Greater,
        BinaryOperator::GtEq => Comparison::GreaterOrEqual,
        other => {
            let at = at(right.span().start);
            return Err(format!("the operator {other} is not supported{at}; compare columns with literals or columns"));
        }
    })
}

fn like(expr: &Expr, pattern: &Expr, escape: Option<&Value>, ignore_case: bool) -> Result<Condition, String> {
    let pattern = match operand(pattern)? {
        Operand::Literal(Literal::String(text)) => text,
        other => return Err(format!("LIKE needs a pattern in quotes, not {other}{}", at(pattern.span().start))),
    };
    let escape = match escape {
        None => None,
        Some(Value::SingleQuotedString(text)) if text.chars().count() == 1 => text.chars().next(),
        Some(_) => return Err("ESCAPE needs one character in quotes".to_owned()),
    };
    Ok(Condition::Like { operand: operand(expr)?, pattern: with_backslash_escapes(&pattern, escape)?, ignore_case })
}
