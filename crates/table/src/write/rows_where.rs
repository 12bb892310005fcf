//! Finds the rows that satisfy a condition, in the store and in files.

use std::sync::Arc;

use arrow_array::Array;
use lath_parquet::{DeleteMask, Predicate};

use super::open_write::OpenWrite;
use crate::error::Result;
use crate::file::{ColdCondition, DataFile, filter_columns};
use crate::row::key::KeyRange;
use crate::row::{BATCH_ROWS, ByteList, batch};
use crate::view::{HotColumns, HotCursor, View, dead_rows};

/// The rows of a file that are not dead and for which a condition is true.
pub(super) fn rows_where(file: &DataFile, dead: &DeleteMask, predicate: &Predicate) -> Result<DeleteMask> {
    let ColdCondition { pushed, rest } = ColdCondition::new(Some(predicate), file.upgrade())?;
    let columns = rest.as_ref().map(|rest| &rest.columns[..]).unwrap_or_default();
    let mut scan = file.scan(columns)?.deleted([(0, dead.clone())]);
    if let Some(pushed) = pushed {
        scan = scan.predicate(pushed);
    }
    let mut rows = DeleteMask::new();
    for batch in file.numbered(scan, columns)? {
        let (columns, numbers) = batch?;
        let passes = rest.as_ref().map(|rest| rest.evaluate(columns, numbers.len())).transpose()?;
        let does_pass = |row: usize| passes.as_ref().is_none_or(|passes| passes.is_valid(row) && passes.value(row));
        numbers.iter().enumerate().filter(|(row, _)| does_pass(*row)).for_each(|(_, &row)| rows.insert(row));
    }
    Ok(rows)
}

impl OpenWrite {
    /// The keys of hot rows for which a condition is true.
    pub(crate) fn hot_keys_where(&mut self, predicate: &Predicate) -> Result<ByteList> {
        let schema = Arc::clone(self.schema());
        let filter = predicate.filter(schema.arrow())?;
        let columns = filter_columns(&filter, schema.arrow().fields());
        let read = Arc::new(schema.arrow().project(&columns)?);
        let mut cursor = HotCursor::new(KeyRange::default(), HotColumns::new(&schema, &columns)?);
        let mut view = self.view()?;
        let mut found = ByteList::default();
        while let Some((keys, columns)) = cursor.next(&mut view, BATCH_ROWS)? {
            let passes = filter.evaluate(&batch(&read, columns, keys.len())?)?;
            let passing = passes.iter().enumerate().filter(|(_, passes)| *passes == Some(true));
            passing.for_each(|(row, _)| found.push(keys.get(row)));
        }
        Ok(found)
    }

    /// For each file, the rows that are not dead and for which a condition is true.
    pub(crate) fn cold_rows_where(&mut self, predicate: &Predicate) -> Result<Vec<(u64, DeleteMask)>> {
        let engine = Arc::clone(self.engine());
        let mut view = self.view()?;
        let manifest = Arc::clone(view.manifest());
        let dead = dead_rows(&engine, &mut view, manifest.files())?;
        let mut found = Vec::new();
        for (entry, dead) in manifest.files().iter().zip(dead) {
            let file = engine.cold(&mut view, entry)?;
            found.push((entry.number, rows_where(&file, &dead, predicate)?));
        }
        Ok(found)
    }
}
