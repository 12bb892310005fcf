//! Sorts within a memory budget.
//!
//! DataFusion 55 counts a buffer of string views once for every batch that has one of its strings. Sorted batches have strings of all
//! buffers, so a sort of strings seems to need many times its size, and fails. Here strings are copied into plain arrays before the sort
//! and back into views after it.

use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Fields, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, cast as cast_expr};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, replace_children_if_necessary,
};
use futures_util::StreamExt;

/// Replaces sorts of views by [`PlainSortExec`]. The rule runs last, because other rules look for DataFusion's sorts.
#[derive(Debug)]
pub(crate) struct PlainSorts;

impl PhysicalOptimizerRule for PlainSorts {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let plain = plan.transform_up(|plan| {
            let sort = plan.downcast_ref::<SortExec>().map(PlainSortExec::new).transpose()?.flatten();
            Ok(match sort {
                Some(sort) => Transformed::yes(Arc::new(sort) as Arc<dyn ExecutionPlan>),
                None => Transformed::no(plan),
            })
        });
        plain.map(|plain| plain.data)
    }

    fn name(&self) -> &str {
        "lath_plain_sorts"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// DataFusion's sort that an operator stands for, if it sorts plain strings.
#[cfg(feature = "remote")]
pub(crate) fn sort_of_views(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<SortExec>> {
    plan.downcast_ref::<PlainSortExec>().map(|plain| &plain.sort)
}

/// The sort on plain strings that stands for a sort of views.
#[cfg(feature = "remote")]
pub(crate) fn plain_sort(sort: &SortExec) -> Result<Arc<dyn ExecutionPlan>> {
    match PlainSortExec::new(sort)? {
        Some(plain) => Ok(Arc::new(plain)),
        None => internal_err!("a sort of views has none"),
    }
}

/// A sort of views that works on plain strings.
#[derive(Debug, Clone)]
struct PlainSortExec {
    /// DataFusion's sort.
    sort: Arc<SortExec>,
    /// The sort on plain strings.
    plain: Arc<SortExec>,
}

impl PlainSortExec {
    /// Returns `None` if the rows have no views, or the sort is not by columns.
    fn new(sort: &SortExec) -> Result<Option<Self>> {
        let schema = sort.input().schema();
        let types: Vec<Option<DataType>> =
            schema.fields().iter().map(|field| without_views(field.data_type())).collect();
        let is_by_columns = sort.expr().iter().all(|key| {
            key.expr.is::<Column>() || collect_columns(&key.expr).iter().all(|column| types[column.index()].is_none())
        });
        // A sort with a limit keeps few rows.
        if sort.fetch().is_some() || !is_by_columns || types.iter().all(Option::is_none) {
            return Ok(None);
        }
        let columns = schema.fields().iter().zip(types).enumerate().map(|(index, (field, plain))| {
            let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(field.name(), index));
            let column = match plain {
                Some(plain) => cast_expr(column, &schema, plain)?,
                None => column,
            };
            Ok((column, field.name().clone()))
        });
        let input = ProjectionExec::try_new(columns.collect::<Result<Vec<_>>>()?, Arc::clone(sort.input()))?;
        let plain = SortExec::new(sort.expr().clone(), Arc::new(input))
            .with_preserve_partitioning(sort.preserve_partitioning());
        Ok(Some(Self { sort: Arc::new(sort.clone()), plain: Arc::new(plain) }))
    }
}

/// Replaces views in a type by plain strings; `None` if it has no views.
fn without_views(data_type: &DataType) -> Option<DataType> {
    let plain_field = |field: &Arc<Field>| {
        let plain = without_views(field.data_type())?;
        Some(Arc::new(field.as_ref().clone().with_data_type(plain)))
    };
    match data_type {
        DataType::Utf8View => Some(DataType::LargeUtf8),
        DataType::BinaryView => Some(DataType::LargeBinary),
        DataType::List(field) => plain_field(field).map(DataType::List),
        DataType::LargeList(field) => plain_field(field).map(DataType::LargeList),
        DataType::Struct(fields) => {
            let plain: Vec<Option<Arc<Field>>> = fields.iter().map(plain_field).collect();
            if plain.iter().all(Option::is_none) {
                return None;
            }
            let fields: Fields =
                fields.iter().zip(plain).map(|(field, plain)| plain.unwrap_or_else(|| Arc::clone(field))).collect();
            Some(DataType::Struct(fields))
        }
        _ => None,
    }
}

fn with_views(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| cast(column, field.data_type()));
    Ok(RecordBatch::try_new(Arc::clone(schema), columns.collect::<Result<_, _>>()?)?)
}

impl DisplayAs for PlainSortExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sort.fmt_as(format, f)
    }
}

impl ExecutionPlan for PlainSortExec {
    fn name(&self) -> &'static str {
        "PlainSortExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.sort.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.sort.children()
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let sort = replace_children_if_necessary(Arc::clone(&self.sort) as Arc<dyn ExecutionPlan>, children)?;
        match sort.downcast_ref::<SortExec>().map(Self::new).transpose()?.flatten() {
            Some(sort) => Ok(Arc::new(sort)),
            None => internal_err!("a sort of views has none"),
        }
    }

    fn apply_expressions(
        &self,
        apply: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.sort.apply_expressions(apply)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = self.sort.schema();
        let sorted = self.plain.execute(partition, context)?;
        let viewed = {
            let schema = Arc::clone(&schema);
            sorted.map(move |batch| with_views(&batch?, &schema))
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, viewed)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.plain.metrics()
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        self.sort.statistics_from_inputs(inputs, args)
    }
}
