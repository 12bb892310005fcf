//! An earlier state of a table: `FROM t AT (VERSION => 17)`, `AT (TIMESTAMP => '2026-11-28 12:00')`, `AT (SNAPSHOT => 'monday')`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{DFSchema, Result, plan_err};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::{FunctionArg, FunctionArgExpr};
use lath_table::Snapshot;

use crate::dialect::AT_PREFIX;
use crate::error::table_error;

/// An earlier state of a table, chosen by a statement.
#[derive(Debug, Clone)]
pub(crate) enum EarlierState {
    /// The one that was kept under a name.
    Snapshot(String),
    /// The one after a commit.
    Version(u64),
    Time(SystemTime),
    /// One that a program has opened.
    Open(Box<Snapshot>),
}

impl EarlierState {
    /// The state that the arguments of a table choose; `None` if they choose none.
    pub(crate) fn from_arguments(
        arguments: &[FunctionArg],
        context: &mut dyn RelationPlannerContext,
    ) -> Result<Option<Self>> {
        let [FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. }] = arguments else { return Ok(None) };
        let Some(kind) = name.value.strip_prefix(AT_PREFIX) else { return Ok(None) };
        let value = context.sql_to_expr(value.clone(), &DFSchema::empty())?;
        let value = constant(value)?;
        let state = match kind {
            "version" => match value.cast_to(&DataType::UInt64) {
                Ok(ScalarValue::UInt64(Some(version))) if value.data_type().is_integer() => Self::Version(version),
                _ => return plan_err!("AT (VERSION => {value}): a version is the number of a commit"),
            },
            "timestamp" => match timestamp(&value) {
                Some(time) => {
                    let since = Duration::from_micros(time.unsigned_abs());
                    Self::Time(if time < 0 { UNIX_EPOCH - since } else { UNIX_EPOCH + since })
                }
                _ => return plan_err!("AT (TIMESTAMP => {value}): a time is written as '2026-11-28 12:00:00'"),
            },
            _ => match value {
                ScalarValue::Utf8(Some(name)) | ScalarValue::Utf8View(Some(name)) => Self::Snapshot(name),
                _ => return plan_err!("AT (SNAPSHOT => {value}): the name of a snapshot is a text, in single quotes"),
            },
        };
        Ok(Some(state))
    }

    /// This state of a table.
    pub(crate) fn read(&self, table: &Snapshot) -> Result<Snapshot> {
        let state = match self {
            Self::Snapshot(name) => table.snapshot_named(name),
            Self::Version(version) => table.at_version(*version),
            Self::Time(time) => table.at_time(*time),
            Self::Open(snapshot) => Ok(Snapshot::clone(snapshot)),
        };
        state.map_err(table_error)
    }
}

/// Microseconds since 1970 of a timestamp, a date, or a text, which may leave the seconds out.
fn timestamp(value: &ScalarValue) -> Option<i64> {
    if value.data_type().is_numeric() {
        return None;
    }
    let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into()));
    let cast = |value: &ScalarValue| match value.cast_to(&utc) {
        Ok(ScalarValue::TimestampMicrosecond(time, _)) => time,
        _ => None,
    };
    let with_seconds = || cast(&ScalarValue::from(format!("{}:00", value.try_as_str().flatten()?)));
    cast(value).or_else(with_seconds)
}

/// The value of an expression without columns.
fn constant(expr: Expr) -> Result<ScalarValue> {
    let context = SimplifyContext::builder().with_current_time().build();
    let simplifier = ExprSimplifier::new(context);
    match simplifier.simplify(simplifier.coerce(expr, &DFSchema::empty())?)? {
        Expr::Literal(value, _) => Ok(value),
        other => plan_err!("AT takes a constant, and not {other}"),
    }
}
