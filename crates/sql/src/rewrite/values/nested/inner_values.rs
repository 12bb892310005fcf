//! Types of inner VALUES: `CREATE TABLE t (a INT) AS SELECT x * 2 FROM (VALUES (1.5)) v(x)`.
//!
//! DataFusion 55 casts all VALUES of such a statement to the types of the table's columns, so that `x` would be 2 here. VALUES within the
//! query are rewritten to SELECTs with UNION ALL, which it does not cast.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Query, SelectItem, SetExpr, SetOperator, SetQuantifier, Statement, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

use crate::dialect::LathDialect;

/// Replaces VALUES in the query of a statement that creates a table with columns.
pub(in crate::rewrite) fn rewrite(statement: &mut Statement) -> Result<(), ParserError> {
    let Statement::CreateTable(create) = statement else { return Ok(()) };
    let Some(query) = create.query.as_deref_mut().filter(|_| !create.columns.is_empty()) else { return Ok(()) };
    // VALUES that are the whole query are cast to the table's columns, as they should be.
    let is_whole = matches!(query.body.as_ref(), SetExpr::Values(_));
    let kept = is_whole.then(|| query.body.clone());
    let flow = query.visit(&mut Rewriter);
    if let Some(kept) = kept {
        query.body = kept;
    }
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Rewriter;

impl VisitorMut for Rewriter {
    type Break = ParserError;

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<ParserError> {
        let SetExpr::Values(values) = query.body.as_mut() else { return ControlFlow::Continue(()) };
        let rows = std::mem::take(&mut values.rows).into_iter().map(|row| select(row.content));
        match rows.collect::<Result<Vec<_>, _>>().map(union) {
            Ok(Some(body)) => *query.body = body,
            Ok(None) => {}
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }
}

/// Builds a SELECT of a row, with the column names of VALUES.
fn select(row: Vec<Expr>) -> Result<SetExpr, ParserError> {
    let mut body = *Parser::new(&LathDialect).try_with_sql("SELECT 1")?.parse_query()?.body;
    if let SetExpr::Select(select) = &mut body {
        let named = row.into_iter().zip(1..);
        let item = |(expr, number)| SelectItem::ExprWithAlias { expr, alias: Ident::new(format!("column{number}")) };
        select.projection = named.map(item).collect();
    }
    Ok(body)
}

/// Combines all rows in a balanced tree.
fn union(mut rows: Vec<SetExpr>) -> Option<SetExpr> {
    if rows.len() < 2 {
        return rows.pop();
    }
    let second = rows.split_off(rows.len() / 2);
    let (left, right) = (Box::new(union(rows)?), Box::new(union(second)?));
    Some(SetExpr::SetOperation { op: SetOperator::Union, set_quantifier: SetQuantifier::All, left, right })
}
