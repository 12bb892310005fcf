//! `FOREIGN KEY (…) REFERENCES t (…)` in `CREATE TABLE` and `ALTER TABLE`.

use std::collections::BTreeSet;

use datafusion::catalog::TableProvider;
use datafusion::common::{Result, plan_err};
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{
    ColumnDef, ColumnOption, ForeignKeyConstraint, Ident, ObjectName, ReferentialAction, TableConstraint,
};
use lath_table::{ForeignKeyAction, ForeignKeyActions};

use super::Definitions;
use super::constraint_names::{check_names, free_name};
use super::index::check_are_no_numbers;
use crate::dialect::normal;
use crate::keyed::KeyedTable;

/// A foreign key as a statement declares it.
#[derive(Debug)]
pub(super) struct DeclaredForeignKey {
    name: Option<String>,
    columns: Vec<String>,
    referred: ObjectName,
    /// None stand for the primary key.
    referred_columns: Vec<String>,
    actions: ForeignKeyActions,
}

impl DeclaredForeignKey {
    pub(super) fn new(key: &ForeignKeyConstraint, name: Option<&Ident>, columns: Vec<String>) -> Self {
        Self {
            name: name.or(key.name.as_ref()).map(normal),
            columns,
            referred: key.foreign_table.clone(),
            referred_columns: key.referred_columns.iter().map(normal).collect(),
            actions: ForeignKeyActions::new(action(key.on_delete), action(key.on_update)),
        }
    }
}

fn action(action: Option<ReferentialAction>) -> ForeignKeyAction {
    match action {
        Some(ReferentialAction::Cascade) => ForeignKeyAction::Cascade,
        Some(ReferentialAction::SetNull) => ForeignKeyAction::SetNull,
        Some(ReferentialAction::Restrict) => ForeignKeyAction::Restrict,
        // SET DEFAULT was refused.
        Some(ReferentialAction::NoAction | ReferentialAction::SetDefault) | None => ForeignKeyAction::NoAction,
    }
}

/// Takes the foreign keys out of definitions of columns and tables.
pub(super) fn take_foreign_keys(
    columns: &mut [ColumnDef],
    constraints: &mut Vec<TableConstraint>,
) -> Vec<DeclaredForeignKey> {
    let mut declared = Vec::new();
    for column in columns {
        let own = vec![normal(&column.name)];
        column.options.retain(|option| match &option.option {
            ColumnOption::ForeignKey(key) => {
                declared.push(DeclaredForeignKey::new(key, option.name.as_ref(), own.clone()));
                false
            }
            _ => true,
        });
    }
    constraints.retain(|constraint| match constraint {
        TableConstraint::ForeignKey(key) => {
            declared.push(DeclaredForeignKey::new(key, None, key.columns.iter().map(normal).collect()));
            false
        }
        _ => true,
    });
    declared
}

impl Definitions<'_> {
    /// Adds foreign keys to a table, which is called `stored` while it is being created.
    pub(super) async fn add_foreign_keys(
        &self,
        table: &str,
        stored: &str,
        declared: Vec<DeclaredForeignKey>,
    ) -> Result<()> {
        let mut taken: BTreeSet<String> = declared.iter().filter_map(|key| key.name.clone()).collect();
        if !declared.is_empty() {
            let own = self.stored(stored)?;
            taken.extend(check_names(&own.newest()?.constraints()));
            taken.extend(own.foreign_keys()?.into_iter().map(|key| key.name));
        }
        for DeclaredForeignKey { name, columns, referred, referred_columns, actions } in declared {
            let reference = object_name_to_table_reference(referred, true)?;
            let referred = match self.plain_name(&reference) {
                Some(name) if name == table => stored.to_owned(),
                Some(name) if self.tables.is_in_database(&name)? => name,
                _ => {
                    return plan_err!(
                        "REFERENCES {reference}: the database has no table of this name; create it first"
                    );
                }
            };
            check_has_no_numbers(&self.stored(stored)?, &columns)?;
            let other = self.stored(&referred)?;
            check_has_no_numbers(&other, &referred_columns)?;
            if other.has_row_numbers() && referred_columns.is_empty() {
                return plan_err!(
                    "REFERENCES {reference}: this table has no PRIMARY KEY; name columns of it that are UNIQUE"
                );
            }
            self.check_can_act(stored, &columns, actions)?;
            let name = name.unwrap_or_else(|| free_name(format!("{table}_{}_fkey", columns.join("_")), &taken));
            taken.insert(name.clone());
            let stored = stored.to_owned();
            self.change_database(move |transaction| {
                transaction.add_foreign_key(&stored, &name, &columns, &referred, &referred_columns, actions)
            })
            .await?;
        }
        Ok(())
    }
}

impl Definitions<'_> {
    /// Returns an error for actions that would change columns in a way that the table refuses.
    fn check_can_act(&self, table: &str, columns: &[String], actions: ForeignKeyActions) -> Result<()> {
        let ForeignKeyActions { on_delete, on_update, .. } = actions;
        let table = self.stored(table)?;
        let schema = table.schema();
        if on_delete == ForeignKeyAction::SetNull || on_update == ForeignKeyAction::SetNull {
            let is_not_null =
                |name: &&String| schema.column_with_name(name).is_some_and(|(_, field)| !field.is_nullable());
            if let Some(column) = columns.iter().find(is_not_null) {
                return plan_err!("SET NULL: column {column:?} is NOT NULL; allow nulls, or write another action");
            }
        }
        let sets = on_delete == ForeignKeyAction::SetNull
            || matches!(on_update, ForeignKeyAction::SetNull | ForeignKeyAction::Cascade);
        for column in columns.iter().filter(|_| sets) {
            if let Some((other, text)) = table.generated_from(column)? {
                return plan_err!(
                    "the foreign key would change column {column:?}, from which column {other:?} is generated ({text}); leave out ON UPDATE and SET NULL"
                );
            }
        }
        Ok(())
    }
}

/// Returns an error if a table without a key has its numbers of rows among these columns.
fn check_has_no_numbers(table: &KeyedTable, columns: &[String]) -> Result<()> {
    match table.has_row_numbers() {
        true => check_are_no_numbers(columns.iter()),
        false => Ok(()),
    }
}
