//! Marks queries in WITH that are read several times and whose rows differ each time they are computed, such as random values.
//!
//! DataFusion (55) copies the plan of a query in WITH to each of its uses. Here such a query gets another one around it, whose table name
//! tells the planner to compute it once.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::logical_expr::Volatility;
use datafusion::sql::parser::{CopyToSource, CopyToStatement, Statement};
use datafusion::sql::sqlparser::ast::{
    Cte, Expr, Ident, Query, SetExpr, Statement as SqlStatement, TableAlias, TableFactor, Visit, VisitMut, VisitorMut,
    visit_expressions, visit_relations,
};
use datafusion::sql::sqlparser::parser::ParserError;

use crate::dialect::{error_at, normal};
use crate::grammar::parse;
use crate::statement::explained;

/// The table name of a query that is computed once, before its number.
const ONCE: &str = "computed once ";
/// Distinguishes queries, even of statements that are combined.
static NEXT_NUMBER: AtomicUsize = AtomicUsize::new(0);

/// The number of a query that is computed once, by the name of its table.
pub(crate) fn shared_query_number(name: &str) -> Option<usize> {
    name.strip_prefix(ONCE)?.parse().ok()
}

/// Marks the queries of a statement.
pub(crate) fn mark_with_queries(state: &SessionState, statement: &mut Statement) -> Result<()> {
    let is_volatile = |name: &str| state.udf(name).is_ok_and(|udf| udf.signature().volatility == Volatility::Volatile);
    let mut marks = Marks { is_volatile };
    let flow = match explained(statement) {
        Statement::Statement(statement) => statement.visit(&mut marks),
        Statement::CopyTo(CopyToStatement { source: CopyToSource::Query(query), .. }) => query.visit(&mut marks),
        _ => ControlFlow::Continue(()),
    };
    match flow {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Marks<V> {
    /// Whether a function returns another value for each call.
    is_volatile: V,
}

impl<V: Fn(&str) -> bool> VisitorMut for Marks<V> {
    type Break = DataFusionError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<DataFusionError> {
        match self.query(query) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl<V: Fn(&str) -> bool> Marks<V> {
    fn query(&self, query: &mut Query) -> Result<()> {
        let Query { with, body, .. } = query;
        let Some(with) = with else { return Ok(()) };
        let mut volatile: HashSet<String> = HashSet::new();
        for at in 0..with.cte_tables.len() {
            let (before, later) = with.cte_tables.split_at_mut(at + 1);
            let Some(table) = before.last_mut() else { continue };
            let name = normal(&table.alias.name);
            let reads_volatile = || volatile.iter().any(|name| count_reads(table.query.as_ref(), name) > 0);
            let is_volatile = self.calls_volatile(&table.query) || reads_volatile();
            if is_volatile {
                volatile.insert(name.clone());
            }
            let reads = later.iter().map(|table| count_reads(table.query.as_ref(), &name)).sum::<usize>()
                + count_reads(body.as_ref(), &name);
            let is_recursive = with.recursive && count_reads(table.query.as_ref(), &name) > 0;
            if is_volatile && reads > 1 {
                // Each step of a recursive query would compute the rows again.
                let is_recursive_name = |table: &Cte| count_reads(table.query.as_ref(), &normal(&table.alias.name)) > 0;
                let is_repeated =
                    |table: &Cte| is_recursive_name(table) && count_reads(table.query.as_ref(), &name) > 0;
                if is_recursive || (with.recursive && later.iter().any(is_repeated)) {
                    return refuse(&name, reads, table);
                }
                mark_once(table)?;
            }
        }
        Ok(())
    }

    fn calls_volatile(&self, query: &Query) -> bool {
        let found = visit_expressions(query, |expr| match expr {
            Expr::Function(function) if (self.is_volatile)(&function.name.to_string().to_ascii_lowercase()) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        });
        found.is_break()
    }
}

/// Puts `SELECT * FROM (…) AS name` around a query.
fn mark_once(table: &mut Cte) -> Result<()> {
    let name = format!("{ONCE}{}", NEXT_NUMBER.fetch_add(1, Ordering::Relaxed));
    let Some(Statement::Statement(outer)) = parse("SELECT * FROM (SELECT 1) AS x")?.pop_front() else { return Ok(()) };
    let SqlStatement::Query(mut outer) = *outer else { return Ok(()) };
    if let SetExpr::Select(select) = outer.body.as_mut()
        && let Some(TableFactor::Derived { subquery, alias: Some(TableAlias { name: alias, .. }), .. }) =
            select.from.first_mut().map(|from| &mut from.relation)
    {
        *alias = Ident::with_quote('"', name);
        std::mem::swap(subquery, &mut table.query);
        table.query = outer;
    }
    Ok(())
}

/// Refuses a recursive query that is read several times and whose rows differ each time.
fn refuse(name: &str, reads: usize, table: &Cte) -> Result<()> {
    let what = format!(
        "{name} is read {reads} times, and each time its rows would be other ones, because a function returns another value for each \
         call; CREATE TEMPORARY TABLE {name} AS … first, and read that"
    );
    let error: ParserError = error_at(&what, table.alias.name.span.start);
    Err(DataFusionError::from(error))
}

/// Counts the places that name a table.
fn count_reads(within: &impl Visit, name: &str) -> usize {
    let mut count = 0;
    let _: ControlFlow<()> = visit_relations(within, |relation| {
        if let [part] = relation.0.as_slice()
            && part.as_ident().is_some_and(|ident| normal(ident) == name)
        {
            count += 1;
        }
        ControlFlow::Continue(())
    });
    count
}
