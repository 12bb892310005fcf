//! Statements whose files several processes can write.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion::common::Result;
use datafusion::datasource::sink::DataSinkExec;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, Partitioning, PhysicalExpr};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, replace_children_if_necessary};

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
    /// The statement that a plan is; `None` for plans that write in one process alone. These are plans of files without partitions, of local
    /// files, and of rows that come together in one place or in an order that their columns do not show.
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
    /// if the operators of [the rows](Self::input) can.
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
            // A projection may have left out the views.
            rows = match is_plain.then(|| plain_sort(&sort)) {
                Some(Ok(plain)) => plain,
                _ => Arc::new(sort),
            };
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
        let sort = sort(below).filter(|(sort, _)| sort.expr() == merge.expr());
        let is_plain = sort.is_some_and(|(_, is_plain)| is_plain);
        let input = sort.map_or(below, |(sort, _)| sort.input());
        return (Arc::clone(input), Some(RowsOrder { keys: merge.expr().clone(), is_plain }));
    }
    if let Some((sort, is_plain)) = sort(plan)
        && !sort.preserve_partitioning()
    {
        return (parts(sort.input()).0, Some(RowsOrder { keys: sort.expr().clone(), is_plain }));
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>()
        && let Some(divided) = projected(plan, projection)
    {
        return divided;
    }
    match plan.downcast_ref::<CoalescePartitionsExec>() {
        Some(together) if together.fetch().is_none() => (Arc::clone(together.input()), None),
        _ => (Arc::clone(plan), None),
    }
}

/// The sort of all rows that a plan is, and whether it sorts views as plain strings.
fn sort(plan: &Arc<dyn ExecutionPlan>) -> Option<(&SortExec, bool)> {
    let plain = sort_of_views(plan).map(Arc::as_ref);
    let sort = plain.or_else(|| plan.downcast_ref::<SortExec>())?;
    sort.fetch().is_none().then_some((sort, plain.is_some()))
}

/// The projection of rows that are not brought together, if its columns show their order.
fn projected(
    plan: &Arc<dyn ExecutionPlan>,
    projection: &ProjectionExec,
) -> Option<(Arc<dyn ExecutionPlan>, Option<RowsOrder>)> {
    let (input, order) = parts(projection.input());
    let order = match order {
        Some(RowsOrder { keys, is_plain }) => {
            let shown = plan.output_ordering().filter(|shown| shown.len() == keys.len())?;
            Some(RowsOrder { keys: shown.clone(), is_plain })
        }
        None => None,
    };
    Some((replace_children_if_necessary(Arc::clone(plan), vec![input]).ok()?, order))
}

/// Whether rows may come in an order that someone asked for.
fn has_order(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let sorts = plan.is::<SortExec>() || plan.is::<SortPreservingMergeExec>() || sort_of_views(plan).is_some();
    let keeps = plan.maintains_input_order();
    sorts || plan.children().into_iter().zip(keeps).any(|(input, keeps)| keeps && has_order(input))
}
