//! Replaces hash joins of inputs that exceed the memory budget.
//!
//! DataFusion 55 keeps one side of a hash join in memory and fails if it does not fit. A sort-merge join spills to disk instead.

use std::sync::Arc;

use arrow_schema::{DataType, Schema, SortOptions};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, Statistics};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::{HashJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};

/// A side is kept in memory up to the budget divided by this. A hash table takes about twice the size of its rows, and estimates may be
/// wrong.
const MAX_BUILD_PART: usize = 8;
/// Assumed size of a value without a fixed size.
const TEXT_BYTES: usize = 32;

/// Replaces hash joins by sort-merge joins if the build side is not known to be small. The rule runs after the sides are chosen and before
/// inputs are sorted.
#[derive(Debug)]
pub(crate) struct MergeJoins {
    pub(crate) budget_bytes: usize,
}

impl PhysicalOptimizerRule for MergeJoins {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let merged = plan.transform_up(|plan| {
            let Some(join) = plan.downcast_ref::<HashJoinExec>() else { return Ok(Transformed::no(plan)) };
            if join.null_aware || self.fits(join.left())? {
                return Ok(Transformed::no(plan));
            }
            merge_join(join).map(Transformed::yes)
        });
        merged.map(|merged| merged.data)
    }

    fn name(&self) -> &str {
        "lath_merge_joins"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

impl MergeJoins {
    fn fits(&self, side: &Arc<dyn ExecutionPlan>) -> Result<bool> {
        let statistics = StatisticsContext::new().compute(side.as_ref(), &StatisticsArgs::new())?;
        let bytes = size(&statistics, &side.schema());
        Ok(bytes.is_some_and(|bytes| bytes <= self.budget_bytes / MAX_BUILD_PART))
    }
}

/// Estimates the size of rows in memory.
fn size(statistics: &Statistics, schema: &Schema) -> Option<usize> {
    let widths = schema.fields().iter().map(|field| width(field.data_type()));
    let row_bytes: usize = widths.sum();
    let by_rows = statistics.num_rows.get_value().map(|rows| rows.saturating_mul(row_bytes));
    by_rows.max(statistics.total_byte_size.get_value().copied())
}

fn width(data_type: &DataType) -> usize {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| width(field.data_type())).sum(),
        other => other.primitive_width().unwrap_or(TEXT_BYTES),
    }
}

fn merge_join(join: &HashJoinExec) -> Result<Arc<dyn ExecutionPlan>> {
    let merged = SortMergeJoinExec::try_new(
        Arc::clone(join.left()),
        Arc::clone(join.right()),
        join.on().to_vec(),
        join.filter().cloned(),
        *join.join_type(),
        vec![SortOptions::default(); join.on().len()],
        join.null_equality(),
    )?;
    let merged: Arc<dyn ExecutionPlan> = Arc::new(merged);
    let Some(columns) = &join.projection else { return Ok(merged) };
    let schema = merged.schema();
    let columns = columns.iter().map(|&index| {
        let name = schema.field(index).name();
        (Arc::new(Column::new(name, index)) as Arc<dyn PhysicalExpr>, name.clone())
    });
    Ok(Arc::new(ProjectionExec::try_new(columns.collect::<Vec<_>>(), merged)?))
}
