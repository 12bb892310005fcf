//! Membership of rows in a subquery: `(a, b) IN (SELECT x, y …)`, `NOT IN`, `= ANY` and `<> ALL`.
//!
//! DataFusion 55 supports only a single column. Here a row is found by `EXISTS`, and the result is null if the row is not found but could
//! equal one with nulls:
//!
//! ```sql
//! CASE WHEN EXISTS (SELECT 1 FROM (…) AS r(x, y) WHERE a = x AND b = y) THEN true
//!      WHEN EXISTS (SELECT 1 FROM (…) AS r(x, y) WHERE (a = x AND b = y) IS NULL) THEN NULL
//!      ELSE false END
//! ```
//!
//! A condition of WHERE that has to be true needs only the first `EXISTS`, which is a single join.

use std::mem;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CaseWhen, Expr, Ident, Query, Select, SetExpr, TableAliasColumnDef, TableFactor, Value,
    helpers::attached_token::AttachedToken,
};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

use super::rows::{compare, negated, once, row};
use crate::dialect::LathDialect;

const RELATION: &str = "__lath_row";

/// Rewrites memberships among the conjuncts of WHERE.
pub(crate) fn rewrite_conditions(select: &mut Select) -> Result<(), ParserError> {
    select.selection.as_mut().map_or(Ok(()), rewrite_condition)
}

fn rewrite_condition(expr: &mut Expr) -> Result<(), ParserError> {
    match expr {
        Expr::Nested(inner) => rewrite_condition(inner),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            rewrite_condition(left)?;
            rewrite_condition(right)
        }
        other => {
            if let Some(membership) = Membership::new(other).filter(|membership| !membership.is_negated) {
                *other = membership.exists(membership.equal()?)?;
            }
            Ok(())
        }
    }
}

/// Rewrites a membership of a row elsewhere.
pub(crate) fn rewrite(expr: &mut Expr) -> Result<(), ParserError> {
    let Some(membership) = Membership::new(expr) else { return Ok(()) };
    once(&membership.columns)?;
    let equal = membership.equal()?;
    let unknown = Expr::IsNull(Box::new(Expr::Nested(Box::new(equal.clone()))));
    let null = Expr::value(Value::Null);
    let truth = |is_true| Expr::value(Value::Boolean(is_true));
    let found = CaseWhen { condition: membership.exists(equal)?, result: truth(true) };
    let unknown = CaseWhen { condition: membership.exists(unknown)?, result: null };
    let is_member = Expr::Nested(Box::new(Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![found, unknown],
        else_result: Some(Box::new(truth(false))),
    }));
    *expr = if membership.is_negated { Expr::Nested(Box::new(negated(is_member))) } else { is_member };
    Ok(())
}

/// A row and the query to search for it.
struct Membership {
    columns: Vec<Expr>,
    query: Query,
    is_negated: bool,
}

impl Membership {
    fn new(expr: &Expr) -> Option<Self> {
        let (left, query, is_negated) = match expr {
            Expr::InSubquery { expr, subquery, negated } => (expr, subquery.as_ref(), *negated),
            Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, is_some: _ } => (left, query_in(right)?, false),
            Expr::AllOp { left, compare_op: BinaryOperator::NotEq, right } => (left, query_in(right)?, true),
            _ => return None,
        };
        Some(Self { columns: row(left)?, query: query.clone(), is_negated })
    }

    /// Builds the condition that the row equals one of the query's.
    fn equal(&self) -> Result<Expr, ParserError> {
        let columns: Vec<Expr> = (0..self.columns.len())
            .map(|number| Expr::CompoundIdentifier(vec![Ident::new(RELATION), Ident::new(column_name(number))]))
            .collect();
        compare(&self.columns, &BinaryOperator::Eq, &columns)
    }

    /// Builds the condition that the query has a row that satisfies `condition`.
    fn exists(&self, condition: Expr) -> Result<Expr, ParserError> {
        let text = format!("SELECT 1 FROM (SELECT 1) AS {RELATION}");
        let mut exists = Parser::new(&LathDialect).try_with_sql(&text)?.parse_query()?;
        if let SetExpr::Select(select) = exists.body.as_mut() {
            select.selection = Some(condition);
            if let Some(TableFactor::Derived { subquery, alias: Some(alias), .. }) =
                select.from.first_mut().map(|table| &mut table.relation)
            {
                let _ = mem::replace(subquery, Box::new(self.query.clone()));
                let column = |number| TableAliasColumnDef { name: Ident::new(column_name(number)), data_type: None };
                alias.columns = (0..self.columns.len()).map(column).collect();
            }
        }
        Ok(Expr::Exists { subquery: exists, negated: false })
    }
}

fn query_in(expr: &Expr) -> Option<&Query> {
    match expr {
        Expr::Subquery(query) => Some(query),
        Expr::Nested(inner) => query_in(inner),
        _ => None,
    }
}

fn column_name(number: usize) -> String {
    format!("__lath_column_{number}")
}
