//! Translates dynamic filters of joins and sorts to predicates of a scan.

use std::sync::Arc;

use arrow_schema::Schema;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, DynamicFilterPhysicalExpr, DynamicFilterTracking, Literal as LiteralExpr,
};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::scalar::ScalarValue;
use lath_parquet::{Predicate, Support};

use super::translate::translate;

/// Returns a predicate that is true for every row for which `expr` is true; `None` if none would rule out a row.
pub(crate) fn implied_predicate(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Predicate> {
    if let Some(dynamic) = expr.downcast_ref::<DynamicFilterPhysicalExpr>() {
        return implied_predicate(&dynamic.current().ok()?, schema);
    }
    if let Some(constant) = expr.downcast_ref::<LiteralExpr>() {
        return match constant.value() {
            ScalarValue::Boolean(Some(true)) => None,
            ScalarValue::Boolean(_) => Some(Predicate::FALSE),
            _ => None,
        };
    }
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        match binary.op() {
            Operator::And => {
                return match (implied_predicate(binary.left(), schema), implied_predicate(binary.right(), schema)) {
                    (Some(left), Some(right)) => Some(left.and(right)),
                    (left, right) => left.or(right),
                };
            }
            Operator::Or => {
                return Some(implied_predicate(binary.left(), schema)?.or(implied_predicate(binary.right(), schema)?));
            }
            _ => {}
        }
    }
    // A partitioned join has one condition for each partition, and a row has to satisfy its partition's.
    if let Some(case) = expr.downcast_ref::<CaseExpr>() {
        let conditions = case.when_then_expr().iter().map(|(_, then)| then).chain(case.else_expr());
        let mut any: Option<Predicate> = None;
        for condition in conditions {
            let condition = implied_predicate(condition, schema)?;
            any = Some(match any {
                None => condition,
                Some(others) => others.or(condition),
            });
        }
        return any;
    }
    supported(translate(expr, schema)?, schema)
}

/// Whether a condition may rule out rows of a scan of columns: now, or once a dynamic filter within it is complete.
pub(crate) fn can_rule_out(condition: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    collect_columns(condition).iter().all(|column| column.index() < schema.fields().len())
        && (DynamicFilterTracking::classify(condition).contains_dynamic_filter()
            || implied_predicate(condition, schema).is_some())
}

/// The conjuncts of `predicate` that are evaluated as in SQL, or are true where SQL's result may differ; `None` if there are none.
pub(crate) fn supported(predicate: Predicate, schema: &Schema) -> Option<Predicate> {
    let supports = predicate.supports(schema);
    let kept = supports.into_iter().filter(|conjunct| conjunct.support != Support::No);
    kept.map(|conjunct| conjunct.conjunct).reduce(Predicate::and)
}
