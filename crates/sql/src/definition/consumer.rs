//! `CALL add_consumer('t', 'copy')`: adds a consumer of the change feed.

use datafusion::common::{Result, plan_err};
use lath_table::ConsumerOptions;

use super::Definitions;
use super::call::{Argument, NamedArgument};
use crate::error::table_work;

impl Definitions<'_> {
    pub(super) async fn add_consumer(&self, table: &str, name: &str, named: &[NamedArgument]) -> Result<()> {
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
        let (table, name) = (self.tables.keyed(table)?.table().clone(), name.to_owned());
        table_work(move || table.add_consumer(&name, options)).await
    }
}
