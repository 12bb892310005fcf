//! A statement that is planned, and its rows.

use std::fmt;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::dataframe::DataFrame;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures_util::Stream;
use futures_util::stream::{BoxStream, StreamExt, unfold};

use crate::effect::writes;
use crate::error::{Error, Result};
use crate::explain::explain;
use crate::session::Session;
use crate::stop::{Stop, with_pauses};

/// A statement that is planned. Queries, changes and writes run when it is executed; statements that create, alter or drop tables and views have run.
///
/// ```
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// use futures_util::StreamExt;
/// use lath_sql::{Session, Stop};
///
/// let (session, stop) = (Session::new(), Stop::new());
/// let plan = session.plan_text("SELECT 6 * 7 AS answer", &stop).await?;
/// assert_eq!(plan.schema().field(0).name(), "answer");
/// let mut rows = plan.execute(&stop)?;
/// assert_eq!(rows.next().await.transpose()?.map(|batch| batch.num_rows()), Some(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct StatementPlan {
    plan: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
}

/// The rows of a statement, which are computed as they are read. Dropping them stops the statement, unless it is already making its changes.
pub struct StatementRows {
    schema: SchemaRef,
    rows: BoxStream<'static, Result<RecordBatch>>,
}

impl Session {
    /// Plans a statement.
    ///
    /// # Errors
    /// [`Error::Mistake`] if the statement cannot be parsed or names something that does not exist, [`Error::Stopped`]; other errors if it runs here
    /// and fails.
    pub async fn plan_text(&self, text: &str, stop: &Stop) -> Result<StatementPlan> {
        stop.run(self.plan_in(text, 0..text.len(), true)).await?
    }

    /// Plans the statement at `range` of `text`, with points at which it can be stopped if it `pauses`.
    pub(crate) async fn plan_in(&self, text: &str, range: Range<usize>, pauses: bool) -> Result<StatementPlan> {
        let planned = match self.sql(&text[range.clone()]).await {
            Ok(frame) => StatementPlan::new(frame, pauses).await,
            Err(error) => Err(error),
        };
        planned.map_err(|error| explain(self, text, range, error))
    }
}

impl StatementPlan {
    pub(super) async fn new(frame: DataFrame, pauses: bool) -> datafusion::common::Result<Self> {
        let context = Arc::new(frame.task_ctx());
        let plan = frame.create_physical_plan().await?;
        let plan = if pauses { with_pauses(plan)? } else { plan };
        Ok(Self { plan, context })
    }

    pub(crate) fn into_parts(self) -> (Arc<dyn ExecutionPlan>, Arc<TaskContext>) {
        (self.plan, self.context)
    }

    /// The columns of the result; none for statements without rows.
    pub fn schema(&self) -> SchemaRef {
        self.plan.schema()
    }

    /// Whether the statement writes files or changes tables. It has done so when the end of the rows is reached.
    pub fn writes(&self) -> bool {
        writes(&self.plan)
    }

    /// Executes the statement.
    ///
    /// # Errors
    /// If its operators cannot be started.
    pub fn execute(self, stop: &Stop) -> Result<StatementRows> {
        let batches = execute_stream(self.plan, self.context)?;
        let schema = batches.schema();
        let rows = unfold(Some((batches, stop.clone())), |state| async move {
            let (mut batches, stop) = state?;
            match stop.run(batches.next()).await {
                Ok(Some(Ok(batch))) => Some((Ok(batch), Some((batches, stop)))),
                Ok(Some(Err(error))) => Some((Err(Error::from(error)), None)),
                Ok(None) => None,
                Err(stopped) => Some((Err(stopped), None)),
            }
        });
        Ok(StatementRows { schema, rows: rows.boxed() })
    }
}

impl StatementRows {
    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}

impl Stream for StatementRows {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.rows.poll_next_unpin(context)
    }
}

impl fmt::Debug for StatementPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatementPlan").field("schema", &self.plan.schema()).finish_non_exhaustive()
    }
}

impl fmt::Debug for StatementRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatementRows").field("schema", &self.schema).finish_non_exhaustive()
    }
}
