//! Statements whose files several processes can write.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion::common::Result;
use datafusion::datasource::sink::DataSinkExec;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, Partitioning, PhysicalExpr};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::{CompleteFilesExec, PartFiles, WritePartExec};
use crate::memory::{plain_sort, sort_of_views};
use crate::write::partitioned::new_name;
use crate::write::sink::FileSink;

/// A statement that writes rows to a folder in an object store, by partition, so that several processes can write the files.
#[derive(Debug)]
pub struct RemoteWrite {
    files: PartFiles,
    /// The rows, in several partitions.
    input: Arc<dyn ExecutionPlan>,
    order: Option<RowsOrder>,
    /// One column, for the number of rows.
    schema: SchemaRef,
}

/// The order of the rows in each file.
#[derive(Debug)]
struct RowsOrder {
    keys: LexOrdering,
    /// Whether the statement sorts views as plain strings.
    is_plain: bool,
}

impl RemoteWrite {
    /// The statement that a plan is; `None` for plans that write in one process alone. These are plans of files without partitions, of local files, and of rows that come together in one place or in an order that their columns do not show.
    pub fn of(plan: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let sink = plan.downcast_ref::<DataSinkExec>()?;
        let work = &sink.sink().downcast_ref::<FileSink>()?.work;
        let url = work.folder_url()?.to_owned();
        if work.partition_by.is_empty() {
            return None;
        }
        let (input, order) = parts(sink.input());
        let is_divided = input.output_partitioning().partition_count() > 1;
        if !is_divided || order.is_none() && has_order(&input) {
            return None;
        }
        let files = PartFiles { work: work.clone(), url, name: new_name(&work.format) };
        Some(Self { files, input, order, schema: plan.schema() })
    }

    /// The URL of the folder.
    pub fn url(&self) -> &str {
        &self.files.url
    }

    /// The plan of the rows.
    pub fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    /// A plan with the same effect, which writes in `partitions` partitions. Its operators below the root [can travel](crate::remote::can_travel)
    /// if those of the rows can.
    ///
    /// # Errors
    /// If the plan cannot be made.
    pub fn divided(self, partitions: usize) -> Result<Arc<dyn ExecutionPlan>> {
        let Self { files, input, order, schema } = self;
        let fields = input.schema();
        let key = |name: &String| -> Result<Arc<dyn PhysicalExpr>> {
            let at = files.schema().index_of(name)?;
            Ok(Arc::new(Column::new(fields.field(at).name(), at)))
        };
        let keys = files.partition_by().iter().map(key).collect::<Result<_>>()?;
        let mut rows: Arc<dyn ExecutionPlan> =
            Arc::new(RepartitionExec::try_new(input, Partitioning::Hash(keys, partitions))?);
        if let Some(RowsOrder { keys, is_plain }) = order {
            let sort = SortExec::new(keys, rows).with_preserve_partitioning(true);
            rows = if is_plain { plain_sort(&sort)? } else { Arc::new(sort) };
        }
        let written = Arc::new(WritePartExec::new(rows, files.clone()));
        let together = Arc::new(CoalescePartitionsExec::new(written));
        Ok(Arc::new(CompleteFilesExec::new(together, files, schema)))
    }
}

/// The plan below the operators that bring rows together, and the order that they give them.
fn parts(plan: &Arc<dyn ExecutionPlan>) -> (Arc<dyn ExecutionPlan>, Option<RowsOrder>) {
    if let Some(merge) = plan.downcast_ref::<SortPreservingMergeExec>()
        && merge.fetch().is_none()
    {
        let below = merge.input();
        let plain = sort_of_views(below).map(Arc::as_ref);
        let sort = plain.or_else(|| below.downcast_ref::<SortExec>());
        let sort = sort.filter(|sort| sort.fetch().is_none() && sort.expr() == merge.expr());
        let order = RowsOrder { keys: merge.expr().clone(), is_plain: plain.is_some() && sort.is_some() };
        return (Arc::clone(sort.map_or(below, SortExec::input)), Some(order));
    }
    match plan.downcast_ref::<CoalescePartitionsExec>() {
        Some(together) if together.fetch().is_none() => (Arc::clone(together.input()), None),
        _ => (Arc::clone(plan), None),
    }
}

/// Whether rows may come in an order that someone asked for.
fn has_order(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let sorts = plan.is::<SortExec>() || plan.is::<SortPreservingMergeExec>() || sort_of_views(plan).is_some();
    let keeps = plan.maintains_input_order();
    sorts || plan.children().into_iter().zip(keeps).any(|(input, keeps)| keeps && has_order(input))
}
