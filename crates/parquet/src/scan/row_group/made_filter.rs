//! Filters that are built of a column after its values were read without a match.

use crate::error::Result;
use crate::prune::{Making, leaf_of_keys};
use crate::scan::conjuncts::Conjunct;
use crate::scan::file_plan::Operand;
use crate::scan::planner::Planned;
use crate::scan::thresholds::MAX_TESTED_ROWS;
use crate::scan::work::Reader;

/// Builds a filter of the values of a conjunct's column, if the conjunct looks for keys that the row group lacks, and the row group was
/// read for such keys before.
pub(super) fn make_filter(planned: &Planned, conjunct: &Conjunct, reader: &mut Reader) -> Result<()> {
    let Planned { file, plan, row_group, .. } = planned;
    let (Some(memory), &[operand]) = (&planned.made_filters, conjunct.operands.as_slice()) else { return Ok(()) };
    let (Operand::Leaf(leaf), Some((column, kind))) =
        (&plan.operands[operand], leaf_of_keys(file, &conjunct.predicate))
    else {
        return Ok(());
    };
    let Some(mut making) = Making::after_reading_in_vain(file, column, kind, *row_group, memory) else { return Ok(()) };
    let mut values = reader.open(planned, *leaf, None)?;
    let mut left = file.row_group_row_counts().get(*row_group).copied().unwrap_or(0);
    while left > 0 {
        reader.check()?;
        let rows = left.min(MAX_TESTED_ROWS as u64);
        values.append(rows as usize)?;
        if !making.add(&values.finish()?.array)? {
            return Ok(());
        }
        left -= rows;
    }
    making.finish();
    reader.put(*leaf, values, file.source());
    Ok(())
}
