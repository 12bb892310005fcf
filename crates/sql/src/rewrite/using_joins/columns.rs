//! Looks up the columns of a statement's tables.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;

use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::execution::SessionState;
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::{Cte, Ident, Query, SetExpr, TableFactor, TableWithJoins, VisitorMut, With};

use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;

use super::visit;

/// The columns of each table of a statement, by its text in `FROM`.
pub(super) struct FactorColumns(HashMap<String, Result<Vec<String>, String>>);

impl FactorColumns {
    pub(super) async fn find(state: &SessionState, statement: &mut Statement) -> Result<Self> {
        let mut collected = TableCollector::default();
        let _ = visit(statement, &mut collected);
        let with = (!collected.ctes.is_empty()).then(|| With {
            with_token: AttachedToken::empty(),
            recursive: collected.is_recursive,
            cte_tables: collected.ctes,
        });
        let mut columns = HashMap::new();
        for (text, factor) in collected.factors {
            let names = match select_all_from(with.clone(), factor) {
                Ok(all) => state.statement_to_plan(all).await,
                Err(error) => Err(error),
            };
            let names = names.map(|plan| plan.schema().fields().iter().map(|field| field.name().clone()).collect());
            // A lateral table cannot be planned by itself.
            columns.insert(text, names.map_err(|error| error.strip_backtrace()));
        }
        Ok(Self(columns))
    }

    pub(super) fn get(&self, factor: &TableFactor) -> Result<&[String]> {
        match self.0.get(&factor.to_string()) {
            Some(Ok(names)) => Ok(names),
            Some(Err(error)) => Err(plan_datafusion_err!(
                "the columns of {factor}, which USING or NATURAL needs, are not known ({error}); join ON a condition instead"
            )),
            None => plan_err!("the columns of {factor} are not known"),
        }
    }

    /// The column names that a query's own tables define.
    pub(super) fn names_within(&self, query: &Query) -> HashSet<String> {
        let mut names = HashSet::new();
        self.add_names(&query.body, &mut names);
        names
    }

    fn add_names(&self, body: &SetExpr, names: &mut HashSet<String>) {
        match body {
            SetExpr::Select(select) => select.from.iter().for_each(|from| self.add_factors(from, names)),
            SetExpr::SetOperation { left, right, .. } => {
                self.add_names(left, names);
                self.add_names(right, names);
            }
            _ => {}
        }
    }

    fn add_factors(&self, from: &TableWithJoins, names: &mut HashSet<String>) {
        for factor in std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation)) {
            match factor {
                TableFactor::NestedJoin { table_with_joins, .. } => self.add_factors(table_with_joins, names),
                factor => names.extend(self.get(factor).unwrap_or_default().iter().cloned()),
            }
        }
    }
}

/// Builds `SELECT * FROM` a table.
fn select_all_from(with: Option<With>, factor: TableFactor) -> Result<Statement> {
    let mut statement = DFParserBuilder::new("SELECT * FROM t").build()?.parse_statement()?;
    let mut replace = Replace { with, factor: Some(factor) };
    let _ = visit(&mut statement, &mut replace);
    Ok(statement)
}

struct Replace {
    with: Option<With>,
    factor: Option<TableFactor>,
}

impl VisitorMut for Replace {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        query.with = self.with.take();
        if let (SetExpr::Select(select), Some(factor)) = (&mut *query.body, self.factor.take()) {
            select.from = vec![TableWithJoins { relation: factor, joins: Vec::new() }];
        }
        ControlFlow::Break(())
    }
}

/// Collects the tables of a statement and its `WITH` queries.
#[derive(Default)]
struct TableCollector {
    factors: HashMap<String, TableFactor>,
    ctes: Vec<Cte>,
    known: BTreeSet<Ident>,
    is_recursive: bool,
}

impl VisitorMut for TableCollector {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let Some(with) = &query.with {
            self.is_recursive |= with.recursive;
            for cte in &with.cte_tables {
                if self.known.insert(cte.alias.name.clone()) {
                    self.ctes.push(cte.clone());
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if !matches!(factor, TableFactor::NestedJoin { .. }) {
            self.factors.insert(factor.to_string(), factor.clone());
        }
        ControlFlow::Continue(())
    }
}
