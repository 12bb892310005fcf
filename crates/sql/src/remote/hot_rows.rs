//! The hot rows of a keyed table, which travel within a plan.

use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::datasource::source::{DataSource, DataSourceExec};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, RecordOutput};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayFormatType, ExecutionPlan};
use futures_util::stream;

use crate::scan::with_schema;

/// Rows that a plan carries, for scans in several partitions.
#[derive(Debug, Clone)]
pub struct HotRows {
    schema: SchemaRef,
    batches: Arc<Vec<RecordBatch>>,
    partitions: usize,
    metrics: ExecutionPlanMetricsSet,
}

impl HotRows {
    /// Rows with the columns of a schema.
    pub(super) fn new(schema: SchemaRef, batches: &[RecordBatch], partitions: usize) -> Result<Self> {
        let batches = batches.iter().map(|batch| with_schema(batch, &schema)).collect::<Result<_>>()?;
        Ok(Self { schema, batches: Arc::new(batches), partitions, metrics: ExecutionPlanMetricsSet::new() })
    }

    /// The rows that a plan is; `None` for all other plans.
    pub fn in_plan(plan: &Arc<dyn ExecutionPlan>) -> Option<&Self> {
        plan.downcast_ref::<DataSourceExec>()?.data_source().downcast_ref()
    }

    pub(super) fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(super) fn partitions(&self) -> usize {
        self.partitions
    }

    /// The batches in a number of parts.
    pub fn divided(&self, parts: usize) -> Vec<Arc<dyn ExecutionPlan>> {
        let part = |part: usize| {
            let batches = Arc::new(self.batches.iter().skip(part).step_by(parts.max(1)).cloned().collect());
            let metrics = ExecutionPlanMetricsSet::new();
            let rows = Self { schema: Arc::clone(&self.schema), batches, partitions: self.partitions, metrics };
            DataSourceExec::from_data_source(rows) as Arc<dyn ExecutionPlan>
        };
        (0..parts).map(part).collect()
    }

    /// The rows in Arrow's stream format.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut writer = StreamWriter::try_new(&mut bytes, &self.schema)?;
        self.batches.iter().try_for_each(|batch| writer.write(batch))?;
        writer.finish()?;
        drop(writer);
        Ok(bytes)
    }

    pub(super) fn from_bytes(bytes: &[u8], schema: SchemaRef, partitions: usize) -> Result<Self> {
        let batches = StreamReader::try_new(bytes, None)?.collect::<Result<Vec<_>, _>>()?;
        Self::new(schema, &batches, partitions)
    }
}

impl DataSource for HotRows {
    fn open(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let own: Vec<_> = self.batches.iter().skip(partition).step_by(self.partitions.max(1)).cloned().collect();
        let baseline = BaselineMetrics::new(&self.metrics, partition);
        let rows = own.into_iter().map(move |batch| Ok(batch.record_output(&baseline)));
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), stream::iter(rows))))
    }

    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: usize = self.batches.iter().map(RecordBatch::num_rows).sum();
        write!(f, "lath, hot_rows={rows}, partitions={}", self.partitions)
    }

    fn output_partitioning(&self) -> Partitioning {
        Partitioning::UnknownPartitioning(self.partitions)
    }

    fn eq_properties(&self) -> EquivalenceProperties {
        EquivalenceProperties::new(Arc::clone(&self.schema))
    }

    fn partition_statistics(&self, _: Option<usize>) -> Result<Arc<Statistics>> {
        Ok(Arc::new(Statistics::new_unknown(&self.schema)))
    }

    fn with_fetch(&self, _: Option<usize>) -> Option<Arc<dyn DataSource>> {
        None
    }

    fn fetch(&self) -> Option<usize> {
        None
    }

    fn metrics(&self) -> ExecutionPlanMetricsSet {
        self.metrics.clone()
    }

    fn try_swapping_with_projection(&self, _: &ProjectionExprs) -> Result<Option<Arc<dyn DataSource>>> {
        Ok(None)
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }
}
