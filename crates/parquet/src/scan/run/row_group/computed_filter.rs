//! Computes a filter of a column after a scan for keys has found none.

use crate::error::Result;
use crate::prune::{ComputedFilter, key_leaf};
use crate::scan::columns::{Conjunct, Operand};
use crate::scan::planner::PlannedRowGroup;
use crate::scan::run::work::Reader;
use crate::scan::thresholds::MAX_TESTED_ROWS;

/// Computes a filter of the values of a conjunct's column, if the conjunct looks for keys that the row group lacks, and the row group
/// was scanned for such keys before.
pub(super) fn compute_filter(planned: &PlannedRowGroup, conjunct: &Conjunct, reader: &mut Reader) -> Result<()> {
    let PlannedRowGroup { file, plan, row_group, .. } = planned;
    let memory = planned.computed_filters.as_ref().filter(|_| reader.computes_filters());
    let (Some(memory), &[operand]) = (memory, conjunct.operands.as_slice()) else { return Ok(()) };
    let (Operand::Leaf(leaf), Some((column, kind))) = (&plan.operands[operand], key_leaf(file, &conjunct.predicate))
    else {
        return Ok(());
    };
    let Some(mut filter) = ComputedFilter::after_empty_scan(file, column, kind, *row_group, memory) else {
        return Ok(());
    };
    let mut values = reader.open(planned, *leaf, None)?;
    let mut left = file.row_group_row_counts().get(*row_group).copied().unwrap_or(0);
    while left > 0 {
        reader.check()?;
        let rows = left.min(MAX_TESTED_ROWS as u64);
        values.append(rows as usize)?;
        if !filter.add(&values.finish()?.array)? {
            return Ok(());
        }
        left -= rows;
    }
    filter.finish();
    reader.put(*leaf, values, file.source());
    Ok(())
}
