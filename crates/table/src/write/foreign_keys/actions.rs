//! Does the actions of foreign keys: deletes or changes rows that refer to values which a statement has removed.
//!
//! All actions of a statement are found before a row is changed. The statement has changed values of keys and unique indexes; the rows that
//! refer to the old values are planned to be deleted or changed, which changes values to which others refer, and so on in rounds. A plan goes
//! by columns: a column of a row that refers to a changed value gets the new one, once. So it does not matter by how many ways, or in which
//! order, actions reach a row, values may exchange their places, and tables may refer to each other in a circle. Then each row is changed once,
//! and the commit checks what has come out.
//!
//! | the statement has left the columns of the row | their values are |
//! | --- | --- |
//! | as they were | ones from before the statement, which follow the rows to which they refer |
//! | with other values | ones from after the statement, which stay if there is such a row |

use std::collections::BTreeSet;
use std::sync::Arc;

use super::plan::ActionPlan;
use super::{WriteTables, check_table};
use crate::error::Result;
use crate::write::open_write::OpenWrite;

impl OpenWrite {
    /// Checks the foreign keys of a transaction that changes this table alone.
    pub(crate) fn check_foreign_keys(&mut self) -> Result<()> {
        match self.engine().trees.number() {
            Some(number) if !self.touched().is_empty() => {
                apply_actions(self, &[number])?;
                check_table(self, number)?;
                let others: Vec<u64> = self.others_mut().keys().copied().collect();
                others.into_iter().try_for_each(|number| check_table(self, number))
            }
            _ => Ok(()),
        }
    }
}

/// Does what foreign keys that refer to these tables do about removed values, and whatever follows from that.
pub(crate) fn apply_actions(tables: &mut dyn WriteTables, numbers: &[u64]) -> Result<()> {
    let mut plan = ActionPlan::default();
    for &number in numbers {
        plan.add_statement(tables, number)?;
    }
    while plan.add_round(tables)? {}
    let changed: BTreeSet<u64> = plan.tables().chain(numbers.iter().copied()).collect();
    plan.write(tables)?;
    for number in changed {
        tables.with_table(number, &mut |table| {
            table.touched_mut().statement = Arc::default();
            Ok(())
        })?;
    }
    Ok(())
}
