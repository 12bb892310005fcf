//! The root of a plan that changes a table: sends rows to the thread with the transaction.

use std::fmt;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_datafusion_err, internal_err, plan_err};
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_expr::{Distribution, EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, InputDistributionRequirements, PlanProperties,
};
use futures_util::{StreamExt, TryStreamExt};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use super::Change;
use super::in_order::{is_in_order, plan_in_order};
use super::returning::{ChangeAnswer, ReturnedColumns, ReturnedRows};
use super::target::ChangeTarget;
use super::writer::{Message, Writer};
use crate::bind::bind;
use crate::scan::{insert_by, scan_by};
use crate::stop::{CommitPoint, with_pauses};

/// Number of batches in the channel to the writer's thread.
const BATCHES_IN_FLIGHT: usize = 4;

/// A plan that changes a table by the rows of `input` and returns the number of changed rows, or the rows.
#[derive(Clone)]
pub(super) struct ChangeExec {
    input: Arc<dyn ExecutionPlan>,
    target: ChangeTarget,
    state: SessionState,
    properties: Arc<PlanProperties>,
}

/// Whether a plan changes a table with a primary key.
pub(crate) fn is_change(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<ChangeExec>()
}

impl ChangeExec {
    pub(super) fn new(input: Arc<dyn ExecutionPlan>, target: ChangeTarget, session: &dyn Session) -> Result<Self> {
        let state = session.as_any().downcast_ref::<SessionState>();
        let state = state.ok_or_else(|| internal_datafusion_err!("a session without state"))?.clone();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(returned_schema(&target)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Ok(Self { input, target, state, properties: Arc::new(properties) })
    }

    /// Makes the change and returns the number of rows, or the rows.
    async fn run(self, context: Arc<TaskContext>) -> Result<ChangeAnswer> {
        let (sender, receiver) = mpsc::channel(BATCHES_IN_FLIGHT);
        let (begun, has_begun) = oneshot::channel();
        let memory = MemoryConsumer::new(format!("changes of {}", self.target.table.name()));
        let memory = memory.register(context.memory_pool());
        let (table, change) = (self.target.table.clone(), self.target.change.clone());
        let (returned, state, own_context) = (self.target.returned.clone(), self.state.clone(), Arc::clone(&context));
        let (runtime, point) = (Handle::current(), CommitPoint::current());
        let writing = tokio::task::spawn_blocking(move || {
            let open = table.transaction().and_then(|transaction| transaction.open());
            let writer = Writer::begin(&table, open.as_deref(), change, memory, returned.is_some())?;
            // The receiver is gone if the statement was stopped.
            if begun.send(()).is_err() {
                return Ok(ChangeAnswer { count: 0, rows: None });
            }
            let answer = |rows| match &returned {
                Some(returned) => runtime.block_on(returned.evaluate(&state, own_context, rows)),
                None => Ok(rows),
            };
            writer.write(receiver, &point, answer)
        });
        let sent = match has_begun.await {
            Ok(()) => self.send_rows(&sender, context).await,
            // The writer itself returns why it has stopped.
            Err(_) => Ok(()),
        };
        // Without `Message::End`, the writer changes nothing. While this waits, it sees that the statement is not stopped.
        let _waits = sent.is_ok().then_some(sender);
        let written = writing.await.map_err(|error| DataFusionError::External(Box::new(error)))?;
        sent?;
        written
    }

    /// Sends all rows to the writer, whose transaction is open.
    async fn send_rows(&self, writer: &mpsc::Sender<Message>, context: Arc<TaskContext>) -> Result<()> {
        let input = self.newest_input().await?;
        let mut rows = input.execute(0, context)?;
        while let Some(batch) = rows.next().await {
            if writer.send(Message::Rows(batch?)).await.is_err() {
                return Ok(());
            }
        }
        // A writer that has stopped itself returns why.
        let _ = writer.send(Message::End).await;
        Ok(())
    }

    /// Returns the query's plan for the commit that the transaction begins with. It is planned again if there were commits since, or if its
    /// rows have to come in source order.
    async fn newest_input(&self) -> Result<Arc<dyn ExecutionPlan>> {
        if self.target.depends_on_order()? && !is_in_order(&self.target.query, &self.input)? {
            let (query, _) = bind(self.target.query.clone())?;
            return with_pauses(plan_in_order(&self.state, &query).await?);
        }
        let input = if self.target.commits.are_newest()? {
            Arc::clone(&self.input)
        } else {
            let (query, _) = bind(self.target.query.clone())?;
            with_pauses(self.state.create_physical_plan(&query).await?)?
        };
        let partitions = input.output_partitioning().partition_count();
        Ok(if partitions == 1 { input } else { Arc::new(CoalescePartitionsExec::new(input)) })
    }
}

/// The columns of the answer.
fn returned_schema(target: &ChangeTarget) -> SchemaRef {
    target.returned.as_ref().map_or_else(count_schema, ReturnedColumns::schema)
}

fn count_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("count", DataType::UInt64, false)]))
}

fn count_batch(count: u64) -> Result<RecordBatch> {
    let counts: ArrayRef = Arc::new(UInt64Array::from(vec![count]));
    Ok(RecordBatch::try_new(count_schema(), vec![counts])?)
}

impl ExecutionPlan for ChangeExec {
    fn name(&self) -> &'static str {
        "ChangeExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        self.input_distribution_requirements().into_per_child()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition])
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let [input] = children.as_slice() else { return internal_err!("a change has one input") };
        Ok(Arc::new(Self { input: Arc::clone(input), ..Self::clone(&self) }))
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("a change has one partition");
        }
        let change = self.clone();
        let answer = futures_util::stream::once(async move {
            let ChangeAnswer { count, rows } = change.run(context).await?;
            let count = if rows.is_none() { Some(count_batch(count)?) } else { None };
            let rows = rows.into_iter().flat_map(ReturnedRows::into_batches);
            Ok::<_, DataFusionError>(futures_util::stream::iter(count.into_iter().chain(rows).map(Ok)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), answer.try_flatten())))
    }
}

/// The change is a table that rows are inserted into, so that a logical plan can hold it.
impl ChangeTarget {
    async fn plan_scan(
        &self,
        _: &dyn Session,
        _: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan_err!("{} is changed by this statement, and cannot be read as its target", self.table.name())
    }

    async fn plan_insert(
        &self,
        session: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        _: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(ChangeExec::new(input, self.clone(), session)?))
    }
}

impl TableProvider for ChangeTarget {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.query.schema().inner())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    scan_by!(ChangeTarget, plan_scan);

    insert_by!(ChangeTarget, plan_insert);
}

impl DisplayAs for ChangeExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ChangeTarget { table, change, .. } = &self.target;
        write!(f, "ChangeExec: {}, table={}", change.name(), table.name())?;
        if let Some(returned) = &self.target.returned {
            let schema = returned.schema();
            let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            write!(f, ", returning=[{}]", names.join(", "))?;
        }
        match change {
            Change::DeleteWhere(predicate) => write!(f, ", predicate={predicate}"),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for ChangeExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeExec").field("target", &self.target).finish_non_exhaustive()
    }
}
