//! `CALL keep_snapshot('monday')` and other maintenance of tables.

use std::time::Duration;

use datafusion::arrow::compute::kernels::cast_utils::parse_interval_month_day_nano;
use datafusion::common::{Result, plan_err};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator, Value, ValueWithSpan,
};
use lath_table::{ChangeRetention, HistoryRetention, PublishOptions, Table};

use super::{Definitions, last_part};
use crate::computed::Computation;
use crate::dialect::normal;
use crate::error::table_work;
use crate::grammar::ALTER_SEQUENCE;

/// The supported calls, for messages.
const CALLS: &str = "keep_snapshot('name'), drop_snapshot('name'), keep_history(age => '7 days', commits => number), drop_history(), keep_changes('table', rows), drop_changes('table'), add_consumer('table', 'name', bootstrap => true, rows => number), acknowledge_changes('table', 'name', sequence), drop_consumer('table', 'name'), publish('table', keep => seconds, \
                     max_age => seconds, map_types => true, formats => 'iceberg,delta'), publish_now('table'), stop_publishing('table'), flush('table'), compact('table'), \
                     vacuum('table'), restart_sequence('name', number), restart_identity('table', 'column', number), import('table', 'folder', key => 'column,column', at => version, copy => true); for a snapshot of an attached table, give the name of the table first";

/// An argument of a call.
pub(super) enum Argument {
    Text(String),
    Number(u64),
    /// A number below zero.
    Negative(i64),
    Flag(bool),
}

/// An argument that is given by its name.
pub(super) type NamedArgument = (String, Argument);

impl Definitions<'_> {
    pub(super) async fn call(&self, function: &Function) -> Result<()> {
        use Argument::{Negative, Number, Text};
        let name = last_part(&function.name)?;
        let (arguments, named) = arguments(function)?;
        match (name.as_str(), arguments.as_slice()) {
            ("publish", [Text(table)]) => {
                let (table, options) = (self.handle(table)?, publish_options(&named)?);
                table_work(move || table.publish(options).map(drop)).await
            }
            ("import", [Text(table), Text(source)]) => self.import(table, source, &named).await,
            ("keep_history", []) => {
                let (database, retention) = (self.database()?, history_retention(&named)?);
                table_work(move || database.keep_history(retention)).await
            }
            ("keep_history", [Text(table)]) => {
                let (table, retention) = (self.handle(table)?, history_retention(&named)?);
                table_work(move || table.keep_history(retention)).await
            }
            (ALTER_SEQUENCE, [Text(name)]) => self.alter_sequence(name, &named).await,
            ("add_consumer", [Text(table), Text(name)]) => self.add_consumer(table, name, &named).await,
            _ if !named.is_empty() => {
                plan_err!(
                    "{function} has arguments by name, which only keep_history, publish, add_consumer and import take; the calls are {CALLS}"
                )
            }
            ("publish_now", [Text(table)]) => {
                let table = self.handle(table)?;
                table_work(move || table.publish_now().map(drop)).await
            }
            ("stop_publishing", [Text(table)]) => {
                let table = self.handle(table)?;
                table_work(move || table.stop_publishing()).await
            }
            ("keep_snapshot", [Text(name)]) => {
                let (database, name) = (self.database()?, name.clone());
                table_work(move || database.keep_snapshot(&name)).await
            }
            ("drop_snapshot", [Text(name)]) => {
                let (database, name) = (self.database()?, name.clone());
                table_work(move || database.drop_snapshot(&name)).await
            }
            ("keep_snapshot", [Text(table), Text(name)]) => {
                let (table, name) = (self.handle(table)?, name.clone());
                table_work(move || table.keep_snapshot(&name)).await
            }
            ("drop_snapshot", [Text(table), Text(name)]) => {
                let (table, name) = (self.handle(table)?, name.clone());
                table_work(move || table.drop_snapshot(&name)).await
            }
            ("drop_history", []) => {
                let database = self.database()?;
                table_work(move || database.drop_history()).await
            }
            ("drop_history", [Text(table)]) => {
                let table = self.handle(table)?;
                table_work(move || table.drop_history()).await
            }
            ("keep_changes", [Text(table), Number(rows)]) => {
                let (table, retention) = (self.handle(table)?, ChangeRetention::new().rows(*rows));
                table_work(move || table.keep_changes(retention)).await
            }
            ("drop_changes", [Text(table)]) => {
                let table = self.handle(table)?;
                table_work(move || table.drop_changes()).await
            }
            ("drop_consumer", [Text(table), Text(name)]) => {
                let (table, name) = (self.handle(table)?, name.clone());
                table_work(move || table.drop_consumer(&name)).await
            }
            ("acknowledge_changes", [Text(table), Text(name), Number(sequence)]) => {
                let (table, name, sequence) = (self.handle(table)?, name.clone(), *sequence);
                table_work(move || table.acknowledge(&name, sequence)).await
            }
            ("flush", [Text(table)]) => {
                let table = self.handle(table)?;
                table_work(move || table.flush().map(drop)).await
            }
            ("compact", [Text(table)]) => {
                let table = self.handle(table)?;
                table_work(move || table.compact().map(drop)).await
            }
            ("restart_sequence", [Text(name), next @ (Number(_) | Negative(_))]) => {
                let (database, name, next) = (self.database()?, name.clone(), whole(next)?);
                table_work(move || database.restart_sequence(&name, next)).await
            }
            ("restart_identity", [Text(table), Text(column), next @ (Number(_) | Negative(_))]) => {
                let (table, database, next) = (self.tables.keyed(table)?, self.database()?, whole(next)?);
                let found = table.computed().iter().find(|computed| computed.name == *column);
                let Some(Computation::Identity { sequence, .. }) = found.map(|found| found.computation.clone()) else {
                    return plan_err!("table {:?} has no identity column {column:?}", table.name());
                };
                table_work(move || database.restart_sequence(&sequence, next)).await
            }
            ("vacuum", [Text(table)]) => {
                let table = self.handle(table)?;
                table_work(move || table.vacuum().map(drop)).await
            }
            _ => plan_err!("unknown call {function}; the calls are {CALLS}"),
        }
    }

    fn handle(&self, name: &str) -> Result<Table> {
        Ok(self.tables.keyed(name)?.table().clone())
    }
}

/// The retention that arguments of `keep_history` set.
fn history_retention(named: &[NamedArgument]) -> Result<HistoryRetention> {
    let mut retention = HistoryRetention::new();
    for (name, value) in named {
        retention = match (name.as_str(), value) {
            ("age", Argument::Number(seconds @ 1..)) => retention.age(Duration::from_secs(*seconds)),
            ("age", Argument::Text(age)) => retention.age(duration(age)?),
            ("commits", Argument::Number(commits)) => retention.commits(*commits),
            _ => {
                return plan_err!(
                    "keep_history has the options age, a number of seconds or a text such as '7 days', and commits, a number; {name} is none of them, or \
                     has another value"
                );
            }
        };
    }
    Ok(retention)
}

/// The length of an interval without months, such as `7 days`.
pub(super) fn duration(text: &str) -> Result<Duration> {
    let interval = parse_interval_month_day_nano(text)?;
    let seconds = i64::from(interval.days).checked_mul(86_400);
    match (interval.months, seconds.map(u64::try_from), u64::try_from(interval.nanoseconds)) {
        (0, Some(Ok(seconds)), Ok(nanoseconds)) if seconds > 0 || nanoseconds > 0 => {
            Ok(Duration::from_secs(seconds) + Duration::from_nanos(nanoseconds))
        }
        _ => plan_err!("{text:?} is no length of time without months and above zero"),
    }
}

pub(super) fn whole(number: &Argument) -> Result<i64> {
    match number {
        Argument::Negative(number) => Ok(*number),
        Argument::Number(number) => i64::try_from(*number)
            .or_else(|_| plan_err!("{number} is not a 64-bit integer, which numbers of sequences are")),
        _ => plan_err!("a number of a sequence is an integer"),
    }
}

/// The options that arguments of `publish` set.
fn publish_options(named: &[NamedArgument]) -> Result<PublishOptions> {
    let mut options = PublishOptions::new();
    for (name, value) in named {
        options = match (name.as_str(), value) {
            ("keep", Argument::Number(seconds)) => options.keep(Duration::from_secs(*seconds)),
            ("max_age", Argument::Number(seconds)) => options.max_age(Duration::from_secs(*seconds)),
            ("map_types", Argument::Flag(map_types)) => options.map_types(*map_types),
            ("formats", Argument::Text(formats)) => publish_formats(options, formats)?,
            _ => {
                return plan_err!(
                    "publish has the options keep and max_age, each a number of seconds, map_types, true or false, and formats, such as 'iceberg,delta'; {name} is none of them, or has another value"
                );
            }
        };
    }
    Ok(options)
}

fn publish_formats(options: PublishOptions, formats: &str) -> Result<PublishOptions> {
    let mut options = options.iceberg(false);
    for format in formats.split(',').map(str::trim) {
        options = match format {
            "iceberg" => options.iceberg(true),
            "delta" => options.delta(true),
            other => return plan_err!("{other:?} is no format to publish in: formats are iceberg and delta"),
        };
    }
    Ok(options)
}

/// The arguments of a call: those by place, and those by name.
fn arguments(function: &Function) -> Result<(Vec<Argument>, Vec<NamedArgument>)> {
    let (mut placed, mut named) = (Vec::new(), Vec::new());
    let FunctionArguments::List(list) = &function.args else { return Ok((placed, named)) };
    for argument in &list.args {
        match argument {
            FunctionArg::Unnamed(value) => placed.push(argument_value(value)?),
            FunctionArg::Named { name, arg, .. } => named.push((normal(name), argument_value(arg)?)),
            other @ FunctionArg::ExprNamed { .. } => return plan_err!("{other} has no plain name"),
        }
    }
    Ok((placed, named))
}

fn argument_value(argument: &FunctionArgExpr) -> Result<Argument> {
    match argument {
        FunctionArgExpr::Expr(Expr::Value(ValueWithSpan { value, .. })) => match value {
            Value::SingleQuotedString(text) => Ok(Argument::Text(text.clone())),
            Value::Number(number, _) if number.parse::<u64>().is_ok() => {
                Ok(Argument::Number(number.parse().unwrap_or(u64::MAX)))
            }
            Value::Boolean(value) => Ok(Argument::Flag(*value)),
            other => plan_err!("{other} is neither a string nor an integer"),
        },
        FunctionArgExpr::Expr(Expr::UnaryOp { op: UnaryOperator::Minus, expr }) => {
            match format!("-{expr}").parse::<i64>() {
                Ok(number) => Ok(Argument::Negative(number)),
                Err(_) => plan_err!("-{expr} is neither a string nor an integer"),
            }
        }
        other => plan_err!("{other} is neither a string nor an integer"),
    }
}
