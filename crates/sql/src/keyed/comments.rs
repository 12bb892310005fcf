//! Lists the comments on tables, columns and views.

use arrow_schema::DataType;
use datafusion::catalog::TableProvider;
use datafusion::common::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;

use super::comment_text::COMMENT;
use super::planned_rows::texts;
use super::table::KeyedTable;
use super::tables::SessionTables;

/// The comments of a table.
struct TableComments {
    table: Option<String>,
    /// Columns that have one, and their comments.
    columns: Vec<(String, String)>,
}

impl TableComments {
    fn new(table: &KeyedTable) -> Result<Self> {
        let newest = table.newest()?;
        let schema = newest.schema();
        let column =
            |field: &arrow_schema::FieldRef| Some((field.name().clone(), field.metadata().get(COMMENT)?.clone()));
        let columns = schema.fields().iter().filter_map(column).collect();
        Ok(Self { table: schema.metadata().get(COMMENT).cloned(), columns })
    }
}

/// Plans a table with all comments.
pub(super) fn all_comments(tables: &SessionTables) -> Result<LogicalPlan> {
    let mut rows = Vec::new();
    for table in tables.all_keyed()? {
        let TableComments { table: comment, columns } = TableComments::new(&table)?;
        let name = || Some(table.name().to_owned());
        rows.extend(comment.map(|comment| [name(), None, Some(comment)]));
        rows.extend(columns.into_iter().map(|(column, comment)| [name(), Some(column), Some(comment)]));
    }
    for (view, comment) in tables.view_comments()? {
        rows.push([Some(view), None, Some(comment)]);
    }
    texts(["table_name", "column_name", "comment"], rows)
}

/// Plans `DESCRIBE t` of a table whose columns have comments; `None` for others.
pub(crate) async fn plan_described(state: &SessionState, statement: &Statement) -> Result<Option<LogicalPlan>> {
    let Statement::Statement(statement) = statement else { return Ok(None) };
    let SqlStatement::ExplainTable { table_name, .. } = statement.as_ref() else { return Ok(None) };
    let reference = object_name_to_table_reference(table_name.clone(), true)?;
    let Some(table) = state.schema_for_ref(reference.clone())?.table(reference.table()).await? else { return Ok(None) };
    let Some(table) = table.downcast_ref::<KeyedTable>() else { return Ok(None) };
    let comments = TableComments::new(table)?.columns;
    if comments.is_empty() {
        return Ok(None);
    }
    let schema = table.schema();
    let row = |field: &arrow_schema::FieldRef| {
        let comment = comments.iter().find(|(name, _)| name == field.name()).map(|(_, comment)| comment.clone());
        let data_type: &DataType = field.data_type();
        let is_nullable = if field.is_nullable() { "YES" } else { "NO" };
        [Some(field.name().clone()), Some(data_type.to_string()), Some(is_nullable.to_owned()), comment]
    };
    let rows = schema.fields().iter().map(row).collect();
    texts(["column_name", "data_type", "is_nullable", "comment"], rows).map(Some)
}
