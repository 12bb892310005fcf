//! Queries around the rows that a statement gives.

use datafusion::common::{Result, plan_err};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Query, SetExpr, Statement as SqlStatement, TableFactor};

use crate::grammar::parse;

/// `SELECT items FROM (source) AS alias(names)`.
pub(super) fn select_from(items: &str, source: Box<Query>, alias: &str, names: &[String]) -> Result<Box<Query>> {
    let text = format!("SELECT {items} FROM (SELECT 1) AS {alias}({})", names.join(", "));
    let Some(Statement::Statement(statement)) = parse(&text)?.pop_front() else { return plan_err!("{text}") };
    let SqlStatement::Query(mut query) = *statement else { return plan_err!("{text}") };
    if let SetExpr::Select(select) = query.body.as_mut()
        && let Some(from) = select.from.first_mut()
        && let TableFactor::Derived { subquery, .. } = &mut from.relation
    {
        *subquery = source;
    }
    Ok(query)
}
