//! A failing system call among other operations.

use std::collections::BTreeMap;

use lath_table::{Durability, Result, Table};

use super::{History, Model};
use crate::disk::{Call, Disk, Fault};

impl History {
    /// Runs an operation in which a call may fail. The table is then as before, or as after.
    pub(super) fn with_fault(&mut self, table: Table) -> String {
        // Commits that are only in memory would be lost if the table had to be reopened.
        table.sync().unwrap();
        let disk = Disk::watch_calls(table.folder());
        let code = [libc::EIO, libc::ENOSPC][self.random.usize(..2)];
        disk.fail(Fault { after: self.random.usize(..8), code, permanently: self.random.bool() });
        let mut next = self.model.clone();
        let (what, result) = self.attempt(&table, &mut next);
        let failed = disk.mend();
        assert!(result.is_ok() || !failed.is_empty(), "{what}: {result:?}");
        // The next opening removes a file that could not be removed.
        if failed.contains(&Call::Remove) || table.begin().is_err() {
            let folder = table.folder().to_owned();
            drop((self.table.take(), table));
            self.table = Some(Table::open(folder, self.options.clone()).unwrap());
        }
        let is_next = self.rows_now() == next;
        assert!(is_next || result.is_err(), "{what} was made and is not there");
        if is_next {
            self.model = next;
        }
        format!("{what}, of which {failed:?} failed: {result:?}")
    }

    fn attempt(&mut self, table: &Table, next: &mut Model) -> (&'static str, Result<()>) {
        match self.random.u8(..8) {
            0..=2 => {
                let rows = self.random_rows();
                let batch = self.columns.batch(&rows);
                next.extend(rows);
                (
                    "upsert",
                    table.begin().and_then(|mut transaction| {
                        transaction.upsert(&batch)?;
                        transaction.commit_with(Durability::Sync)
                    }),
                )
            }
            3 => {
                let keys = self.random_keys();
                keys.iter().for_each(|key| drop(next.remove(key)));
                let batch = self.columns.key_batch(&keys.iter().collect::<Vec<_>>());
                (
                    "delete",
                    table.begin().and_then(|mut transaction| {
                        transaction.delete(batch)?;
                        transaction.commit_with(Durability::Sync)
                    }),
                )
            }
            4 | 5 => ("flush", table.flush().map(drop)),
            6 => ("compact", table.compact().map(drop)),
            _ => ("vacuum", table.vacuum().map(drop)),
        }
    }

    fn rows_now(&self) -> Model {
        let batches = self.table().scan().unwrap().build().unwrap();
        batches.flat_map(|batch| self.columns.rows(&batch.unwrap())).collect::<BTreeMap<_, _>>()
    }
}
