//! The table functions `snapshot('orders', 'monday')`, `changes('orders', 17)`, `snapshots()`, `history()`, `sequences()`, `comments()` and
//! `constraints('orders')`.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use datafusion::common::{Result, TableReference, plan_err};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, TableFactor, Value, ValueWithSpan};

use lath_table::{Constraint, ForeignKeyAction, ForeignKeyInfo, KeptCommit, KeptSnapshot, SequenceOptions};

use super::comments::all_comments;
use super::earlier::EarlierState;
use super::feed::{consumers, named_changes};
use super::planned_rows::{rows, texts};
use super::table::KeyedTable;
use super::tables::SessionTables;
use crate::computed::OWN_SEQUENCE;
use crate::error::table_error;

/// Plans calls of the functions.
#[derive(Debug)]
pub(crate) struct TableFunctions {
    pub(crate) tables: Arc<SessionTables>,
}

impl RelationPlanner for TableFunctions {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let TableFactor::Table { name, args: Some(arguments), alias, .. } = &relation else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        if let Some(state) = EarlierState::from_arguments(&arguments.args, context)? {
            let mut plain = relation.clone();
            if let TableFactor::Table { args, alias, .. } = &mut plain {
                (*args, *alias) = (None, None);
            }
            let plain = context.plan(plain)?;
            let table = self.at(context.object_name_to_table_reference(name.clone())?, &plain, state)?;
            return Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(scan(table)?, alias.clone()))));
        }
        let name = name.to_string().to_ascii_lowercase();
        let values: Vec<Option<&Value>> = arguments.args.iter().map(value).collect();
        let named = match name.as_str() {
            "changes" => named_changes(&self.tables, &arguments.args)?,
            _ => None,
        };
        if let Some(table) = named {
            return Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(scan(table)?, alias.clone()))));
        }
        let plan = match (name.as_str(), values.as_slice()) {
            ("snapshot", [Some(Value::SingleQuotedString(table)), Some(Value::SingleQuotedString(snapshot))]) => {
                scan(self.tables.keyed(table)?.at(EarlierState::Snapshot(snapshot.clone()))?)?
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
                let newest = self.tables.keyed(table)?.table().snapshot();
                snapshots(newest.and_then(|newest| newest.kept_snapshots()).map_err(table_error)?)?
            }
            ("history", []) => self.history()?,
            ("history", [Some(Value::SingleQuotedString(table))]) => {
                let newest = self.tables.keyed(table)?.table().snapshot();
                commits(newest.and_then(|newest| newest.history()).map_err(table_error)?)?
            }
            ("history", _) => return plan_err!("history takes no argument, or the name of a table"),
            ("comments", []) => all_comments(&self.tables)?,
            ("comments", _) => return plan_err!("comments takes no argument"),
            ("sequences", []) => self.sequences()?,
            ("sequences", _) => return plan_err!("sequences takes no argument"),
            ("consumers", [Some(Value::SingleQuotedString(table))]) => consumers(&self.tables.keyed(table)?)?,
            ("consumers", _) => return plan_err!("consumers takes the name of a table"),
            ("constraints", [Some(Value::SingleQuotedString(table))]) => constraints(&self.tables.keyed(table)?)?,
            ("constraints", _) => return plan_err!("constraints takes the name of a table"),
            ("snapshots", _) => return plan_err!("snapshots takes no argument, or the name of a table"),
            _ => return Ok(RelationPlanning::Original(Box::new(relation))),
        };
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias.clone()))))
    }
}

impl TableFunctions {
    /// A table of the database in an earlier state.
    fn at(&self, name: TableReference, plain: &LogicalPlan, state: EarlierState) -> Result<KeyedTable> {
        // The name may be that of a common table expression, a view or a file.
        let is_table = match plain {
            LogicalPlan::TableScan(scan) => source_as_provider(&scan.source)?.is::<KeyedTable>(),
            _ => false,
        };
        match self.tables.keyed(name.table()) {
            Ok(table) if is_table => table.at(state),
            _ => plan_err!(
                "AT reads an earlier state of a table of the database, and {name} is none; a lake's table is read by delta('folder', version => 3) or \
                 iceberg('folder', snapshot => 3)"
            ),
        }
    }

    /// Plans a table of the commits whose states can be read.
    fn history(&self) -> Result<LogicalPlan> {
        let Some(database) = self.tables.database()? else {
            return plan_err!("the session has no database; history('table') lists the versions of an attached table");
        };
        commits(database.snapshot().and_then(|newest| newest.history()).map_err(table_error)?)
    }

    /// Plans a table of the database's snapshots.
    fn snapshots(&self) -> Result<LogicalPlan> {
        match self.tables.database()? {
            Some(database) => {
                snapshots(database.snapshot().and_then(|newest| newest.kept_snapshots()).map_err(table_error)?)
            }
            None => {
                plan_err!("the session has no database; snapshots('table') lists the snapshots of an attached table")
            }
        }
    }
}

impl TableFunctions {
    /// Plans a table with the sequences of the database, without the ones of columns.
    fn sequences(&self) -> Result<LogicalPlan> {
        let Some(database) = self.tables.database()? else {
            return plan_err!("the session has no database, and so no sequences");
        };
        let sequences = self.tables.transaction().sequences(&database)?;
        let row = |(name, options): (String, SequenceOptions)| {
            let SequenceOptions { start, increment, min, max, cycle } = options;
            let numbers = [start, increment, min, max].map(|number| Some(number.to_string()));
            let [start, increment, min, max] = numbers;
            [Some(name), start, increment, min, max, Some(cycle.to_string())]
        };
        let own = |(name, _): &(String, SequenceOptions)| !name.starts_with(OWN_SEQUENCE);
        let names = ["name", "start", "increment", "min", "max", "cycle"];
        texts(names, sequences.into_iter().filter(own).map(row).collect())
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
    LogicalPlanBuilder::scan(TableReference::bare(name), provider_as_source(Arc::new(table)), None)?.build()
}

fn timestamp(time: SystemTime) -> ScalarValue {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let microseconds = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
    ScalarValue::TimestampMicrosecond(Some(microseconds), Some("+00:00".into()))
}

fn commits(commits: Vec<KeptCommit>) -> Result<LogicalPlan> {
    let row = |commit: KeptCommit| [ScalarValue::UInt64(Some(commit.version)), timestamp(commit.time)];
    let none = [ScalarValue::UInt64(None), timestamp(UNIX_EPOCH)];
    rows(["version", "time"], commits.into_iter().map(row).collect(), none)
}

fn snapshots(snapshots: Vec<KeptSnapshot>) -> Result<LogicalPlan> {
    let null = || ScalarValue::TimestampMicrosecond(None, Some("+00:00".into()));
    let row = |snapshot: KeptSnapshot| {
        [
            ScalarValue::Utf8(Some(snapshot.name)),
            ScalarValue::UInt64(Some(snapshot.version)),
            snapshot.time.map_or_else(null, timestamp),
            ScalarValue::UInt64(Some(snapshot.bytes)),
        ]
    };
    let none = [ScalarValue::Utf8(None), ScalarValue::UInt64(None), null(), ScalarValue::UInt64(None)];
    rows(["name", "version", "time", "bytes"], snapshots.into_iter().map(row).collect(), none)
}

/// The constraints of a table, besides its keys.
fn constraints(table: &KeyedTable) -> Result<LogicalPlan> {
    let snapshot = table.newest()?;
    let row = |constraint: Constraint| match constraint {
        Constraint::Check { name, condition } => Some([Some(name), Some(condition.to_string())]),
        Constraint::MaxChars { column, chars } => {
            Some([None, Some(format!("char_length({}) <= {chars}", quoted(&column)))])
        }
        _ => None,
    };
    let mut all: Vec<_> = snapshot.constraints().into_iter().filter_map(row).collect();
    let names = |names: &[String]| names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    for key in table.foreign_keys()? {
        let ForeignKeyInfo { name, columns, referred_table, referred_columns, actions, .. } = key;
        let (columns, referred) = (names(&columns), names(&referred_columns));
        let actions = [(" ON DELETE ", actions.on_delete), (" ON UPDATE ", actions.on_update)].map(|(when, action)| {
            let action = match action {
                ForeignKeyAction::Cascade => "CASCADE",
                ForeignKeyAction::SetNull => "SET NULL",
                ForeignKeyAction::Restrict => "RESTRICT",
                _ => return String::new(),
            };
            format!("{when}{action}")
        });
        let text =
            format!("FOREIGN KEY ({columns}) REFERENCES {} ({referred}){}", quoted(&referred_table), actions.concat());
        all.push([Some(name), Some(text)]);
    }
    texts(["name", "condition"], all)
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
