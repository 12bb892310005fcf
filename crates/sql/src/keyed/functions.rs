//! The table functions `snapshot('orders', 'monday')`, `changes('orders', 17)` and `snapshots()`.

use std::sync::Arc;

use datafusion::common::{Result, plan_err};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, lit};
use datafusion::sql::sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, TableFactor, Value, ValueWithSpan};

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
    use datafusion::logical_expr::Expr;
    let is_empty = names.is_empty();
    let rows: Vec<Vec<Expr>> =
        if is_empty { vec![vec![lit("")]] } else { names.into_iter().map(|name| vec![lit(name)]).collect() };
    let named = LogicalPlanBuilder::values(rows)?.project([datafusion::prelude::col("column1").alias("name")])?;
    if is_empty { named.limit(0, Some(0))?.build() } else { named.build() }
}
