//! The query that is reshaped.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_cast::cast;
use arrow_schema::{DataType, FieldRef};
use datafusion::common::{Result, plan_err};
use datafusion::dataframe::DataFrame;
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    Cte, Expr, Ident, Query, Select, SelectItem, SetExpr, Statement as SqlStatement, TableFactor, With,
};

use crate::grammar::select_from_table;
use crate::select_columns::expand_columns;

/// A query, and the queries of WITH that it may use.
pub(super) struct Source<'s> {
    state: &'s SessionState,
    query: &'s Query,
    ctes: Vec<Cte>,
}

impl<'s> Source<'s> {
    pub(super) fn new(state: &'s SessionState, query: &'s Query, ctes: Vec<Cte>) -> Self {
        Self { state, query, ctes }
    }

    pub(super) fn state(&self) -> &SessionState {
        self.state
    }

    /// The query as a table.
    pub(super) fn table(&self) -> TableFactor {
        TableFactor::Derived { lateral: false, subquery: Box::new(self.query.clone()), alias: None, sample: None }
    }

    /// The columns of the query, with their final types.
    pub(super) async fn columns(&self) -> Result<Vec<FieldRef>> {
        let plan = self.plan(self.query.clone()).await?;
        let state = self.state;
        let analyzed = state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {})?;
        Ok(analyzed.schema().fields().iter().cloned().collect())
    }

    /// The names of the columns of another query of the source.
    pub(super) async fn output_names(&self, query: Query) -> Result<Vec<String>> {
        Ok(self.plan(query).await?.schema().fields().iter().map(|field| field.name().clone()).collect())
    }

    /// The texts of the first column of a query.
    pub(super) async fn texts(&self, query: Query) -> Result<Vec<Option<String>>> {
        let plan = self.plan(query).await?;
        let mut texts = Vec::new();
        for batch in DataFrame::new(self.state.clone(), plan).collect().await? {
            let column = cast(batch.column(0), &DataType::Utf8)?;
            let column = column.as_string::<i32>();
            texts.extend((0..column.len()).map(|row| column.is_valid(row).then(|| column.value(row).to_owned())));
        }
        Ok(texts)
    }

    async fn plan(&self, mut query: Query) -> Result<LogicalPlan> {
        if !self.ctes.is_empty() {
            let mut cte_tables = self.ctes.clone();
            let own = query.with.take();
            let is_recursive = own.as_ref().is_some_and(|with| with.recursive);
            cte_tables.retain(|cte| {
                own.iter().flat_map(|with| &with.cte_tables).all(|known| known.alias.name != cte.alias.name)
            });
            cte_tables.extend(own.into_iter().flat_map(|with| with.cte_tables));
            query.with = Some(With { with_token: AttachedToken::empty(), recursive: is_recursive, cte_tables });
        }
        let mut statement = Statement::Statement(Box::new(SqlStatement::Query(Box::new(query))));
        Box::pin(expand_columns(self.state, &mut statement)).await?;
        self.state.statement_to_plan(statement).await
    }
}

/// `SELECT items FROM table`, whose other parts `change` sets.
pub(super) fn select(table: TableFactor, items: Vec<SelectItem>, change: impl FnOnce(&mut Select)) -> Result<Query> {
    let statement = select_from_table(|_, select| {
        if let Some(from) = select.from.first_mut() {
            from.relation = table;
        }
        select.projection = items;
        change(select);
    })?;
    match statement {
        Statement::Statement(statement) => match *statement {
            SqlStatement::Query(query) => Ok(*query),
            other => plan_err!("{other} is not a query"),
        },
        other => plan_err!("{other} is not a query"),
    }
}

/// `SELECT * FROM table`.
pub(super) fn all_columns(table: &TableFactor) -> Result<Query> {
    select(table.clone(), vec![SelectItem::Wildcard(Default::default())], |_| {})
}

/// The select list of an argument.
pub(super) fn items(query: &Query) -> Result<Vec<SelectItem>> {
    match query.body.as_ref() {
        SetExpr::Select(select) => Ok(select.projection.clone()),
        other => plan_err!("{other} is not a list of expressions"),
    }
}

/// An item of a select list, and its alias.
pub(super) fn named(item: SelectItem) -> Result<(Expr, Option<Ident>)> {
    match item {
        SelectItem::UnnamedExpr(expr) => Ok((expr, None)),
        // Computed columns may have got the name of their text.
        SelectItem::ExprWithAlias { expr, alias } => {
            let is_text = alias.quote_style == Some('"') && alias.value.contains('(');
            Ok((expr, Some(alias).filter(|_| !is_text)))
        }
        other => plan_err!("{other} is not an expression"),
    }
}

/// An expression of a text, which has no names of the statement.
pub(super) fn quoted(name: &str) -> Expr {
    Expr::Identifier(Ident::with_quote('"', name))
}
