//! `ASOF JOIN`: each row of the left side with the nearest row of the right side.
//!
//! It becomes a join with a lateral query for the nearest row.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, Select, SetExpr, Spanned, TableAlias,
    TableFactor, VisitorMut,
};
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::Span;

use super::sampling::{last_name, parse_expr, query_from};
use crate::dialect::{ASOF, error_at};

/// Replaces joins to the nearest row.
pub(super) struct NearestJoins;

impl VisitorMut for NearestJoins {
    type Break = ParserError;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<ParserError> {
        for from in &mut select.from {
            let mut left = alias(&from.relation);
            for join in &mut from.joins {
                if let Err(error) = replace(join, left.as_ref()) {
                    return ControlFlow::Break(error);
                }
                left = None;
            }
        }
        ControlFlow::Continue(())
    }
}

fn alias(factor: &TableFactor) -> Option<TableAlias> {
    match factor {
        TableFactor::Table { name, alias, .. } => alias.clone().or_else(|| last_name(name)),
        TableFactor::Derived { alias, .. } => alias.clone(),
        _ => None,
    }
}

fn is_mark(name: &Ident) -> bool {
    name.quote_style == Some('"') && name.value == ASOF
}

fn replace(join: &mut Join, left: Option<&TableAlias>) -> Result<(), ParserError> {
    let (JoinOperator::Join(constraint)
    | JoinOperator::Inner(constraint)
    | JoinOperator::Left(constraint)
    | JoinOperator::LeftOuter(constraint)) = &mut join.join_operator
    else {
        return Ok(());
    };
    let place = join.relation.span();
    let right = alias(&join.relation);
    let named = || {
        right.clone().ok_or_else(|| {
            error_at("the right side of ASOF JOIN needs a name; write AS and a name behind it", place.start)
        })
    };
    let (conditions, excluded) = match constraint {
        JoinConstraint::On(on) => {
            let mut conditions = Vec::new();
            conjuncts(on, &mut conditions);
            let is_marked = |expr: &Expr| matches!(expr, Expr::Identifier(name) if is_mark(name));
            match conditions.first() {
                Some(first) if is_marked(first) => _ = conditions.remove(0),
                _ if on.to_string().contains(ASOF) => {
                    return Err(error_at("the conditions of ASOF JOIN are joined with AND", place.start));
                }
                _ => return Ok(()),
            }
            (conditions, Vec::new())
        }
        JoinConstraint::Using(names) if names.first().is_some_and(is_ident) => {
            let Some(left) = left else {
                return Err(error_at(
                    "ASOF JOIN with USING follows a single table; write ON and conditions",
                    place.start,
                ));
            };
            let right = named()?;
            let columns: Vec<Ident> = names[1..].iter().filter_map(|name| name.0.last()?.as_ident().cloned()).collect();
            let column =
                |table: &TableAlias, name: &Ident| Expr::CompoundIdentifier(vec![table.name.clone(), name.clone()]);
            let last = columns.len().saturating_sub(1);
            let condition = |(at, name): (usize, &Ident)| Expr::BinaryOp {
                left: Box::new(column(left, name)),
                op: if at == last { BinaryOperator::GtEq } else { BinaryOperator::Eq },
                right: Box::new(column(&right, name)),
            };
            (columns.iter().enumerate().map(condition).collect(), columns.clone())
        }
        _ => return Ok(()),
    };
    let right = named()?;
    let (nearest, descending) = nearest(&conditions, &right, place)?;
    let excluded: Vec<String> = excluded.iter().map(ToString::to_string).collect();
    let all = if excluded.is_empty() { "*".to_owned() } else { format!("* EXCLUDE ({})", excluded.join(", ")) };
    let text = format!("SELECT {all} FROM t WHERE true ORDER BY x {} LIMIT 1", if descending { "DESC" } else { "ASC" });
    let factor = std::mem::replace(
        &mut join.relation,
        TableFactor::Table {
            name: ObjectName::from(vec![Ident::new("t")]),
            alias: None,
            args: None,
            with_hints: Vec::new(),
            version: None,
            with_ordinality: false,
            partitions: Vec::new(),
            json_path: None,
            sample: None,
            index_hints: Vec::new(),
        },
    );
    let mut subquery = query_from(&text, factor)?;
    if let SetExpr::Select(select) = subquery.body.as_mut() {
        let and = |left: Expr, right: Expr| Expr::BinaryOp {
            left: Box::new(left),
            op: BinaryOperator::And,
            right: Box::new(right),
        };
        select.selection = conditions.into_iter().reduce(and);
    }
    if let Some(order) = &mut subquery.order_by
        && let datafusion::sql::sqlparser::ast::OrderByKind::Expressions(keys) = &mut order.kind
        && let Some(key) = keys.first_mut()
    {
        key.expr = nearest;
    }
    let alias = Some(TableAlias { explicit: true, name: right.name, columns: Vec::new(), at: None });
    join.relation = TableFactor::Derived { lateral: true, subquery: Box::new(subquery), alias, sample: None };
    let is_left = matches!(join.join_operator, JoinOperator::Left(_) | JoinOperator::LeftOuter(_));
    let all = JoinConstraint::On(parse_expr("true")?);
    join.join_operator = if is_left { JoinOperator::Left(all) } else { JoinOperator::Inner(all) };
    Ok(())
}

fn is_ident(name: &ObjectName) -> bool {
    matches!(name.0.as_slice(), [part] if part.as_ident().is_some_and(is_mark))
}

fn conjuncts(expr: &Expr, all: &mut Vec<Expr>) {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            conjuncts(left, all);
            conjuncts(right, all);
        }
        other => all.push(other.clone()),
    }
}

/// The value of the right side that is nearest where it is greatest (`true`) or least.
fn nearest(conditions: &[Expr], right: &TableAlias, place: Span) -> Result<(Expr, bool), ParserError> {
    use BinaryOperator::{Gt, GtEq, Lt, LtEq};
    let mut inequalities = conditions.iter().filter_map(|condition| match condition {
        Expr::BinaryOp { left, op: op @ (Gt | GtEq | Lt | LtEq), right } => Some((left, op, right)),
        _ => None,
    });
    let (Some((first, op, second)), None) = (inequalities.next(), inequalities.next()) else {
        return Err(error_at("ASOF JOIN has one condition with <, <=, > or >=, and else equalities", place.start));
    };
    let table = |expr: &Expr| match expr {
        Expr::CompoundIdentifier(parts) if parts.len() > 1 => Some(parts[parts.len() - 2].value.to_lowercase()),
        _ => None,
    };
    let name = right.name.value.to_lowercase();
    let (of_first, of_second) = (table(first), table(second));
    let is_greater = matches!(op, Gt | GtEq);
    match (of_first.as_deref() == Some(name.as_str()), of_second.as_deref() == Some(name.as_str())) {
        (false, true) => Ok(((**second).clone(), is_greater)),
        (true, false) => Ok(((**first).clone(), !is_greater)),
        _ if of_first.is_some() && of_second.is_none() => Ok(((**second).clone(), is_greater)),
        _ => Err(error_at(
            "put the names of the tables before the columns that ASOF JOIN compares, as a.at >= b.at",
            place.start,
        )),
    }
}
