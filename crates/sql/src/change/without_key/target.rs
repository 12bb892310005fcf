//! Changes of tables without a primary key, whose rows have hidden numbers as keys.
//!
//! Queries do not see the numbers. A statement that changes rows has to: its target gets the name under which the table shows them, and the
//! table's own name as its alias.

use datafusion::catalog::TableProvider;
use datafusion::common::Result;
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{
    FromTable, Ident, Merge, MergeAction, ObjectName, ObjectNamePart, Statement as SqlStatement, TableAlias,
    TableFactor,
};

use crate::dialect::normal;
use crate::keyed::{KeyedTable, SessionTables, WITH_ROW_COLUMN};
use crate::statement::explained;

/// Renames the target of an UPDATE, a DELETE or a MERGE, if it is a table without a primary key.
pub(crate) fn adapt_row_target(statement: &mut Statement, tables: &SessionTables) -> Result<()> {
    let Statement::Statement(inner) = explained(statement) else { return Ok(()) };
    match inner.as_mut() {
        SqlStatement::Update(update) => drop(rename(&mut update.table.relation, tables)?),
        SqlStatement::Delete(delete) => {
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &mut delete.from;
            if let Some(target) = from.first_mut() {
                rename(&mut target.relation, tables)?;
            }
        }
        SqlStatement::Merge(merge) => {
            if let Some(table) = rename(&mut merge.table, tables)? {
                name_inserted_columns(merge, &table);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Renames a table without a primary key, and returns it.
fn rename(target: &mut TableFactor, tables: &SessionTables) -> Result<Option<KeyedTable>> {
    let TableFactor::Table { name, alias, args: None, .. } = target else { return Ok(None) };
    let reference = object_name_to_table_reference(name.clone(), true)?;
    let Some(table) = tables.keyed(reference.table()).ok().filter(KeyedTable::hides_rows) else { return Ok(None) };
    let Some(ObjectNamePart::Identifier(ident)) = name.0.last_mut() else { return Ok(None) };
    alias.get_or_insert_with(|| TableAlias { explicit: true, name: ident.clone(), columns: Vec::new(), at: None });
    *ident = Ident { value: format!("{}{WITH_ROW_COLUMN}", normal(ident)), quote_style: Some('"'), span: ident.span };
    Ok(Some(table))
}

/// `INSERT VALUES` gives values for the columns that queries see.
fn name_inserted_columns(merge: &mut Merge, table: &KeyedTable) {
    for clause in &mut merge.clauses {
        if let MergeAction::Insert(insert) = &mut clause.action
            && insert.columns.is_empty()
        {
            let schema = table.schema();
            let column = |name: &String| ObjectName::from(vec![Ident::with_quote('"', name)]);
            insert.columns = schema.fields().iter().map(|field| column(field.name())).collect();
        }
    }
}
