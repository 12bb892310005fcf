//! Parts of a select that depend on the columns of its tables: `COLUMNS(…)`, `* RENAME`, `* REPLACE`, and names of the select list in WHERE, in HAVING and in
//! later items of the list.
//!
//! | module | what it does |
//! | --- | --- |
//! | `aliases` | replaces names of the select list, unless a column has the name |
//! | `expansion` | writes out `COLUMNS`, `* RENAME` and `* REPLACE` |
//! | `star_options` | what is behind a `*` |
//! | `choice` | chooses the columns that `COLUMNS` stands for |
//! | `order_all` | writes out `ORDER BY ALL` |

mod aliases;
mod choice;
mod expansion;
mod order_all;
mod star_options;

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::common::{Result, plan_err};
use datafusion::execution::SessionState;
use datafusion::sql::parser::{CopyToSource, CopyToStatement, Statement};
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    Cte, Expr, Ident, Query, Select, SelectItem, SetExpr, Statement as SqlStatement, VisitMut, VisitorMut,
    WildcardAdditionalOptions, With,
};

use crate::statement::explained;

/// A column of FROM.
#[derive(Debug, Clone)]
struct FromColumn {
    table: Option<String>,
    name: String,
    /// Whether no other column has the name. The column that USING merges is one without a table.
    is_unique: bool,
}

impl FromColumn {
    /// The column as an expression.
    fn expr(&self) -> Expr {
        let name = Ident::with_quote('"', self.name.clone());
        match &self.table {
            Some(table) if !self.is_unique => {
                Expr::CompoundIdentifier(vec![Ident::with_quote('"', table.clone()), name])
            }
            _ => Expr::Identifier(name),
        }
    }
}

/// Rewrites the selects of a statement, the inner ones first.
pub(crate) async fn expand_columns(state: &SessionState, statement: &mut Statement) -> Result<()> {
    let mut settled = HashSet::new();
    loop {
        let mut search = Search { settled: &settled, found: None, ctes: Vec::new(), is_recursive: false };
        let _ = visit(statement, &mut search);
        let Search { found, ctes, is_recursive, .. } = search;
        let Some(mut select) = found else { break };
        let before = select.to_string();
        let columns = from_columns(state, &select, ctes.clone(), is_recursive).await;
        match columns {
            Ok(columns) => {
                expansion::expand(state, &mut select, &columns).await?;
                let mut inner = aliases::InnerColumns::new();
                for subquery in aliases::inner_selects(&select) {
                    if let Ok(columns) = from_columns(state, &subquery, ctes.clone(), is_recursive).await {
                        let names = columns.into_iter().map(|column| column.name);
                        inner.insert(subquery.to_string(), names.collect());
                    }
                }
                aliases::replace(&mut select, &columns, &inner)?;
            }
            Err(error) if expansion::is_required(&select) => {
                return plan_err!(
                    "the columns that COLUMNS and RENAME need are not known: {}",
                    error.strip_backtrace()
                );
            }
            // A lateral table cannot be planned by itself.
            Err(_) => {}
        }
        settled.insert(select.to_string());
        let _ = visit(statement, &mut Replacement { before, after: Some(select) });
    }
    let _ = visit(statement, &mut order_all::OrderAll);
    Ok(())
}

/// Visits the query of a statement, even within EXPLAIN or COPY.
fn visit<V: VisitorMut>(statement: &mut Statement, visitor: &mut V) -> ControlFlow<V::Break> {
    match explained(statement) {
        Statement::Statement(statement) => statement.visit(visitor),
        Statement::CopyTo(CopyToStatement { source: CopyToSource::Query(query), .. }) => query.visit(visitor),
        _ => ControlFlow::Continue(()),
    }
}

fn is_needed(select: &Select, settled: &HashSet<String>) -> bool {
    (expansion::is_needed(select) || aliases::are_used(select)) && !settled.contains(&select.to_string())
}

/// The columns of the tables of a select.
async fn from_columns(
    state: &SessionState,
    select: &Select,
    ctes: Vec<Cte>,
    is_recursive: bool,
) -> Result<Vec<FromColumn>> {
    if select.from.is_empty() {
        return Ok(Vec::new());
    }
    let Some(mut all) = crate::grammar::parse("SELECT * FROM t")?.pop_front() else { return Ok(Vec::new()) };
    let with = (!ctes.is_empty()).then(|| With {
        with_token: AttachedToken::empty(),
        recursive: is_recursive,
        cte_tables: ctes,
    });
    if let Statement::Statement(statement) = &mut all
        && let SqlStatement::Query(query) = statement.as_mut()
    {
        query.with = with;
        if let SetExpr::Select(plain) = query.body.as_mut() {
            plain.from.clone_from(&select.from);
            plain.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
        }
    }
    let plan = state.statement_to_plan(all).await?;
    let fields = plan.schema().fields();
    let column = |(table, field): (Option<&datafusion::common::TableReference>, &arrow_schema::FieldRef)| FromColumn {
        table: table.map(|table| table.table().to_owned()),
        name: field.name().clone(),
        is_unique: fields.iter().filter(|other| other.name() == field.name()).count() == 1,
    };
    Ok(plan.schema().iter().map(column).collect())
}

/// Finds the first select that has to be rewritten. Its subqueries have been by then.
struct Search<'s> {
    settled: &'s HashSet<String>,
    found: Option<Select>,
    ctes: Vec<Cte>,
    is_recursive: bool,
}

impl VisitorMut for Search<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let Some(with) = &query.with {
            self.is_recursive |= with.recursive;
            for cte in &with.cte_tables {
                let mut inner = Needs { settled: self.settled };
                let is_plain = cte.clone().query.visit(&mut inner).is_continue();
                if is_plain && !self.ctes.iter().any(|known| known.alias.name == cte.alias.name) {
                    self.ctes.push(cte.clone());
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if !is_needed(select, self.settled) {
            return ControlFlow::Continue(());
        }
        self.found = Some(select.clone());
        ControlFlow::Break(())
    }
}

/// Whether a query has a select that has to be rewritten.
struct Needs<'s> {
    settled: &'s HashSet<String>,
}

impl VisitorMut for Needs<'_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if is_needed(select, self.settled) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

struct Replacement {
    before: String,
    after: Option<Select>,
}

impl VisitorMut for Replacement {
    type Break = ();

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if select.to_string() != self.before {
            return ControlFlow::Continue(());
        }
        if let Some(after) = self.after.take() {
            *select = after;
        }
        ControlFlow::Break(())
    }
}
