//! Scans of keyed tables as scans of their files, which any process can read, and hot rows.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::coalesce::BatchCoalescer;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue, Statistics};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{CastExpr, Column, Literal};
use datafusion::physical_expr::projection::{ProjectionExpr, ProjectionExprs};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::union::UnionExec;
use lath_parquet::ScanTask;
use lath_table::{FilesPlan, PlannedColumn, TableBatches, TablePlan};

use super::hot_rows::HotRows;
use crate::error::table_work;
use crate::keyed::{KeyedSource, Reading};
use crate::scan::{FieldProjection, LathSource, can_rule_out};

/// A table with more hot rows, in bytes of the columns that a query reads, is read in one process.
const MAX_HOT_BYTES: usize = 64 << 20;

/// Rows of a batch that travels with a plan. Workers get whole batches.
const BATCH_ROWS: usize = 4096;

/// The keyed tables that a plan scans, divided into files and hot rows.
#[derive(Debug)]
pub struct DividedTables {
    tables: Vec<DividedTable>,
}

#[derive(Debug)]
struct DividedTable {
    leaf: Arc<dyn ExecutionPlan>,
    source: KeyedSource,
    plan: TablePlan<'static>,
}

impl DividedTables {
    /// Plans the files of the keyed tables that a plan scans. Lookups of keys and indexes stay as they are, and tables whose rows have to be
    /// changed while they are read.
    ///
    /// # Errors
    /// If a file cannot be opened.
    pub async fn of(plan: &Arc<dyn ExecutionPlan>) -> Result<Self> {
        let mut tables = Vec::new();
        for (leaf, source) in scans(plan)? {
            let scanned = source.clone();
            let plan = table_work(move || scanned.scan().plan()).await?;
            let plan = plan.filter(|plan| plan.files.iter().any(|files| !files.plan.tasks().is_empty()));
            tables.extend(plan.map(|plan| DividedTable { leaf, source, plan }));
        }
        Ok(Self { tables })
    }

    /// Maximum of [`byte_count`](Self::byte_count), which is known before files are opened.
    ///
    /// # Errors
    /// If the plan cannot be walked through.
    pub fn max_byte_count(plan: &Arc<dyn ExecutionPlan>) -> Result<u64> {
        Ok(scans(plan)?.iter().map(|(_, source)| source.snapshot.file_bytes()).sum())
    }

    /// Compressed bytes that are to be read from files.
    pub fn byte_count(&self) -> u64 {
        let files = self.tables.iter().flat_map(|table| &table.plan.files);
        files.flat_map(|files| files.plan.tasks()).map(ScanTask::byte_count).sum()
    }

    /// The plan with divided tables. A table with many hot rows stays as it is.
    ///
    /// The operators hold the snapshots of tables, without which files may be removed: keep the plan until all of it has run.
    ///
    /// # Errors
    /// If hot rows cannot be read.
    pub async fn put_into(self, plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let mut parts = Vec::new();
        for DividedTable { leaf, source, plan } in self.tables {
            let TablePlan { files, hot, runtime } = plan;
            let Some(hot) = table_work(move || few_rows(hot)).await? else { continue };
            let hot = HotRows::new(Arc::clone(&source.schema), &hot, source.partitions)?;
            let files = files.into_iter().filter(|files| !files.plan.tasks().is_empty());
            let files = files.map(|files| scan_of_files(files, &source, runtime.clone()));
            let mut inputs = files.collect::<Result<Vec<_>>>()?;
            if !hot.batches().is_empty() {
                inputs.push(DataSourceExec::from_data_source(hot));
            }
            let divided = if inputs.len() > 1 { UnionExec::try_new(inputs)? } else { inputs.remove(0) };
            parts.push((leaf, divided));
        }
        let replaced = plan.transform_up(|operator| {
            let divided = parts.iter().find(|(leaf, _)| Arc::ptr_eq(leaf, &operator));
            Ok(match divided {
                Some((_, divided)) => Transformed::yes(Arc::clone(divided)),
                None => Transformed::no(operator),
            })
        });
        Ok(replaced?.data)
    }
}

/// The scans of keyed tables in several partitions: operators above a single one take it for all rows.
fn scans(plan: &Arc<dyn ExecutionPlan>) -> Result<Vec<(Arc<dyn ExecutionPlan>, KeyedSource)>> {
    let mut scans = Vec::new();
    plan.apply(|operator| {
        let source =
            keyed_source(operator).filter(|source| matches!(source.reading, Reading::Rows) && source.partitions > 1);
        scans.extend(source.map(|source| (Arc::clone(operator), source.clone())));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(scans)
}

fn keyed_source(plan: &Arc<dyn ExecutionPlan>) -> Option<&KeyedSource> {
    plan.downcast_ref::<DataSourceExec>()?.data_source().downcast_ref()
}

/// The rows in full batches, without bytes of other rows; `None` if they are more than [`MAX_HOT_BYTES`].
fn few_rows(rows: TableBatches<'_>) -> lath_table::Result<Option<Vec<RecordBatch>>> {
    let mut coalescer = BatchCoalescer::new(rows.schema(), BATCH_ROWS);
    let (mut taken, mut bytes) = (Vec::new(), 0);
    for batch in rows {
        coalescer.push_batch(batch?)?;
        while let Some(batch) = coalescer.next_completed_batch() {
            bytes += batch.get_array_memory_size();
            taken.push(batch);
        }
        if bytes > MAX_HOT_BYTES {
            return Ok(None);
        }
    }
    coalescer.finish_buffered_batch()?;
    taken.extend(coalescer.next_completed_batch());
    Ok(Some(taken))
}

/// The scan of files, with the columns of the table.
fn scan_of_files(
    files: FilesPlan,
    source: &KeyedSource,
    runtime: lath_parquet::Runtime,
) -> Result<Arc<dyn ExecutionPlan>> {
    let FilesPlan { plan, columns } = files;
    let read = plan.schema();
    let exprs = columns.iter().zip(source.schema.fields()).map(|(column, field)| {
        let expr: Arc<dyn PhysicalExpr> = match column {
            PlannedColumn::Read(at) if read.field(*at).data_type() == field.data_type() => {
                Arc::new(Column::new(read.field(*at).name(), *at))
            }
            PlannedColumn::Read(at) => {
                let column = Arc::new(Column::new(read.field(*at).name(), *at));
                Arc::new(CastExpr::new(column, field.data_type().clone(), None))
            }
            PlannedColumn::Constant(value) => Arc::new(Literal::new(ScalarValue::try_from_array(value, 0)?)),
        };
        Ok(ProjectionExpr::new(expr, field.name().clone()))
    });
    let exprs = ProjectionExprs::new(exprs.collect::<Result<Vec<_>>>()?);
    let schema = SchemaRef::clone(&source.schema);
    let projection = FieldProjection::from_fields(exprs, read, schema)?;
    let pushed = source.pushed_filters.iter().filter_map(|filter| projection.unproject(filter).ok());
    let pushed_filters = pushed.filter(|filter| can_rule_out(filter, read)).collect();
    let scan = LathSource {
        testable: Arc::clone(read),
        ordering: Vec::new(),
        verifies_order: false,
        partitions: source.partitions,
        predicate: source.predicate.clone(),
        statistics: Arc::new(Statistics::new_unknown(read)),
        runtime,
        fetch: source.fetch,
        pushed_filters,
        projection: Some(Arc::new(projection)),
        metrics: ExecutionPlanMetricsSet::new(),
        rows_done: Arc::default(),
        snapshot: Some(source.snapshot.clone()),
        plan: Arc::new(plan),
    };
    Ok(DataSourceExec::from_data_source(scan))
}
