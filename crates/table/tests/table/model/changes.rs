//! A copy of the table that is kept up to date only by its change feed.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{RecordBatch, UInt32Array};
use arrow_select::take::take_record_batch;
use lath_table::{ChangeRetention, Error, Table};

use super::schema::Columns;
use super::{History, Model};
use crate::rows::Values;

/// The copy.
pub(super) struct Replica {
    rows: Model,
    /// The sequence up to which it has the changes.
    since: u64,
    /// The maximum number of changes that the table keeps.
    kept: u64,
}

impl Replica {
    /// A copy of an empty table, which keeps its changes from now on.
    pub(super) fn new(table: &Table, kept: u64) -> Self {
        table.keep_changes(ChangeRetention::new().rows(kept)).unwrap();
        Self { rows: Model::new(), since: table.snapshot().unwrap().version(), kept }
    }

    /// Changes all rows, like a change of the schema does.
    pub(super) fn each_row(&mut self, change: impl FnMut(&mut Values)) {
        self.rows.values_mut().for_each(change);
    }

    /// Reads a batch of changes, or all that are left. Returns whether there may be more.
    fn read_on(
        &mut self,
        columns: &Columns,
        snapshot: &lath_table::Snapshot,
        is_one_batch: bool,
    ) -> Result<bool, Error> {
        let mut changes = snapshot.changes(self.since)?;
        let mut batches = Vec::new();
        for batch in &mut changes {
            batches.push(batch.unwrap());
            if is_one_batch {
                break;
            }
        }
        let resume_at = changes.resume_at();
        assert!(resume_at >= self.since);
        let mut last = None;
        for batch in &batches {
            self.apply(columns, batch, resume_at, &mut last);
        }
        self.since = resume_at;
        Ok(resume_at < snapshot.version())
    }

    /// Applies the changes of commits up to `resume_at`.
    fn apply(
        &mut self,
        columns: &Columns,
        batch: &RecordBatch,
        resume_at: u64,
        last: &mut Option<(u64, Vec<crate::rows::Part>)>,
    ) {
        let sequences = batch.column(1).as_primitive::<UInt64Type>().values().to_vec();
        for (row, &sequence) in sequences.iter().enumerate() {
            assert!(sequence > self.since);
            let single = take_record_batch(batch, &UInt32Array::from(vec![row as u32])).unwrap();
            let (key, values) = columns.rows(&single).remove(0);
            let place = Some((sequence, key.clone()));
            assert!(*last < place, "{last:?} comes before {place:?}");
            *last = place;
            if sequence > resume_at {
                continue;
            }
            let old = self.rows.remove(&key);
            match single.column(0).as_string::<i32>().value(0) {
                "insert" => assert!(old.is_none(), "{key:?} is inserted twice"),
                "update" => assert!(old.is_some(), "{key:?} is updated and not there"),
                "delete" => {
                    assert!(old.is_some(), "{key:?} is deleted and not there");
                    continue;
                }
                other => panic!("{other}"),
            }
            self.rows.insert(key, values);
        }
    }
}

impl History {
    /// Brings the copy up to date and compares it.
    pub(super) fn follow_changes(&mut self) {
        let Some(mut replica) = self.replica.take() else { return };
        let snapshot = self.table().snapshot().unwrap();
        loop {
            let is_one_batch = self.random.bool();
            match replica.read_on(&self.columns, &snapshot, is_one_batch) {
                Ok(true) if !is_one_batch => panic!("changes end before the last commit"),
                Ok(true) => {
                    // Reading one batch does not skip the rest of a larger commit.
                    let _rest = replica.read_on(&self.columns, &snapshot, false).unwrap();
                }
                Ok(false) => break,
                Err(Error::NoChanges { since, kept_since: Some(kept) }) => {
                    assert!(since < kept && replica.kept < 1000, "{kept} after {:?}", self.steps);
                    (replica.rows, replica.since) = (self.model.clone(), snapshot.version());
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert!(replica.rows == self.model, "changes after {:?}", self.steps);
        self.replica = Some(replica);
    }
}
