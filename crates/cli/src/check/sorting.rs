//! Checks that the rows of a row group are sorted by its sorting columns.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use lath_parquet::{Error, ParquetFile, SortingColumn};
use lath_writer::RowOrder;

use super::{Finding, Kind};
use crate::input::scan::Scan;

/// Compares the rows of each row group with its sorting columns, as far as they are among the leaf columns `chosen`. Decoding errors are
/// left to the checks of columns.
pub(super) fn check(file: &ParquetFile, chosen: &[usize], scan: &Scan) -> Vec<Finding> {
    let row_groups = 0..file.metadata().row_group_count();
    row_groups.filter_map(|row_group| disorder(file, row_group, chosen, scan).ok().flatten()).collect()
}

fn disorder(file: &ParquetFile, row_group: usize, chosen: &[usize], scan: &Scan) -> Result<Option<Finding>, Error> {
    let metadata = file.metadata();
    let declared = metadata.row_group(row_group).and_then(|row_group| row_group.sorting_columns()).unwrap_or_default();
    let place = format!("row group {row_group}");
    let leaves = metadata.schema_descr().columns();
    let mut columns = Vec::new();
    for sorting in &declared {
        let leaf = usize::try_from(sorting.column_idx).ok().filter(|&leaf| leaf < leaves.len());
        let Some(leaf) = leaf else {
            let (index, count) = (sorting.column_idx, leaves.len());
            let what = format!("sorted by column {index} by its metadata, and the file has {count}, counted from 0");
            return Ok(Some(Finding { kind: Kind::Mismatch, place, what }));
        };
        // Values within structs and lists are not rows.
        if leaves[leaf].path().parts().len() > 1 || !chosen.contains(&leaf) {
            break;
        }
        columns.push((leaf, sorting));
    }
    let mut read: Vec<usize> = columns.iter().map(|(leaf, _)| *leaf).collect();
    read.sort_unstable();
    read.dedup();
    if read.is_empty() {
        return Ok(None);
    }
    let batches = scan.file_scan(file).select_leaves(read.iter().copied()).row_groups([row_group]).build()?;
    // Names may repeat; numbers do not.
    let field = |(leaf, field): (&usize, &Arc<Field>)| Field::clone(field).with_name(leaf.to_string());
    let schema = Arc::new(Schema::new(read.iter().zip(batches.schema().fields()).map(field).collect::<Vec<_>>()));
    let sorting = |(leaf, sorting): &(usize, &lath_format::SortingColumn)| SortingColumn {
        path: leaf.to_string(),
        descending: sorting.descending,
        nulls_first: sorting.nulls_first,
    };
    let Some(mut order) = RowOrder::new(&schema, &columns.iter().map(sorting).collect::<Vec<_>>()) else {
        return Ok(None);
    };
    for batch in batches {
        let batch = batch?;
        let Ok(batch) = RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec()) else { return Ok(None) };
        if let Some(row) = order.first_disorder(&batch)? {
            let names: Vec<String> = columns.iter().map(|(leaf, _)| leaves[*leaf].name().to_owned()).collect();
            let what = format!(
                "sorted by {} by its metadata, and row {row} does not follow the row before it",
                names.join(", ")
            );
            return Ok(Some(Finding { kind: Kind::Mismatch, place, what }));
        }
    }
    Ok(None)
}
