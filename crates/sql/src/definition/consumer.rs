//! `CALL add_consumer('t', 'copy')`, `drop_consumer` and `acknowledge_changes`: consumers of the change feed.

use datafusion::common::{Result, plan_err};
use lath_table::{ConsumerOptions, Table};

use super::call::{Argument, NamedArgument};
use crate::error::table_work;

/// Adds a consumer.
pub(super) async fn add_consumer(table: Table, name: String, named: &[NamedArgument]) -> Result<()> {
    let mut options = ConsumerOptions::new();
    for (option, value) in named {
        options = match (option.as_str(), value) {
            ("bootstrap", Argument::Flag(bootstrap)) => options.bootstrap(*bootstrap),
            ("rows", Argument::Number(rows)) => options.max_rows(*rows),
            _ => {
                return plan_err!(
                    "add_consumer has the options bootstrap, true or false, and rows, the number of changes that are kept for the consumer; {option} is \
                     none of them, or has another value"
                );
            }
        };
    }
    table_work(move || table.add_consumer(&name, options)).await
}

/// Drops a consumer.
pub(super) async fn drop_consumer(table: Table, name: String) -> Result<()> {
    table_work(move || table.drop_consumer(&name)).await
}

/// Moves the position of a consumer.
pub(super) async fn acknowledge(table: Table, name: String, sequence: u64) -> Result<()> {
    table_work(move || table.acknowledge(&name, sequence)).await
}
