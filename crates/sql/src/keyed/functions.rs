//! The table functions `snapshot('orders', 'monday')`, `changes('orders', 17)`, `snapshots()` and `constraints('orders')`.

use std::sync::Arc;

use datafusion::common::{Result, plan_err};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::prelude::col;
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, TableFactor, Value, ValueWithSpan};

use lath_table::Constraint;

use super::table::KeyedTable;
use super::tables::SessionTables;
use crate::error::table_error;

/// Plans calls of the functions.
#[derive(Debug)]
pub(crate) struct TableFunctions {
    pub(crate) tables: Arc<SessionTables>,
}

impl RelationPlanner for TableFunctions {
    fn plan_relation(&self, relation: TableFactor, _: &mut dyn RelationPlannerContext) -> Result<RelationPlanning> {
        let TableFactor::Table { name, args: Some(arguments), alias, .. } = &relation else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let name = name.to_string().to_ascii_lowercase();
        let values: Vec<Option<&Value>> = arguments.args.iter().map(value).collect();
        let plan = match (name.as_str(), values.as_slice()) {
            ("snapshot", [Some(Value::SingleQuotedString(table)), Some(Value::SingleQuotedString(snapshot))]) => {
                scan(self.tables.keyed(table)?.at_snapshot(snapshot)?)?
            }
            ("snapshot", _) => {
                return plan_err!("snapshot takes the names of a table and of a snapshot: snapshot('t', 's')");
            }
            ("changes", [Some(Value::SingleQuotedString(table))]) => scan(self.tables.keyed(table)?.all_changes()?)?,
            ("changes", [Some(Value::SingleQuotedString(table)), Some(Value::Number(since, _))]) => {
                let Ok(since) = since.parse() else {
                    return plan_err!("changes: {since} is not the number of a commit");
                };
                scan(self.tables.keyed(table)?.changes_since(since)?)?
            }
            ("changes", _) => {
                return plan_err!(
                    "changes takes the name of a table, and the number of the commit to begin after: changes('t', 17)"
                );
            }
            ("snapshots", []) => self.snapshots()?,
            ("snapshots", [Some(Value::SingleQuotedString(table))]) => {
                names(self.tables.keyed(table)?.table().snapshot_names().map_err(table_error)?)?
            }
            ("constraints", [Some(Value::SingleQuotedString(table))]) => constraints(&self.tables.keyed(table)?)?,
            ("constraints", _) => return plan_err!("constraints takes the name of a table"),
            ("snapshots", _) => return plan_err!("snapshots takes no argument, or the name of a table"),
            _ => return Ok(RelationPlanning::Original(Box::new(relation))),
        };
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias.clone()))))
    }
}

impl TableFunctions {
    /// Plans a table with the names of the database's snapshots.
    fn snapshots(&self) -> Result<LogicalPlan> {
        match self.tables.database() {
            Some(database) => {
                names(database.snapshot().and_then(|newest| newest.snapshot_names()).map_err(table_error)?)
            }
            None => {
                plan_err!("the session has no database; snapshots('table') lists the snapshots of an attached table")
            }
        }
    }
}

fn value(argument: &FunctionArg) -> Option<&Value> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(ValueWithSpan { value, .. }))) => Some(value),
        _ => None,
    }
}

fn scan(table: KeyedTable) -> Result<LogicalPlan> {
    let name = table.name().to_owned();
    LogicalPlanBuilder::scan(datafusion::common::TableReference::bare(name), provider_as_source(Arc::new(table)), None)?
        .build()
}

/// A table with one column of names.
fn names(names: Vec<String>) -> Result<LogicalPlan> {
    texts(["name"], names.into_iter().map(|name| [Some(name)]).collect())
}

/// The constraints of a table, besides its keys.
fn constraints(table: &KeyedTable) -> Result<LogicalPlan> {
    let snapshot = table.table().snapshot().map_err(table_error)?;
    let row = |constraint: Constraint| match constraint {
        Constraint::Check { name, condition } => Some([Some(name), Some(condition.to_string())]),
        Constraint::MaxChars { column, chars } => {
            let column = column.replace('"', "\"\"");
            Some([None, Some(format!("char_length(\"{column}\") <= {chars}"))])
        }
        _ => None,
    };
    texts(["name", "condition"], snapshot.constraints().into_iter().filter_map(row).collect())
}

/// A table of texts.
fn texts<const N: usize>(names: [&str; N], rows: Vec<[Option<String>; N]>) -> Result<LogicalPlan> {
    use datafusion::logical_expr::Expr;
    let is_empty = rows.is_empty();
    let rows = if is_empty { vec![std::array::from_fn(|_| Some(String::new()))] } else { rows };
    let value = |text: Option<String>| Expr::Literal(ScalarValue::Utf8(text), None);
    let rows: Vec<Vec<Expr>> = rows.into_iter().map(|row| row.into_iter().map(value).collect()).collect();
    let columns = (1..).zip(names).map(|(number, name)| col(format!("column{number}")).alias(name));
    let named = LogicalPlanBuilder::values(rows)?.project(columns)?;
    if is_empty { named.limit(0, Some(0))?.build() } else { named.build() }
}
