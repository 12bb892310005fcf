use std::sync::Arc;

use datafusion::common::{Column, NullEquality, Result, not_impl_err};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{
    Expr, Join, JoinConstraint, JoinType, LogicalPlan, LogicalPlanBuilder, Operator, Union, binary_expr,
};
use datafusion::prelude::coalesce;

use super::push;
use crate::rewrite::subquery::columns;
use crate::rewrite::subquery::domain::{Domain, DomainPlan};

/// Pushes a domain through a join, which then joins rows of the same domain value.
pub(super) fn join(join: &Join, domain: &Domain<'_>) -> Result<DomainPlan> {
    let (left, right) = (domain.is_used_by(&join.left)?, domain.is_used_by(&join.right)?);
    // The preserved side needs the domain.
    let (push_left, push_right) = match join.join_type {
        JoinType::Inner => (left || !right, right),
        JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => (true, right),
        JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => (left, true),
        JoinType::Full => (true, true),
    };
    let side = |plan: &Arc<LogicalPlan>, is_pushed: bool| match is_pushed {
        true => push(plan, domain).map(|pushed| (pushed.plan, pushed.domain)),
        false => Ok((plan.as_ref().clone(), Vec::new())),
    };
    let (left, left_keys) = side(&join.left, push_left)?;
    let (right, right_keys) = side(&join.right, push_right)?;
    let keys = if push_left { &left_keys } else { &right_keys };
    let equals = match join.null_equality {
        NullEquality::NullEqualsNothing => Operator::Eq,
        NullEquality::NullEqualsNull => Operator::IsNotDistinctFrom,
    };
    let mut conditions = Vec::new();
    for (left, right) in &join.on {
        conditions.push(domain.bind(binary_expr(left.clone(), equals, right.clone()), keys)?);
    }
    if let Some(filter) = &join.filter {
        conditions.push(domain.bind(filter.clone(), keys)?);
    }
    if push_left && push_right {
        conditions.extend(columns::same(&left_keys, &right_keys));
    }
    if join.null_aware {
        return not_impl_err!("a join that is aware of nulls in a subquery that uses columns of the outer query");
    }
    let condition = conjunction(conditions);
    let nulls = NullEquality::NullEqualsNothing;
    let (left, right) = (Arc::new(left), Arc::new(right));
    let plan = Join::try_new(left, right, vec![], condition, join.join_type, JoinConstraint::On, nulls, false)?;
    let plan = LogicalPlan::Join(plan);
    if join.join_type != JoinType::Full {
        let is_left = match join.join_type {
            JoinType::Inner => push_left,
            JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => true,
            _ => false,
        };
        return Ok(DomainPlan { plan, domain: if is_left { left_keys } else { right_keys } });
    }
    let relation = format!("__outer_{}", domain.next_name());
    let merged = |at: usize| Column::new(Some(relation.as_str()), format!("{relation}_{at}"));
    let merged: Vec<Column> = (0..left_keys.len()).map(merged).collect();
    let mut exprs = columns::all(&join.schema);
    for ((left, right), merged) in left_keys.into_iter().zip(right_keys).zip(&merged) {
        let either = coalesce(vec![Expr::Column(left), Expr::Column(right)]);
        exprs.push(either.alias_qualified(merged.relation.clone(), merged.name.clone()));
    }
    Ok(DomainPlan { plan: LogicalPlanBuilder::from(plan).project(exprs)?.build()?, domain: merged })
}

/// Pushes a domain through a union.
pub(super) fn union(union: &Union, domain: &Domain<'_>) -> Result<DomainPlan> {
    let own = union.schema.fields().len();
    let relation = format!("__outer_{}", domain.next_name());
    let merged = |at: usize| Column::new(Some(relation.as_str()), format!("{relation}_{at}"));
    let merged: Vec<Column> = (0..domain.columns().len()).map(merged).collect();
    let mut inputs = Vec::with_capacity(union.inputs.len());
    for input in &union.inputs {
        let pushed = push(input, domain)?;
        let mut exprs = Vec::new();
        for at in 0..own {
            exprs.push(columns::named_as(Expr::Column(columns::at(input.schema(), at)), &union.schema, at));
        }
        for (column, merged) in pushed.domain.into_iter().zip(&merged) {
            exprs.push(Expr::Column(column).alias_qualified(merged.relation.clone(), merged.name.clone()));
        }
        inputs.push(Arc::new(LogicalPlanBuilder::from(pushed.plan).project(exprs)?.build()?));
    }
    let plan = LogicalPlan::Union(Union::try_new_with_loose_types(inputs)?);
    let schema = Arc::clone(plan.schema());
    let mut exprs = Vec::new();
    for at in 0..own {
        exprs.push(columns::named_as(Expr::Column(columns::at(&schema, at)), &union.schema, at));
    }
    for (at, merged) in merged.iter().enumerate() {
        let value = Expr::Column(columns::at(&schema, own + at));
        exprs.push(value.alias_qualified(merged.relation.clone(), merged.name.clone()));
    }
    Ok(DomainPlan { plan: LogicalPlanBuilder::from(plan).project(exprs)?.build()?, domain: merged })
}
