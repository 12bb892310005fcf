//! `PIVOT`, `UNPIVOT` and `SUMMARIZE`, whose columns depend on the columns or the values of their source. They become subqueries.
//!
//! | module | what it does |
//! | --- | --- |
//! | `pivot` | a column for each value of a column |
//! | `unpivot` | a row for each column |
//! | `summary` | a row of statistics for each column |
//! | `source` | the query that is reshaped: its columns, and values of it |

mod pivot;
mod source;
mod summary;
mod unpivot;

use std::ops::ControlFlow;

use datafusion::common::Result;
use datafusion::execution::SessionState;
use datafusion::sql::parser::{CopyToSource, CopyToStatement, Statement};
use datafusion::sql::sqlparser::ast::{
    Cte, Expr, FunctionArg, FunctionArgExpr, Query, Statement as SqlStatement, TableFactor, VisitMut, VisitorMut,
};

use self::source::Source;
use crate::dialect::{PIVOT, SUMMARY, UNPIVOT};
use crate::statement::explained;

/// Replaces the forms of a statement by subqueries, the inner ones first.
pub(crate) async fn reshape(state: &SessionState, statement: &mut Statement) -> Result<()> {
    let is_view = matches!(
        explained(statement),
        Statement::Statement(statement) if matches!(statement.as_ref(), SqlStatement::CreateView(_))
    );
    loop {
        let mut search = Search { found: None, ctes: Vec::new() };
        let _ = visit(statement, &mut search);
        let Search { found: Some(factor), ctes } = search else { return Ok(()) };
        let (query, alias) = match &factor {
            TableFactor::Table { name, alias, args: Some(arguments), .. } => {
                let queries: Vec<&Query> = arguments.args.iter().filter_map(argument).collect();
                let query = match (name.to_string().trim_matches('"'), queries.as_slice()) {
                    (SUMMARY, [query]) => summary::query(&Source::new(state, query, ctes)).await?,
                    (PIVOT, [query, aggregates, groups, columns @ ..]) => {
                        let pivot = pivot::Pivot::from_queries(aggregates, groups, columns)?;
                        pivot.check_view(is_view)?;
                        pivot.query(&Source::new(state, query, ctes)).await?
                    }
                    (_, [query, columns, name, value]) => {
                        let unpivot = unpivot::Unpivot::from_queries(columns, name, value)?;
                        unpivot.query(&Source::new(state, query, ctes)).await?
                    }
                    _ => return Ok(()),
                };
                (query, alias.clone())
            }
            TableFactor::Pivot { table, alias, .. } => {
                let query = source::all_columns(table)?;
                let pivot = pivot::Pivot::from_factor(&factor)?;
                pivot.check_view(is_view)?;
                (pivot.query(&Source::new(state, &query, ctes)).await?, alias.clone())
            }
            TableFactor::Unpivot { table, alias, .. } => {
                let query = source::all_columns(table)?;
                let unpivot = unpivot::Unpivot::from_factor(&factor)?;
                (unpivot.query(&Source::new(state, &query, ctes)).await?, alias.clone())
            }
            _ => return Ok(()),
        };
        let after = TableFactor::Derived { lateral: false, subquery: Box::new(query), alias, sample: None };
        let _ = visit(statement, &mut Replacement { before: factor.to_string(), after: Some(after) });
    }
}

/// The query of an argument.
fn argument(argument: &FunctionArg) -> Option<&Query> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Subquery(query))) => Some(query),
        _ => None,
    }
}

/// Visits the query of a statement, even within EXPLAIN or COPY.
fn visit<V: VisitorMut>(statement: &mut Statement, visitor: &mut V) -> ControlFlow<V::Break> {
    match explained(statement) {
        Statement::Statement(statement) => statement.visit(visitor),
        Statement::CopyTo(CopyToStatement { source: CopyToSource::Query(query), .. }) => query.visit(visitor),
        _ => ControlFlow::Continue(()),
    }
}

fn is_form(factor: &TableFactor) -> bool {
    match factor {
        TableFactor::Table { name, args: Some(_), .. } => {
            [SUMMARY, PIVOT, UNPIVOT].contains(&name.to_string().trim_matches('"'))
        }
        TableFactor::Pivot { .. } | TableFactor::Unpivot { .. } => true,
        _ => false,
    }
}

/// Finds the first form, and the queries of WITH before it.
struct Search {
    found: Option<TableFactor>,
    ctes: Vec<Cte>,
}

impl VisitorMut for Search {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let is_known = self.ctes.iter().any(|known| known.alias.name == cte.alias.name);
            if !is_known && cte.clone().query.visit(&mut HasForm).is_continue() {
                self.ctes.push(cte.clone());
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if !is_form(factor) {
            return ControlFlow::Continue(());
        }
        self.found = Some(factor.clone());
        ControlFlow::Break(())
    }
}

struct HasForm;

impl VisitorMut for HasForm {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if is_form(factor) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

struct Replacement {
    before: String,
    after: Option<TableFactor>,
}

impl VisitorMut for Replacement {
    type Break = ();

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if !is_form(factor) || factor.to_string() != self.before {
            return ControlFlow::Continue(());
        }
        if let Some(after) = self.after.take() {
            *factor = after;
        }
        ControlFlow::Break(())
    }
}
