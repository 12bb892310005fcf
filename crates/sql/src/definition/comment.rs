//! `COMMENT ON TABLE`, `COLUMN` and `VIEW`.

use datafusion::catalog::TableProvider;
use datafusion::common::{Result, plan_err};
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{CommentObject, ObjectName};
use lath_table::Transaction;

use super::Definitions;
use crate::keyed::{COMMENT, with_view_comment};

impl Definitions<'_> {
    pub(super) async fn comment(
        &self,
        object_type: &CommentObject,
        name: &ObjectName,
        comment: Option<&str>,
        if_exists: bool,
    ) -> Result<()> {
        let comment = comment.map(str::to_owned);
        match object_type {
            CommentObject::Table => match self.keyed(name) {
                Err(_) if if_exists => Ok(()),
                found => {
                    let set = move |table: &mut Transaction| table.set_metadata(COMMENT, comment.as_deref());
                    self.change_table(&found?, set).await
                }
            },
            CommentObject::Column => {
                let (table, column) =
                    (ObjectName(name.0[..name.0.len().saturating_sub(1)].to_vec()), super::last_part(name)?);
                if table.0.is_empty() {
                    return plan_err!("COMMENT ON COLUMN {name}: write the table before the column: t.{name}");
                }
                let table = match self.keyed(&table) {
                    Err(_) if if_exists => return Ok(()),
                    found => found?,
                };
                if table.schema().column_with_name(&column).is_none() {
                    return match if_exists {
                        true => Ok(()),
                        false => plan_err!("table {:?} has no column {column:?}", table.name()),
                    };
                }
                let set =
                    move |table: &mut Transaction| table.set_column_metadata(&column, COMMENT, comment.as_deref());
                self.change_table(&table, set).await
            }
            CommentObject::View => {
                let reference = object_name_to_table_reference(name.clone(), true)?;
                let view = self.plain_name(&reference);
                let text = view.as_ref().map(|view| self.tables.view_text(view)).transpose()?.flatten();
                match (view, text) {
                    (Some(view), Some(text)) => {
                        let text = with_view_comment(comment.as_deref(), &text);
                        self.change_database(move |transaction| transaction.put_view(&view, &text)).await
                    }
                    _ if if_exists => Ok(()),
                    _ => plan_err!("there is no view {name} in the database"),
                }
            }
            other => plan_err!(
                "COMMENT ON {other} is not supported; tables, columns and views of the database have comments"
            ),
        }
    }
}
