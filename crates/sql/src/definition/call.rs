//! `CALL keep_snapshot('monday')` and other maintenance of tables.

use datafusion::common::{Result, plan_err};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value, ValueWithSpan,
};
use lath_table::{ChangeRetention, Table};

use super::{Definitions, last_part};
use crate::error::table_work;

/// The supported calls, for messages.
const CALLS: &str = "keep_snapshot('name'), drop_snapshot('name'), keep_changes('table', rows), drop_changes('table'), flush('table'), \
                     compact('table') and vacuum('table'); for a snapshot of an attached table, give the name of the table first";

/// An argument of a call.
enum Argument {
    Text(String),
    Number(u64),
}

impl Definitions<'_> {
    pub(super) async fn call(&self, function: &Function) -> Result<()> {
        use Argument::{Number, Text};
        let name = last_part(&function.name)?;
        let arguments = arguments(function)?;
        match (name.as_str(), arguments.as_slice()) {
            ("keep_snapshot", [Text(name)]) => {
                let (database, name) = (self.database()?.clone(), name.clone());
                table_work(move || database.keep_snapshot(&name)).await
            }
            ("drop_snapshot", [Text(name)]) => {
                let (database, name) = (self.database()?.clone(), name.clone());
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
            ("keep_changes", [Text(table), Number(rows)]) => {
                let (table, retention) = (self.handle(table)?, ChangeRetention::new().rows(*rows));
                table_work(move || table.keep_changes(retention)).await
            }
            ("drop_changes", [Text(table)]) => {
                let table = self.handle(table)?;
                table_work(move || table.drop_changes()).await
            }
            ("flush", [Text(table)]) => {
                let table = self.handle(table)?;
                table_work(move || table.flush().map(drop)).await
            }
            ("compact", [Text(table)]) => {
                let table = self.handle(table)?;
                table_work(move || table.compact().map(drop)).await
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

fn arguments(function: &Function) -> Result<Vec<Argument>> {
    let FunctionArguments::List(list) = &function.args else { return Ok(Vec::new()) };
    let argument = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(ValueWithSpan { value, .. }))) => match value {
            Value::SingleQuotedString(text) => Ok(Argument::Text(text.clone())),
            Value::Number(number, _) if number.parse::<u64>().is_ok() => {
                Ok(Argument::Number(number.parse().unwrap_or(u64::MAX)))
            }
            other => plan_err!("{other} is neither a string nor an integer"),
        },
        other => plan_err!("{other} is neither a string nor an integer"),
    };
    list.args.iter().map(argument).collect()
}
