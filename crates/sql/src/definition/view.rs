//! `CREATE VIEW` and `DROP VIEW` in a database, which stores the text of views.

use std::collections::BTreeSet;

use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{DdlStatement, DropView, LogicalPlan};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{CreateView, Statement as SqlStatement};

use super::Definitions;
use crate::keyed::with_view_comment;

impl Definitions<'_> {
    /// Stores a view, after planning it once.
    pub(super) async fn create_view(&self, create: &CreateView) -> Result<()> {
        self.database()?;
        // DataFusion does not plan IF NOT EXISTS.
        let planned = CreateView { if_not_exists: false, ..create.clone() };
        let statement = Statement::Statement(Box::new(SqlStatement::CreateView(planned)));
        let plan = self.state.statement_to_plan(statement).await?;
        let LogicalPlan::Ddl(DdlStatement::CreateView(view)) = plan else {
            return plan_err!(
                "views are created by CREATE [OR REPLACE] VIEW [IF NOT EXISTS] name [(columns)] AS query; leave out other clauses"
            );
        };
        let Some(name) = self.plain_name(&view.name) else {
            return plan_err!("{}: views of the database have no schema; write the name alone", view.name);
        };
        let is_view = self.tables.view_text(&name)?.is_some();
        if is_view && create.if_not_exists {
            return Ok(());
        }
        if !(is_view && create.or_replace) && self.state.schema_for_ref(view.name.clone())?.table_exist(&name) {
            return plan_err!("there is a table or view {name:?} already; drop it first, or choose another name");
        }
        let mut names = BTreeSet::new();
        if let Some(twice) = view.input.schema().fields().iter().find(|field| !names.insert(field.name().clone())) {
            return plan_err!(
                "two columns of the view are called {:?}; rename one: CREATE VIEW {name} (columns) AS …",
                twice.name()
            );
        }
        let text = self.text.trim().trim_end_matches(';').to_owned();
        self.tables.check_view(self.state, &name, &text)?;
        let text = with_view_comment(self.tables.view_comment(&name)?.as_deref(), &text);
        self.change_database(move |transaction| transaction.put_view(&name, &text)).await
    }

    /// Drops a view of the database. Returns whether there was one.
    pub(super) async fn drop_view(&self, drop: &DropView) -> Result<bool> {
        let Some(name) = self.plain_name(&drop.name) else { return Ok(false) };
        if self.tables.view_text(&name)?.is_none() {
            return Ok(false);
        }
        self.change_database(move |transaction| transaction.drop_view(&name)).await
    }
}
