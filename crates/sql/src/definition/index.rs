//! `CREATE INDEX` and `DROP INDEX`.

use datafusion::common::{Result, plan_err};
use datafusion::sql::sqlparser::ast::{CreateIndex, Expr, IndexColumn, ObjectName};

use super::{Definitions, last_part};
use crate::dialect::normal;
use crate::keyed::{KeyedTable, ROW_COLUMN};

impl Definitions<'_> {
    pub(super) async fn create_index(&self, create: &CreateIndex) -> Result<()> {
        let Some(name) = &create.name else {
            return plan_err!("an index needs a name; write CREATE INDEX name ON …");
        };
        let name = last_part(name)?;
        let is_plain = create.using.is_none()
            && !create.concurrently
            && create.include.is_empty()
            && create.nulls_distinct != Some(false)
            && create.with.is_empty()
            && create.predicate.is_none()
            && create.index_options.is_empty()
            && create.alter_options.is_empty();
        if !is_plain {
            return plan_err!(
                "indexes are created by CREATE [UNIQUE] INDEX [IF NOT EXISTS] name ON table (columns); leave out other clauses"
            );
        }
        let table = self.keyed(&create.table_name)?;
        if create.if_not_exists && has_index(&table, &name)? {
            return Ok(());
        }
        let columns = create.columns.iter().map(indexed_column).collect::<Result<Vec<_>>>()?;
        if table.has_row_numbers() {
            check_are_no_numbers(columns.iter())?;
        }
        let is_unique = create.unique;
        self.change_table(&table, move |transaction| transaction.create_index(&name, &columns, is_unique)).await
    }

    /// Drops an index: `DROP INDEX name ON table`, `DROP INDEX table.name`, or `DROP INDEX name` if a single table has an index of this
    /// name.
    pub(super) async fn drop_index(
        &self,
        names: &[ObjectName],
        table: Option<&ObjectName>,
        if_exists: bool,
    ) -> Result<()> {
        let [name] = names else { return plan_err!("DROP INDEX drops one index; write a statement for each") };
        let (index, owner) = (last_part(name)?, ObjectName(name.0[..name.0.len() - 1].to_vec()));
        let tables = match table {
            Some(table) => vec![self.keyed(table)?],
            None if !owner.0.is_empty() => vec![self.keyed(&owner)?],
            None => self.tables.all_keyed()?,
        };
        let mut having = Vec::new();
        for table in tables {
            if has_index(&table, &index)? {
                having.push(table);
            }
        }
        match having.as_slice() {
            [] if if_exists => Ok(()),
            [] => plan_err!("there is no index {index:?}"),
            [table] => self.change_table(table, move |transaction| transaction.drop_index(&index)).await,
            [one, other, ..] => plan_err!(
                "tables {:?} and {:?} both have an index {index:?}; write DROP INDEX {index} ON table",
                one.name(),
                other.name()
            ),
        }
    }
}

fn has_index(table: &KeyedTable, name: &str) -> Result<bool> {
    Ok(table.newest()?.indexes().iter().any(|index| index.name == name))
}

/// A column of an index. Indexes find equal values, so the order of their entries makes no difference.
fn indexed_column(column: &IndexColumn) -> Result<String> {
    if !matches!(column.column.expr, Expr::Identifier(_)) {
        return plan_err!(
            "{column}: indexes take columns; create the table with a column GENERATED ALWAYS AS ({}) STORED, and an index on it",
            column.column.expr
        );
    }
    let mut ascending = column.clone();
    ascending.column.options.asc = None;
    ascending.column.options.nulls_first = None;
    column_name(&ascending)
}

pub(super) fn column_name(column: &IndexColumn) -> Result<String> {
    let options = &column.column.options;
    match &column.column.expr {
        Expr::Identifier(ident)
            if column.operator_class.is_none()
                && options.asc != Some(false)
                && options.nulls_first.is_none()
                && column.column.with_fill.is_none() =>
        {
            Ok(normal(ident))
        }
        _ => plan_err!("{column}: keys and indexes take names of columns, in ascending order"),
    }
}

/// Returns an error if columns of an index or of CLUSTER BY include the numbers of the rows of a table without a key.
pub(super) fn check_are_no_numbers<'c>(mut columns: impl Iterator<Item = &'c String>) -> Result<()> {
    match columns.any(|column| column == ROW_COLUMN) {
        true => plan_err!("the numbers of rows, {ROW_COLUMN}, are hidden from statements; name other columns"),
        false => Ok(()),
    }
}
