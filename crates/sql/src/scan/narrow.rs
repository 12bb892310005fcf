//! Conditions that joins and sorts set while a query runs, as predicates on the rows of a scan.

use std::sync::Arc;

use arrow_schema::Schema;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, CaseExpr, DynamicFilterPhysicalExpr, Literal as LiteralExpr};
use datafusion::scalar::ScalarValue;
use lath_parquet::{Predicate, Support};

use super::translate::translate;

/// A predicate that is true for every row for which `expr` is; `None` if there is none that rules out any row.
pub(crate) fn narrow(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Predicate> {
    if let Some(dynamic) = expr.downcast_ref::<DynamicFilterPhysicalExpr>() {
        return narrow(&dynamic.current().ok()?, schema);
    }
    if let Some(constant) = expr.downcast_ref::<LiteralExpr>() {
        return match constant.value() {
            ScalarValue::Boolean(Some(true)) => None,
            ScalarValue::Boolean(_) => Predicate::parse("FALSE").ok(),
            _ => None,
        };
    }
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        match binary.op() {
            Operator::And => {
                return match (narrow(binary.left(), schema), narrow(binary.right(), schema)) {
                    (Some(left), Some(right)) => Some(left.and(right)),
                    (left, right) => left.or(right),
                };
            }
            Operator::Or => return Some(narrow(binary.left(), schema)?.or(narrow(binary.right(), schema)?)),
            _ => {}
        }
    }
    // A join in partitions has a condition for each of them: a row has to meet that of its own.
    if let Some(case) = expr.downcast_ref::<CaseExpr>() {
        let conditions = case.when_then_expr().iter().map(|(_, then)| then).chain(case.else_expr());
        let mut any: Option<Predicate> = None;
        for condition in conditions {
            let condition = narrow(condition, schema)?;
            any = Some(match any {
                None => condition,
                Some(others) => others.or(condition),
            });
        }
        return any;
    }
    supported(translate(expr, schema)?, schema)
}

/// The conjuncts of `predicate` whose answers are SQL's, or true where that is in doubt; `None` if there is none.
pub(crate) fn supported(predicate: Predicate, schema: &Schema) -> Option<Predicate> {
    let supports = predicate.supports(schema);
    let kept = supports.into_iter().filter(|conjunct| conjunct.support != Support::No);
    kept.map(|conjunct| conjunct.conjunct).reduce(Predicate::and)
}
