//! `CREATE SEQUENCE` and `DROP SEQUENCE`.

use datafusion::common::{Result, plan_err};
use datafusion::sql::sqlparser::ast::{
    DataType, Expr, ObjectName, SequenceOptions as WrittenOptions, UnaryOperator, Value,
};
use lath_table::SequenceOptions;

use super::call::{Argument, NamedArgument, whole};
use super::{Definitions, last_part};
use crate::computed::OWN_SEQUENCE;
use crate::error::{table_error, table_work};

/// The least and the greatest value of a type of integers.
pub(super) fn integer_range(data_type: &DataType) -> Option<(i64, i64)> {
    match data_type {
        DataType::TinyInt(_) => Some((i8::MIN.into(), i8::MAX.into())),
        DataType::SmallInt(_) | DataType::Int2(_) => Some((i16::MIN.into(), i16::MAX.into())),
        DataType::Int(_) | DataType::Integer(_) | DataType::Int4(_) => Some((i32::MIN.into(), i32::MAX.into())),
        DataType::BigInt(_) | DataType::Int8(_) => Some((i64::MIN, i64::MAX)),
        _ => None,
    }
}

/// The options of a sequence whose numbers are in a range. As in PostgreSQL, numbers go up from 1 or down from -1.
pub(super) fn sequence_options(written: &[WrittenOptions], range: (i64, i64)) -> Result<SequenceOptions> {
    let (mut start, mut increment, mut min, mut max, mut cycle) = (None, None, None, None, false);
    for option in written {
        match option {
            WrittenOptions::StartWith(expr, _) => start = Some(integer(expr)?),
            WrittenOptions::IncrementBy(expr, _) => increment = Some(integer(expr)?),
            WrittenOptions::MinValue(expr) => min = expr.as_ref().map(integer).transpose()?,
            WrittenOptions::MaxValue(expr) => max = expr.as_ref().map(integer).transpose()?,
            WrittenOptions::Cycle(no_cycle) => cycle = !no_cycle,
            WrittenOptions::Cache(_) => {
                return plan_err!("CACHE is not supported: numbers are always reserved in advance; leave it out");
            }
        }
    }
    let increment = increment.unwrap_or(1);
    let (lowest, highest) = if increment < 0 { (range.0, -1) } else { (1, range.1) };
    let (min, max) = (min.unwrap_or(lowest), max.unwrap_or(highest));
    if min < range.0 || max > range.1 {
        return plan_err!(
            "the numbers from {min} to {max} are not all of the type of the column; choose others, or BIGINT"
        );
    }
    let start = start.unwrap_or(if increment < 0 { max } else { min });
    Ok(SequenceOptions { start, increment, min, max, cycle })
}

fn integer(expr: &Expr) -> Result<i64> {
    let parsed = match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => number.parse().ok(),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match expr.as_ref() {
            Expr::Value(value) => match &value.value {
                Value::Number(number, _) => format!("-{number}").parse().ok(),
                _ => None,
            },
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => return integer(expr),
        _ => None,
    };
    match parsed {
        Some(number) => Ok(number),
        None => plan_err!("{expr} is not a 64-bit integer, which options of sequences are"),
    }
}

impl Definitions<'_> {
    pub(super) async fn create_sequence(
        &self,
        name: &ObjectName,
        if_not_exists: bool,
        data_type: Option<&DataType>,
        options: &[WrittenOptions],
    ) -> Result<()> {
        let database = self.database_of_sequences()?;
        let range = match data_type {
            None => (i64::MIN, i64::MAX),
            Some(data_type) => match integer_range(data_type) {
                Some(range) => range,
                None => {
                    return plan_err!("a sequence AS {data_type} has no numbers; write AS SMALLINT, INTEGER or BIGINT");
                }
            },
        };
        let (name, options) = (sequence_name(name)?, sequence_options(options, range)?);
        if if_not_exists && self.tables.transaction().sequences(&database)?.contains_key(&name) {
            return Ok(());
        }
        if self.tables.transaction().open().is_some() {
            return self.change_database(move |transaction| transaction.create_sequence(&name, &options)).await;
        }
        table_work(move || database.create_sequence(&name, &options)).await
    }

    pub(super) async fn drop_sequence(&self, names: &[ObjectName], if_exists: bool) -> Result<()> {
        let database = self.database_of_sequences()?;
        for name in names {
            let (database, name) = (database.clone(), sequence_name(name)?);
            for table in self.tables.all_keyed()? {
                if let Some(column) = table.uses_sequence(&name) {
                    return plan_err!(
                        "sequence {name:?} is the default of column {column:?} of table {:?}; ALTER TABLE … ALTER COLUMN … DROP DEFAULT first",
                        table.name()
                    );
                }
            }
            let dropped = name.clone();
            let was_there = match self.tables.transaction().open() {
                Some(_) => self.change_database(move |transaction| transaction.drop_sequence(&dropped)).await?,
                None => table_work(move || database.drop_sequence(&dropped)).await?,
            };
            if !was_there && !if_exists {
                return plan_err!("there is no sequence {name:?}");
            }
        }
        Ok(())
    }

    /// `ALTER SEQUENCE`.
    pub(super) async fn alter_sequence(&self, name: &str, changes: &[NamedArgument]) -> Result<()> {
        let database = self.database_of_sequences()?;
        let name = name.to_owned();
        let flag = |option: &str| {
            let found = changes.iter().find(|(name, _)| name == option);
            found.map(|(_, value)| matches!(value, Argument::Flag(true)))
        };
        let number = |option: &str| {
            let found = changes.iter().find(|(name, _)| name == option);
            found.map(|(_, value)| whole(value)).transpose()
        };
        let Some(mut options) = database.sequences().map_err(table_error)?.remove(&name).filter(|_| is_own_name(&name))
        else {
            return match flag("if_exists") {
                Some(true) => Ok(()),
                _ => plan_err!("there is no sequence {name:?}; CREATE SEQUENCE makes one"),
            };
        };
        if let Some(increment) = number("increment")? {
            options.increment = increment;
        }
        let (lowest, highest) = if options.increment < 0 { (i64::MIN, -1) } else { (1, i64::MAX) };
        options.min = match flag("no_minvalue") {
            Some(true) => lowest,
            _ => number("minvalue")?.unwrap_or(options.min),
        };
        options.max = match flag("no_maxvalue") {
            Some(true) => highest,
            _ => number("maxvalue")?.unwrap_or(options.max),
        };
        options.start = number("start")?.unwrap_or(options.start);
        options.cycle = flag("cycle").unwrap_or(options.cycle);
        let restart = match flag("restart_at_start") {
            Some(true) => Some(options.start),
            _ => number("restart")?,
        };
        table_work(move || database.alter_sequence(&name, &options, restart)).await
    }

    fn database_of_sequences(&self) -> Result<lath_table::Database> {
        match self.tables.database()? {
            Some(database) => Ok(database),
            None => plan_err!("sequences need a database; open the session with one: lath sql --database FOLDER"),
        }
    }
}

/// Whether a statement may name the sequence, which is not one of a column.
fn is_own_name(name: &str) -> bool {
    !name.starts_with(OWN_SEQUENCE)
}

fn sequence_name(name: &ObjectName) -> Result<String> {
    let name = last_part(name)?;
    if name.starts_with(OWN_SEQUENCE) || name.is_empty() {
        return plan_err!("no sequence can be called {name:?}");
    }
    Ok(name)
}
