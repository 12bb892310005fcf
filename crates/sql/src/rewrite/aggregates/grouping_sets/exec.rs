use std::fmt;
use std::sync::Arc;
use std::task::Poll;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt64Array, new_null_array};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, ScalarValue, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::logical_plan::Aggregate;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};
use futures_util::{StreamExt, poll};
use tokio::sync::mpsc::{Sender, UnboundedSender};

use super::levels::{Level, levels, max_ordinal};
use super::queue::queue;

/// Takes groups of all keys with partial results, and returns the groups of several grouping sets, with DataFusion's `__grouping_id` and partial
/// results, for the aggregate that merges the results of all partitions.
#[derive(Debug)]
pub(super) struct GroupingSetsExec {
    input: Arc<dyn ExecutionPlan>,
    shape: Arc<Shape>,
    metrics: ExecutionPlanMetricsSet,
    properties: Arc<PlanProperties>,
}

/// The parts that do not change with the input.
#[derive(Debug)]
struct Shape {
    /// As the query names them: a mask of the keys that are null in it.
    sets: Vec<Vec<bool>>,
    levels: Vec<Level>,
    aggregates: Vec<Arc<AggregateFunctionExpr>>,
    /// Returns the totals of no rows, as DataFusion has them.
    without_rows: Arc<dyn ExecutionPlan>,
    /// Keys, and columns of partial results.
    input_schema: SchemaRef,
    /// The columns of the input, with `__grouping_id` after the keys.
    schema: SchemaRef,
}

impl GroupingSetsExec {
    /// Reads a partial aggregate by all keys.
    ///
    /// # Errors
    /// The input is another operator, or there are too many keys or sets.
    pub(super) fn try_new(input: Arc<dyn ExecutionPlan>, sets: Vec<Vec<bool>>) -> Result<Self> {
        let Some(aggregate) = input.downcast_ref::<AggregateExec>() else {
            return internal_err!("grouping sets are computed from an aggregate");
        };
        let keys = aggregate.group_expr().expr().len();
        let levels = levels(&sets, keys)?;
        let input_schema = input.schema();
        let fields = input_schema.fields();
        let id = Aggregate::grouping_id_type(keys, max_ordinal(&levels));
        let key_fields = fields[..keys].iter().enumerate().map(|(key, field)| {
            let is_nullable = field.is_nullable() || sets.iter().any(|set| set[key]);
            Arc::new(field.as_ref().clone().with_nullable(is_nullable))
        });
        let id = Arc::new(Field::new(Aggregate::INTERNAL_GROUPING_ID, id, false));
        let all: Vec<_> = key_fields.chain([id]).chain(fields[keys..].iter().cloned()).collect();
        let schema = Arc::new(Schema::new_with_metadata(all, input_schema.metadata().clone()));
        let aggregates = aggregate.aggr_expr().to_vec();
        let without_rows = without_rows(aggregate, &sets)?;
        let shape = Shape { sets, levels, aggregates, without_rows, input_schema, schema };
        Ok(Self::with_shape(input, Arc::new(shape)))
    }

    /// The sets as the query names them: masks of the keys that are null in them.
    #[cfg(feature = "remote")]
    pub(super) fn sets(&self) -> &[Vec<bool>] {
        &self.shape.sets
    }

    fn with_shape(input: Arc<dyn ExecutionPlan>, shape: Arc<Shape>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&shape.schema)),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            EmissionType::Both,
            input.boundedness(),
        );
        Self { input, shape, metrics: ExecutionPlanMetricsSet::new(), properties: Arc::new(properties) }
    }
}

impl DisplayAs for GroupingSetsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.shape.input_schema.fields();
        let name = |level: &Level| {
            let keys: Vec<&str> = level.keys().into_iter().map(|key| fields[key].name().as_str()).collect();
            format!("({})", keys.join(", "))
        };
        let named: Vec<String> = self.shape.levels.iter().filter(|level| !level.ids.is_empty()).map(name).collect();
        write!(f, "GroupingSetsExec: sets=[{}]", named.join(", "))
    }
}

impl ExecutionPlan for GroupingSetsExec {
    fn name(&self) -> &'static str {
        "GroupingSetsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Self::with_shape(input, Arc::clone(&self.shape)))),
            _ => internal_err!("grouping sets have one input"),
        }
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let mut builder = RecordBatchReceiverStream::builder(Arc::clone(&self.shape.schema), 2);
        let run = Run { shape: Arc::clone(&self.shape), context, metrics, output: builder.tx() };
        builder.spawn(run.all_levels(input));
        Ok(builder.build())
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        let [input] = inputs else { return internal_err!("grouping sets have one input") };
        let mut known = Statistics::new_unknown(&self.shape.schema);
        known.num_rows = match input.num_rows.get_value() {
            Some(rows) => Precision::Inexact(rows.saturating_mul(self.shape.sets.len())),
            None => Precision::Absent,
        };
        Ok(Arc::new(known))
    }
}

/// The aggregate of all sets, as it was before it was split, of no rows.
fn without_rows(aggregate: &AggregateExec, sets: &[Vec<bool>]) -> Result<Arc<dyn ExecutionPlan>> {
    let (keys, schema) = (aggregate.group_expr().expr().to_vec(), aggregate.input_schema());
    let nulls = keys.iter().map(|(key, name)| {
        let null: Arc<dyn PhysicalExpr> = Arc::new(Literal::new(ScalarValue::try_from(key.data_type(&schema)?)?));
        Ok((null, name.clone()))
    });
    let nulls = nulls.collect::<Result<_>>()?;
    let grouped = PhysicalGroupBy::new(keys, nulls, sets.to_vec(), true);
    let rows = Arc::new(EmptyExec::new(Arc::clone(&schema)));
    let (functions, filters) = (aggregate.aggr_expr().to_vec(), aggregate.filter_expr().to_vec());
    Ok(Arc::new(AggregateExec::try_new(AggregateMode::Partial, grouped, functions, filters, rows, schema)?))
}

/// The computation of one partition.
struct Run {
    shape: Arc<Shape>,
    context: Arc<TaskContext>,
    metrics: BaselineMetrics,
    output: Sender<Result<RecordBatch>>,
}

/// A level that takes the groups of its parent.
struct Merge {
    level: usize,
    /// The columns of the parent's batches that it takes.
    columns: Vec<usize>,
    schema: SchemaRef,
    input: UnboundedSender<RecordBatch>,
    groups: SendableRecordBatchStream,
    /// Groups that it returned before it had all of its input.
    early: Vec<RecordBatch>,
}

/// The reader of the output has gone.
struct NoReader;

impl Run {
    async fn all_levels(self, input: SendableRecordBatchStream) -> Result<()> {
        let mut waiting = vec![(0, input, Vec::new())];
        let mut has_rows = false;
        while let Some((level, mut groups, early)) = waiting.pop() {
            let mut merges = self.begin_merges(level)?;
            let mut early = early.into_iter();
            loop {
                let batch = match early.next() {
                    Some(batch) => batch,
                    None => match groups.next().await {
                        Some(batch) => batch?,
                        None => break,
                    },
                };
                has_rows |= batch.num_rows() > 0;
                for merge in &mut merges {
                    merge.push(&batch).await?;
                }
                if self.send(level, &batch).await?.is_err() {
                    return Ok(());
                }
            }
            drop(groups);
            waiting.extend(merges.into_iter().rev().map(|merge| (merge.level, merge.groups, merge.early)));
        }
        if !has_rows {
            let mut totals = self.shape.without_rows.execute(0, Arc::clone(&self.context))?;
            while let Some(batch) = totals.next().await {
                if self.output.send(batch).await.is_err() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Begins to merge groups of a level into the groups of the levels that follow from it.
    fn begin_merges(&self, parent: usize) -> Result<Vec<Merge>> {
        let levels = &self.shape.levels;
        let following = (0..levels.len()).filter(|&level| levels[level].parent == Some(parent));
        following.map(|level| self.begin_merge(level, &levels[parent].keys())).collect()
    }

    fn begin_merge(&self, level: usize, parent_keys: &[usize]) -> Result<Merge> {
        let shape = &self.shape;
        let keys = shape.levels[level].keys();
        let results = shape.levels[0].is_null.len()..shape.input_schema.fields().len();
        let columns = (0..parent_keys.len()).filter(|&at| keys.contains(&parent_keys[at]));
        let columns = columns.chain((0..results.len()).map(|at| parent_keys.len() + at)).collect();
        let taken = keys.iter().copied().chain(results).map(|at| Arc::clone(&shape.input_schema.fields()[at]));
        let taken: Vec<FieldRef> = total_key(&keys).into_iter().chain(taken).collect();

        let grouped = taken[..keys.len().max(1)].iter().enumerate().map(|(at, field)| {
            let key: Arc<dyn PhysicalExpr> = Arc::new(Column::new(field.name(), at));
            (key, field.name().clone())
        });
        let grouped = PhysicalGroupBy::new_single(grouped.collect());
        let schema = Arc::new(Schema::new(taken));
        let (input, batches) = queue(Arc::clone(&schema))?;
        let (aggregates, filters) = (shape.aggregates.clone(), vec![None; shape.aggregates.len()]);
        let merge = AggregateExec::try_new(
            AggregateMode::PartialReduce,
            grouped,
            aggregates,
            filters,
            batches,
            Arc::clone(&schema),
        )?;
        let groups = merge.execute(0, Arc::clone(&self.context))?;
        Ok(Merge { level, columns, schema, input, groups, early: Vec::new() })
    }

    /// Sends groups of a level, once for each time that the query names its set.
    async fn send(&self, level: usize, batch: &RecordBatch) -> Result<Result<(), NoReader>> {
        let (shape, level, rows) = (&self.shape, &self.shape.levels[level], batch.num_rows());
        for &id in &level.ids {
            let total_key = usize::from(level.keys().is_empty());
            let mut columns = batch.columns().iter().skip(total_key).cloned();
            let mut all: Vec<ArrayRef> = Vec::with_capacity(shape.schema.fields().len());
            for (field, &is_null) in shape.schema.fields().iter().zip(&level.is_null) {
                let key = if is_null { None } else { columns.next() };
                all.push(key.unwrap_or_else(|| new_null_array(field.data_type(), rows)));
            }
            all.push(id_column(id, shape.schema.field(level.is_null.len()).data_type(), rows)?);
            all.extend(columns);
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            let sent = RecordBatch::try_new_with_options(Arc::clone(&shape.schema), all, &options)?;
            self.metrics.record_output(rows);
            if self.output.send(Ok(sent)).await.is_err() {
                return Ok(Err(NoReader));
            }
        }
        Ok(Ok(()))
    }
}

impl Merge {
    /// Merges groups of the parent.
    async fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut taken: Vec<ArrayRef> = self.columns.iter().map(|&at| Arc::clone(batch.column(at))).collect();
        if taken.len() < self.schema.fields().len() {
            taken.insert(0, Arc::new(BooleanArray::from(vec![true; batch.num_rows()])));
        }
        if self.input.send(RecordBatch::try_new(Arc::clone(&self.schema), taken)?).is_err() {
            return internal_err!("an aggregate has not taken all of its input");
        }
        // It takes what has been sent, and then waits for more.
        while let Poll::Ready(Some(groups)) = poll!(self.groups.next()) {
            self.early.push(groups?);
        }
        Ok(())
    }
}

/// The column by which the groups of a set without keys are merged. Without any, DataFusion would return a row for no rows, too, with an
/// average whose count is zero, by which other aggregates divide.
fn total_key(keys: &[usize]) -> Option<FieldRef> {
    keys.is_empty().then(|| Arc::new(Field::new("all", DataType::Boolean, false)))
}

fn id_column(id: u64, data_type: &DataType, rows: usize) -> Result<ArrayRef> {
    Ok(cast(&UInt64Array::from_value(id, rows), data_type)?)
}
